//! Views of a journal that all formats share. Each is a pure function of it, computed when somebody looks. Views
//! of one format are in its room.

mod captions;
mod fork;
mod insight;
mod outcome;
mod pacing;
mod text;
mod timeline;

pub use captions::{srt, vtt};
pub use fork::{CannotFork, fork};
pub use insight::{Insight, NoRequest, request_at, request_behind};
pub use outcome::{AgentCosts, Costs, Outcome, OutcomeLine, Status};
pub use pacing::Rest;
pub use text::{RESULT_FILE, grouped, markdown, plain_text, result};
pub use timeline::{Audible, FADE_MS, OVERLAP_MS, Placed, audible, timeline};
