//! The core through its public surface.

mod bracket;
mod changed;
mod chorus;
mod chorus_properties;
mod collaboration;
mod corpus;
mod discussion;
mod discussion_properties;
mod hearing;
mod interview;
mod money;
mod properties;
mod room;
mod scene;
mod scene_directed;
mod scene_floor;
mod scene_goes_on;
mod scene_judged;
mod scene_properties;
mod scene_told;
mod small;
mod support;
mod unread;
