// The step-through: back and forward over one rollover.

import { useMemo, useRef, useState } from "preact/hooks";
import { view, type Engine } from "../model/core.js";
import { clockExact, clockOn, whole } from "../model/format.js";
import { walk } from "../model/walk.js";
import { Calls } from "./calls.js";
import { Ruled } from "./rules.js";
import { spanOf, Timeline } from "./timeline.js";
import { Outcome, Trace } from "./whatif.js";

/** The old window of the walk ends at 14:03:12 of the viewer's own day. */
function endOfWindow(): number {
  const at = new Date();
  at.setHours(14, 3, 12, 0);
  return at.getTime();
}

export function WalkThrough({ engine }: { engine: Engine }) {
  const scenes = useMemo(() => walk(engine, endOfWindow()), [engine]);
  const [at, go] = useState(0);
  const title = useRef<HTMLHeadingElement>(null);
  const scene = scenes[at]!;
  const limit = useMemo(
    () => view(engine, scene.bucket, scene.nowMs).report.limits.find(({ status }) => status.name === "session")!,
    [engine, scene],
  );
  const span = useMemo(() => {
    const first = view(engine, scenes[0]!.bucket, scenes[0]!.nowMs).report.limits[0]!.shards;
    const last = view(engine, scenes.at(-1)!.bucket, scenes.at(-1)!.nowMs).report.limits[0]!.shards;
    return spanOf([...first, ...last], scenes[0]!.nowMs);
  }, [engine, scenes]);
  const step = (to: number) => {
    if (to < 0 || to >= scenes.length) return;
    go(to);
    title.current?.focus({ preventScroll: true });
  };
  const keyed = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined || event.target instanceof HTMLPreElement) return;
    event.preventDefault();
    step(at + by);
  };
  const resetsAtMs = limit.status.resetsAtMs === undefined ? undefined : Number(limit.status.resetsAtMs);
  const { attempt } = scene;

  return (
    <div class="walk" onKeyDown={keyed}>
      <div class="story">
        <h1 class="sr">How a reset works, step by step</h1>
        <p class="count">
          Step {at + 1} of {scenes.length}
        </p>
        <h2 ref={title} tabIndex={-1}>
          {scene.title}
        </h2>
        {scene.text.map((text) => (
          <p key={text}>
            <Ruled text={text} />
          </p>
        ))}
        <nav class="steps" aria-label="Steps">
          <button type="button" disabled={at === 0} onClick={() => step(at - 1)}>
            Back
          </button>
          <button type="button" class="primary" disabled={at === scenes.length - 1} onClick={() => step(at + 1)}>
            Next
          </button>
          <ol>
            {scenes.map(({ title }, index) => (
              <li key={title}>
                <button
                  type="button"
                  class="pip"
                  aria-label={`Step ${index + 1}: ${title}`}
                  aria-current={index === at ? "step" : undefined}
                  onClick={() => step(index)}
                />
              </li>
            ))}
          </ol>
        </nav>
      </div>
      <div class="stage">
        <dl class="facts">
          <div>
            <dt>The time</dt>
            <dd>{clockExact(scene.nowMs)}</dd>
          </div>
          <div>
            <dt>Left</dt>
            <dd>
              {whole(limit.status.available)} <span>of {whole(limit.status.capacity)}</span>
            </dd>
          </div>
          <div>
            <dt>Comes back at</dt>
            <dd>{resetsAtMs === undefined ? "no window" : clockOn(resetsAtMs, scene.nowMs)}</dd>
          </div>
        </dl>
        <Timeline
          {...{ span, resetsAtMs }}
          shards={limit.shards}
          nowMs={scene.nowMs}
          drips={false}
          nowLabel="at"
          marked={scene.shard}
        />
        {attempt && !scene.after && (
          <>
            <p class="asked">A request for {whole(attempt.request.consume[0]!.tokens)}</p>
            <Outcome tried={attempt} />
            <Trace tried={attempt} only="before" />
          </>
        )}
        {attempt && scene.after && <Trace tried={attempt} only="after" />}
        {scene.foreign && (
          <div class="trace">
            <h3>What it writes</h3>
            <Calls calls={scene.foreign} />
          </div>
        )}
      </div>
    </div>
  );
}
