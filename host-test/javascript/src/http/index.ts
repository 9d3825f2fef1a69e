// The HTTP surface, as a function from `Request` to `Response`: JSON in, JSON or a problem document
// (RFC 9457) out.

import type { Limiter } from "../limiter.js";
import type { LimitInput } from "../input.js";
import { InvalidRequest, show } from "../number.js";
import { ofAnswer, ofPreview, ofSettlement, type Payload } from "./document.js";
import { rateLimitFields, wholeSeconds, type FieldForm } from "./fields.js";
import { amounts, body, BodyTooLong, limits } from "./input.js";
import * as problems from "./problem.js";

export type { FieldForm } from "./fields.js";

/** Limits as the surface writes them: `[{ "name", "capacity", "reset_after_seconds" }]`. */
export const limitsFromJson = (text: string): LimitInput[] => limits(JSON.parse(text)) ?? [];

export interface Service {
  limiter: Limiter;
  table: string;
  /** The namespace id of every key. */
  namespace: string;
  /** The limits of a request that brings none. */
  limits?: readonly LimitInput[];
  /** How the `RateLimit` field is written; default `rt`. */
  fieldForm?: FieldForm;
  /** The origin of a page that may read `GET /preview` from elsewhere (CORS), `*` for any. */
  allowOrigin?: string;
}

/** Keeps the isolate alive until the follow-ups are done. */
type WaitUntil = (promise: Promise<unknown>) => void;

type Route = (service: Service, request: Request, waitUntil: WaitUntil) => Promise<Response>;

const ROUTES: Record<string, Record<string, Route>> = {
  "/acquire": { POST: acquire },
  "/settle": { POST: settle },
  "/preview": { GET: previewQuery, HEAD: previewQuery, POST: previewBody },
  "/healthz": { GET: healthz, HEAD: healthz },
};

/** Answers a request. It never fails. */
export async function handle(service: Service, request: Request, waitUntil: WaitUntil): Promise<Response> {
  const path = new URL(request.url).pathname;
  const response = await answer(service, request, path, waitUntil);
  if (path === "/preview" && service.allowOrigin) {
    response.headers.set("access-control-allow-origin", service.allowOrigin);
    response.headers.set("vary", "origin");
  }
  return response;
}

async function answer(service: Service, request: Request, path: string, waitUntil: WaitUntil): Promise<Response> {
  const route = ROUTES[path];
  if (!route) {
    const detail = `there is nothing at ${show(path)}, expected /acquire, /settle, /preview or /healthz`;
    return respond({ problem: problems.http(404, "Not Found", detail) });
  }
  const act = route[request.method];
  if (!act) {
    const detail = `${path} does not take ${request.method.slice(0, 16)}`;
    const allow = Object.keys(route).join(",");
    return respond({ problem: problems.http(405, "Method Not Allowed", detail) }, { allow });
  }
  try {
    return await act(service, request, waitUntil);
  } catch (error) {
    if (error instanceof BodyTooLong) {
      return respond({ problem: problems.http(413, "Payload Too Large", error.message) });
    }
    const code = error instanceof InvalidRequest ? "invalid-request" : "other";
    return respond({ problem: problems.failed({ code, message: error instanceof Error ? error.message : `${error}` }) });
  }
}

async function acquire(service: Service, request: Request, waitUntil: WaitUntil): Promise<Response> {
  const input = await body(request, ["entity", "resource", "consume"], ["limits"]);
  const consume = amounts(input["consume"]);
  const configured = limits(input["limits"]) ?? service.limits ?? [];
  const answer = await service.limiter.acquire({ subject: subject(service, input), consume, limits: configured });
  waitUntil(answer.followUps);
  const payload = ofAnswer(consume, answer);
  const counts = "document" in payload || payload.problem.status === 429;
  const form = service.fieldForm ?? "rt";
  return respond(payload, counts ? rateLimitFields(answer.limits, configured, form, BigInt(Date.now())) : {});
}

async function settle(service: Service, request: Request): Promise<Response> {
  const input = await body(request, ["lease", "actual"]);
  const lease = String(input["lease"]);
  // Nobody signs a lease yet. One of another namespace is refused.
  const whose = service.limiter.leaseSubject(service.table, lease)?.namespace;
  if (whose !== service.namespace) {
    const read = whose === undefined ? "not one of ours" : `of the namespace ${show(whose)}`;
    throw new InvalidRequest(`the lease is ${read}, expected ${show(service.namespace)}; nothing was written`);
  }
  return respond(ofSettlement(await service.limiter.settle(service.table, lease, amounts(input["actual"]))));
}

async function previewQuery(service: Service, request: Request): Promise<Response> {
  const query = new URL(request.url).searchParams;
  for (const key of query.keys()) {
    if (key !== "entity" && key !== "resource") {
      throw new InvalidRequest(`the query: unknown field \`${key.slice(0, 64)}\`, expected entity, resource`);
    }
  }
  for (const key of ["entity", "resource"]) {
    if (!query.has(key)) throw new InvalidRequest(`the query: missing field \`${key}\``);
  }
  return preview(service, Object.fromEntries(query), service.limits);
}

async function previewBody(service: Service, request: Request): Promise<Response> {
  const input = await body(request, ["entity", "resource"], ["limits"]);
  return preview(service, input, limits(input["limits"]) ?? service.limits);
}

async function preview(
  service: Service,
  input: Record<string, unknown>,
  configured: readonly LimitInput[] = [],
): Promise<Response> {
  const whose = subject(service, input);
  return respond(ofPreview(whose, await service.limiter.preview(whose, configured)));
}

async function healthz(): Promise<Response> {
  return respond({ document: { status: "ok" } });
}

function subject({ table, namespace }: Service, { entity, resource }: Record<string, unknown>) {
  // The limiter checks them.
  return { table, namespace, entity: entity as string, resource: resource as string };
}

function respond(payload: Payload, fields: Record<string, string> = {}): Response {
  const headers = new Headers(fields);
  if ("document" in payload) {
    headers.set("content-type", "application/json");
    return new Response(JSON.stringify(payload.document), { headers });
  }
  headers.set("content-type", "application/problem+json");
  if (payload.retryAfterMs !== undefined) headers.set("retry-after", `${wholeSeconds(payload.retryAfterMs)}`);
  return new Response(JSON.stringify(payload.problem), { status: payload.problem.status, headers });
}
