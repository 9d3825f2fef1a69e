# Sourced after host-test/setup.sh: Node 20 or newer, and what `npm ci` installs.

recent_node() { have node && have npm && [ "$(node --print 'process.versions.node.split(".")[0]')" -ge 20 ]; }

if ! recent_node; then
    # Debian's may be older; its npm is recent enough to install a newer one beside it.
    debian node:nodejs npm:npm
    tools="${XDG_CACHE_HOME:-$HOME/.cache}/onewindow/node"
    recent_node || npm install --silent --no-audit --no-fund --prefix "$tools" node@20
    PATH="$tools/node_modules/node/bin:$PATH"
fi
# What is there already is installed from the same lock file.
for folder in host-test/javascript edge-examples; do
    [ "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ] ||
        (cd "$folder" && npm ci --silent --no-audit --no-fund)
done
