//! What the tests of models share: a loopback server that can pace and cut its answers, a server of faults,
//! and asks to send to them.

pub(crate) mod ask;
pub(crate) mod faults;
pub(crate) mod server;
