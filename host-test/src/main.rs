//! The `onewindow` command.

fn main() {}
