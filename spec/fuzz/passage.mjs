/** One leg of the chain (see chain.py): the same frames as `crates/contract/examples/passage.rs`, with the TypeScript library. */

import { readFileSync, writeSync } from "node:fs";

import {
  ContractError,
  Envelope,
  HandoffEnvelope,
  JsonError,
  RoutingSignal,
  UserEnvelopeParseError,
  formatCompact,
  formatJson,
  parseJson,
  parseSkillReport,
  parseUserEnvelope,
  resolve,
  writeHandoff,
} from "../../sdk/typescript/dist/index.js";
import { readDocument } from "../../sdk/typescript/dist/diagnostic.js";

/** A signal stands in other documents; here it is one itself. */
const signal = (document) => readDocument("ROUTING_SIGNAL_INVALID", document, RoutingSignal.from);

/** What reading an envelope had to interpret. */
const interpreted = (value) =>
  Envelope.importDict(value).interpretations.map(({ pointer, read, taken_as }) => [pointer, read, taken_as]);

const PASSES = {
  envelope: (document) => Envelope.decode(document).toStateDict(),
  "envelope-dict": (document) => Envelope.decode(document).toDict(),
  handoff: (document) => HandoffEnvelope.decode(document).toJson(),
  signal: (document) => signal(document).toOrchestrator(),
  "signal-resolver": (document) => signal(document).toResolver(),
  report: (document) => parseSkillReport(document).toJson(),
  answer: (document) => parseUserEnvelope(document.toString("utf8"), true),
  import: (document) => readDocument("ENVELOPE_INVALID", document, interpreted),
  route: (document) => {
    const { signal, audit } = resolve(document);
    return [signal.toResolver(), audit.toJson()];
  },
  write: (document) => writeHandoff(document).toJson(),
  json: parseJson,
};

function pass(kind, form, document) {
  try {
    const value = PASSES[kind](document);
    return ["ok", form === "compact" ? formatCompact(value) : formatJson(value)];
  } catch (refusal) {
    const known = [ContractError, JsonError, UserEnvelopeParseError].some((error) => refusal instanceof error);
    if (!known) throw refusal;
    return ["refused", refusal.message];
  }
}

/** Writes all of it: a pipe takes a part at a time, and asks to come again when it is full. */
function write(bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

const frames = readFileSync(0);
for (let at = 0; at < frames.length; ) {
  const end = frames.indexOf("\n", at);
  const [kind, form, length] = frames.toString("utf8", at, end).split(" ");
  const start = end + 1;
  at = start + Number(length) + 1;
  const [verdict, text] = pass(kind, form, frames.subarray(start, at - 1));
  const answer = Buffer.from(text, "utf8");
  write(Buffer.concat([Buffer.from(`${verdict} ${answer.length}\n`), answer, Buffer.from("\n")]));
}
