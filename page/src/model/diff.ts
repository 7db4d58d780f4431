/** The differences between two texts, line by line. */

export interface Change {
  kind: "same" | "added" | "removed" | "left out";
  text: string;
  /** It is the last line of its text, and no line feed follows it. */
  isUnended?: true;
}

/** Follows such a line while it is compared: no line has one. */
const UNENDED = "\n";

/** With more lines, or more that differ, there is no use in it: the files are offered as they are. */
const MOST_LINES = 20_000;
const MOST_EDITS = 2_000;

/** Lines around a change that are shown. */
const AROUND = 3;

/** The changes with some lines around them; undefined if the texts differ too much. */
export function diff(before: string, after: string): Change[] | undefined {
  const all = whole(before, after);
  return all === undefined ? undefined : folded(all);
}

/** As `diff`, of files: whether the last line is ended is a part of it. */
export function diffOfFiles(before: string, after: string): Change[] | undefined {
  const all = whole(before, after, true);
  return all === undefined ? undefined : folded(all).map((change) => (change.kind !== "left out" && change.text.endsWith(UNENDED) ? { ...change, text: change.text.slice(0, -1), isUnended: true } : change));
}

/** All lines of both; undefined if the texts differ too much. */
export function whole(before: string, after: string, isEndKept = false): Change[] | undefined {
  const [a, b] = [lines(before, isEndKept), lines(after, isEndKept)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [inner, other] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (inner.length + other.length > MOST_LINES) return undefined;
  const edits = shortest(inner, other);
  if (edits === undefined) return undefined;
  const same = (from: string[]): Change[] => from.map((text) => ({ kind: "same", text }));
  return [...same(a.slice(0, start)), ...edits, ...same(a.slice(a.length - end))];
}

function lines(text: string, isEndKept: boolean): string[] {
  const all = text.split("\n");
  const last = all.pop() ?? "";
  if (last !== "") all.push(isEndKept ? last + UNENDED : last);
  return all;
}

/** Myers' greedy way: the fewest lines removed and added. */
function shortest(a: string[], b: string[]): Change[] | undefined {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const trace: Int32Array[] = [];
  let reach = new Int32Array(2 * most + 3);
  const middle = most + 1;
  for (let edits = 0; edits <= most; edits += 1) {
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (reach[middle + k - 1] ?? 0) < (reach[middle + k + 1] ?? 0));
      let x = down ? (reach[middle + k + 1] ?? 0) : (reach[middle + k - 1] ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return back(a, b, [...trace, reach], middle);
    }
    trace.push(reach);
    reach = reach.slice();
  }
  return undefined;
}

function back(a: string[], b: string[], trace: Int32Array[], middle: number): Change[] {
  const found: Change[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const before = edits === 0 ? undefined : trace[edits - 1];
    const k = x - y;
    const at = (diagonal: number): number => before?.[middle + diagonal] ?? 0;
    const down = k === -edits || (k !== edits && at(k - 1) < at(k + 1));
    const from = before === undefined ? 0 : down ? at(k + 1) : at(k - 1) + 1;
    while (x > from && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      x -= 1;
      y -= 1;
      found.push({ kind: "same", text: a[x] ?? "" });
    }
    if (before === undefined) break;
    if (down) found.push({ kind: "added", text: b[(y -= 1)] ?? "" });
    else found.push({ kind: "removed", text: a[(x -= 1)] ?? "" });
  }
  return found.reverse();
}

function folded(all: Change[]): Change[] {
  const near = new Set<number>();
  all.forEach(({ kind }, at) => {
    if (kind !== "same") for (let by = -AROUND; by <= AROUND; by += 1) near.add(at + by);
  });
  const shown: Change[] = [];
  let left = 0;
  const leave = (): void => {
    if (left > 0) shown.push({ kind: "left out", text: left === 1 ? "1 line that is the same" : `${left} lines that are the same` });
    left = 0;
  };
  all.forEach((change, at) => {
    if (change.kind !== "same" || near.has(at)) leave(), shown.push(change);
    else left += 1;
  });
  leave();
  return shown;
}

/** How many lines were added and removed. */
export const counted = (changes: Change[]): [added: number, removed: number] => [
  changes.filter(({ kind }) => kind === "added").length,
  changes.filter(({ kind }) => kind === "removed").length,
];

/** Beside each other: what is the same or left out with itself, what was removed with what was added in its place. */
export function inPairs(changes: readonly Change[]): [left: Change | undefined, right: Change | undefined][] {
  const pairs: [Change | undefined, Change | undefined][] = [];
  for (let at = 0; at < changes.length; ) {
    const change = changes[at];
    if (change?.kind === "same" || change?.kind === "left out") {
      pairs.push([change, change]);
      at += 1;
      continue;
    }
    const end = changes.findIndex(({ kind }, nth) => nth >= at && kind !== "added" && kind !== "removed");
    const run = changes.slice(at, end < 0 ? changes.length : end);
    const [removed, added] = [run.filter(({ kind }) => kind === "removed"), run.filter(({ kind }) => kind === "added")];
    for (let nth = 0; nth < Math.max(removed.length, added.length); nth += 1) pairs.push([removed[nth], added[nth]]);
    at += run.length;
  }
  return pairs;
}
