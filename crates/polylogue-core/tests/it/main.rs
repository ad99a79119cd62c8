//! The core through its public surface.

mod collaboration;
mod properties;
mod support;
