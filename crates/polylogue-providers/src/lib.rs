//! Language models and speech engines.
