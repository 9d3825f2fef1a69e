#!/bin/sh
# Sets up what a fresh machine lacks, builds every example, holds the Worker's bundle under its
# ceiling, and runs one list of cases against every runtime. Prints a table of cases by runtime.
# Arguments go to `onewindow-conformance`: `--runtime NAME`, `--case PART`, `--load SECONDS`.
. "$(dirname "$0")/../host-test/setup.sh"
. edge-examples/node.sh
for target in wasm32-wasip1 wasm32-wasip2; do
    rustup target list --installed | grep -qx "$target" || rustup target add "$target"
done
# Viceroy compiles for ten minutes, once.
have viceroy || cargo install --quiet --locked viceroy --version 0.22.0

built="$CARGO_TARGET_DIR/release"
component="$built/onewindow.wasm"
cargo build --release --package onewindow-host --package onewindow-conformance
"$built/onewindow" component "$component"
(
    cd edge-examples
    node javascript/build.mjs "$component"
    npm run --silent --workspace onewindow compile
    ONEWINDOW="$built/onewindow" npm test --silent --workspace onewindow
    npm run --silent --workspace onewindow-cloudflare check
    npm test --silent --workspace onewindow-cloudflare
)
(
    cd edge-examples/wasi-http
    cargo build --release
    "$built/onewindow-wasi-http-serve" --core "$component" --output "$built/limiter.wasm" --compose-only
)
(
    cd edge-examples/fastly
    cargo build --release --target wasm32-wasip1
    cp "$CARGO_TARGET_DIR/wasm32-wasip1/release/onewindow-fastly.wasm" "$built/"
)
exec "$built/onewindow-conformance" "$@"
