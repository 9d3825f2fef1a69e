#!/bin/sh
# Sets up what a fresh machine lacks, builds every example, holds the Worker's bundle under its
# ceiling, and runs one list of cases against every runtime. Prints a table of cases by runtime.
# Arguments go to `onewindow-conformance`: `--runtime NAME`, `--case PART`, `--load SECONDS`.
. "$(dirname "$0")/../host-test/setup.sh"
. edge-examples/node.sh
rustup target list --installed | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2

built="$CARGO_TARGET_DIR/release"
component="$built/onewindow.wasm"
cargo build --release --package onewindow-host --package onewindow-conformance
"$built/onewindow" component "$component"
(
    cd edge-examples
    node javascript/build.mjs "$component"
    npm run --silent --workspace onewindow compile
    npm test --silent --workspace onewindow
    npm run --silent --workspace onewindow-cloudflare check
    npm test --silent --workspace onewindow-cloudflare
)
(
    cd edge-examples/wasi-http
    cargo build --release
    "$built/onewindow-wasi-http-serve" --core "$component" --output "$built/limiter.wasm" --compose-only
)
exec "$built/onewindow-conformance" "$@"
