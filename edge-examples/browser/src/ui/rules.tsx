// The protocol's rules, each in a sentence.

const RULES: Record<string, string> = {
  R1: "open: the first use after a window's end starts the next one, with the full share",
  R2: "propagate: the opener writes the new start to the other shards, without touching their tokens",
  R3: "pending: a window was propagated, the balance is not yet reset for it",
  R4: "roll: a pending shard is reset to its share, less what was spent since the propagation",
  R5: "record: every reset says which window it is for, and lands only on what was read",
  R7: "join: a shard made in the middle of a window takes that window's start",
  R8: "the move: a new shard's tokens come from the shard that holds its slot",
  R9: "no false rejection: refused only after all shards were read",
  R11: "the gates: a fast write lands only in a window that is live and applied",
  R12: "ceilings: what a shard may hold at most",
  R13: "the reset instant: the latest live end, always in the future",
  I2: "one reset for each shard and window",
  I3: "after the fan-out all shards carry one start",
  "6.1": "the fast write",
  "6.8": "settle: correct a request to what it really used",
  "6.9": "doubling: twice as many shards where one cannot take more writes",
  "§7": "what may not be done blindly",
};

export function Rules({ rules }: { rules: string[] }) {
  return (
    <>
      {rules.map((rule) => (
        <abbr key={rule} class="rule" title={RULES[rule]}>
          {rule}
        </abbr>
      ))}
    </>
  );
}

/** Text with its rules in square brackets: "… restored [R13]". */
export function Ruled({ text }: { text: string }) {
  return (
    <>
      {text.split(/ ?\[([^\]]+)\]/).map((part, at) => (at % 2 === 0 ? part : <Rules rules={part.split(", ")} />))}
    </>
  );
}
