// Calls to the table, as a person reads them.

import type { Made, Judged } from "../model/table.js";
import { changeText, condition, shown, target } from "../model/words.js";
import type { Item } from "../model/item.js";
import { plural } from "../model/format.js";

export function Calls({ calls }: { calls: readonly Made[] }) {
  return (
    <ol class="calls">
      {calls.map((made, at) => (
        <li key={at} class={made.landed ? "landed" : "refused"}>
          <CallView made={made} />
        </li>
      ))}
    </ol>
  );
}

function CallView({ made }: { made: Made }) {
  const { request, landed, judged, found } = made;
  if (request.kind === "read") {
    return (
      <>
        <p class="call-head">
          <span class="badge read">read</span> One read of {plural(request.keys.length, "item")}; {found} found
        </p>
        <Raw made={made} />
      </>
    );
  }
  return (
    <>
      {request.transaction && (
        <p class="call-head">
          <span class={`badge ${landed ? "ok" : "no"}`}>{landed ? "landed" : "refused"}</span> One transaction: all of it or
          nothing
        </p>
      )}
      <div class={request.transaction ? "together" : ""}>
        {judged.map((one) => (
          <WriteView key={one.write.pk + one.write.sk} judged={one} landed={landed} alone={!request.transaction} />
        ))}
      </div>
      <Raw made={made} />
    </>
  );
}

const KINDS = { update: "", put: "is made", check: "is only checked" } as const;

function WriteView({ judged: { write, held, passed }, landed, alone }: { judged: Judged; landed: boolean; alone: boolean }) {
  const failed = write.clauses.filter((_, at) => !held[at]!.includes(true));
  return (
    <div class="write">
      <p class="call-head">
        {alone && <span class={`badge ${landed ? "ok" : "no"}`}>{landed ? "landed" : "refused"}</span>}{" "}
        <strong>{target(write.pk, write.sk)}</strong> {KINDS[write.kind]}
      </p>
      {!passed && (
        <ul class="conditions" aria-label="What did not hold">
          {failed.map((clause) => {
            const text = clause.map(condition).join(", or ");
            return (
              <li key={text} class="fails">
                {text}
              </li>
            );
          })}
        </ul>
      )}
      {write.changes.length > 0 && (
        <ul class="changes" aria-label={landed ? "What was written" : "What was not written"}>
          {write.changes.map((change) => {
            const { what, how } = changeText(change);
            return (
              <li key={what + how}>
                <span>{what}</span> <b>{how}</b>
              </li>
            );
          })}
        </ul>
      )}
      {write.item && <NewItem item={write.item} />}
      {write.clauses.length > 0 && (
        <details>
          <summary>
            Only if {plural(write.clauses.length, "condition")} {write.clauses.length === 1 ? "holds" : "hold"}
          </summary>
          <ul class="conditions">
            {write.clauses.map((clause, at) => {
              const holds = held[at]!.includes(true);
              return (
                <li key={at} class={holds ? "holds" : "fails"}>
                  <span class="sr">{holds ? "holds: " : "fails: "}</span>
                  {clause.map(condition).join(", or ")}
                </li>
              );
            })}
          </ul>
        </details>
      )}
    </div>
  );
}

/** What a made item holds, keys and budget aside. */
function NewItem({ item }: { item: Item }) {
  const shownNames = Object.keys(item).filter((name) => /^b_(?!wcu_)/.test(name) || name === "shard_count");
  return (
    <ul class="changes">
      {shownNames.map((name) => {
        const { what } = changeText({ kind: "remove", attribute: name });
        return (
          <li key={name}>
            <span>{what}</span> <b>= {shown(name, item[name]!)}</b>
          </li>
        );
      })}
    </ul>
  );
}

function Raw({ made }: { made: Made }) {
  return (
    <details class="raw">
      <summary>As sent: {made.call.operation}</summary>
      {/* Scrolls, so the keyboard must reach it. */}
      <pre tabIndex={0} role="group" aria-label={`${made.call.operation} as sent`}>
        {JSON.stringify(JSON.parse(made.call.body), null, 2)}
      </pre>
    </details>
  );
}
