/** A pipeline that waits: the question, its addressee and the answer. */

import { jsonFor } from "../diagnostic.js";
import { Fields, withUnknown } from "../fields.js";
import { membersOf, refuseStringify } from "../json/stringify.js";
import { toJsonObject, type JsonObject, type JsonValue } from "../json/value.js";
import { formatTime, parseTime } from "../time.js";
import {
  DEFAULT_TIME_TO_LIVE_MS,
  INTERRUPT_KINDS,
  INTERRUPT_STATUSES,
  type InterruptKind,
  type InterruptStatus,
} from "../vocabulary.js";
import { INVALID, readTime } from "./fields.js";

/** An answer. Written with the members that are there. */
export class InterruptResponse {
  text: string | null = null;
  approved: boolean | null = null;
  decision: string | null = null;
  data: JsonObject | null = null;
  /** When it came; stored once. */
  received_at: string | null = null;
  /** Members that this contract does not know, in the order read. */
  unknown: JsonObject = membersOf();

  constructor(members: Partial<Omit<InterruptResponse, "toJson" | "toJSON">> = {}) {
    Object.assign(this, members);
  }

  /** Reads an answer; any member may be missing or null. @throws ContractError `ENVELOPE_INVALID` */
  static from(value: unknown): InterruptResponse {
    return InterruptResponse.read(jsonFor(INVALID, value), "");
  }

  /** Reads an answer that stands at `place`. */
  static read(value: JsonValue, place: string): InterruptResponse {
    const fields = new Fields(INVALID, value, place);
    return new InterruptResponse({
      text: fields.nullableString("text"),
      approved: fields.nullableBoolean("approved"),
      decision: fields.nullableString("decision"),
      data: fields.nullableObject("data"),
      received_at: readTime(fields, "received_at"),
      unknown: fields.rest(),
    });
  }

  /** The members that are there. @throws ContractError `ENVELOPE_INVALID` for what could not be read again */
  toJson(): JsonObject {
    return toJsonObject(responseMembers(InterruptResponse.from(responseMembers(this))));
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }
}

/** One question to a person or a system, with its 16 members. Those of another system may lack an owner or a status. */
export class FlowInterrupt {
  id: string | null = null;
  kind: InterruptKind;
  request_id: string | null = null;
  user_id: string | null = null;
  session_id: string | null = null;
  envelope_id: string | null = null;
  question: string | null = null;
  message: string | null = null;
  data: JsonObject | null = membersOf();
  response: InterruptResponse | null = null;
  status: InterruptStatus | null = "pending";
  created_at: string | null = null;
  expires_at: string | null = null;
  resolved_at: string | null = null;
  trace_id: string | null = null;
  span_id: string | null = null;
  /** Members that this contract does not know, in the order read. */
  unknown: JsonObject = membersOf();

  /** An open interrupt: status `pending`, `data` empty, without expiry; and what is given. */
  constructor(members: Partial<Omit<FlowInterrupt, "toJson" | "toJSON" | "withDefaultExpiry">> & { kind: InterruptKind }) {
    this.kind = members.kind;
    Object.assign(this, members);
  }

  /** Reads an interrupt; only `kind` is required, and nothing is filled in. @throws ContractError `ENVELOPE_INVALID` */
  static from(value: unknown): FlowInterrupt {
    return FlowInterrupt.read(jsonFor(INVALID, value), "");
  }

  /** Reads an interrupt that stands at `place`. */
  static read(value: JsonValue, place: string): FlowInterrupt {
    const fields = new Fields(INVALID, value, place);
    return new FlowInterrupt({
      id: fields.nullableString("id"),
      kind: fields.word("kind", INTERRUPT_KINDS, KINDS_EXPECTED),
      request_id: fields.nullableString("request_id"),
      user_id: fields.nullableString("user_id"),
      session_id: fields.nullableString("session_id"),
      envelope_id: fields.nullableString("envelope_id"),
      question: fields.nullableString("question"),
      message: fields.nullableString("message"),
      data: fields.nullableObject("data"),
      response: readResponse(fields),
      status: readStatus(fields),
      created_at: readTime(fields, "created_at"),
      expires_at: readTime(fields, "expires_at"),
      resolved_at: readTime(fields, "resolved_at"),
      trace_id: fields.nullableString("trace_id"),
      span_id: fields.nullableString("span_id"),
      unknown: fields.rest(),
    });
  }

  /** The same, expiring after its kind's default time to live, counted from `created_at`. */
  withDefaultExpiry(): FlowInterrupt {
    const created = this.created_at === null ? undefined : parseTime(this.created_at);
    const timeToLive = DEFAULT_TIME_TO_LIVE_MS[this.kind];
    if (created === undefined || timeToLive === null) return this;
    return new FlowInterrupt({ ...this, expires_at: formatTime(created + timeToLive) });
  }

  /** The interrupt as JSON with all its 16 members. @throws ContractError `ENVELOPE_INVALID` for what could not be read again */
  toJson(): JsonObject {
    return toJsonObject(interruptMembers(FlowInterrupt.from(interruptMembers(this))));
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }
}

/** The members of an answer as they are, checked or not; what is no answer, as it is. */
function responseMembers(response: InterruptResponse | null): unknown {
  if (!(response instanceof InterruptResponse)) return response;
  const { text, approved, decision, data, received_at, unknown } = response;
  const known = Object.entries({ text, approved, decision, data, received_at });
  return withUnknown(new Map<string, unknown>(known.filter(([, value]) => value !== null)), unknown);
}

/** The members of an interrupt as they are, checked or not; what is no interrupt, as it is. */
export function interruptMembers(interrupt: FlowInterrupt | null): unknown {
  if (!(interrupt instanceof FlowInterrupt)) return interrupt;
  const { id, kind, request_id, user_id, session_id, envelope_id, question, message, data, status, unknown } = interrupt;
  const { created_at, expires_at, resolved_at, trace_id, span_id } = interrupt;
  const ofQuestion = { id, kind, request_id, user_id, session_id, envelope_id, question, message, data };
  const answered = { response: responseMembers(interrupt.response), status };
  const known = { ...ofQuestion, ...answered, created_at, expires_at, resolved_at, trace_id, span_id };
  return withUnknown(new Map<string, unknown>(Object.entries(known)), unknown);
}

const KINDS_EXPECTED =
  "clarification, confirmation, agent_review, checkpoint, resource_exhausted, timeout or system_error";

function readStatus(fields: Fields): InterruptStatus | null {
  const value = fields.take("status") ?? null;
  if (value === null) return null;
  const status = INTERRUPT_STATUSES.find((known) => known === value);
  if (status === undefined) throw fields.wrong("status", "pending, resolved, expired, cancelled or null", value);
  return status;
}

function readResponse(fields: Fields): InterruptResponse | null {
  const response = fields.nullableObject("response");
  return response === null ? null : InterruptResponse.read(response, fields.pointer("response"));
}
