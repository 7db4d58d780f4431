/** A reference to a file: which artifact, which revision of it, and what its bytes must hash to. */

import { ContractError, jsonFor, refuse } from "../diagnostic.js";
import { Fields } from "../fields.js";
import { escapeSegment } from "../json/error.js";
import { JsonNumber } from "../json/number.js";
import type { JsonObject, JsonValue } from "../json/value.js";
import { shorten } from "../scalars.js";
import { ORIGIN_KINDS, type OriginKind } from "../vocabulary.js";

export const INVALID = "INVALID_USER_ENVELOPE";

/** A reference to a file. It proves nothing: who resolves it takes size and type from the store and compares the digest. */
export interface AttachmentRef {
  artifactId: string;
  representationRevisionId: string;
  /** What the bytes must hash to. */
  digest: string;
  /** Media type. */
  mime: string;
  originKind: OriginKind;
  title?: string;
  filename?: string;
  /** Bytes. */
  size?: number;
}

/** Reads a reference; null is not absent, and an unknown member is refused. @throws ContractError `INVALID_USER_ENVELOPE` */
export function readAttachment(value: unknown, place = ""): AttachmentRef {
  const json = jsonFor(INVALID, value);
  const fields = new Fields(INVALID, json, place);
  const required = {
    artifactId: named(fields, "artifactId"),
    representationRevisionId: named(fields, "representationRevisionId"),
    digest: named(fields, "digest"),
    mime: named(fields, "mime"),
    originKind: origin(fields),
  };
  const attachment: AttachmentRef = { ...required, ...optional(fields) };
  refuseUnknown(fields, place);
  return attachment;
}

/** The reference as JSON, without members that are not there. */
export function attachmentToJson(attachment: AttachmentRef): JsonObject {
  const { artifactId, representationRevisionId, digest, mime, originKind, title, filename, size } = attachment;
  const required = { artifactId, representationRevisionId, digest, mime, originKind };
  const members = new Map<string, JsonValue>(Object.entries(required));
  if (title !== undefined) members.set("title", title);
  if (filename !== undefined) members.set("filename", filename);
  if (size !== undefined) members.set("size", new JsonNumber(String(size)));
  return members;
}

/** This contract alone refuses members that it does not know. */
export function refuseUnknown(fields: Fields, place: string): void {
  for (const name of fields.rest().keys()) {
    const pointer = `${place}/${escapeSegment(name)}`;
    throw new ContractError(INVALID, { pointer, expected: "no further member", found: shorten(name, 60) });
  }
}

/** A string that is there and not empty. */
function named(fields: Fields, name: string): string {
  const text = fields.requiredString(name);
  if (text === "") throw fields.wrong(name, "a string that is not empty", "");
  return text;
}

function origin(fields: Fields): OriginKind {
  const word = fields.requiredString("originKind");
  const kind = ORIGIN_KINDS.find((known) => known === word);
  if (kind !== undefined) return kind;
  const expected = "upload, email_attachment, agent_generated, external_link or live_generator";
  throw refuse(INVALID, fields.pointer("originKind"), expected, word);
}

/** The members that may be absent. */
function optional(fields: Fields): Pick<AttachmentRef, "title" | "filename" | "size"> {
  const found: Pick<AttachmentRef, "title" | "filename" | "size"> = {};
  for (const name of ["title", "filename"] as const) {
    const text = fields.take(name);
    if (text === undefined) continue;
    if (typeof text !== "string") throw fields.wrong(name, "a string", text);
    found[name] = text;
  }
  const size = fields.integer("size", -1);
  return size < 0 ? found : { ...found, size };
}
