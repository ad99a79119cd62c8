//! Signals between processes, through NATS.
