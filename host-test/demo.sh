#!/bin/sh
# Sets up what a fresh machine lacks, then plays a session through the component and a real
# DynamoDB-compatible server on loopback. Arguments go to `onewindow demo`.
. "$(dirname "$0")/setup.sh"
# The tests' profile: it compiles sooner than an optimised program, and runs this as fast.
building "5 minutes on two idle cores"
cargo build --package onewindow-cli
exec "$CARGO_TARGET_DIR/debug/onewindow" demo "$@"
