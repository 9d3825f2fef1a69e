# Runs the bundle here: `workerd serve workerd.capnp --socket-addr http=127.0.0.1:8787`.

using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    # The table is on this machine.
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  compatibilityDate = "2026-01-01",
  modules = [
    (name = "worker.js", esModule = embed "dist/worker.js"),
    (name = "core.js", esModule = embed "dist/core.js"),
    (name = "core.core.wasm", wasm = embed "dist/core.core.wasm"),
    (name = "core.core2.wasm", wasm = embed "dist/core.core2.wasm"),
    (name = "core.core3.wasm", wasm = embed "dist/core.core3.wasm"),
  ],
  bindings = [
    (name = "AWS_REGION", fromEnvironment = "AWS_REGION"),
    (name = "AWS_ACCESS_KEY_ID", fromEnvironment = "AWS_ACCESS_KEY_ID"),
    (name = "AWS_SECRET_ACCESS_KEY", fromEnvironment = "AWS_SECRET_ACCESS_KEY"),
    (name = "DYNAMODB_ENDPOINT", fromEnvironment = "DYNAMODB_ENDPOINT"),
    (name = "TABLE", fromEnvironment = "TABLE"),
    (name = "NAMESPACE", fromEnvironment = "NAMESPACE"),
    (name = "LIMITS", fromEnvironment = "LIMITS"),
    (name = "DEADLINE_MS", fromEnvironment = "DEADLINE_MS"),
    (name = "ON_UNAVAILABLE", fromEnvironment = "ON_UNAVAILABLE"),
    (name = "RATELIMIT_FORM", fromEnvironment = "RATELIMIT_FORM"),
  ],
);
