/** When something worked on the rows of a run, and when they waited. Pure: no document, no clock. */

import type { StepRow } from "../wire/api.js";
import type { Work } from "./axis.js";
import type { Node } from "./tree.js";

export type Span = readonly [from: number, to: number];

/** The reason for a row's wait. */
export type Reason = NonNullable<StepRow["waits"]>[number]["reason"] | "slot";

/** A stretch in which it waited; no reason: it is not known why nothing worked on it. */
export type Waited = readonly [from: number, to: number, reason?: Reason];

/** The facts about a row of the tree, without its inner rows. */
export interface Worked {
  from: number;
  to: number;
  /** When something worked on it, in order and apart from each other. */
  works: readonly Span[];
  /** When it is known to have waited. */
  waits: readonly Waited[];
}

/** Nothing works on them now, and when that began is not known. */
const IDLE: ReadonlySet<StepRow["state"]> = new Set(["left", "ready"]);

/** A gap of less than this part of the whole is no gap: it could not be seen. */
const FINE = 0.005;

/** Puts spans that touch together, and those between which there is next to nothing. */
export function joined(spans: readonly Span[]): Span[] {
  const all = [...spans].sort(([a], [b]) => a - b);
  const [first, last] = [all[0]?.[0] ?? 0, all.reduce((most, [, to]) => Math.max(most, to), 0)];
  const least = (last - first) * FINE;
  const found: [number, number][] = [];
  for (const [from, to] of all) {
    const before = found.at(-1);
    if (before !== undefined && from - before[1] <= least) before[1] = Math.max(before[1], to);
    else found.push([from, to]);
  }
  return found;
}

/** A visit: from its beginning to its end, without the stretches in which it waited. */
export function ofRow(row: StepRow, now: number): Worked {
  const from = Date.parse(row.started_at);
  const to = row.ended_at === null ? Math.max(from, now) : Date.parse(row.ended_at);
  if (row.ended_at === null && IDLE.has(row.state) && (row.waits ?? []).length === 0) return { from, to, works: [], waits: [row.state === "ready" ? [from, to, "slot"] : [from, to]] };
  const works: Span[] = [];
  const waits: Waited[] = [];
  let begin = from;
  for (const wait of row.waits ?? []) {
    const [a, b] = [Date.parse(wait.from), wait.until === null ? to : Math.min(to, Date.parse(wait.until))];
    waits.push([a, b, wait.reason]);
    if (a > begin) works.push([begin, a]);
    begin = Math.max(begin, b);
  }
  // Its next try is due, or its answer is there, and all slots are taken.
  if (row.ended_at === null && row.state === "ready") waits.push([begin, to, "slot"]);
  else if (to > begin || works.length === 0 && (row.waits ?? []).length === 0) works.push([begin, to]);
  return { from, to, works, waits };
}

interface Known {
  /** Computed from the rows that are over. */
  over: Worked | undefined;
  open: readonly StepRow[];
}

const known = new WeakMap<Node, Known>();

const together = (all: readonly Worked[]): Worked | undefined => {
  if (all.length === 0) return undefined;
  const [from, to] = all.reduce(([from, to], each) => [Math.min(from, each.from), Math.max(to, each.to)], [Infinity, -Infinity]);
  return { from, to, works: joined(all.flatMap(({ works }) => works)), waits: all.flatMap(({ waits }) => waits) };
};

/** The visits that did the work: those of its parts, or its own. */
function leaves(node: Node): StepRow[] {
  const within = node.parts.flatMap(leaves);
  return within.length > 0 ? within : node.row === undefined ? [] : [node.row];
}

function knownOf(node: Node): Known {
  const found = known.get(node);
  if (found !== undefined) return found;
  const rows = leaves(node);
  // A whole may have begun before its parts, or may be over after them.
  const own = node.row !== undefined && node.row.ended_at !== null ? [{ ...ofRow(node.row, 0), works: [], waits: [] }] : [];
  const made: Known = { over: together([...own, ...rows.filter((row) => row.ended_at !== null).map((row) => ofRow(row, 0))]), open: rows.filter((row) => row.ended_at === null) };
  known.set(node, made);
  return made;
}

/** The times when a row of the tree was worked on; undefined: it has not begun. Finished rows are computed once. */
export function worked(node: Node, now: number): Worked | undefined {
  const { over, open } = knownOf(node);
  if (open.length === 0) return over;
  return together([...(over === undefined ? [] : [over]), ...open.map((row) => ofRow(row, now))]);
}

/** For the axis: its ends, and its work. Rows that are unfolded say themselves when they worked. */
export function workOf(node: Node, isOpen: boolean, now: number): Work[] {
  const found = worked(node, now);
  if (found === undefined) return [];
  const ends = { from: found.from, to: found.to, isWork: false };
  return isOpen && node.parts.length > 0 ? [ends] : [ends, ...found.works.map(([from, to]) => ({ from, to, isWork: true }))];
}

/** A part of a bar, from 0 to 1. */
export interface BarPart {
  left: number;
  right: number;
  isWait: boolean;
  /** The reason for most of that time, if it is known. */
  reason?: Reason | undefined;
}

/** Between the parts of a whole, the engine takes a moment: that is no wait. */
const MOMENT_MS = 5_000;

/** A wait that takes less of the axis is no part of its own. */
const SEEN = 0.02;

/** The parts of a bar: work, and the waits between. */
export function barOf({ from, to, works, waits }: Worked, at: (time: number) => number): BarPart[] {
  const parts: BarPart[] = [];
  const add = (a: number, b: number, isWait: boolean, reason?: Reason): void => {
    const [left, right] = [at(a), at(b)];
    const before = parts.at(-1);
    if (before !== undefined && ((before.isWait === isWait && before.reason === reason) || (isWait && right - left < SEEN))) before.right = right;
    else parts.push({ left, right, isWait, ...(reason === undefined ? {} : { reason }) });
  };
  // A gap has the waits that are known, and what is left of it.
  const gap = (a: number, b: number): void => {
    let begin = a;
    for (const [from, to, reason] of waits.filter(([from, to]) => from < b && to > a).sort(([one], [other]) => one - other)) {
      const [first, last] = [Math.max(begin, from), Math.min(b, to)];
      if (last <= first) continue;
      if (first > begin) add(begin, first, first - begin > MOMENT_MS);
      add(first, last, true, reason);
      begin = Math.max(begin, last);
    }
    if (b > begin || begin === a) add(begin, b, b - begin > MOMENT_MS);
  };
  let end = from;
  for (const [a, b] of works) {
    if (a > end) gap(end, a);
    add(a, b, false);
    end = b;
  }
  if (to > end || parts.length === 0) gap(end, to);
  return parts;
}
