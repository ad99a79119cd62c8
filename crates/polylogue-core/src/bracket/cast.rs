//! cast
