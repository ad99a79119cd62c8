//! Language models and speech engines.

pub mod download;
#[cfg(test)]
mod loopback;
pub mod speech;
