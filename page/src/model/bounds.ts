/** The limits of a run that can be raised: by how much, as a person types it. */

import type { Raise } from "../wire/api.js";

/** The member of `raise`, and what is asked for. */
export const BOUNDS: Readonly<Record<string, [member: keyof Raise["more"], label: string]>> = {
  agent_hops: ["agent_hops", "More attempts"],
  llm_calls: ["llm_calls", "More model calls"],
  iterations: ["iterations", "More loop-backs"],
  rounds: ["rounds", "More rounds of goals"],
  wall_time: ["wall_time_ms", "More minutes of work"],
  waiting: ["waiting_ms", "More minutes of waiting for accounts"],
  cost_usd: ["cost_usd", "More dollars"],
};

/** The body of the request for an amount, or the mistake in it. */
export function raised(bound: string, amount: string): [Raise["more"] | undefined, string?] {
  const [member = ""] = BOUNDS[bound] ?? [];
  const text = amount.trim();
  if (bound === "cost_usd") return /^\d{1,9}(\.\d{1,9})?$/.test(text) ? [{ cost_usd: text }] : [undefined, "Dollars, such as 2.50."];
  const number = Number(text);
  const count = bound === "wall_time" || bound === "waiting" ? Math.round(number * 60_000) : number;
  if (text === "" || !Number.isSafeInteger(count) || count <= 0) return [undefined, "A number above 0."];
  return [{ [member]: count }];
}
