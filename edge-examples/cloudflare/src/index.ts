// A Worker that enforces session quotas: the HTTP surface, on a table in DynamoDB.

import { Core, Hints, Limiter, type Observation } from "onewindow";
import { awsSigner } from "onewindow/aws";
import { handle, limitsFromJson, type FieldForm, type Service } from "onewindow/http";
import main from "onewindow/core/core.core.wasm";
import shim from "onewindow/core/core.core2.wasm";
import fixups from "onewindow/core/core.core3.wasm";

/** Variables and secrets (`wrangler secret put`). Nothing of it ever reaches the component. */
interface Env {
  AWS_REGION: string;
  AWS_ACCESS_KEY_ID: string;
  AWS_SECRET_ACCESS_KEY: string;
  AWS_SESSION_TOKEN?: string;
  /** The table's endpoint, where it is not AWS's own of the region. */
  DYNAMODB_ENDPOINT?: string;
  TABLE: string;
  /** The namespace id that every key starts with. */
  NAMESPACE: string;
  /** The limits of requests that bring none, JSON: `[{ "name", "capacity", "reset_after_seconds" }]`. */
  LIMITS?: string;
  DEADLINE_MS?: string;
  ON_UNAVAILABLE?: "allow" | "block";
  RATELIMIT_FORM?: FieldForm;
  /** The origin of a page that may read previews, `*` for any. */
  ALLOW_ORIGIN?: string;
}

// The isolate's memory: an instance of the core, and what is remembered of subjects. Both are only
// a head start; a new isolate pays one more round trip.
const core = new Core({ "core.core.wasm": main, "core.core2.wasm": shim, "core.core3.wasm": fixups });
const hints = new Hints(10_000);
let service: Service | undefined;

export default {
  async fetch(request, env, ctx) {
    service ??= serviceOf(env);
    return handle(service, request, (followUps) => ctx.waitUntil(followUps));
  },
} satisfies ExportedHandler<Env>;

function serviceOf(env: Env): Service {
  const limiter = new Limiter({
    core,
    hints,
    endpoint: env.DYNAMODB_ENDPOINT ?? `https://dynamodb.${env.AWS_REGION}.amazonaws.com`,
    sign: awsSigner({
      region: env.AWS_REGION,
      accessKeyId: env.AWS_ACCESS_KEY_ID,
      secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
      ...(env.AWS_SESSION_TOKEN && { sessionToken: env.AWS_SESSION_TOKEN }),
    }),
    deadlineMs: Number(env.DEADLINE_MS ?? 1_000),
    onUnavailable: env.ON_UNAVAILABLE === "allow" ? "allow" : "block",
    observe: log,
  });
  const limits = limitsFromJson(env.LIMITS ?? "[]");
  return {
    limiter,
    table: env.TABLE,
    namespace: env.NAMESPACE,
    limits,
    fieldForm: env.RATELIMIT_FORM ?? "rt",
    ...(env.ALLOW_ORIGIN && { allowOrigin: env.ALLOW_ORIGIN }),
  };
}

/** One line for each answer, for `wrangler tail` and Logpush. It never says who asked. */
function log({ latencyMs, roundTrips, resetsAtMs, retryAfterMs, ...rest }: Observation): void {
  const [resets, wait] = [resetsAtMs, retryAfterMs].map((at) => (at === undefined ? at : Number(at)));
  const named = { latency_ms: latencyMs, round_trips: roundTrips, resets_at_ms: resets, retry_after_ms: wait };
  console.log(JSON.stringify({ ...rest, ...named }));
}
