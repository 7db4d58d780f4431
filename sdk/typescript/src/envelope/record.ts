/** One entry of the history: what an attempt was and how it went. */

import { jsonFor } from "../diagnostic.js";
import { Fields, withUnknown } from "../fields.js";
import { membersOf, refuseStringify } from "../json/stringify.js";
import { toJsonObject, type JsonObject, type JsonValue } from "../json/value.js";
import { RECORD_STATUSES, type RecordStatus } from "../vocabulary.js";
import { INVALID, readTime } from "./fields.js";

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
  unknown: JsonObject = membersOf();

  /** The seed's defaults, and what is given. */
  constructor(members: Partial<Omit<ProcessingRecord, "toJson" | "toJSON">> = {}) {
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

  /** The record as JSON with all its 8 members. @throws ContractError `ENVELOPE_INVALID` for what could not be read again */
  toJson(): JsonObject {
    return toJsonObject(recordMembers(ProcessingRecord.from(recordMembers(this))));
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }
}

/** The members of a record as they are, checked or not; what is no record, as it is. */
export function recordMembers(record: ProcessingRecord): unknown {
  if (!(record instanceof ProcessingRecord)) return record;
  const { agent, stage_order, started_at, completed_at, duration_ms, status, error, llm_calls, unknown } = record;
  const known = { agent, stage_order, started_at, completed_at, duration_ms, status, error, llm_calls };
  return withUnknown(new Map<string, unknown>(Object.entries(known)), unknown);
}
