/** Several versions of a text as one: the lines that all have, and between markers those that differ, as the files of `edit` have them. */

import { whole } from "./diff.js";

/** Lines of the first version, and what another one has in their place. */
interface Hunk {
  from: number;
  until: number;
  lines: string[];
}

/** Another version, with its name. */
export type Version = readonly [name: string, text: string];

/** Undefined: too much differs. An empty text is one without lines. */
export function marked(ours: string, versions: readonly Version[]): string | undefined {
  const own = ours.split("\n");
  if (own.at(-1) === "") own.pop();
  const others: { name: string; hunks: Hunk[] }[] = [];
  for (const [name, text] of versions) {
    const hunks = hunksOf(ours, text);
    if (hunks === undefined) return undefined;
    others.push({ name, hunks });
  }
  const found: string[] = [];
  let at = 0;
  for (const [from, until] of together(others.flatMap(({ hunks }) => hunks))) {
    found.push(...own.slice(at, from), "<<<<<<< ours", ...own.slice(from, until));
    const differing = others.filter(({ hunks }) => hunks.some((hunk) => isWithin(hunk, from, until)));
    // With one version the markers are those that everybody knows.
    for (const { name, hunks } of differing) found.push(differing.length === 1 ? "=======" : `======= ${name}`, ...applied(own, hunks, from, until));
    found.push(`>>>>>>> ${differing.map(({ name }) => name).join(", ")}`);
    at = until;
  }
  found.push(...own.slice(at));
  return found.length === 0 ? "" : `${found.join("\n")}\n`;
}

const isWithin = (hunk: Hunk, from: number, until: number): boolean => hunk.from >= from && hunk.until <= until;

function hunksOf(before: string, after: string): Hunk[] | undefined {
  const changes = whole(before, after);
  if (changes === undefined) return undefined;
  const found: Hunk[] = [];
  let at = 0;
  let open: Hunk | undefined;
  for (const { kind, text } of changes) {
    if (kind === "same") open = undefined;
    else if (open === undefined) found.push((open = { from: at, until: at, lines: [] }));
    if (kind === "added") open?.lines.push(text);
    else at += 1;
    if (kind === "removed" && open !== undefined) open.until = at;
  }
  return found;
}

/** The places of all hunks; those that meet are one. */
function together(hunks: readonly Hunk[]): [from: number, until: number][] {
  const places: [number, number][] = [];
  for (const { from, until } of hunks.toSorted((a, b) => a.from - b.from)) {
    const last = places.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], until);
    else places.push([from, until]);
  }
  return places;
}

/** The lines of a version at this place. */
function applied(own: readonly string[], hunks: readonly Hunk[], from: number, until: number): string[] {
  const found: string[] = [];
  let at = from;
  for (const hunk of hunks.filter((each) => isWithin(each, from, until))) {
    found.push(...own.slice(at, hunk.from), ...hunk.lines);
    at = hunk.until;
  }
  return [...found, ...own.slice(at, until)];
}
