//! The core through its public surface.

mod chorus;
mod chorus_properties;
mod collaboration;
mod corpus;
mod properties;
mod scene;
mod support;
