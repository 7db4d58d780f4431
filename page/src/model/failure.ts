/** Which failure ended a run. Pure: no document, no server. */

import type { StepRow } from "../wire/api.js";

/** The way on after a failure that ends no run: on, back, or elsewhere. */
const GOES_ON = new Set(["advance", "loop", "branch"]);

/** Whether a failure ended the flow that it is in, and all flows above it have failed of it. While that is not known: false. */
function isFatal(row: StepRow, rows: ReadonlyMap<string, StepRow>): boolean {
  if (row.state !== "failed" || (row.item === null && GOES_ON.has(row.leads_to ?? ""))) return false;
  if (row.part_of === null) return true;
  const whole = rows.get(row.part_of);
  if (whole === undefined) return false;
  return whole.state === "running" || whole.state === "open" || isFatal(whole, rows);
}

/**
 * The failure that came first among those that ended the run, of a visit that is no whole of others. Others, which the flow has taken, count if there is
 * none; where rows are missing, it is not known whether there is one.
 */
export function firstFailure(rows: ReadonlyMap<string, StepRow>, isWhole = true): StepRow | undefined {
  const wholes = new Set([...rows.values()].map((row) => row.part_of));
  const failed = [...rows.values()].filter((row) => row.state === "failed" && row.items === null && !wholes.has(row.place)).sort((a, b) => a.seq - b.seq);
  // A failure of a step that was done again since has ended nothing.
  const newest = new Map<string, number>();
  const nameOf = (row: StepRow): string => `${row.scope} ${row.step}`;
  for (const row of rows.values()) newest.set(nameOf(row), Math.max(row.visit, newest.get(nameOf(row)) ?? 0));
  return failed.find((row) => isFatal(row, rows) && row.visit === newest.get(nameOf(row))) ?? (isWhole ? failed[0] : undefined);
}
