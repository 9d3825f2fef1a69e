#!/bin/sh
# Builds the service and runs it in Viceroy, set up by the environment: see README.md.
set -eu
cd "$(dirname "$0")"
: "${LISTEN:=127.0.0.1:8080}" "${DYNAMODB_ENDPOINT:=http://127.0.0.1:8000}" "${AWS_REGION:=us-east-1}"
: "${AWS_ACCESS_KEY_ID:=onewindow}" "${AWS_SECRET_ACCESS_KEY:=onewindow}" "${AWS_SESSION_TOKEN:=}"
: "${TABLE:=onewindow}" "${NAMESPACE:=default}" "${DEADLINE_MS:=1000}" "${ON_UNAVAILABLE:=block}"
: "${RATELIMIT_FORM:=rt}"
# A brace in the default would end the expansion.
[ -n "${LIMITS:-}" ] || LIMITS='[{ "name": "session", "capacity": 100, "reset_after_seconds": 18000 }]'

# A module that is named is taken as it is.
if [ -z "${MODULE:-}" ]; then
    cargo build --quiet --release --target wasm32-wasip1
    MODULE="${CARGO_TARGET_DIR:-target}/wasm32-wasip1/release/onewindow-fastly.wasm"
fi

exec viceroy serve --addr "$LISTEN" --config /dev/fd/3 "$MODULE" 3<<TOML
manifest_version = 3
name = "onewindow"
language = "rust"

[local_server.backends.dynamodb]
url = '$DYNAMODB_ENDPOINT'

[local_server.config_stores.onewindow]
format = "inline-toml"

[local_server.config_stores.onewindow.contents]
DYNAMODB_ENDPOINT = '$DYNAMODB_ENDPOINT'
AWS_REGION = '$AWS_REGION'
TABLE = '$TABLE'
NAMESPACE = '$NAMESPACE'
LIMITS = '$LIMITS'
DEADLINE_MS = '$DEADLINE_MS'
ON_UNAVAILABLE = '$ON_UNAVAILABLE'
RATELIMIT_FORM = '$RATELIMIT_FORM'

[local_server.secret_stores]
onewindow = [
    { key = "AWS_ACCESS_KEY_ID", data = '$AWS_ACCESS_KEY_ID' },
    { key = "AWS_SECRET_ACCESS_KEY", data = '$AWS_SECRET_ACCESS_KEY' },
    { key = "AWS_SESSION_TOKEN", data = '$AWS_SESSION_TOKEN' },
]
TOML
