//! The cost of one turn in the core alone: next, begin, on, apply, with no runtime around it.
fn main() {}
