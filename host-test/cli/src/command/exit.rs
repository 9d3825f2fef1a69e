//! Exit codes.

/// Done, or admitted.
pub(super) const DONE: u8 = 0;
/// The answer is no.
pub(super) const REJECTED: u8 = 1;
/// The command line is wrong, or something failed. It is clap's own code for a wrong command line.
pub(super) const FAULT: u8 = 2;
