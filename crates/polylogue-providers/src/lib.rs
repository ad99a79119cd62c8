//! What can think and what can speak: connectors behind the runtime's ports. Vendors' wire forms stay in here.

pub mod models;
pub mod script;
