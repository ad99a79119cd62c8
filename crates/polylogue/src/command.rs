//! The commands that all formats share, one file each. Those that begin a session are in their formats' folders.

pub(crate) mod bench;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod models;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod store;
pub(crate) mod templates;
pub(crate) mod voices;
