//! Limits that hold for several hubs of one store together: calls at once, and the dollars of a day.

#[path = "shared/day.rs"]
mod day;
#[path = "shared/places.rs"]
mod places;
#[allow(dead_code, reason = "not every test needs all of it")]
mod support;
