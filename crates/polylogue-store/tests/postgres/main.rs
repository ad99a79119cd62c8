//! The journal in PostgreSQL, on a real server. `scripts/postgres.sh run COMMAND` starts one for these tests; without
//! it they fail.

#[path = "../support/mod.rs"]
mod support;

mod conformance;
mod copy;
mod group;
mod open;
mod server;
mod tables;
mod trouble;
