//! How text becomes a value, and how a line becomes what is heard: for all formats. A form of reply that only one
//! format has is read in its room.

pub mod cut;
pub mod identity;
pub mod language;
pub mod printable;
pub mod reply;
pub mod spoken;
pub mod tone;
