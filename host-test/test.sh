#!/bin/sh
# Sets up what a fresh machine lacks, then runs every check there is.
. "$(dirname "$0")/setup.sh"
. host-test/node.sh
. host-test/verify/fleet/peers.sh
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
step env RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
step cargo deny check --hide-inclusion-graph bans licenses sources
# The workspaces of their own; not one of them has every licence that is allowed. The fuzz targets are left
# out: libFuzzer's licence, NCSA, is not allowed, and nothing of it is shipped.
for apart in edge-examples/fastly edge-examples/wasi-http; do
    step cargo deny --manifest-path "$apart/Cargo.toml" --config .deny.toml check --hide-inclusion-graph \
        --allow license-not-encountered bans licenses sources
done
for apart in component/fuzz edge-examples/fastly edge-examples/wasi-http; do
    step cargo fmt --manifest-path "$apart/Cargo.toml" --all --check
done

step cargo build --workspace --all-targets
step cargo test --workspace
# What follows runs the programs that were just built.
export PROGRAMS="$CARGO_TARGET_DIR/debug"
step cargo build --quiet --release --package onewindow-model
step "$CARGO_TARGET_DIR/release/onewindow-model" exhaustive --seconds 60
step cargo test --quiet --release --package onewindow-soak --test soak
step component/fuzz/run.sh 20
step host-test/fleet.sh --windows 40 --acquires 3000 --rate 300 --patience 600
step host-test/fleet.sh differ --cases 1000
step host-test/conformance.sh --runtime native --runtime wasmtime --runtime workerd --load 2
step edge-examples/browser.sh test
step host-test/release.sh --allow-dirty
