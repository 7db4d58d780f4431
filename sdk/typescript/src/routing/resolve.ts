/** The decision table: the first row that holds decides. */

import { JsonNumber } from "../json/number.js";
import type { Source } from "../json/source.js";
import { membersOf } from "../json/stringify.js";
import type { JsonObject } from "../json/value.js";
import { dropEndWhile, lastScalar, lower, sameIgnoringCase, trimEnd } from "../scalars.js";
import { Audit, type Fired, type Resolution, type Row } from "./audit.js";
import { hintName } from "./hint.js";
import { readInput, type Input, type Routing, type RoutingInput } from "./input.js";
import { agree, beforeLastWord, goesOnWithAlternative, isWordPart, shown } from "./label.js";
import { RoutingSignal, type Decision, type Route } from "./signal.js";
import { findingsOf, proseOf, type Findings } from "./text.js";

/**
 * Turns a hand-off text and its routing configuration into one decision. The same input gives the same signal.
 *
 * `input` is JSON or the seed's labelled text, as text or bytes; or a value of the JSON form.
 *
 * @throws ContractError `ROUTING_INVALID` with the place: wrong types, unknown kinds, a microloop that nothing could end.
 */
export function resolveRouting(input: Source | RoutingInput | JsonObject): RoutingSignal {
  return resolve(input).signal;
}

/** The same, and why: which row of the table fired, and why those before it did not. @throws as `resolveRouting` */
export function resolve(input: Source | RoutingInput | JsonObject): Resolution {
  const read = readInput(input);
  const passed: Passed = membersOf();
  const findings = findingsOf(read.text, read.hints);
  const hints = distinctHints(findings.hints, read.flow);
  const [hint, second] = hints;
  const unknown = hint !== undefined && second === undefined && !isKnown(hint, read) ? hintName(hint) : null;
  const fired = second !== undefined ? conflictingHints(hints, passed) : byHint(hint, unknown, read, findings, passed);
  const audit = new Audit(fired, passed, unknown, read);
  if (unknown === null) return { signal: fired.signal, audit };
  const reason = `${fired.signal.reason}; unknown step '${unknown}'`;
  return { signal: new RoutingSignal({ ...fired.signal, reason, needs_human: true }), audit };
}

/** The rows that did not fire so far, and why. */
type Passed = Map<Row, string>;

/** Row 1, or the rows without a hint: of two at most one is there, and it may be unknown (row 1b). */
function byHint(hint: Route | undefined, unknown: string | null, input: Input, findings: Findings, passed: Passed): Fired {
  if (hint !== undefined && unknown === null) return follow(hint);
  if (hint === undefined) for (const row of ["1", "1a", "1b"] as const) passed.set(row, "no hint in the text");
  else passed.set("1", "the step that the hint names is unknown").set("1a", "only one hint");
  return withoutHint(input, findings, passed);
}

/** Whether a hint may lead there. Once the current flow is known, a step of another one is listed as `flow/step`. */
function isKnown(hint: Route, { steps, flow }: Input): boolean {
  return steps === null || steps.includes(flow === null ? hint.step_id : hintName(hint));
}

/** The hints that differ, with a flow only where it is another one. */
function distinctHints(hints: readonly Route[], flow: string | null): Route[] {
  const distinct = new Map<string, Route>();
  for (const hint of hints) {
    const home = hint.flow === flow ? { ...hint, flow: null } : hint;
    const key = hintName(home);
    if (!distinct.has(key)) distinct.set(key, home); // neither part of a hint has a `/`
  }
  return Array.from(distinct.values());
}

function signal(decision: Decision, reason: string, confidence: string, needs_human = false): RoutingSignal {
  return new RoutingSignal({ decision, reason, confidence: new JsonNumber(confidence), needs_human });
}

/** Row 1. */
function follow(route: Route): Fired {
  const { step_id } = route;
  const reason = `Explicit routing hint: step '${step_id}'`;
  const followed = new RoutingSignal({ decision: "branch", next_step_id: step_id, route, reason, confidence: new JsonNumber("1.0") });
  return { row: "1", because: `the text has a hint to go to ${hintName(route)}`, signal: followed };
}

/** Row 1a. */
function conflictingHints(hints: readonly Route[], passed: Passed): Fired {
  passed.set("1", "more than one hint");
  const names = hints.map(hintName).join(", ");
  return { row: "1a", because: `the text has a hint to go to ${names}`, signal: signal("advance", `Conflicting routing hints: ${names}`, "0.7", true) };
}

/** Rows 2 to 8. */
function withoutHint(input: Input, findings: Findings, passed: Passed): Fired {
  const { routing } = input;
  if (routing === null) return { row: "2", because: "nothing is configured", signal: signal("advance", "No routing configuration", "0.7") };
  passed.set("2", "routing is configured");
  if (routing.kind === "branch") {
    passOverStatus(passed, "a branch waits for no status");
    return { row: "7", because: "a branch without a hint", signal: signal("advance", "No routing hint", "0.7", true) };
  }
  const expected = expectedValues(routing);
  if (expected.length === 0) {
    passOverStatus(passed, "no status is waited for");
    return linearComplete();
  }
  const outcome = outcomeOf(input.text, findings, expected);
  if (!("unclear" in outcome)) return byStatus(outcome, input, routing, findings, passed);
  passOverStatus(passed, "no clear status was read");
  return unclear(outcome, passed);
}

function passOverStatus(passed: Passed, why: string): void {
  for (const row of ["3", "4", "5", "6"] as const) passed.set(row, why);
}

/** Rows 3 to 7, for a status that was read. */
function byStatus(status: Read, input: Input, routing: Routing, { deniesHelp }: Findings, passed: Passed): Fired {
  const how = status.inferred ? ", inferred from unlabelled words" : "";
  const sure = status.inferred ? "0.8" : "0.9";
  if (status.success) {
    const because = `the status ${status.shown} is a success value${how}`;
    return { row: "3", because, signal: signal("advance", "Loop target reached", sure) };
  }
  passed.set("3", `the status ${status.shown} is no success value${how}`);
  return notReached(input, routing, deniesHelp, sure, passed);
}

/** Rows 4 to 6, for a status that is no success. */
function notReached({ iteration }: Input, routing: Routing, deniesHelp: boolean, sure: string, passed: Passed): Fired {
  const { loopTarget, maxIterations: max } = routing;
  if (iteration >= max) {
    const target = loopTarget ?? routing.successValues[0] ?? "";
    const exhausted = signal("loop", `Max iterations (${max}) exhausted without ${target}`, sure, true);
    return { row: "4", because: `iteration ${iteration} is the last of ${max}`, signal: exhausted };
  }
  passed.set("4", "iterations are left");
  if (deniesHelp || !routing.canFurtherIterationHelp) {
    const because = `stated in ${deniesHelp ? "the text" : "the configuration"}`;
    return { row: "5", because, signal: signal("terminate", "Further iteration cannot help", sure, true) };
  }
  passed.set("5", "further iteration can help");
  const again = signal("loop", `Loop target not reached (iteration ${iteration} of ${max})`, sure);
  return { row: "6", because: "the status is no success and iterations are left", signal: again };
}

/** Row 8: a status is waited for, and it is unclear or conflicting. */
function unclear({ unclear: reason, because }: Unclear, passed: Passed): Fired {
  passed.set("7", "a status is waited for");
  return { row: "8", because, signal: signal("advance", reason, "0.7", true) };
}

/** Row 7 of a linear step. */
function linearComplete(): Fired {
  return { row: "7", because: "a linear step that waits for no status", signal: signal("advance", "Linear step complete", "0.9") };
}

/** The values that count as success, each once. */
function expectedValues({ loopTarget, successValues }: Routing): string[] {
  if (successValues.length === 0) return loopTarget === null ? [] : [loopTarget];
  return successValues.filter((value, index) => successValues.findIndex((each) => sameIgnoringCase(each, value)) === index);
}

/** A status that was read. */
interface Read {
  success: boolean;
  inferred: boolean;
  shown: string;
}

/** Why no row fired: the reason in the signal, and the one in the audit. */
interface Unclear {
  unclear: string;
  because: string;
}

const UNSTATED: Unclear = { unclear: "Handoff does not state a status", because: "no clear status was read" };

function outcomeOf(text: string, { statuses }: Findings, expected: readonly string[]): Read | Unclear {
  const last = statuses.at(-1);
  if (last === undefined) return inferred(text, expected);
  if (statuses.every((status) => agree(status, last))) {
    const success = !last.negated && expected.some((value) => sameIgnoringCase(value, last.word));
    return { success, inferred: false, shown: shown(last) };
  }
  const distinct = new Map<string, string>();
  for (const name of statuses.map(shown)) if (!distinct.has(lower(name))) distinct.set(lower(name), name);
  return { unclear: `Conflicting statuses: ${Array.from(distinct.values()).join(", ")}`, because: "labelled statuses differ" };
}

/** Reads a status from unlabelled words: exactly one expected value, always affirmed or always denied. */
function inferred(text: string, expected: readonly string[]): Read | Unclear {
  let found: Mention | undefined;
  for (const mention of proseOf(text).flatMap((line) => mentions(line, expected))) {
    if (found !== undefined && (found.value !== mention.value || found.denied !== mention.denied)) {
      return UNSTATED;
    }
    found = mention;
  }
  if (found === undefined) return UNSTATED;
  const { value, denied } = found;
  return { success: !denied, inferred: true, shown: shown({ word: value, negated: denied }) };
}

interface Mention {
  value: string;
  denied: boolean;
}

/** Where an expected value stands in a line as a whole word. In a list of alternatives it is an echo and no mention. */
function mentions(line: string, expected: readonly string[]): Mention[] {
  const folded = lower(line);
  const found: Mention[] = [];
  for (const value of expected) {
    const wanted = lower(value);
    for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + 1)) {
      const [before, after] = [line.slice(0, at), line.slice(at + value.length)];
      const isWhole = !isWordPart(lastScalar(before)) && !isWordPart(after.slice(0, 2));
      if (isWhole && !isAlternative(before, after)) found.push({ value, denied: isDenied(before) });
    }
  }
  return found;
}

function isAlternative(text: string, after: string): boolean {
  const before = trimEnd(text);
  return /[|/]/.test(before.slice(-1)) || sameIgnoringCase(lastWord(before), "or") || goesOnWithAlternative(after);
}

/** Whether the words before are `not` or `not yet`. */
function isDenied(text: string): boolean {
  const before = dropEndWhile(text, (scalar) => !isWordPart(scalar) && scalar !== ".");
  const last = lastWord(before);
  if (!sameIgnoringCase(last, "yet")) return sameIgnoringCase(last, "not");
  return sameIgnoringCase(lastWord(trimEnd(before.slice(0, before.length - last.length))), "not");
}

function lastWord(text: string): string {
  return text.slice(beforeLastWord(text).length);
}
