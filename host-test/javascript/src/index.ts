// Session quotas on sharded DynamoDB balances.

export { CoreFault, Refusal, type Running } from "./component.js";
export * from "./core.js";
export { Hints } from "./hints.js";
export type { Grant, Item, ItemLimit, LimitMaterialisation, Materialisation, NamedNumber, Sibling } from "./inspect.js";
export { amounts, limits, type AcquireInput, type LimitInput, type Whole } from "./input.js";
export { Limiter, type Answer, type LimiterOptions, type Observation, type PreviewOutcome } from "./limiter.js";
export { InvalidRequest } from "./number.js";
export { Table, type Cost, type Sign, type TableOptions, type Unsigned } from "./table.js";
