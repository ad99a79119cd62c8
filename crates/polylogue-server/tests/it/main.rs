//! The server through real HTTP on the loopback, with a model and a voice that do as they are told.

mod attack;
mod chat;
mod client;
mod described;
mod discussions;
mod door;
mod folds;
mod house;
mod list;
mod live;
mod login;
mod many;
mod page;
mod rooms;
mod scenes;
mod sessions;
mod tenants;
