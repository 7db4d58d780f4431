/** The use of parts of a run, from their rows. Pure: no document, no server. */

import type { StepRow } from "../wire/api.js";
import type { Node } from "./tree.js";

/** Dollars in billionths: amounts are added without a loss. */
export function nano(dollars: string): bigint {
  const [whole = "0", part = ""] = dollars.split(".");
  return BigInt(whole) * 1_000_000_000n + BigInt(part.slice(0, 9).padEnd(9, "0"));
}

/** The same as dollars, with two decimals or as many as it needs. */
export function ofNano(amount: bigint): string {
  const [whole, part] = [amount / 1_000_000_000n, String(amount % 1_000_000_000n).padStart(9, "0")];
  return `${whole}.${part.replace(/0+$/, "").padEnd(2, "0")}`;
}

export interface Used {
  cost: bigint;
  attempts: number;
  /** The time of the last attempt of each visit. */
  workMs: number;
}

const rowsIn = (node: Node): StepRow[] => [...(node.row === undefined ? [] : [node.row]), ...node.parts.flatMap(rowsIn)];

/** The use of a visit or a round, with all that is in it. */
export function usedBy(node: Node): Used {
  const used: Used = { cost: 0n, attempts: 0, workMs: 0 };
  for (const row of rowsIn(node)) {
    used.cost += nano(row.cost_usd ?? "0");
    used.attempts += row.attempts;
    // A visit without an attempt is a whole, whose parts have the time; or was not done.
    if (row.attempts > 0) used.workMs += row.took_ms ?? 0;
  }
  return used;
}
