# Sourced after setup.sh: the other implementation, each version in an environment of its own.

debian python3:python3
python3 -c 'import ensurepip' 2>/dev/null || debian python3-no-venv:python3-venv
PEERS="${PEERS:-$HOME/.cache/onewindow/peers}"
for version in 0.17.0 0.14.0; do
    [ -e "$PEERS/$version/installed" ] && continue
    rm -rf "${PEERS:?}/$version"
    python3 -m venv "$PEERS/$version"
    "$PEERS/$version/bin/pip" install --quiet --disable-pip-version-check "zae-limiter==$version"
    touch "$PEERS/$version/installed"
done
