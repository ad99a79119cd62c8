//! What holds for several hubs of one store together: calls at once, the dollars of a day, how long sessions are kept;
//! and what a clock that is set does to them.

#[path = "shared/clock.rs"]
mod clock;
#[path = "shared/day.rs"]
mod day;
#[path = "shared/places.rs"]
mod places;
#[path = "shared/retention.rs"]
mod retention;
#[allow(dead_code, reason = "not every test needs all of it")]
mod support;
