/**
 * What the server's answers and requests look like.
 *
 * Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.
 */

import type { JsonObject, JsonValue } from "../json/value.js";
import type { AttachmentRef } from "../user-envelope/attachment.js";

export interface Answer {
  attachments?: readonly AttachmentRef[] | undefined;
  choice?: "approve" | "deny" | "respond" | "proceed" | "again" | "stop" | "rerun" | "fail" | "raise" | undefined;
  data?: unknown;
  raise?: {
    agent_hops?: number | undefined;
    /** Dollars as a decimal, such as `2.50`. */
    cost_usd?: string | undefined;
    iterations?: number | undefined;
    llm_calls?: number | undefined;
    rounds?: number | undefined;
    wall_time_ms?: number | undefined;
  } | undefined;
  /** Whether the run goes on, as it does by default; else the answer is only recorded. */
  resume?: boolean | undefined;
  seen?: string | undefined;
  text?: string | null | undefined;
  /** Whether `text` is contract 5's envelope; its attachments come before those beside it, and there are at most 20 of both; false by default. */
  user_envelope?: boolean | undefined;
}

export interface BridgeAnswer {
  model: string;
  text: string;
  usage: JsonObject;
}

export interface BridgeRefusal {
  code?: string;
  detail?: string;
  error: string;
  issues?: JsonObject[];
  reason?: string;
}

export interface BridgeTurn {
  /** The run that the caller believes to be in; if it is another, no file is read. */
  agent_run_id?: unknown;
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
  messages?: readonly object[] | undefined;
  model?: string | undefined;
  stream?: boolean | null | undefined;
  stream_options?: object | null | undefined;
}

export interface ChatModels {
  data: JsonObject[];
  object: "list";
}

export interface ChatRefusal {
  error: JsonObject;
}

export interface Event {
  at: number;
  event: JsonObject;
  seq: number;
}

export interface Events {
  events: Event[];
  /** The `after` of the next page; null on the last. */
  next: number | null;
}

export interface Flow {
  digest: string;
  /** Its own first, then those that it names. */
  files: string[];
  flow: string;
  language: number;
  registered_at: string;
  registered_by: string;
}

export interface FlowFiles {
  /** The texts of all flows that belong to it, by their paths. */
  files: object;
  /** Which of the files the flow is. */
  flow: string;
}

export interface Flows {
  flows: Flow[];
}

export interface Forbidden {
  error: "Forbidden";
}

export interface Fork {
  /** A step of the run's own flow, as it was entered last; the one that stopped it by default. */
  from?: string | null | undefined;
  why?: string | null | undefined;
  /** How the run uses its workspace; alone by default. */
  workspace?: "alone" | "shared" | "copy" | undefined;
  /** Steps whose questions are approved as they are put. */
  yes_to?: readonly string[] | undefined;
}

export interface Forked {
  /** Whether anything works on the run now; null for one that is over. */
  activity: "working" | "stopped" | "set_aside";
  activity_since: string | null;
  actor: string;
  events: number;
  flow: string;
  flow_digest: string;
  forked_from: string | null;
  in_doubt: boolean;
  live_attempts: number;
  /** What should be known besides, such as files that lie otherwise than at the cut. */
  notes: string[];
  open_questions: number;
  reason: string | null;
  root: string | null;
  run: string;
  set_aside: JsonObject | null;
  started_at: string;
  status: "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  step: string | null;
  tenant: string;
  terminal_reason: string | null;
  updated_at: string;
  workspace: string;
}

export interface HandoffRow {
  at: string;
  flow: string;
  /** By this it is got: `[scope.]step.visit`. */
  handoff: string;
  scope: string;
  seq: number;
  status: "succeeded" | "failed" | "skipped";
  step: string;
  summary: string;
  visit: number;
}

export interface Handoffs {
  handoffs: HandoffRow[];
}

export interface Health {
  status: "ok";
}

export interface Log {
  attempt: string;
  seq: number;
  stderr_bytes: number;
  stdout_bytes: number;
}

export interface Logs {
  logs: Log[];
  /** The `after` of the next page; null on the last. */
  next: number | null;
}

export interface PinnedFlow {
  digest: string;
  language: number;
  name: string;
  /** Texts of the flows that it names, by their paths. */
  parts: JsonObject;
  text: string;
}

export interface Question {
  about: string;
  answer?: string | null;
  answered_by?: string | null;
  approved_by?: string[];
  /** What an open one takes, the most usual first. */
  choices?: string[];
  closed_at?: string | null;
  evidence?: JsonValue;
  expires_at: string | null;
  kind: string;
  question: string;
  raised_at: string;
  run: string;
  /** The form that it wants as `data`, or null. */
  schema?: JsonValue;
  scope: string;
  state: "open" | "lapsed" | "answered" | "expired" | "changed" | "cancelled";
  step: string;
  /** Digest of what is shown; send it back as `seen`. */
  subject?: string | null;
  text: string;
  visit: number;
}

export interface Questions {
  /** A stream from here on misses nothing that is not in the list. */
  last_event_id: string;
  /** The `cursor` of the next page. */
  next: string | null;
  questions: Question[];
}

export interface Raise {
  more: {
    agent_hops?: number | undefined;
    /** Dollars as a decimal, such as `2.50`. */
    cost_usd?: string | undefined;
    iterations?: number | undefined;
    llm_calls?: number | undefined;
    rounds?: number | undefined;
    wall_time_ms?: number | undefined;
  };
  why?: string | null | undefined;
}

export interface Refused {
  error: JsonValue;
}

export interface Resume {
  choice?: "rerun" | "fail" | "proceed" | "again" | "stop" | undefined;
  why?: string | null | undefined;
}

export interface Run {
  /** Whether anything works on the run now; null for one that is over. */
  activity: "working" | "stopped" | "set_aside";
  activity_since: string | null;
  actor: string;
  events: number;
  flow: string;
  flow_digest: string;
  forked_from: string | null;
  in_doubt: boolean;
  live_attempts: number;
  open_questions: number;
  reason: string | null;
  root: string | null;
  run: string;
  set_aside: JsonObject | null;
  started_at: string;
  status: "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  step: string | null;
  tenant: string;
  terminal_reason: string | null;
  updated_at: string;
  workspace: string;
}

export interface Runs {
  /** The `cursor` of the next page. */
  next: string | null;
  runs: Run[];
}

export interface Start {
  /** Digest of a registered flow, or its id for the newest. */
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
  name: string;
  scopes: ("read" | "answer" | "run" | "admin")[];
  tenant: string;
}

/** The members above that stay as they were read. */
export const FREE: ReadonlySet<string> = new Set(["error", "event", "evidence", "parts", "schema", "set_aside", "usage"]);
