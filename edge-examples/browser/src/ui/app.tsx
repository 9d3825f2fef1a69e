// The page: where the data comes from, what time it is, and what is shown of both.

import type { LimitPreview, PreviewReport } from "onewindow";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { decode, view, type Bucket, type Engine, type Stored, type View } from "../model/core.js";
import { countdown, plural } from "../model/format.js";
import { textOf, placeOf } from "../model/item.js";
import { decodeLink, encode } from "../model/link.js";
import type { Loaded, Photograph } from "../model/load.js";
import { Hero } from "./hero.js";
import { Input } from "./input.js";
import { Shards } from "./shards.js";
import { Tabs } from "./tabs.js";
import { Moment } from "./moment.js";
import { Timeline, spanOf } from "./timeline.js";
import { WalkThrough } from "./walk.js";
import { WhatIf } from "./whatif.js";

/** What is read at. */
type Source =
  | { kind: "buckets"; buckets: Bucket[]; chosen: number; note?: string }
  | { kind: "report"; photograph: Photograph; again?: () => Promise<void> };

/** The time in whole seconds, every second on the second. */
function useClock(): number {
  const [second, setSecond] = useState(() => Math.floor(Date.now() / 1000));
  useEffect(() => {
    const timer = setInterval(() => setSecond(Math.floor(Date.now() / 1000)), 200);
    return () => clearInterval(timer);
  }, []);
  return second * 1000;
}

/** How often an endpoint is asked again, ms. */
const AGAIN_MS = 15_000;

export function App({ engine }: { engine: Engine }) {
  const [source, setSource] = useState<Source>();
  const [tab, setTab] = useState<"quota" | "walk">("quota");
  const [heldMs, hold] = useState<number>();
  const [limitName, setLimit] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const heading = useRef<HTMLElement>(null);

  const open = useCallback((loaded: Loaded, again?: () => Promise<void>) => {
    hold(undefined);
    setTrouble(undefined);
    if (loaded.kind === "report") {
      setSource({ kind: "report", photograph: loaded.photograph, ...(again && { again }) });
    } else {
      const { buckets, skipped } = loaded;
      const note = skipped > 0 ? `${plural(skipped, "item")} of other kinds left aside.` : undefined;
      setSource({ kind: "buckets", buckets, chosen: 0, ...(note && { note }) });
    }
  }, []);

  const follow = useCallback(async () => {
    try {
      const shared = await decodeLink(location.hash);
      if (!shared) return;
      setSource({ kind: "buckets", buckets: [shared.bucket], chosen: 0 });
      setLimit(shared.limit);
      hold(shared.atMs);
      setTab("quota");
    } catch {
      setTrouble("The link does not hold a whole state. Was it cut off on its way?");
    }
  }, []);
  useEffect(() => {
    void follow();
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [follow]);

  const changed = source !== undefined;
  useEffect(() => {
    if (changed) heading.current?.focus({ preventScroll: true });
  }, [changed]);

  return (
    <>
      <header class="top">
        <span class="brand">
          <Mark />
          onewindow
        </span>
        <Tabs
          label="What to look at"
          chosen={tab}
          choose={setTab}
          tabs={[
            ["quota", "Your quota"],
            ["walk", "How a reset works"],
          ]}
        />
      </header>
      <main ref={heading} tabIndex={-1}>
        <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {trouble && (
          <p class="trouble" role="alert">
            {trouble}
          </p>
        )}
        {tab === "walk" ? (
          <WalkThrough engine={engine} />
        ) : source ? (
          <Quota
            {...{ engine, source, setSource, heldMs, hold, limitName, setLimit, setTrouble }}
            close={() => {
              history.replaceState(null, "", location.pathname + location.search);
              setSource(undefined);
            }}
          />
        ) : (
          <Input engine={engine} open={open} />
        )}
        </div>
      </main>
      <footer class="foot">
        Everything happens in this page: the rules are a WebAssembly component without imports, and what you paste
        stays here.
      </footer>
    </>
  );
}

const Mark = () => (
  <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="var(--live)" />
    <path d="M7 9v14M11 11h14M11 16h9M11 21h14" stroke="var(--paper)" stroke-width="2.6" stroke-linecap="round" />
  </svg>
);

interface QuotaProps {
  engine: Engine;
  source: Source;
  setSource: (source: Source) => void;
  heldMs: number | undefined;
  hold: (ms: number | undefined) => void;
  limitName: string | undefined;
  setLimit: (name: string) => void;
  setTrouble: (what: string | undefined) => void;
  close: () => void;
}

const hasWindow = ({ shards }: LimitPreview) => shards.some(({ endsAtMs }) => endsAtMs !== undefined);

type Reading = View | { refused: string };

function Quota({ engine, source, setSource, heldMs, hold, limitName, setLimit, setTrouble, close }: QuotaProps) {
  const clockMs = useClock();
  const bucket = source.kind === "buckets" ? source.buckets[source.chosen] : undefined;
  const nowMs = (bucket && heldMs) ?? clockMs;
  const reading = useMemo((): Reading | undefined => bucket && readBucket(engine, bucket, nowMs), [engine, bucket, nowMs]);
  const refused = reading && "refused" in reading ? reading.refused : undefined;
  const seen = reading && "report" in reading ? reading : undefined;
  const report: PreviewReport | undefined = source.kind === "report" ? source.photograph.report : seen?.report;
  const { entity, resource } = source.kind === "report" ? source.photograph : bucket!.subject;

  // Quotas first: they are what resets.
  const limits = (report?.limits ?? []).toSorted((a, b) => Number(hasWindow(b)) - Number(hasWindow(a)));
  const limit = limits.find(({ status }) => status.name === limitName) ?? limits[0];
  const resetsAtMs = limit?.status.resetsAtMs === undefined ? undefined : Number(limit.status.resetsAtMs);

  // What is left at the reset instant, if nobody asks before.
  const afterReset = useMemo(() => {
    if (!bucket || resetsAtMs === undefined) return undefined;
    const then = readBucket(engine, bucket, resetsAtMs);
    return "report" in then ? then.report.limits.find(({ status }) => status.name === limit?.status.name) : undefined;
  }, [engine, bucket, resetsAtMs, limit?.status.name]);

  const states = useMemo(() => new Map(bucket?.items.map((item) => stateOf(engine, item))), [engine, bucket]);
  const drips = limit !== undefined && isDrip(limit.status.name, states, resetsAtMs === undefined && !bucket);
  const span = useMemo(() => spanOf(limit?.shards ?? [], clockMs), [bucket, limit?.status.name, Math.floor(clockMs / 60_000)]);

  useEffect(() => {
    const left = resetsAtMs !== undefined && resetsAtMs > nowMs ? `in ${countdown(resetsAtMs - nowMs).map(({ value, unit }) => value + unit).join(" ")}` : "no window";
    document.title = `${left} · ${entity} · onewindow`;
  }, [resetsAtMs, nowMs, entity]);

  const again = source.kind === "report" ? source.again : undefined;
  const ask = useCallback(() => {
    again?.().catch((error: Error) => setTrouble(`The host was asked again: ${error.message}`));
  }, [again, setTrouble]);
  // Now and then, and at the reset instant.
  const due = again !== undefined && resetsAtMs !== undefined && resetsAtMs <= nowMs;
  useEffect(() => {
    if (!again) return undefined;
    const timer = setInterval(ask, AGAIN_MS);
    if (due) ask();
    return () => clearInterval(timer);
  }, [again, ask, due]);

  const [kept, keep] = useState<Bucket[]>([]);
  const replace = (next: Bucket) => {
    if (source.kind === "buckets") setSource({ ...source, buckets: source.buckets.with(source.chosen, next) });
  };

  return (
    <>
      <div class="bar">
        <p class="whose">
          <strong>{entity}</strong>
          <span>{resource}</span>
          {report && <span>{plural(report.shardCount, "shard")}</span>}
          {source.kind === "report" && <span>a report, without its items</span>}
          {source.kind === "buckets" && source.note && <span>{source.note}</span>}
        </p>
        <div class="choices">
          {source.kind === "buckets" && source.buckets.length > 1 && (
            <select
              aria-label="Bucket"
              value={source.chosen}
              onChange={(event) => setSource({ ...source, chosen: Number(event.currentTarget.value) })}
            >
              {source.buckets.map(({ subject }, at) => (
                <option value={at}>
                  {subject.entity} · {subject.resource}
                </option>
              ))}
            </select>
          )}
          {limits.length > 1 && (
            <div class="segments" role="group" aria-label="Limit">
              {limits.map(({ status }) => (
                <button type="button" aria-pressed={status === limit?.status} onClick={() => setLimit(status.name)}>
                  {status.name}
                </button>
              ))}
            </div>
          )}
          {again && (
            <button type="button" onClick={ask}>
              Ask again
            </button>
          )}
          {bucket && <Share bucket={bucket} atMs={heldMs} limit={limit?.status.name} />}
          <button type="button" onClick={close}>
            Other data
          </button>
        </div>
      </div>
      {refused && (
        <p class="trouble" role="alert">
          {refused}
        </p>
      )}
      {report?.disabled && (
        <p class="trouble" role="status">
          This bucket is switched off: nothing is admitted, whatever is left (6.1).
        </p>
      )}
      {report && limit && (
        <>
          <Hero
            {...{ limit, drips, nowMs, resetsAtMs }}
            held={heldMs !== undefined && bucket !== undefined}
            after={afterReset?.status.available}
            stale={source.kind === "report"}
          />
          <section class="sheet" aria-labelledby="windows">
            <h2 id="windows">The windows</h2>
            <Timeline
              {...{ span, nowMs, resetsAtMs, drips }}
              shards={limit.shards}
              nowLabel={heldMs === undefined || !bucket ? "now" : "then"}
            >
              {bucket && <Moment {...{ span, nowMs, resetsAtMs, heldMs, hold }} />}
            </Timeline>
          </section>
          {bucket && seen && (
            <WhatIf
              {...{ engine, bucket, nowMs, limit }}
              hint={seen.hint}
              undo={
                kept.length > 0
                  ? () => {
                      replace(kept.at(-1)!);
                      keep(kept.slice(0, -1));
                    }
                  : undefined
              }
              apply={(items) => {
                keep([...kept, bucket]);
                replace({ ...bucket, items });
              }}
            />
          )}
          <Shards shards={limit.shards} name={limit.status.name} {...{ nowMs, drips, states }} />
        </>
      )}
    </>
  );
}

function readBucket(engine: Engine, bucket: Bucket, nowMs: number): Reading {
  try {
    return view(engine, bucket, nowMs);
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
}

function stateOf(engine: Engine, item: Bucket["items"][number]): [number, Stored | undefined] {
  const state = decode(engine, item);
  return [placeOf(textOf(item.PK) ?? "")?.shard ?? -1, "refused" in state ? undefined : state];
}

/** A limit without a window length anywhere. */
function isDrip(name: string, states: Map<number, Stored | undefined>, otherwise: boolean): boolean {
  const found = [...states.values()].flatMap((state) => state?.limits.get(name) ?? []);
  return found.length > 0 ? found.every((limit) => !limit.has("rsa")) : otherwise;
}

function Share({ bucket, atMs, limit }: { bucket: Bucket; atMs: number | undefined; limit: string | undefined }) {
  const [said, say] = useState("");
  const share = async () => {
    const fragment = await encode({ bucket, ...(atMs !== undefined && { atMs }), ...(limit !== undefined && { limit }) });
    history.replaceState(null, "", fragment);
    try {
      await navigator.clipboard.writeText(location.href);
      say("Link copied");
    } catch {
      say("The link is in the address bar");
    }
  };
  useEffect(() => say(""), [bucket, atMs, limit]);
  return (
    <>
      <button type="button" onClick={share}>
        Share
      </button>
      <span class="said" role="status">
        {said}
      </span>
    </>
  );
}
