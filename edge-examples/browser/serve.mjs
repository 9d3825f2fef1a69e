// Serves dist/ on loopback, as strictly as a careful host would.
//
//   node serve.mjs [--open] [--port PORT]
import { spawn } from "node:child_process";
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";

export const dist = join(dirname(fileURLToPath(import.meta.url)), "dist");
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** A server of the page, and of what is in other folders; `port` 0 takes any that is free. */
export function serve(port = 0, folders = [dist]) {
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? "/", "http://localhost").pathname.slice(1) || "index.html";
    const type = TYPES[extname(name)];
    // Flat: a name with a separator in it is none of ours.
    const file = /[\\/]/.test(name) ? undefined : folders.map((folder) => join(folder, name)).find(isFile);
    if (!type || !file) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      return;
    }
    response.writeHead(200, {
      "content-type": type,
      "content-encoding": "gzip",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
    createReadStream(file).pipe(createGzip()).pipe(response);
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => resolve({ server, url: `http://127.0.0.1:${server.address().port}/` }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf("--port");
  const { url } = await serve(at > 0 ? Number(process.argv[at + 1]) : 0);
  console.log(`${url}   (stop with Ctrl-C)`);
  if (process.argv.includes("--open")) {
    const opener = { darwin: "open", win32: "explorer" }[process.platform] ?? "xdg-open";
    spawn(opener, [url], { stdio: "ignore", detached: true })
      .on("error", () => console.log("no browser to open it in; open the address yourself"))
      .unref();
  }
}
