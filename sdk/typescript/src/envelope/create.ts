/** Makes new envelopes and interrupts. Alone here a clock is read and an id is drawn, and only where none is given. */

import { toJsonObject } from "../json/value.js";
import { formatTime } from "../time.js";
import { Envelope } from "./envelope.js";
import type { InterruptKind } from "../vocabulary.js";
import { FlowInterrupt } from "./interrupt.js";

/** What a new envelope is made from. */
export interface EnvelopeRequest {
  /** What is asked. */
  raw_input: string;
  /** Who asks. */
  user_id: string;
  session_id: string;
  /** Default: a new UUID. */
  request_id?: string;
  /** Free-form. */
  metadata?: unknown;
  /** Default: a new UUID. */
  envelope_id?: string;
  /** Milliseconds since 1970; both `received_at` and `created_at`. Default: the clock's. */
  now_ms?: number;
}

/** A new envelope with the seed's defaults. */
export function createEnvelope(request: EnvelopeRequest): Envelope {
  const envelope = new Envelope();
  envelope.envelope_id = request.envelope_id ?? crypto.randomUUID();
  envelope.request_id = request.request_id ?? crypto.randomUUID();
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
  /** Default: a new UUID. */
  id?: string;
  /** Milliseconds since 1970. Default: the clock's. */
  now_ms?: number;
}

/** An open interrupt that expires after its kind's default time to live. */
export function createInterrupt(request: InterruptRequest): FlowInterrupt {
  const interrupt = new FlowInterrupt({
    kind: request.kind,
    id: request.id ?? crypto.randomUUID(),
    question: request.question ?? null,
    message: request.message ?? null,
    data: toJsonObject(request.data ?? {}),
    created_at: formatTime(request.now_ms ?? Date.now()),
  });
  return interrupt.withDefaultExpiry();
}
