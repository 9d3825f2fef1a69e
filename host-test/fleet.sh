#!/bin/sh
# Sets up what a fresh machine lacks, zae-limiter 0.17.0 and 0.14.0 among it, then runs the mixed
# fleet on one table and prints who admitted how much in each window. `fleet.sh differ` compares
# single decisions instead. Further arguments go to `onewindow-fleet`.
. "$(dirname "$0")/setup.sh"
. "$(dirname "$0")/verify/fleet/peers.sh"

command=run
case "${1:-}" in run | differ) command=$1 && shift ;; esac
build_programs
exec "$programs/onewindow-fleet" "$command" \
    --python "$PEERS/0.17.0/bin/python" --old-python "$PEERS/0.14.0/bin/python" \
    --script host-test/verify/fleet/peer/worker.py "$@"
