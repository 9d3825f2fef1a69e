#!/bin/sh
# Sets up what a fresh machine lacks, then runs every check that CI runs. At its end it prints what each step
# took, and the size of the target folder after it. The first step that fails is the last that runs.
#
#   test.sh          everything
#   test.sh quick    the inner loop: format, clippy of the core, tests of the core, the model and the host
#                    library; under a minute once they are built
#
# What takes longer has commands of its own. They are listed in CONTRIBUTING.md, "What takes longer".
case ${1:-} in
'' | quick) ;;
*)
    echo "test.sh knows no argument but quick; $1 was given, and nothing was run" >&2
    exit 2
    ;;
esac
. "$(dirname "$0")/setup.sh"

times=$(mktemp)
label=
began=$(date +%s)
finish() {
    code=$?
    trap - EXIT
    printf '\n%-34s %8s %14s\n' step time 'target folder'
    cat "$times"
    total=$(($(date +%s) - began))
    printf '%-34s %4d:%02d %11d MB\n' total $((total / 60)) $((total % 60)) "$(size)"
    rm -f "$times"
    case $code$label in
    0) echo "All checks passed." ;;
    *) echo "FAILED: ${label:-the set-up} ended with $code. What follows it did not run." ;;
    esac
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

size() { du -sm "$CARGO_TARGET_DIR" 2>/dev/null | cut -f1; }

# step LABEL COMMAND...
step() {
    label=$1 && shift
    printf '\n\033[1m%s\033[0m: %s\n' "$label" "$*"
    start=$(date +%s)
    "$@"
    took=$(($(date +%s) - start))
    printf '%-34s %4d:%02d %11d MB\n' "$label" $((took / 60)) $((took % 60)) "$(size)" >>"$times"
    label=
}

if [ "${1:-}" = quick ]; then
    step "format" cargo fmt --all --check
    step "clippy of the core" cargo clippy --package onewindow --all-targets -- --deny warnings
    step "tests of the core and the model" cargo test --quiet --package onewindow --package onewindow-model
    step "unit tests of the host library" cargo test --quiet --package onewindow-host --lib
    exit
fi

. host-test/node.sh
. host-test/verify/fleet/peers.sh
debian chromium:chromium
# cargo-deny compiles for minutes, once; the advisories need the network and are not part of this.
have cargo-deny || cargo install --locked cargo-deny
building "7 minutes on two idle cores, and the checks for 7 more"

# The workspaces of their own.
apart="component/fuzz edge-examples/fastly edge-examples/wasi-http"
formatted() {
    cargo fmt --all --check
    for folder in $apart; do cargo fmt --manifest-path "$folder/Cargo.toml" --all --check || return; done
}
# Not one of the workspaces apart has every licence that is allowed. The fuzz targets are left out: libFuzzer's
# licence, NCSA, is not allowed, and nothing of it is shipped.
denied() {
    cargo deny check --hide-inclusion-graph bans licenses sources || return
    for folder in $apart; do
        [ "$folder" = component/fuzz ] ||
            cargo deny --manifest-path "$folder/Cargo.toml" --config .deny.toml check --hide-inclusion-graph \
                --allow license-not-encountered bans licenses sources || return
    done
}

# The examples for WebAssembly alone compile; `conformance.sh` without arguments runs them.
guests() {
    for target in wasm32-wasip1 wasm32-wasip2; do
        rustup target list --installed | grep -qx "$target" || rustup target add "$target"
    done
    cargo check --locked --manifest-path edge-examples/fastly/Cargo.toml --target wasm32-wasip1 || return
    cargo check --locked --manifest-path edge-examples/wasi-http/Cargo.toml --package onewindow-wasi-http --lib \
        --target wasm32-wasip2
}

step "format" formatted
step "licences and sources" denied
step "clippy" cargo clippy --workspace --all-targets -- --deny warnings
step "clippy of the components" \
    cargo clippy --package onewindow --features component,inspect --target wasm32-unknown-unknown -- --deny warnings
step "guests" guests
step "documentation" env RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
step "build" cargo build --workspace --all-targets
step "tests" cargo test --workspace
# What follows runs the programs that were just built.
export PROGRAMS="$CARGO_TARGET_DIR/debug"
step "model" "$PROGRAMS/onewindow-model" exhaustive --seconds 60
step "fuzz" component/fuzz/run.sh 20
step "fleet" host-test/fleet.sh --windows 40 --acquires 3000 --rate 300 --patience 600
step "fleet, single decisions" host-test/fleet.sh differ --cases 1000
step "conformance" host-test/conformance.sh --runtime native --runtime wasmtime --runtime workerd --load 2
step "browser page" edge-examples/browser.sh test
step "release" host-test/release.sh --allow-dirty
