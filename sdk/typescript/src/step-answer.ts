/** What a person answered, as a command finds it in `$ENVOI_ANSWER`: the words, the decision, the files. It is read, never written. */

import { readTime } from "./envelope/fields.js";
import { Fields } from "./fields.js";
import { parseJson } from "./json/read.js";
import { membersOf } from "./json/stringify.js";
import type { JsonObject, JsonValue } from "./json/value.js";
import { readAttachment, type AttachmentRef } from "./user-envelope/attachment.js";
import { INTERRUPT_KINDS, type InterruptKind } from "./vocabulary.js";

/** What a person decided. */
export const ANSWER_CHOICES = ["approve", "deny", "proceed", "again", "ours", "theirs", "edit", "stop", "respond", "rerun", "fail", "raise"] as const;
export type AnswerChoice = (typeof ANSWER_CHOICES)[number];

/** A file that came with an answer: where it lies, or why it could not be fetched. */
export interface AnswerFile {
  artifactId: string;
  filename: string | null;
  path: string | null;
  unreadable: string | null;
}

/** What a person answered. A short answer may have only `text`; what is missing is null. */
export interface Answer {
  text: string;
  attachments: AttachmentRef[];
  /** The question that was answered. */
  interrupt: string | null;
  /** The step with the question, and its visit. */
  step: string | null;
  visit: number | null;
  /** The kind and the text of the question. */
  kind: InterruptKind | null;
  question: string | null;
  choice: AnswerChoice | null;
  approved: boolean | null;
  /** Free-form, its numbers as they were written. */
  data: JsonValue;
  /** Who answered. */
  by: string | null;
  /** By which way the answer came. */
  channel: string | null;
  answered_at: string | null;
  files: AnswerFile[];
  /** Where the files lie that could be fetched, in the order of the answer. */
  paths: string[];
  /** The folder in which they lie. */
  folder: string | null;
  /** Every member as it was read, also those that this version does not know. */
  members: JsonObject;
}

/** An answer that is nothing but its words. */
export function answerOfWords(text: string): Answer {
  const nothing = { interrupt: null, step: null, visit: null, kind: null, question: null, choice: null, approved: null, data: null, by: null, channel: null };
  return { text, attachments: [], ...nothing, answered_at: null, files: [], paths: [], folder: null, members: membersOf() };
}

/** Reads an answer. @throws JsonError for what is no JSON; ContractError `INVALID_USER_ENVELOPE` with the pointer */
export function readAnswer(content: Uint8Array, folder: string | null): Answer {
  const json = parseJson(content);
  const fields = new Fields("INVALID_USER_ENVELOPE", json);
  const text = fields.nullableString("text") ?? "";
  const attachments = fields.list("attachments", "a list of references", readAttachment);
  const [interrupt, step] = [fields.nullableString("interrupt"), fields.nullableString("step")];
  const visit = fields.integer("visit", 0) || null;
  const kind = readWord(fields, "kind", INTERRUPT_KINDS);
  const question = fields.nullableString("question");
  const [choice, approved] = [readWord(fields, "choice", ANSWER_CHOICES), fields.nullableBoolean("approved")];
  const data = fields.take("data") ?? null;
  const [by, channel] = [fields.nullableString("by"), fields.nullableString("channel")];
  const answered_at = readTime(fields, "answered_at");
  const files = fields.list("files", "a list of files", readFile);
  const paths = files.flatMap(({ path }) => (path === null ? [] : [path]));
  const members = json instanceof Map ? json : membersOf<JsonValue>();
  const ofQuestion = { interrupt, step, visit, kind, question };
  return { text, attachments, ...ofQuestion, choice, approved, data, by, channel, answered_at, files, paths, folder, members };
}

/** A word of a closed vocabulary, or null. */
function readWord<W extends string>(fields: Fields, name: string, words: readonly W[]): W | null {
  const value = fields.take(name) ?? null;
  if (value === null) return null;
  const word = words.find((known) => known === value);
  if (word === undefined) throw fields.wrong(name, `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`, value);
  return word;
}

/** Reads `{artifactId, filename?, path}` or `{artifactId, filename?, unreadable}`; further members are passed over. */
function readFile(value: JsonValue, place: string): AnswerFile {
  const fields = new Fields("INVALID_USER_ENVELOPE", value, place);
  const artifactId = fields.requiredString("artifactId");
  const [filename, path] = [fields.nullableString("filename"), fields.nullableString("path")];
  const unreadable = fields.nullableString("unreadable");
  if (path === null && unreadable === null) throw fields.missing("path");
  return { artifactId, filename, path, unreadable };
}
