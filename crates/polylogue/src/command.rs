//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod chorus;
pub(crate) mod collaborate;
pub(crate) mod discuss;
pub(crate) mod doctor;
pub(crate) mod models;
pub(crate) mod scene;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod voices;
