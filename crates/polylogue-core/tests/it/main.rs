//! The core through its public surface.

mod collaboration;
mod corpus;
mod properties;
mod support;
