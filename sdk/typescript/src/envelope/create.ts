/** Makes new envelopes and interrupts. Alone here a clock is read and an id is drawn, and only where none is given. */

import { toJsonObject } from "../json/value.js";
import { formatTime } from "../time.js";
import { Envelope } from "./envelope.js";
import type { InterruptKind } from "../vocabulary.js";
import { FlowInterrupt } from "./interrupt.js";

/** What a new envelope is made from. */
export interface EnvelopeRequest {
  /** The text of the request. */
  raw_input: string;
  /** The user who makes the request. */
  user_id: string;
  session_id: string;
  /** Default: a new one, `req_` and a random UUID in hexadecimal digits. */
  request_id?: string;
  /** Free-form. */
  metadata?: unknown;
  /** Default: a new one, `env_…`. */
  envelope_id?: string;
  /** Milliseconds since 1970; both `received_at` and `created_at`. Default: the clock's. */
  now_ms?: number;
}

/** A new envelope with the seed's defaults. */
export function createEnvelope(request: EnvelopeRequest): Envelope {
  const envelope = new Envelope();
  envelope.envelope_id = request.envelope_id ?? freshId("env");
  envelope.request_id = request.request_id ?? freshId("req");
  envelope.user_id = request.user_id;
  envelope.session_id = request.session_id;
  envelope.raw_input = request.raw_input;
  envelope.received_at = formatTime(request.now_ms ?? Date.now());
  envelope.created_at = envelope.received_at;
  envelope.metadata = toJsonObject(request.metadata ?? {});
  return envelope;
}

/** What a new interrupt is made from; its other members can be set afterwards. */
export interface InterruptRequest {
  kind: InterruptKind;
  question?: string;
  message?: string;
  /** Free-form. */
  data?: unknown;
  /** Default: a new one, `int_` and a random UUID in hexadecimal digits. */
  id?: string;
  /** Milliseconds since 1970. Default: the clock's. */
  now_ms?: number;
}

/** An open interrupt that expires after its kind's default time to live. */
export function createInterrupt(request: InterruptRequest): FlowInterrupt {
  const interrupt = new FlowInterrupt({
    kind: request.kind,
    id: request.id ?? freshId("int"),
    question: request.question ?? null,
    message: request.message ?? null,
    data: toJsonObject(request.data ?? {}),
    created_at: formatTime(request.now_ms ?? Date.now()),
  });
  return interrupt.withDefaultExpiry();
}

/** A prefix and a UUID of version 4, as Python and the engine have it. Not `randomUUID`, which pages without TLS do not have. */
function freshId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return `${prefix}_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
