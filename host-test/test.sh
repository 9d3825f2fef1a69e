#!/bin/sh
# Sets up what a fresh machine lacks, then runs every check there is.
. "$(dirname "$0")/setup.sh"

export CARGO_TERM_COLOR=always
# cargo-deny compiles for minutes, once; the advisories need the network and are not part of this.
have cargo-deny || cargo install --quiet --locked cargo-deny

set -x
cargo fmt --all --check
cargo clippy --workspace --all-targets -- --deny warnings
cargo clippy --package onewindow --features component --target wasm32-unknown-unknown -- --deny warnings
RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
cargo deny check --hide-inclusion-graph bans licenses sources
cargo test --workspace
