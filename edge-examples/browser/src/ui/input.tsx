// Where the data comes from: pasted, dropped, asked of an endpoint, or a sample.

import { useRef, useState } from "preact/hooks";
import type { Engine } from "../model/core.js";
import { load, Unusable, type Loaded } from "../model/load.js";
import { SAMPLES } from "../model/samples.js";

interface Props {
  engine: Engine;
  open: (loaded: Loaded, again?: () => Promise<void>) => void;
}

export function Input({ engine, open }: Props) {
  const [fault, setFault] = useState<Unusable>();
  const [over, setOver] = useState(false);
  const [text, setText] = useState("");
  const read = (input: string) => {
    try {
      open(load(engine, input));
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      setText(input);
      setFault(error);
    }
  };
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer?.files ?? [];
    read(file ? await file.text() : (event.dataTransfer?.getData("text") ?? ""));
  };
  return (
    <div class="landing">
      <h1>When does the quota come back?</h1>
      <p class="lead">
        And what is left, and why is it blocked? Give this page the shards of one session quota. It answers with the rules
        that enforce it, and sends nothing anywhere.
      </p>
      <section aria-labelledby="samples">
        <h2 id="samples">Look at a sample</h2>
        <ul class="samples">
          {SAMPLES.map(({ id, title, text, make }) => (
            <li key={id}>
              <button type="button" onClick={() => open({ kind: "buckets", buckets: [make(Math.floor(Date.now() / 1000) * 1000)], skipped: 0 })}>
                <strong>{title}</strong>
                <span>{text}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <div class="ways">
        <form
          class={over ? "sheet over" : "sheet"}
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={drop}
          onSubmit={(event) => {
            event.preventDefault();
            read(text);
          }}
        >
          <h2>
            <label for="json">Paste or drop JSON</label>
          </h2>
          <p id="json-help">
            From <code>aws dynamodb query</code> or <code>batch-get-item</code>, or from{" "}
            <code>onewindow preview --json</code>.
          </p>
          <textarea
            id="json"
            rows={9}
            spellcheck={false}
            aria-describedby={fault ? "json-fault" : "json-help"}
            aria-invalid={fault !== undefined}
            placeholder={'{ "Items": [ { "PK": { "S": "default/BUCKET#user-1#gpt-4#0" }, … } ] }'}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setFault(undefined);
            }}
          />
          {fault && (
            <div class="trouble" id="json-fault" role="alert">
              <p>
                <strong>{fault.where}</strong> {fault.message}
              </p>
              {fault.excerpt && <pre>{fault.excerpt}</pre>}
            </div>
          )}
          <div class="stops">
            <button type="submit" class="primary">
              Show
            </button>
            <label class="file">
              Choose a file
              <input
                type="file"
                accept=".json,application/json"
                onChange={async (event) => {
                  const [file] = event.currentTarget.files ?? [];
                  if (file) read(await file.text());
                }}
              />
            </label>
          </div>
        </form>
        <Endpoint engine={engine} open={open} />
      </div>
    </div>
  );
}

function Endpoint({ engine, open }: Props) {
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const ask = async () => {
    const fields = new FormData(form.current!);
    const field = (name: string) => String(fields.get(name)).trim();
    setBusy(true);
    setFault(undefined);
    try {
      const url = previewUrl(field("url"), field("entity"), field("resource"));
      await watch(engine, url, open);
    } catch (error) {
      const message = error instanceof Unusable ? `${error.where} ${error.message}` : error instanceof Error ? error.message : String(error);
      setFault(message);
    }
    setBusy(false);
  };
  return (
    <form
      class="sheet"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <h2>Ask a host</h2>
      <p>
        Any host's <code>/preview</code>. It must allow this page's origin (CORS).
      </p>
      <label>
        Address
        <input name="url" type="url" required placeholder="http://127.0.0.1:8080" autocomplete="url" />
      </label>
      <label>
        Entity
        <input name="entity" required placeholder="user-1" autocomplete="off" />
      </label>
      <label>
        Resource
        <input name="resource" required placeholder="gpt-4" autocomplete="off" />
      </label>
      {fault && (
        <p class="trouble" role="alert">
          {fault}
        </p>
      )}
      <div class="stops">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Asking…" : "Ask"}
        </button>
      </div>
    </form>
  );
}

function previewUrl(base: string, entity: string, resource: string): URL {
  const url = new URL(base);
  if (!url.pathname.endsWith("/preview")) url.pathname = `${url.pathname.replace(/\/$/, "")}/preview`;
  url.searchParams.set("entity", entity);
  url.searchParams.set("resource", resource);
  return url;
}

/** Asks, shows, and can be asked again. */
async function watch(engine: Engine, url: URL, open: Props["open"]): Promise<void> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer", signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    const reason = error instanceof Error && error.name === "TimeoutError" ? "no answer within 10 s" : "no answer, or none this page may read";
    throw new Unusable(url.origin, `gave ${reason}. Is it running, and does it send Access-Control-Allow-Origin?`);
  }
  open(load(engine, await response.text()), () => watch(engine, url, open));
}

