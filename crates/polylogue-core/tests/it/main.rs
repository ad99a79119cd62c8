//! The core through its public surface.

mod chorus;
mod chorus_properties;
mod collaboration;
mod properties;
mod support;
