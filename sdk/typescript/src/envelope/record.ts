/** One entry of the history: what an attempt was and how it went. */

import { jsonFor } from "../diagnostic.js";
import { Fields, withUnknown } from "../fields.js";
import { toJsonObject, type JsonObject, type JsonValue } from "../json/value.js";
import { RECORD_STATUSES, type RecordStatus } from "../vocabulary.js";
import { INVALID, counter, readTime } from "./fields.js";

/** One attempt of a step, with its 8 members. */
export class ProcessingRecord {
  agent = "";
  stage_order = 0;
  started_at: string | null = null;
  completed_at: string | null = null;
  duration_ms = 0;
  status: RecordStatus = "running";
  error: string | null = null;
  llm_calls = 0;
  /** Members that this contract does not know, in the order read. */
  unknown: JsonObject = new Map();

  /** The seed's defaults, and what is given. */
  constructor(members: Partial<Omit<ProcessingRecord, "toJson">> = {}) {
    Object.assign(this, members);
  }

  /** Reads a record; members that are missing have their defaults. @throws ContractError `ENVELOPE_INVALID` */
  static from(value: unknown): ProcessingRecord {
    return ProcessingRecord.read(jsonFor(INVALID, value), "");
  }

  /** Reads a record that stands at `place`. */
  static read(value: JsonValue, place: string): ProcessingRecord {
    const fields = new Fields(INVALID, value, place);
    return new ProcessingRecord({
      agent: fields.string("agent"),
      stage_order: fields.integer("stage_order", 0),
      started_at: readTime(fields, "started_at"),
      completed_at: readTime(fields, "completed_at"),
      duration_ms: fields.integer("duration_ms", 0),
      status: fields.word("status", RECORD_STATUSES, "running, success, error or skipped", "running"),
      error: fields.nullableString("error"),
      llm_calls: fields.integer("llm_calls", 0),
      unknown: fields.rest(),
    });
  }

  /** The record as JSON with all its 8 members. */
  toJson(): JsonObject {
    const known = new Map<string, JsonValue>([
      ["agent", this.agent],
      ["stage_order", counter(this.stage_order)],
      ["started_at", this.started_at],
      ["completed_at", this.completed_at],
      ["duration_ms", counter(this.duration_ms)],
      ["status", this.status],
      ["error", this.error],
      ["llm_calls", counter(this.llm_calls)],
    ]);
    return withUnknown(known, toJsonObject(this.unknown));
  }
}
