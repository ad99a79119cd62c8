//! Speech: a line in, a clip on disk out.
//!
//! [`Speaker`] is the one entry: it picks the voice, takes the words out of the line, asks an engine for the
//! sound, evens its loudness and writes the file. An engine only turns words into sound; it knows no sessions,
//! files or profiles of others.

mod cache;
mod casting;
pub mod elevenlabs;
mod engine;
pub mod espeak;
mod file_name;
pub mod kokoro;
mod loudness;
mod manner;
mod mix;
pub mod openai;
mod profiles;
mod remote;
mod settings;
mod sound;
mod speaker;
mod split;
mod wav;

pub use casting::{Part, Portrait};
pub use engine::{Billing, Engine, EngineError, EngineName};
pub use file_name::safe_name;
pub use loudness::TARGET_LUFS;
pub use manner::Manner;
pub use mix::{AudioFormat, MixError, Mixed, mix};
pub use profiles::{
    ElevenLabsVoice, EspeakVoice, KokoroVoice, Named, OpenAiVoice, Profile, ProfileSettings, Profiles, UnknownVoice,
};
pub use settings::{Account, SpeechSettings, Standing};
pub use sound::Sound;
pub use speaker::Speaker;
pub use wav::{WavError, read as read_wav, write as write_wav};
