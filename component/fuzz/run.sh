#!/bin/sh
# Fuzzes every target for some seconds each (20, or the first argument). Installs what is missing.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-20}

command -v cargo-fuzz >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/onewindow/target}/fuzz"
# Sanitizers ask for the nightly compiler, or for a stable one that is told to behave like it.
rustup toolchain list | grep -q '^nightly' && toolchain=+nightly || { toolchain=; export RUSTC_BOOTSTRAP=1; }

python3 fuzz/seeds.py
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in item reply acquire settle; do
    # shellcheck disable=SC2086
    cargo $toolchain fuzz run "$target" -- -max_total_time="$seconds" -max_len=8192 -timeout=10 \
        -verbosity=0 -print_final_stats=1 >"$log" 2>&1 || { cat "$log"; exit 1; }
    echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, none crashed or hung"
done
