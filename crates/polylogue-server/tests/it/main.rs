//! The server through real HTTP on the loopback, with a model and a voice that do as they are told.

mod chat;
mod client;
mod discussions;
mod door;
mod folds;
mod house;
mod many;
mod rooms;
mod scenes;
mod sessions;
