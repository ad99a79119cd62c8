//! The HTTP side of Polylogue.
