/** The writer: from what a step left to a hand-off that keeps every rule. */

import { ContractError } from "../diagnostic.js";
import { escapeSegment } from "../json/error.js";
import type { Source } from "../json/source.js";
import { membersOf } from "../json/stringify.js";
import type { JsonObject } from "../json/value.js";
import { RoutingSignal } from "../routing/signal.js";
import { isBlank, shorten } from "../scalars.js";
import { formatTime, parseTime, timeOfRunId, type Milliseconds } from "../time.js";
import type { HandoffStatus } from "../vocabulary.js";
import { readDraft, type Draft, type HandoffInput } from "./draft.js";
import { HandoffEnvelope, INVALID, checkedError, checkedId, isInside } from "./handoff.js";
import { summarize } from "./summary.js";

/** The error of a failure that gives none. */
const SILENT_FAILURE = "Step failed without an error message";

const IDS = ["step_id", "flow_key", "run_id"] as const;

/** The engine's word on which step this is. */
export type Identity = Readonly<Record<(typeof IDS)[number], string>>;

/**
 * Writes a hand-off. The same input gives the same hand-off; no clock is read.
 *
 * `input` is JSON or the seed's labelled text, as text or bytes; or a value of the JSON form. An `identity` overrules the ids
 * in it, and a difference is recorded in `verification_details`.
 *
 * @throws ContractError `HANDOFF_INVALID` with the place: no status, no or an empty id, a path that leaves the run's
 * directory, a time that is none, a `succeeded` with an error.
 */
export function writeHandoff(input: Source | HandoffInput | JsonObject, identity?: Identity): HandoffEnvelope {
  const draft = readDraft(input);
  const { overruled, ...ids } = identify(draft, identity);
  if (draft.status === null) {
    const hint = "set it to succeeded, failed or skipped; it is never guessed";
    throw new ContractError(INVALID, { pointer: "", expected: "a member `status`", found: "none", hint });
  }
  const error = explained(draft.status, draft.error);
  const moment = momentOf(draft, ids.run_id);
  const artifacts = placed(draft.artifacts, ids.flow_key);
  return new HandoffEnvelope({
    ...draft,
    ...ids,
    routing_signal: (draft.routing_signal ?? new RoutingSignal()).seenFrom(ids.flow_key),
    summary: summarize(draft.summary ?? draft.output ?? ""),
    artifacts,
    status: draft.status,
    error,
    timestamp: moment === undefined ? null : formatTime(moment),
    verification_details: withOverruled(draft.verification_details, overruled),
  });
}

/** The ids that count, and what was stated otherwise. */
function identify(draft: Draft, identity: Identity | undefined): Identity & { overruled: JsonObject } {
  const overruled: JsonObject = membersOf();
  const ids = { step_id: "", flow_key: "", run_id: "" };
  for (const name of IDS) {
    const stated = draft[name];
    const used = identity?.[name] ?? stated;
    if (used === null) throw new ContractError(INVALID, { pointer: "", expected: `a member \`${name}\``, found: "none" });
    ids[name] = checkedId(name, used);
    if (stated !== null && stated !== used) overruled.set(name, membersOf([["stated", stated], ["used", used]]));
  }
  return { ...ids, overruled };
}

/** Adds `identity_overruled` to the details of a verification. */
function withOverruled(details: JsonObject | null, overruled: JsonObject): JsonObject | null {
  return overruled.size === 0 ? details : membersOf(details ?? []).set("identity_overruled", overruled);
}

function explained(status: HandoffStatus, error: string | null): string | null {
  return status === "failed" && isBlank(error ?? "") ? SILENT_FAILURE : checkedError(status, error);
}

/** The time given, else the end that follows from the start, else the one that the run id implies. */
function momentOf({ timestamp, started_at, duration_ms }: Draft, runId: string): Milliseconds | undefined {
  const started = started_at === null ? undefined : readTime("started_at", started_at);
  if (timestamp !== null) return readTime("timestamp", timestamp);
  const start = started ?? timeOfRunId(runId);
  return start === undefined ? undefined : start + duration_ms;
}

function readTime(name: string, text: string): Milliseconds {
  const moment = parseTime(text);
  if (moment !== undefined) return moment;
  const expected = "an RFC 3339 time with its offset, such as `2026-01-02T03:04:05Z`";
  throw new ContractError(INVALID, { pointer: `/${name}`, expected, found: shorten(text, 60) });
}

/** The artifacts with their paths; bare names stand in the flow's folder. */
function placed(artifacts: string[] | Map<string, string>, flowKey: string): Map<string, string> {
  const listed = Array.isArray(artifacts);
  const paths = listed ? membersOf(artifacts.map((name): [string, string] => [name, `${flowKey}/${name}`])) : artifacts;
  for (const [name, path] of paths) {
    if (name !== "" && isInside(path)) continue;
    const pointer = listed ? "/artifacts" : `/artifacts/${escapeSegment(name)}`;
    const expected = "a path inside the run's directory: relative, `/` between names, no `..`";
    throw new ContractError(INVALID, { pointer, expected, found: shorten(path, 60) });
  }
  return paths;
}
