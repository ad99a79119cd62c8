//! What can think and what can speak: connectors behind the runtime's ports.
//!
//! [`Models`] is every language model behind one port; a connector per vendor turns a request into that
//! vendor's wire form and its answer back. [`speech`] does the same for voices. Vendor JSON stays in here. Nothing here retries, and the process
//! environment is read only through the closure that the binary gives.

mod answer;
mod anthropic;
pub mod catalogue;
mod command;
mod connector;
pub mod download;
mod fault;
mod frames;
mod gemini;
mod http;
pub mod local;
#[cfg(test)]
mod loopback;
pub mod models;
mod ollama;
mod openai;
mod params;
mod prices;
pub mod resolve;
mod schema;
pub mod script;
mod secret;
mod settings;
pub mod speech;
mod tls;

pub use local::{Local, LocalSettings};
pub use models::{BadSettings, Models};
pub use prices::Prices;
pub use secret::Secret;
pub use settings::{CommandSettings, Kind, Limits, OwnPrice, ProviderSettings, Settings};
