/** A list of runs that is read in parts: which parts have to be read again after a change, and how a part takes its place. Pure. */

import type { Run, RunSoFar } from "../wire/api.js";

export interface RunList {
  runs: readonly Run[];
  /** The `cursor` of what follows; null: nothing does. */
  next: string | null;
  so_far: readonly RunSoFar[];
  counts: object | null;
}

/** The parts of `size` runs that contain these runs. A run that is in none may be a new one, and new runs come first. */
export function partsOf({ runs }: RunList, changed: readonly string[], size: number): number[] {
  const at = new Map(runs.map(({ run }, nth) => [run, nth]));
  return [...new Set(changed.map((run) => Math.floor((at.get(run) ?? 0) / size)))].sort((a, b) => a - b);
}

/** The list, once the part of it that begins after `from` runs has been read again. Undefined: both do not fit together. */
export function replaced<T extends RunList>(list: T, from: number, page: T): T | undefined {
  const last = page.runs.at(-1)?.run;
  const found = list.runs.findIndex(({ run }) => run === last);
  // The changed part may be longer or shorter by now: the list goes on after the last run that both have.
  const isFurther = found < 0 && from + page.runs.length >= list.runs.length;
  if (page.next !== null && found < 0 && !isFurther) return undefined;
  const rest = page.next === null || found < 0 ? [] : list.runs.slice(found + 1);
  const runs = [...list.runs.slice(0, from), ...page.runs, ...rest];
  // If a run is read again, only the server's present data of it stay.
  const anew = new Set(page.runs.map(({ run }) => run));
  const soFar = new Map([...list.so_far.filter(({ run }) => !anew.has(run)), ...page.so_far].map((each) => [each.run, each]));
  return { ...list, runs, next: rest.length > 0 ? list.next : page.next, so_far: runs.flatMap(({ run }) => soFar.get(run) ?? []), counts: page.counts ?? list.counts };
}
