//! The HTTP side of Polylogue: routes, event streams, and the description of both.
//!
//! A server is handed a hub, a journal, a [`House`] that knows who can take part, and settings. It knows no
//! database, no vendor and no environment, and it decides nothing about a conversation: it asks the hub and
//! shows projections.

mod app;
mod caller;
mod door;
mod error;
pub mod format;
mod house;
mod json;
mod listen;
mod metrics;
mod page;
mod panics;
mod route;
mod schema;
mod settings;
mod stream;
mod token;

pub use app::App;
pub use error::{Code, Refusal};
pub use house::{AgentInfo, CharacterInfo, FormatRequest, House, ModelInfo, Ready, Request, Standing, VoiceInfo};
pub use listen::{CROWD, listen, serve};
pub use route::description;
pub use settings::{BadSettings, Settings};
pub use token::{Scope, Token};
