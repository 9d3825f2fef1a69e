#!/bin/sh
# Sets up what a fresh machine lacks, then plays a session through the component and a real
# DynamoDB-compatible server on loopback. Arguments go to `onewindow demo`.
. "$(dirname "$0")/setup.sh"
exec cargo run --quiet --release --package onewindow-cli -- demo "$@"
