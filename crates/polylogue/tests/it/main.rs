//! The binary as a person or a program uses it: real processes, a real store, scripted models.

mod acceptance;
mod artifacts;
mod bad_input;
mod bench;
#[path = "../../../polylogue-artifacts/tests/support/bucket.rs"]
mod bucket;
mod chorus;
mod crash;
mod delete;
mod discussion;
#[cfg(unix)]
mod docs;
mod doctor;
mod folder;
mod forks;
mod generate;
mod languages;
mod layout;
#[cfg(feature = "local")]
mod local;
mod memory;
mod models;
mod money;
mod offers;
mod ollama;
mod opened;
mod osc;
mod owners;
mod postgres;
mod result;
mod room;
mod scene;
mod score;
mod scores_served;
mod server;
mod sessions;
mod stage;
mod story;
mod templates;
#[cfg(unix)]
mod terminal;
mod unread;
mod vendors;
mod voices;
mod why;
mod words;
