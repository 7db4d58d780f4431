/**
 * What the server's answers and requests look like.
 *
 * Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.
 */

import type { JsonObject, JsonValue } from "../json/value.js";
import type { AttachmentRef } from "../user-envelope/attachment.js";

export interface Answer {
  /** Files that come with it. */
  attachments?: readonly AttachmentRef[] | undefined;
  /** The decision; where the question takes words, they are the answer without one. */
  choice?: "approve" | "deny" | "respond" | "proceed" | "again" | "stop" | "rerun" | "fail" | "raise" | undefined;
  /** The form, filled in. */
  data?: unknown;
  /** With the choice `raise`: by how much. */
  raise?: {
    /** Attempts. */
    agent_hops?: number | undefined;
    /** Dollars as a decimal, such as `2.50`. */
    cost_usd?: string | undefined;
    /** Times that loops go back. */
    iterations?: number | undefined;
    /** Calls of models. */
    llm_calls?: number | undefined;
    /** Rounds. */
    rounds?: number | undefined;
    /** Time of work. */
    wall_time_ms?: number | undefined;
  } | undefined;
  /** Whether the run goes on, as it does by default; else the answer is only recorded. */
  resume?: boolean | undefined;
  /** The `subject` of the question as it was shown; if it is another by now, the answer is refused. */
  seen?: string | undefined;
  /** The answer in words. */
  text?: string | null | undefined;
  /** Whether `text` is contract 5's envelope; its attachments come before those beside it, and there are at most 20 of both; false by default. */
  user_envelope?: boolean | undefined;
}

export interface BridgeAnswer {
  /** Which model it was. */
  model: string;
  /** What the model says. */
  text: string;
  /** What the call used. */
  usage: JsonObject;
}

export interface BridgeRefusal {
  /** The error code. */
  code?: string;
  /** What exactly is wrong. */
  detail?: string;
  /** The refusal as a word. */
  error: string;
  /** Each mistake at its place. */
  issues?: JsonObject[];
  /** Why a file cannot be read. */
  reason?: string;
}

export interface BridgeTurn {
  /** The run that the caller believes to be in; if it is another, no file is read. */
  agent_run_id?: unknown;
  /** Files that belong to it. */
  attachments?: readonly AttachmentRef[] | undefined;
  /** One of `listModels`; the configured one by default. */
  model?: string | undefined;
  /** Another name for `model`; if both are there, they must be equal. */
  model_id?: string | undefined;
  /** The system prompt. */
  system?: string | undefined;
  /** What the user says; with `user_envelope` the envelope of contract 5. */
  user: string;
  /** Whether `user` is an envelope; false by default. */
  user_envelope?: boolean | undefined;
}

export interface Chat {
  /** The conversation. */
  messages?: readonly object[] | undefined;
  /** One of `listModels`; the configured one by default. */
  model?: string | undefined;
  /** Whether the answer comes as a stream. */
  stream?: boolean | null | undefined;
  /** As the provider takes it. */
  stream_options?: object | null | undefined;
}

export interface ChatModels {
  /** The models. */
  data: JsonObject[];
  /** What this is. */
  object: "list";
}

export interface ChatRefusal {
  /** Why. */
  error: JsonObject;
}

export interface Event {
  /** When it was decided. */
  at: string;
  /** What happened. */
  event: JsonObject;
  /** Its place in the run, from 0. */
  seq: number;
  /** The event as the journal has it, if that was asked for. */
  stored?: string;
}

export interface Events {
  /** The events. */
  events: Event[];
  /** The `after` of the next page; null on the last. */
  next: number | null;
}

export interface Flow {
  /** Its digest. */
  digest: string;
  /** Its own file first, then those that it names. */
  files: string[];
  /** Its id. */
  flow: string;
  /** The version of the flow language. */
  language: number;
  /** When it was registered. */
  registered_at: string;
  /** By whom. */
  registered_by: string;
}

export interface FlowFiles {
  /** The texts of all flows that belong to it, by their paths. */
  files: object;
  /** Which of the files the flow is. */
  flow: string;
}

export interface Flows {
  /** The flows. */
  flows: Flow[];
}

export interface Forbidden {
  /** `Forbidden`. */
  error: "Forbidden";
}

export interface Fork {
  /** A step of the run's own flow, as it was entered last; the one that stopped it by default. */
  from?: string | null | undefined;
  /** Why, for the journal. */
  why?: string | null | undefined;
  /** How the run uses its workspace; alone by default. */
  workspace?: "alone" | "shared" | "copy" | undefined;
  /** Steps whose questions are approved as they are put. */
  yes_to?: readonly string[] | undefined;
}

export interface Forked {
  /** Whether anything works on the run now; null if it has ended. */
  activity: "working" | "stopped" | "set_aside" | null;
  /** Since when. */
  activity_since: string | null;
  /** Who started it. */
  actor: string;
  /** How many events it has. */
  events: number;
  /** The id of its flow. */
  flow: string;
  /** The digest of the flow that it is pinned to. */
  flow_digest: string;
  /** The run that it was forked from; null if it is no fork. */
  forked_from: string | null;
  /** Whether an attempt is in doubt, so that a person has to decide. */
  in_doubt: boolean;
  /** Attempts that were started and have not ended. */
  live_attempts: number;
  /** What should be known besides, such as files that differ from what they were at the step. */
  notes: string[];
  /** Questions that wait for a person. */
  open_questions: number;
  /** Why it ended, in a sentence; null while it goes on. */
  reason: string | null;
  /** The first run of its family; null if it is no fork. */
  root: string | null;
  /** Its id. */
  run: string;
  /** Why it is set aside; null if it is not. */
  set_aside: JsonObject | null;
  /** When its first event was decided. */
  started_at: string;
  /** Where it stands. */
  status: "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  /** The step it is in, or was in when it ended. */
  step: string | null;
  /** Whose run it is. */
  tenant: string;
  /** Why it ended, as a word of contract 3; null while it goes on. */
  terminal_reason: string | null;
  /** When its newest event was decided. */
  updated_at: string;
  /** The folder in which its commands run. */
  workspace: string;
}

export interface HandoffRow {
  /** When it was written. */
  at: string;
  /** The flow that the step belongs to. */
  flow: string;
  /** Its name, by which it is got: `[scope.]step.visit`. */
  handoff: string;
  /** The inner flows and the item in which the visit stands; empty at the top. */
  scope: string;
  /** The event that holds it. */
  seq: number;
  /** What the visit came to. */
  status: "succeeded" | "failed" | "skipped";
  /** The step. */
  step: string;
  /** The first 200 characters of its summary. */
  summary: string;
  /** Which visit of the step, from 1. */
  visit: number;
}

export interface Handoffs {
  /** The hand-offs. */
  handoffs: HandoffRow[];
}

export interface Health {
  /** `ok`. */
  status: "ok";
}

export interface Log {
  /** The attempt: `[scope.]step.visit.attempt`. */
  attempt: string;
  /** The event that started it. */
  seq: number;
  /** Bytes on stderr. */
  stderr_bytes: number;
  /** Bytes on stdout. */
  stdout_bytes: number;
}

export interface Logs {
  /** The attempts. */
  logs: Log[];
  /** The `after` of the next page; null on the last. */
  next: number | null;
}

export interface PinnedFlow {
  /** Its digest. */
  digest: string;
  /** The flows that it corrects, if the run has been corrected. */
  earlier?: PinnedFlow[];
  /** The version of the flow language. */
  language: number;
  /** The name of its file. */
  name: string;
  /** Texts of the flows that it names, by their paths. */
  parts: JsonObject;
  /** Its text. */
  text: string;
}

export interface Question {
  /** Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit` or `in_doubt`. */
  about: string;
  /** The choice that closed it; null if there was none. */
  answer: string | null;
  /** Who made it. */
  answered_by: string | null;
  /** When it was closed; null while it is open. */
  closed_at: string | null;
  /** When it lapses; null: never. */
  expires_at: string | null;
  /** The kind of question, as a word of contract 3. */
  kind: string;
  /** Its id. */
  question: string;
  /** When it was raised. */
  raised_at: string;
  /** The run that asks. */
  run: string;
  /** The inner flows and the item in which its visit stands; empty at the top. */
  scope: string;
  /** What has become of it. */
  state: "open" | "lapsed" | "answered" | "expired" | "changed" | "cancelled";
  /** The step that is concerned. */
  step: string;
  /** The question. */
  text: string;
  /** Which visit of the step, from 1. */
  visit: number;
}

export interface QuestionDetail {
  /** Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit` or `in_doubt`. */
  about: string;
  /** The choice that closed it; null if there was none. */
  answer: string | null;
  /** Who made it. */
  answered_by: string | null;
  /** The choices that it takes, the most usual first; empty if it is closed. */
  choices: string[];
  /** When it was closed; null while it is open. */
  closed_at: string | null;
  /** What one needs to know to answer. */
  evidence: JsonValue;
  /** When it lapses; null: never. */
  expires_at: string | null;
  /** The kind of question, as a word of contract 3. */
  kind: string;
  /** Its id. */
  question: string;
  /** When it was raised. */
  raised_at: string;
  /** The run that asks. */
  run: string;
  /** The form that it wants as `data`; null if it wants none. */
  schema: JsonValue;
  /** The inner flows and the item in which its visit stands; empty at the top. */
  scope: string;
  /** What has become of it. */
  state: "open" | "lapsed" | "answered" | "expired" | "changed" | "cancelled";
  /** The step that is concerned. */
  step: string;
  /** The digest of what is shown; send it back as `seen`. */
  subject: string | null;
  /** The question. */
  text: string;
  /** Which visit of the step, from 1. */
  visit: number;
  /** Approvals so far, where several people have to approve. */
  votes: JsonObject[];
}

export interface Questions {
  /** A stream from here on misses nothing that is not in the list. */
  last_event_id: string;
  /** The `cursor` of the next page; null on the last. */
  next: string | null;
  /** The questions. */
  questions: Question[];
}

export interface Raise {
  /** By how much each bound is raised. */
  more: {
    /** Attempts. */
    agent_hops?: number | undefined;
    /** Dollars as a decimal, such as `2.50`. */
    cost_usd?: string | undefined;
    /** Times that loops go back. */
    iterations?: number | undefined;
    /** Calls of models. */
    llm_calls?: number | undefined;
    /** Rounds. */
    rounds?: number | undefined;
    /** Time of work. */
    wall_time_ms?: number | undefined;
  };
  /** Why, for the journal. */
  why?: string | null | undefined;
}

export interface Refused {
  /** Why, in words or as an object. */
  error: JsonValue;
}

export interface Resume {
  /** A decision on what the run waits for; without one, a run that failed is reopened. */
  choice?: "rerun" | "fail" | "proceed" | "again" | "stop" | undefined;
  /** Why, for the journal. */
  why?: string | null | undefined;
}

export interface Run {
  /** Whether anything works on the run now; null if it has ended. */
  activity: "working" | "stopped" | "set_aside" | null;
  /** Since when. */
  activity_since: string | null;
  /** Who started it. */
  actor: string;
  /** How many events it has. */
  events: number;
  /** The id of its flow. */
  flow: string;
  /** The digest of the flow that it is pinned to. */
  flow_digest: string;
  /** The run that it was forked from; null if it is no fork. */
  forked_from: string | null;
  /** Whether an attempt is in doubt, so that a person has to decide. */
  in_doubt: boolean;
  /** Attempts that were started and have not ended. */
  live_attempts: number;
  /** Questions that wait for a person. */
  open_questions: number;
  /** Why it ended, in a sentence; null while it goes on. */
  reason: string | null;
  /** The first run of its family; null if it is no fork. */
  root: string | null;
  /** Its id. */
  run: string;
  /** Why it is set aside; null if it is not. */
  set_aside: JsonObject | null;
  /** When its first event was decided. */
  started_at: string;
  /** Where it stands. */
  status: "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  /** The step it is in, or was in when it ended. */
  step: string | null;
  /** Whose run it is. */
  tenant: string;
  /** Why it ended, as a word of contract 3; null while it goes on. */
  terminal_reason: string | null;
  /** When its newest event was decided. */
  updated_at: string;
  /** The folder in which its commands run. */
  workspace: string;
}

export interface Runs {
  /** The `cursor` of the next page; null on the last. */
  next: string | null;
  /** The runs. */
  runs: Run[];
}

export interface Start {
  /** The digest of a registered flow, or its id for the newest. */
  flow: string;
  /** By the names that the flow declares. */
  inputs?: object | undefined;
  /** Stands in the run's envelope; at most 64 KiB, and no name that Envoi writes there itself (`run_id`, `flow`, …). */
  metadata?: object | undefined;
  /** The request as it came to the caller; the inputs as JSON by default. */
  raw_input?: string | null | undefined;
  /** The conversation that the run belongs to; the run's id by default. */
  session_id?: string | null | undefined;
  /** The user on whose behalf the run is started; the name of the token by default. */
  user_id?: string | null | undefined;
  /** How the run uses its workspace; alone by default. */
  workspace?: "alone" | "shared" | "copy" | undefined;
  /** Steps whose questions are approved as they are put. */
  yes_to?: readonly string[] | undefined;
}

export interface Token {
  /** Its name, which stands with everything that is done with it. */
  name: string;
  /** What it allows. */
  scopes: ("read" | "answer" | "run" | "admin")[];
  /** Whose it is. */
  tenant: string;
}

/** The members above that stay as they were read. */
export const FREE: ReadonlySet<string> = new Set(["error", "event", "evidence", "parts", "schema", "set_aside", "usage"]);
