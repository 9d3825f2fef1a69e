#!/bin/sh
# Sets up what a fresh machine lacks, builds the examples, holds the Worker's bundle under its
# ceiling, and runs one list of cases against every runtime. Prints a table of cases by runtime.
# Arguments go to `onewindow-conformance`: `--runtime NAME`, `--case PART`, `--load SECONDS`.
. "$(dirname "$0")/setup.sh"
. host-test/node.sh

# Whether a runtime is to be run: all are, unless some are named.
named=$*
runs() {
    case $named in
    *--runtime*) case "$named " in *"--runtime $1 "*) ;; *) return 1 ;; esac ;;
    esac
}
target() { rustup target list --installed | grep -qx "$1" || rustup target add "$1"; }

build_programs
component="$programs/onewindow-quota.wasm"
"$programs/onewindow" component "$component"
"$programs/onewindow" component --world inspect "$programs/onewindow-inspect.wasm"
(
    cd host-test/javascript
    node build.mjs "$component" "$programs/onewindow-inspect.wasm"
    npm run --silent compile
    ONEWINDOW="$programs/onewindow" npm test --silent
    cd ../../edge-examples
    npm run --silent --workspace onewindow-cloudflare check
    npm test --silent --workspace onewindow-cloudflare
)
if runs wasi-http; then
    target wasm32-wasip2
    cd edge-examples/wasi-http
    cargo build --release
    serve="$CARGO_TARGET_DIR/release/onewindow-wasi-http-serve"
    [ "$serve" -ef "$programs/onewindow-wasi-http-serve" ] || cp "$serve" "$programs/"
    "$serve" --core "$component" --output "$programs/limiter.wasm" --compose-only
    cd ../..
fi
if runs fastly; then
    target wasm32-wasip1
    # Viceroy compiles for ten minutes, once.
    have viceroy || cargo install --quiet --locked viceroy --version 0.22.0
    cd edge-examples/fastly
    cargo build --release --target wasm32-wasip1
    cp "$CARGO_TARGET_DIR/wasm32-wasip1/release/onewindow-fastly.wasm" "$programs/"
    cd ../..
fi
exec "$programs/onewindow-conformance" "$@"
