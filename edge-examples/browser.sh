#!/bin/sh
# Builds the reset preview page from this checkout and opens it; with `test`, tests it in Chromium.
. "$(dirname "$0")/../host-test/setup.sh"
. host-test/node.sh
[ "${1:-}" != test ] || debian chromium:chromium

build_programs
export ONEWINDOW="$programs/onewindow"
quota="$CARGO_TARGET_DIR/onewindow-quota.wasm"
inspect="$CARGO_TARGET_DIR/onewindow-inspect.wasm"
"$ONEWINDOW" component "$quota"
"$ONEWINDOW" component --world inspect "$inspect"
(
    cd host-test/javascript
    node build.mjs "$quota" "$inspect"
    npm run --silent compile
)
cd edge-examples
npm run --silent --workspace onewindow-browser check
npm run --silent --workspace onewindow-browser build
case "${1:-}" in
test) exec npm test --silent --workspace onewindow-browser ;;
*) exec node browser/serve.mjs --open "$@" ;;
esac
