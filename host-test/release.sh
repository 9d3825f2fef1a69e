#!/bin/sh
# Makes a release in `dist/`: the component, the crates and the npm package as they are published, and
# `SHA256SUMS`. Publishes nothing, but for:
#
#   release.sh publish    the same, and then the crates go to their registry
#   release.sh check      makes it twice, from clean clones in different folders, and compares every byte
#
# What is released is a commit; `--allow-dirty` is for a try. `--no-verify` leaves out the check of what was
# packed. Further arguments go to `cargo package`.
. "$(dirname "$0")/setup.sh"
. host-test/node.sh

if [ "${1:-}" = check ]; then
    shift
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    git clone --quiet . "$scratch/one"
    git clone --quiet "$scratch/one" "$scratch/some/other"
    # Verifying makes no other bytes.
    export PROGRAMS=
    for clone in one some/other; do
        CARGO_TARGET_DIR="$scratch/$clone/target" "$scratch/$clone/host-test/release.sh" --no-verify "$@"
    done
    cmp "$scratch/one/dist/SHA256SUMS" "$scratch/some/other/dist/SHA256SUMS"
    echo "Twice the same, byte for byte."
    exit
fi

publish=
[ "${1:-}" != publish ] || { publish=yes && shift; }
case "$publish $* " in
yes*' --allow-dirty '*)
    echo "What is published is a commit: --allow-dirty is for a try. Nothing is made." >&2
    exit 1
    ;;
*' --allow-dirty '*) ;;
*)
    if [ -n "$(git status --porcelain)" ]; then
        git status --short
        echo "These are not committed, and a release is a commit; nothing is made. --allow-dirty makes it." >&2
        exit 1
    fi
    # Git ignores the component that the host brings along, and cargo minds.
    set -- --allow-dirty "$@"
    ;;
esac

verify=yes
for argument in "$@"; do
    shift
    [ "$argument" = --no-verify ] && verify= || set -- "$@" "$argument"
done

if [ -z "${PROGRAMS:-}" ]; then
    building "5 minutes on two idle cores"
    cargo build --locked --package onewindow-cli
    PROGRAMS="$CARGO_TARGET_DIR/debug"
fi
rm -rf dist host-test/javascript/dist
mkdir dist
"$PROGRAMS/onewindow" component dist/onewindow-quota.wasm
"$PROGRAMS/onewindow" component --world inspect dist/onewindow-inspect.wasm

(
    cd host-test/javascript
    node build.mjs ../../dist/onewindow-quota.wasm ../../dist/onewindow-inspect.wasm
    npm run --silent compile
    npm pack --silent --ignore-scripts --pack-destination ../../dist
)

# A published host cannot build its neighbour: it brings the components along, and its `build` says so.
trap 'rm -f host-test/host/onewindow-*.wasm' EXIT
cp dist/onewindow-*.wasm host-test/host/
crates="onewindow onewindow-host onewindow-surface onewindow-cli"
packages=$(printf -- '--package %s ' $crates)
# shellcheck disable=SC2086
cargo package --locked --no-verify $packages "$@"
version=$(cargo pkgid --package onewindow) && version=${version##*[@#]}
for crate in $crates; do cp "$CARGO_TARGET_DIR/package/$crate-$version.crate" dist/; done

# The crates as they were packed, in a workspace of their own, so that each finds its neighbours of today. They
# are checked, not built: the dependencies were checked by clippy, with the same profile.
if [ -n "$verify" ]; then
    packed="$CARGO_TARGET_DIR/packed"
    rm -rf "$packed"
    mkdir -p "$packed"
    # The files are new: cargo goes by their time.
    for crate in $crates; do tar -xzmf "dist/$crate-$version.crate" -C "$packed"; done
    cp Cargo.lock "$packed/"
    {
        printf '[workspace]\nresolver = "3"\nmembers = ["*-%s"]\n\n' "$version"
        awk '/^\[/ { dev = /^\[profile\.dev/ } dev' Cargo.toml
        echo '[patch.crates-io]'
        for crate in $crates; do echo "$crate = { path = \"$crate-$version\" }"; done
    } >"$packed/Cargo.toml"
    for crate in $crates; do
        cargo check --manifest-path "$packed/Cargo.toml" --package "$crate"
    done
    # The exports of both components are checked where they are built for.
    cargo check --manifest-path "$packed/Cargo.toml" --package onewindow --features component,inspect \
        --target wasm32-unknown-unknown
fi

# The bytes are these compilers'.
rustc --version
wasm-opt --version
echo "node $(node --version), npm $(npm --version)"
(
    cd dist
    sha256sum -- * >SHA256SUMS
    wc -c -- *
    cat SHA256SUMS
)

# shellcheck disable=SC2086
[ -z "$publish" ] || cargo publish --locked --allow-dirty --no-verify $packages
