/** Routing hints: `Go to step 'X'`, `Route to step X`, `route_to: X`, `Go to flow 'F' step 'X'`. */

import { dropEndWhile, dropStart, endsIgnoringCase, lastScalar, sameIgnoringCase, trim, trimEnd, trimStart } from "../scalars.js";
import { isWordPart, takeWord } from "./label.js";
import type { Route } from "./signal.js";

/** A hint as it is named in a reason. */
export function hintName({ flow, step_id }: Route): string {
  return flow === null ? step_id : `${flow}/${step_id}`;
}

/** The hints of one line, in order. */
export function hintsOf(line: string): Route[] {
  const hints: Route[] = [];
  for (const { index } of line.matchAll(/to(?=[ \t:"'`*])/gi)) {
    if (index > 0) hints.push(...hintAt(line.slice(0, index), line.slice(index + 2)));
  }
  return hints;
}

/** The hint to a step of the same flow, if `text` begins with what can be its name. */
export function hintToStep(text: string): Route[] {
  const named = nameOf(text);
  return named === undefined ? [] : [{ flow: null, step_id: named.name }];
}

/** The hint, if it is one, whose word `to` stands between `before` and `after`. */
function hintAt(before: string, after: string): Route[] {
  if (endsIgnoringCase(before, "route_")) {
    const colon = trimStart(dropStart(after, "\"'`*"));
    if (!standsAlone(before.slice(0, -6)) || !colon.startsWith(":")) return [];
    return hintToStep(dropStart(colon.slice(1), "* \t"));
  }
  const spoken = trimEnd(before);
  const verb = ["go", "route"].find((known) => endsIgnoringCase(spoken, known));
  if (spoken.length === before.length || verb === undefined) return [];
  const prefix = spoken.slice(0, spoken.length - verb.length);
  return standsAlone(prefix) && !isDenied(prefix) ? destination(after) : [];
}

/** `step X` or `flow F step X`. */
function destination(text: string): Route[] {
  const named = afterWord(text, "step");
  if (named !== undefined) return hintToStep(named);
  const inFlow = afterWord(text, "flow");
  const flow = inFlow === undefined ? undefined : nameOf(inFlow);
  const inStep = flow && afterWord(dropStart(flow.after, ","), "step");
  const step = inStep === undefined ? undefined : nameOf(inStep);
  return flow === undefined || step === undefined ? [] : [{ flow: flow.name, step_id: step.name }];
}

/** What follows `word` and white space, ignoring case. */
function afterWord(text: string, word: string): string | undefined {
  const start = trimStart(text);
  const rest = start.slice(word.length);
  return sameIgnoringCase(start.slice(0, word.length), word) && /^[ \t]/.test(rest) ? trimStart(rest) : undefined;
}

/** A name in quotes, or a bare one that begins with a letter; and what follows. */
function nameOf(text: string): { name: string; after: string } | undefined {
  const mark = text.charAt(0);
  if (mark !== "" && "'\"`".includes(mark)) {
    const end = text.indexOf(mark, 1);
    const name = trim(text.slice(1, Math.max(end, 1)));
    return name === "" || name.includes("/") ? undefined : { name, after: text.slice(end + 1) };
  }
  if (!/^[A-Za-z]/.test(text)) return undefined;
  const name = takeWord(text);
  return { name, after: text.slice(name.length) };
}

/** Whether what follows `prefix` is a word of its own. */
function standsAlone(prefix: string): boolean {
  return !isWordPart(lastScalar(prefix));
}

/** Whether the words before negate it: `do not go to step …` is no hint. */
function isDenied(prefix: string): boolean {
  const before = trimEnd(prefix);
  const last = before.slice(dropEndWhile(before, (scalar) => scalar !== " " && scalar !== "\t").length);
  const denials = ["not", "never", "cannot"];
  return denials.some((denial) => sameIgnoringCase(last, denial)) || last.endsWith("n't") || last.endsWith("n’t");
}
