// Session quotas on sharded DynamoDB balances.

export * from "./core.js";
export { Hints } from "./hints.js";
export { amounts, limits, type AcquireInput, type LimitInput, type Whole } from "./input.js";
export { Limiter, leaseSubject, type Answer, type LimiterOptions, type Observation } from "./limiter.js";
export { InvalidRequest } from "./number.js";
export { Table, type Cost, type Sign, type TableOptions, type Unsigned } from "./table.js";
