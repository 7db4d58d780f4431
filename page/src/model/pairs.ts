/** The pairs to show beside each other when two rounds, two runs, or the files of two visits are compared. Pure: no document, no server. */

import type { ChangedFile, StepRow } from "../wire/api.js";
import { every, type Node } from "./tree.js";

/** A visit, and the one that it is compared with; undefined: there is none. */
export interface Pair {
  /** The step of both visits. */
  name: string;
  before: StepRow | undefined;
  after: StepRow | undefined;
}

/** A round of a loop; for a step that repeats itself, a visit. */
export interface Round {
  name: string;
  parts: readonly Node[];
}

export interface Loop {
  place: string;
  name: string;
  rounds: readonly Round[];
}

/** The loops of a run that have gone back. */
export function loopsIn(nodes: readonly Node[]): Loop[] {
  const loops = every(nodes).filter(({ group }) => group?.kind === "loop");
  const roundOf = (part: Node): Round => (part.group === undefined ? { name: `visit ${part.row?.visit ?? ""}`, parts: [part] } : { name: part.name, parts: part.parts });
  return loops.map(({ place, name, parts }) => ({ place, name, rounds: parts.filter(({ group, row }) => group !== undefined || row !== undefined).map(roundOf) }));
}

/** The visits of a round, by what they are visits of: the steps that they are within, and which visit of the step it is in this round. */
function visitsOf(parts: readonly Node[], within = ""): Map<string, StepRow> {
  const found = new Map<string, StepRow>();
  const counts = new Map<string, number>();
  for (const part of parts) {
    const { row } = part;
    const own = row === undefined ? part.name : row.item === null ? row.step : `${row.item}.${row.step}`;
    const count = (counts.get(own) ?? 0) + 1;
    counts.set(own, count);
    const name = `${within}${own}${count > 1 ? ` (${count})` : ""}`;
    if (row !== undefined) found.set(name, row);
    // A row that only holds visits together has no name of its own.
    for (const [key, each] of visitsOf(part.parts, row === undefined ? within : `${name} › `)) found.set(key, each);
  }
  return found;
}

/** All visits of both rounds, in the order of the later one; those that only the earlier one had come last. */
export function pairsOfRounds(before: Round, after: Round): Pair[] {
  return paired(visitsOf(before.parts), visitsOf(after.parts));
}

/** The visits of a fork, and of the run that it comes from, by their places. */
export function pairsOfRuns(before: ReadonlyMap<string, StepRow>, after: ReadonlyMap<string, StepRow>): Pair[] {
  return paired(before, after);
}

function paired(before: ReadonlyMap<string, StepRow>, after: ReadonlyMap<string, StepRow>): Pair[] {
  const both = [...after].map(([name, row]): Pair => ({ name, before: before.get(name), after: row }));
  return [...both, ...[...before].filter(([name]) => !after.has(name)).map(([name, row]): Pair => ({ name, before: row, after: undefined }))];
}

/** Whether both came to the same, as far as their rows say. */
export function isAlike({ before, after }: Pair): boolean {
  const members = ["state", "summary", "attempts", "cost_usd", "value", "leads_to"] as const;
  return before !== undefined && after !== undefined && members.every((member) => before[member] === after[member]);
}

export interface FilesBetween {
  /** As if the one visit had changed what the other one made. */
  differing: ChangedFile[];
  same: string[];
  onlyBefore: string[];
  onlyAfter: string[];
}

/** The files that two visits have changed. A file that one of them left alone is not compared: its content at that time is not known here.
 * */
export function filesBetween(before: readonly ChangedFile[], after: readonly ChangedFile[]): FilesBetween {
  const known = new Map(before.map((file) => [file.path, file]));
  const both = after.flatMap((file) => ((other) => (other === undefined ? [] : [[other, file] as const]))(known.get(file.path)));
  const paths = new Set(both.map(([, { path }]) => path));
  const alone = (files: readonly ChangedFile[]): string[] => files.map(({ path }) => path).filter((path) => !paths.has(path));
  return {
    differing: both.filter(([a, b]) => a.after_digest !== b.after_digest).map(([a, b]) => ({ ...b, before_digest: a.after_digest, created: a.after_digest === null })),
    same: both.filter(([a, b]) => a.after_digest === b.after_digest).map(([, { path }]) => path),
    onlyBefore: alone(before),
    onlyAfter: alone(after),
  };
}
