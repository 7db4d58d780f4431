/**
 * The five contracts of Envoi, pure: no file, no network. Only `createEnvelope` and `createInterrupt` read a clock, and only
 * where no time is given.
 */

export { JsonError, type Position } from "./json/error.js";
export { JsonNumber } from "./json/number.js";
export { parseJson } from "./json/read.js";
export { MAX_BYTES, type Source } from "./json/source.js";
export { MAX_DEPTH, toJson, toJsonObject, toPlain, type JsonObject, type JsonValue } from "./json/value.js";
export { formatCompact, formatJson } from "./json/write.js";

export { ContractError } from "./diagnostic.js";
export { formatTime, parseTime } from "./time.js";
export {
  DEFAULT_TIME_TO_LIVE_MS,
  HANDOFF_STATUSES,
  INTERRUPT_KINDS,
  INTERRUPT_STATUSES,
  ORIGIN_KINDS,
  RECORD_STATUSES,
  ROUTING_KINDS,
  TERMINAL_REASONS,
  type Code,
  type HandoffStatus,
  type InterruptKind,
  type InterruptStatus,
  type OriginKind,
  type RecordStatus,
  type RoutingKind,
  type TerminalReason,
} from "./vocabulary.js";

export type { RoutingConfig, RoutingInput } from "./routing/input.js";
export { Audit, type Resolution, type Row } from "./routing/audit.js";
export { resolve, resolveRouting } from "./routing/resolve.js";
export {
  DECISIONS,
  RoutingSignal,
  convert,
  parseDecision,
  type Decision,
  type Route,
  type SignalForm,
  type SignalParts,
} from "./routing/signal.js";

export type { HandoffInput } from "./handoff/draft.js";
export { HandoffEnvelope, type HandoffExtras, type HandoffParts } from "./handoff/handoff.js";
export { MAX_SUMMARY_SCALARS, summarize } from "./handoff/summary.js";
export { writeHandoff, type Identity } from "./handoff/write.js";

export { createEnvelope, createInterrupt, type EnvelopeRequest, type InterruptRequest } from "./envelope/create.js";
export { Envelope, type StageContext } from "./envelope/envelope.js";
export type { Interpretation } from "./interpretation.js";
export { FlowInterrupt, InterruptResponse } from "./envelope/interrupt.js";
export { parseTerminalReason } from "./envelope/reason.js";
export { ProcessingRecord } from "./envelope/record.js";

export {
  SkillReport,
  judge,
  parseSkillReport,
  type Observed,
  type SkillError,
  type SkillReportEnvelope,
  type Verdict,
} from "./skill-report.js";

export { BlankAnswerError, answerText } from "./user-envelope/answer.js";
export { readAttachment, type AttachmentRef } from "./user-envelope/attachment.js";
export {
  EXTENSION_URI,
  MAX_ATTACHMENTS,
  UserEnvelopeParseError,
  parseUserEnvelope,
  wrapUserEnvelope,
  type UserEnvelope,
  type Wrapped,
} from "./user-envelope/user-envelope.js";
