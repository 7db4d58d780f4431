/** A person's answer with files, through a channel that carries only text: taken apart, and wrapped. */

import { ContractError, readValue, refuseJson } from "../diagnostic.js";
import { Fields } from "../fields.js";
import { JsonError } from "../json/error.js";
import { parseJson } from "../json/read.js";
import { compact } from "../json/write.js";
import type { JsonValue } from "../json/value.js";
import { INVALID, attachmentToJson, readAttachment, refuseUnknown, type AttachmentRef } from "./attachment.js";

/** How many attachments an answer may have, from all sources together. */
export const MAX_ATTACHMENTS = 20;

/** The A2A extension under which the opt-in travels. */
export const EXTENSION_URI = "urn:envoi:a2a:user-envelope:v1";

const NO_JSON = "user_envelope=true but body.user is not valid JSON";
const NO_MATCH = "user_envelope=true but body.user does not match {text, attachments?}";

/** An answer: its text, and the files that come with it; no files, no member. */
export interface UserEnvelope {
  /** What the model sees. */
  text: string;
  attachments?: AttachmentRef[];
}

/** Why an envelope is refused. Nothing of it is used, and there is no fall-back to plain text. */
export class UserEnvelopeParseError extends Error {
  override readonly name = "UserEnvelopeParseError";
  readonly code = INVALID;
  /** The reason as callers know it: one of three beginnings, then what exactly. */
  readonly reason: string;
  /** The place in the text, if there is one. */
  readonly diagnostic: ContractError | undefined;

  constructor(reason: string, diagnostic?: ContractError) {
    // A diagnostic that is the whole reason has the code in it already.
    super(diagnostic?.message === reason ? reason : `${INVALID}: ${reason}`);
    this.reason = reason;
    this.diagnostic = diagnostic;
  }
}

/**
 * Parses an answer. Not `enabled`: the text is `raw`, unchanged. `enabled`: `raw` must be
 * `{"text": …, "attachments"?: […]}` and nothing else. The attachments are the envelope's, then the top-level ones.
 *
 * @throws TypeError if `enabled` is anything but true or false; UserEnvelopeParseError if the opted-in text is not the envelope,
 * if a top-level attachment is no reference, or if there are more than 20 attachments in either place or together.
 */
export function parseUserEnvelope(
  raw: string,
  enabled: boolean,
  topLevelAttachments: readonly AttachmentRef[] = [],
): UserEnvelope {
  // A "false" or a 1 that some other program sent is no consent.
  if (typeof enabled !== "boolean") throw new TypeError(`enabled: expected true or false, found ${String(enabled)}`);
  const topLevel = topLevelAttachments.map(readTopLevel);
  const answer = enabled ? optedIn(raw) : { text: raw, attachments: [] };
  if (answer.attachments.length + topLevel.length > MAX_ATTACHMENTS) {
    throw tooMany(answer.attachments.length, topLevel.length);
  }
  const attachments = [...answer.attachments, ...topLevel];
  return attachments.length === 0 ? { text: answer.text } : { text: answer.text, attachments };
}

function readTopLevel(value: unknown): AttachmentRef {
  try {
    return readAttachment(value);
  } catch (error) {
    throw error instanceof ContractError ? new UserEnvelopeParseError(error.message, error) : error;
  }
}

function optedIn(raw: string): Required<UserEnvelope> {
  const value = explained(NO_JSON, () => parseJson(raw));
  return explained(NO_MATCH, () => readValue(raw, value, decode));
}

/** Runs `read`; its refusal becomes a reason with that beginning. */
function explained<T>(beginning: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const refusal = error instanceof JsonError ? refuseJson(INVALID, error) : error;
    throw refusal instanceof ContractError ? because(beginning, refusal) : refusal;
  }
}

function because(beginning: string, refusal: ContractError): UserEnvelopeParseError {
  const { pointer, position, expected, found } = refusal;
  const at = pointer === "" ? "" : ` at \`${pointer}\``;
  const place = position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
  return new UserEnvelopeParseError(`${beginning}: expected ${expected}, found ${found}${at}${place}`, refusal);
}

function tooMany(inEnvelope: number, inBody: number): UserEnvelopeParseError {
  const sum = `envelope ${inEnvelope} + body ${inBody} = ${inEnvelope + inBody}`;
  return new UserEnvelopeParseError(`merged attachments exceed the 20-ref total (${sum})`);
}

function decode(value: JsonValue): Required<UserEnvelope> {
  const fields = new Fields(INVALID, value);
  const text = fields.requiredString("text");
  const refs = fields.take("attachments");
  const attachments = refs === undefined ? [] : readAttachments(fields, refs);
  refuseUnknown(fields, "");
  return { text, attachments };
}

function readAttachments(fields: Fields, refs: JsonValue): AttachmentRef[] {
  if (!Array.isArray(refs)) throw fields.wrong("attachments", "a list of references", refs);
  if (refs.length > MAX_ATTACHMENTS) {
    const found = `${refs.length} of them`;
    throw new ContractError(INVALID, { pointer: "/attachments", expected: "at most 20 references", found });
  }
  return refs.map((ref, index) => readAttachment(ref, `/attachments/${index}`));
}

/** What `wrapUserEnvelope` made. */
export interface Wrapped {
  /** What goes through the channel: the text alone, or the envelope as JSON. */
  payload: string;
  /** Whether it is an envelope; the opt-in must go with it then. */
  enveloped: boolean;
  /** How many candidates were no valid reference and were dropped. */
  dropped: number;
}

/**
 * Wraps an answer for a text-only channel. Without a valid attachment it stays the text, byte for byte.
 *
 * @throws UserEnvelopeParseError if more than 20 attachments are valid; the receiver would refuse them.
 */
export function wrapUserEnvelope(text: string, candidates: readonly unknown[] = []): Wrapped {
  const attachments = candidates.flatMap(validAttachment);
  const dropped = candidates.length - attachments.length;
  if (attachments.length > MAX_ATTACHMENTS) throw tooMany(attachments.length, 0);
  if (attachments.length === 0) return { payload: text, enveloped: false, dropped };
  const envelope = new Map<string, JsonValue>([["text", text], ["attachments", attachments.map(attachmentToJson)]]);
  return { payload: compact(envelope), enveloped: true, dropped };
}

function validAttachment(candidate: unknown): AttachmentRef[] {
  try {
    return [readAttachment(candidate)];
  } catch (error) {
    if (error instanceof ContractError) return [];
    throw error;
  }
}
