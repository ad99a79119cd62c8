//! The connectors against a loopback server: no key, no network, real HTTP.

#[path = "../support/mod.rs"]
mod support;

mod caching;
mod command;
mod exchanges;
mod faults;
mod floods;
mod keys;
mod learning;
mod probing;
mod requests;
mod storm;
mod usage;
mod vendor;
