#!/bin/sh
# Sets up what a fresh machine lacks, zae-limiter 0.17.0 among it, then measures and prints the tables of
# host-test/perf/README.md. `perf.sh load` and the like measure one thing; further arguments go to
# `onewindow-perf`, such as `--seconds 1 --rounds 1` for a short run. CRITERION goes to criterion, such as
# `CRITERION=--quick`.
. "$(dirname "$0")/setup.sh"
. "$(dirname "$0")/verify/fleet/peers.sh"

build_programs
case "${1:-}" in
'' | -* | decisions)
    # shellcheck disable=SC2086
    cargo bench --quiet --package onewindow-perf --bench decision -- ${CRITERION:-} >&2
    ;;
esac
exec "$programs/onewindow-perf" "$@" \
    --python "$PEERS/0.17.0/bin/python" --criterion "$CARGO_TARGET_DIR/criterion"
