/** The decision table: the first row that holds decides. */

import { JsonNumber } from "../json/number.js";
import type { Source } from "../json/source.js";
import type { JsonObject } from "../json/value.js";
import { dropEndWhile, lastScalar, lower, sameIgnoringCase, trimEnd } from "../scalars.js";
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
  const read = readInput(input);
  const findings = findingsOf(read.text, read.hints);
  const hints = distinctHints(findings.hints, read.flow);
  const [hint, second] = hints;
  if (hint === undefined) return withoutHint(read, findings);
  if (second !== undefined) return conflictingHints(hints);
  return isKnown(hint, read) ? follow(hint) : unknownHint(hint, withoutHint(read, findings));
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
function follow(route: Route): RoutingSignal {
  const { step_id } = route;
  const reason = `Explicit routing hint: step '${step_id}'`;
  return new RoutingSignal({ decision: "branch", next_step_id: step_id, route, reason, confidence: new JsonNumber("1.0") });
}

/** Row 1a. */
function conflictingHints(hints: readonly Route[]): RoutingSignal {
  return signal("advance", `Conflicting routing hints: ${hints.map(hintName).join(", ")}`, "0.7", true);
}

/** Row 1b. */
function unknownHint(hint: Route, decided: RoutingSignal): RoutingSignal {
  return new RoutingSignal({ ...decided, reason: `${decided.reason}; unknown step '${hintName(hint)}'`, needs_human: true });
}

/** Rows 2 to 8. */
function withoutHint(input: Input, findings: Findings): RoutingSignal {
  const { routing } = input;
  if (routing === null) return signal("advance", "No routing configuration", "0.7");
  if (routing.kind === "branch") return signal("advance", "No routing hint", "0.7", true);
  const expected = expectedValues(routing);
  if (expected.length === 0) return linearComplete();
  const outcome = outcomeOf(input.text, findings, expected);
  if ("unclear" in outcome) return unclear(routing, outcome.unclear);
  const sure = outcome.inferred ? "0.8" : "0.9";
  if (outcome.success) return signal("advance", "Loop target reached", sure);
  return notReached(input, routing, findings.deniesHelp, sure);
}

/** Rows 4 to 7, for a status that is no success. */
function notReached({ iteration }: Input, routing: Routing, deniesHelp: boolean, sure: string): RoutingSignal {
  const { kind, loopTarget, maxIterations: max } = routing;
  if (iteration >= max) {
    const target = loopTarget ?? routing.successValues[0] ?? "";
    return signal("loop", `Max iterations (${max}) exhausted without ${target}`, sure, true);
  }
  if (deniesHelp || !routing.canFurtherIterationHelp) return signal("terminate", "Further iteration cannot help", sure, true);
  if (kind === "linear" && loopTarget === null) return linearComplete();
  return signal("loop", `Loop target not reached (iteration ${iteration} of ${max})`, sure);
}

/** Rows 7 and 8, for a status that is unclear or conflicting. */
function unclear({ kind, loopTarget }: Routing, reason: string): RoutingSignal {
  return kind === "linear" && loopTarget === null ? linearComplete() : signal("advance", reason, "0.7", true);
}

/** Row 7 of a linear step. */
function linearComplete(): RoutingSignal {
  return signal("advance", "Linear step complete", "0.9");
}

/** The values that count as success, each once. */
function expectedValues({ loopTarget, successValues }: Routing): string[] {
  if (successValues.length === 0) return loopTarget === null ? [] : [loopTarget];
  return successValues.filter((value, index) => successValues.findIndex((each) => sameIgnoringCase(each, value)) === index);
}

/** A status that was read, or why none was. */
type Outcome = { success: boolean; inferred: boolean } | { unclear: string };

function outcomeOf(text: string, { statuses }: Findings, expected: readonly string[]): Outcome {
  const last = statuses.at(-1);
  if (last === undefined) return inferred(text, expected);
  if (statuses.every((status) => agree(status, last))) {
    const success = !last.negated && expected.some((value) => sameIgnoringCase(value, last.word));
    return { success, inferred: false };
  }
  const distinct = new Map<string, string>();
  for (const name of statuses.map(shown)) if (!distinct.has(lower(name))) distinct.set(lower(name), name);
  return { unclear: `Conflicting statuses: ${Array.from(distinct.values()).join(", ")}` };
}

/** Reads a status from unlabelled words: exactly one expected value, always affirmed or always denied. */
function inferred(text: string, expected: readonly string[]): Outcome {
  let found: Mention | undefined;
  for (const mention of proseOf(text).flatMap((line) => mentions(line, expected))) {
    if (found !== undefined && (found.value !== mention.value || found.denied !== mention.denied)) {
      return { unclear: "Handoff does not state a status" };
    }
    found = mention;
  }
  return found === undefined ? { unclear: "Handoff does not state a status" } : { success: !found.denied, inferred: true };
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
