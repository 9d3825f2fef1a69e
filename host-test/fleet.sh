#!/bin/sh
# Sets up what a fresh machine lacks, zae-limiter 0.17.0 and 0.14.0 among it, then runs the mixed
# fleet on one table and prints who admitted how much in each window. Arguments go to
# `onewindow-fleet run`.
. "$(dirname "$0")/setup.sh"
. "$(dirname "$0")/fleet/peers.sh"

exec cargo run --quiet --release --package onewindow-fleet -- run \
    --python "$PEERS/0.17.0/bin/python" --old-python "$PEERS/0.14.0/bin/python" \
    --script host-test/fleet/peer/worker.py --traces "$PEERS/traces" "$@"
