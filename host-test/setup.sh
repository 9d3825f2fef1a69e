# Sourced by the other scripts: installs what a fresh machine lacks, and skips what it has.

set -eu
cd "$(dirname "$0")/.."

have() { command -v "$1" >/dev/null 2>&1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Debian packages, by name, where a command is missing.
debian() {
    missing=
    for pair in "$@"; do have "${pair%%:*}" || missing="$missing ${pair#*:}"; done
    [ -z "$missing" ] && return
    as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends $missing
}

# A C compiler builds the embedded engine's SQLite and the TLS library; Binaryen shrinks the component.
debian cc:build-essential curl:curl wasm-opt:binaryen
if ! have cargo; then
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal -c clippy -c rustfmt
    . "$HOME/.cargo/env"
fi
rustup target list --installed | grep -qx wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown

# Outside the checkout, so that a fresh clone builds on what the last one left.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/onewindow/target}"

# One line before a build: how long it takes from an empty target folder.
building() {
    [ -d "$CARGO_TARGET_DIR" ] || echo "Building into $CARGO_TARGET_DIR, which is empty: about $1." >&2
}

# Builds the workspace's programs, optimised, unless the caller has them; says where they are.
build_programs() {
    programs="${PROGRAMS:-$CARGO_TARGET_DIR/release}"
    [ -n "${PROGRAMS:-}" ] && return
    building "15 minutes of processor time"
    cargo build --release --workspace --bins
}
