//! The binary as a person or a program uses it: real processes, a real store, scripted models.

mod acceptance;
mod bad_input;
mod bench;
mod chorus;
mod crash;
mod delete;
mod discussion;
mod doctor;
mod folder;
mod generate;
mod layout;
#[cfg(feature = "local")]
mod local;
mod memory;
mod models;
mod money;
mod offers;
mod owners;
mod room;
mod scene;
mod server;
mod sessions;
mod stage;
mod templates;
#[cfg(unix)]
mod terminal;
mod unread;
mod voices;
mod why;
mod words;
