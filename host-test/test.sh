#!/bin/sh
# Sets up what a fresh machine lacks, then runs every check there is.
. "$(dirname "$0")/setup.sh"
. edge-examples/node.sh
. host-test/fleet/peers.sh
debian chromium:chromium

# cargo-deny compiles for minutes, once; the advisories need the network and are not part of this.
have cargo-deny || cargo install --quiet --locked cargo-deny

step() {
    printf '\n\033[1m%s\033[0m\n' "$*"
    "$@"
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets -- --deny warnings
step cargo clippy --package onewindow --features component --target wasm32-unknown-unknown -- --deny warnings
RUSTDOCFLAGS="--deny warnings" step cargo doc --workspace --no-deps --quiet
step cargo deny check --hide-inclusion-graph bans licenses sources

# The core with its debug assertions; the rest once, optimised: what follows runs the same programs.
step cargo test --package onewindow
step cargo build --workspace --release --all-targets
step cargo test --workspace --release
export PROGRAMS="$CARGO_TARGET_DIR/debug"

step "$CARGO_TARGET_DIR/release/onewindow-model" exhaustive --seconds 60
step component/fuzz/run.sh 20
step host-test/fleet.sh differ --cases 1000
step host-test/fleet.sh --windows 40 --acquires 6000
step edge-examples/conformance.sh --runtime native --runtime wasmtime --runtime workerd
step edge-examples/browser.sh test
