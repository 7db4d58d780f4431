/** The state of a whole pipeline: 37 members that every language reads and writes without losing a digit. */

import { jsonFor, readDocument } from "../diagnostic.js";
import { Fields, isText, isTruth, withUnknown } from "../fields.js";
import { escapeSegment } from "../json/error.js";
import type { Source } from "../json/source.js";
import { membersOf, refuseStringify } from "../json/stringify.js";
import { describe, toJsonObject, type JsonObject, type JsonValue } from "../json/value.js";
import { EXCHANGED_MEMBERS, TERMINAL_REASONS, type TerminalReason } from "../vocabulary.js";
import { INVALID, readTime } from "./fields.js";
import { interpretations, type Interpretation } from "../interpretation.js";
import { FlowInterrupt, interruptMembers } from "./interrupt.js";
import { parseTerminalReason } from "./reason.js";
import { ProcessingRecord, recordMembers } from "./record.js";

/** What a step needs to know of the round it runs in. */
export interface StageContext {
  current_stage_number: number;
  max_stages: number;
  all_goals: string[];
  remaining_goals: string[];
  goal_completion_status: Map<string, string>;
  completed_stages: JsonObject[];
}

/**
 * The state of one pipeline. Members have the names of the wire and the seed's defaults. Counters are integers from 0 to
 * 2^53 - 1; times are RFC 3339 as they were read, maybe without offset.
 */
export class Envelope {
  envelope_id = "";
  request_id = "";
  user_id = "";
  session_id = "";
  raw_input = "";
  received_at: string | null = null;
  /** What each step gave, free-form. */
  outputs: JsonObject = membersOf();
  current_stage = "start";
  stage_order: string[] = [];
  /** How often a loop has gone back. */
  iteration = 0;
  max_iterations = 3;
  llm_call_count = 0;
  max_llm_calls = 10;
  agent_hop_count = 0;
  max_agent_hops = 21;
  /** Why it ended, for programs. */
  terminal_reason: TerminalReason | null = null;
  terminated = false;
  /** Why it ended, for people. */
  termination_reason: string | null = null;
  interrupt_pending = false;
  /** What it waits for; the oldest, if there are several. */
  interrupt: FlowInterrupt | null = null;
  active_stages = membersOf<boolean>();
  completed_stage_set = membersOf<boolean>();
  /** Steps that failed, and why. */
  failed_stages = membersOf<string>();
  parallel_mode = false;
  /** What each finished round did, free-form. */
  completed_stages: JsonObject[] = [];
  /** The round of the goals, from 1. */
  current_stage_number = 1;
  max_stages = 5;
  all_goals: string[] = [];
  remaining_goals: string[] = [];
  /** Each goal's status: `pending`, `complete`, or `satisfied` from a relative. */
  goal_completion_status = membersOf<string>();
  prior_plans: JsonObject[] = [];
  loop_feedback: string[] = [];
  processing_history: ProcessingRecord[] = [];
  errors: JsonObject[] = [];
  created_at: string | null = null;
  completed_at: string | null = null;
  metadata: JsonObject = membersOf();
  /** Members that this contract does not know, in the order read. */
  unknown: JsonObject = membersOf();

  /** Reads an envelope from its text or bytes. @throws ContractError `ENVELOPE_INVALID` with the place */
  static decode(source: Source): Envelope {
    return readDocument(INVALID, source, read);
  }

  /**
   * Reads an envelope from either form, or any subset of it; members that are missing have their defaults. Takes JSON, or
   * plain JavaScript values.
   *
   * @throws ContractError `ENVELOPE_INVALID` with the pointer: wrong types, unknown words, times that are none.
   */
  static fromDict(data: unknown): Envelope {
    return read(jsonFor(INVALID, data));
  }

  /**
   * Reads an envelope as `fromDict` does, and lists the values that are written differently now. Members that were missing
   * or null and have their defaults now are not among them. A group of members, as some systems write it, is kept as an unknown
   * member; what stands in it and would be one of ours is among them. @throws as `fromDict`
   */
  static importDict(data: unknown): { envelope: Envelope; interpretations: Interpretation[] } {
    const value = jsonFor(INVALID, data);
    const envelope = read(value);
    const found = interpretations(value, envelope.toStateDict());
    return { envelope, interpretations: [...found, ...grouped(value)] };
  }

  /**
   * All 37 members, nulls and all, then the unknown ones: the complete state.
   *
   * @throws ContractError `ENVELOPE_INVALID` if a member was set to what could not be read again
   */
  toStateDict(): JsonObject {
    return this.written(() => true);
  }

  /** The 22 members that systems exchange while a pipeline runs, then the unknown ones. @throws as `toStateDict` */
  toDict(): JsonObject {
    return this.written((name) => EXCHANGED_MEMBERS.has(name));
  }

  /** The complete state. @throws as `toStateDict` */
  toJson(): JsonObject {
    return this.toStateDict();
  }

  /** Refuses. @throws TypeError */
  toJSON(): never {
    return refuseStringify();
  }

  /** These members and the unknown ones. What could not be read again is not written. */
  private written(isWanted: (name: string) => boolean): JsonObject {
    const wanted = (envelope: Envelope): Map<string, unknown> =>
      new Map(envelope.members().filter(([name]) => isWanted(name)));
    const unknown = new Fields(INVALID, jsonFor(INVALID, this.unknown)).rest();
    const checked = read(jsonFor(INVALID, withUnknown(wanted(this), unknown)));
    return toJsonObject(withUnknown(wanted(checked), unknown));
  }

  /** Replaces all three goal members. Duplicates stay in the lists and collapse in the map; each goal is `pending`. */
  initializeGoals(goals: readonly string[]): void {
    this.all_goals = [...goals];
    this.remaining_goals = [...goals];
    this.goal_completion_status = membersOf(goals.map((goal): [string, string] => [goal, "pending"]));
  }

  /** Marks a goal `complete` and takes its first occurrence off the remaining ones. An unknown goal changes nothing. */
  markGoalComplete(goal: string): void {
    if (this.goal_completion_status.has(goal)) this.goal_completion_status.set(goal, "complete");
    const at = this.remaining_goals.indexOf(goal);
    if (at >= 0) this.remaining_goals.splice(at, 1);
  }

  /** Begins the next round. Nothing is clamped; bounds are tested where rounds are started. */
  advanceStage(): void {
    this.current_stage_number += 1;
  }

  /** A copy of what a step needs to know of its round. */
  getStageContext(): StageContext {
    return {
      current_stage_number: this.current_stage_number,
      max_stages: this.max_stages,
      all_goals: [...this.all_goals],
      remaining_goals: [...this.remaining_goals],
      goal_completion_status: membersOf(this.goal_completion_status),
      completed_stages: this.completed_stages.map(toJsonObject),
    };
  }

  /** Whether that many rounds have begun and no goal is done: `complete`, or `satisfied` as a relative writes it. */
  isStuck(minProgressStages = 2): boolean {
    const statuses = Array.from(this.goal_completion_status.values());
    const progress = statuses.some((status) => status === "complete" || status === "satisfied");
    return this.current_stage_number >= minProgressStages && !progress;
  }

  /** As they are, checked or not. */
  private members(): [string, unknown][] {
    return [
      ["envelope_id", this.envelope_id],
      ["request_id", this.request_id],
      ["user_id", this.user_id],
      ["session_id", this.session_id],
      ["raw_input", this.raw_input],
      ["received_at", this.received_at],
      ["outputs", this.outputs],
      ["current_stage", this.current_stage],
      ["stage_order", this.stage_order],
      ["iteration", this.iteration],
      ["max_iterations", this.max_iterations],
      ["llm_call_count", this.llm_call_count],
      ["max_llm_calls", this.max_llm_calls],
      ["agent_hop_count", this.agent_hop_count],
      ["max_agent_hops", this.max_agent_hops],
      ["terminal_reason", this.terminal_reason],
      ["terminated", this.terminated],
      ["termination_reason", this.termination_reason],
      ["interrupt_pending", this.interrupt_pending],
      ["interrupt", interruptMembers(this.interrupt)],
      ["active_stages", this.active_stages],
      ["completed_stage_set", this.completed_stage_set],
      ["failed_stages", this.failed_stages],
      ["parallel_mode", this.parallel_mode],
      ["completed_stages", this.completed_stages],
      ["current_stage_number", this.current_stage_number],
      ["max_stages", this.max_stages],
      ["all_goals", this.all_goals],
      ["remaining_goals", this.remaining_goals],
      ["goal_completion_status", this.goal_completion_status],
      ["prior_plans", this.prior_plans],
      ["loop_feedback", this.loop_feedback],
      ["processing_history", recordsOf(this.processing_history)],
      ["errors", this.errors],
      ["created_at", this.created_at],
      ["completed_at", this.completed_at],
      ["metadata", this.metadata],
    ];
  }
}

/** The members of each record; what is no list, as it is. */
function recordsOf(history: readonly ProcessingRecord[]): unknown {
  return Array.isArray(history) ? history.map(recordMembers) : history;
}

function read(value: JsonValue): Envelope {
  const fields = new Fields(INVALID, value);
  const envelope = new Envelope();
  readRequest(envelope, fields);
  readProgress(envelope, fields);
  readEnding(envelope, fields);
  readStages(envelope, fields);
  readGoals(envelope, fields);
  readHistory(envelope, fields);
  envelope.unknown = fields.rest();
  return envelope;
}

function readRequest(envelope: Envelope, fields: Fields): void {
  envelope.envelope_id = fields.string("envelope_id");
  envelope.request_id = fields.string("request_id");
  envelope.user_id = fields.string("user_id");
  envelope.session_id = fields.string("session_id");
  envelope.raw_input = fields.string("raw_input");
  envelope.received_at = readTime(fields, "received_at");
  envelope.outputs = fields.object("outputs");
}

function readProgress(envelope: Envelope, fields: Fields): void {
  envelope.current_stage = fields.string("current_stage", envelope.current_stage);
  envelope.stage_order = fields.strings("stage_order");
  envelope.iteration = fields.integer("iteration", envelope.iteration);
  envelope.max_iterations = fields.integer("max_iterations", envelope.max_iterations);
  envelope.llm_call_count = fields.integer("llm_call_count", envelope.llm_call_count);
  envelope.max_llm_calls = fields.integer("max_llm_calls", envelope.max_llm_calls);
  envelope.agent_hop_count = fields.integer("agent_hop_count", envelope.agent_hop_count);
  envelope.max_agent_hops = fields.integer("max_agent_hops", envelope.max_agent_hops);
}

function readEnding(envelope: Envelope, fields: Fields): void {
  envelope.terminal_reason = readTerminalReason(fields);
  envelope.terminated = fields.boolean("terminated");
  envelope.termination_reason = fields.nullableString("termination_reason");
  envelope.interrupt_pending = fields.boolean("interrupt_pending");
  const interrupt = fields.nullableObject("interrupt");
  envelope.interrupt = interrupt === null ? null : FlowInterrupt.read(interrupt, fields.pointer("interrupt"));
}

function readTerminalReason(fields: Fields): TerminalReason | null {
  const value = fields.take("terminal_reason") ?? null;
  if (value === null) return null;
  const reason = typeof value === "string" ? parseTerminalReason(value) : undefined;
  if (reason !== undefined) return reason;
  throw fields.wrong("terminal_reason", `null or one of ${TERMINAL_REASONS.join(", ")}`, value);
}

function readStages(envelope: Envelope, fields: Fields): void {
  envelope.active_stages = fields.mapOf("active_stages", "true or false", isTruth);
  envelope.completed_stage_set = fields.mapOf("completed_stage_set", "true or false", isTruth);
  envelope.failed_stages = fields.mapOf("failed_stages", "a string", isText);
  envelope.parallel_mode = fields.boolean("parallel_mode");
  envelope.completed_stages = readObjects(fields, "completed_stages");
}

function readGoals(envelope: Envelope, fields: Fields): void {
  envelope.current_stage_number = fields.integer("current_stage_number", envelope.current_stage_number);
  envelope.max_stages = fields.integer("max_stages", envelope.max_stages);
  envelope.all_goals = fields.strings("all_goals");
  envelope.remaining_goals = fields.strings("remaining_goals");
  envelope.goal_completion_status = fields.mapOf("goal_completion_status", "a string", isText);
}

function readHistory(envelope: Envelope, fields: Fields): void {
  envelope.prior_plans = readObjects(fields, "prior_plans");
  envelope.loop_feedback = fields.strings("loop_feedback");
  envelope.processing_history = fields.list("processing_history", "a list of objects", ProcessingRecord.read);
  envelope.errors = readObjects(fields, "errors");
  envelope.created_at = readTime(fields, "created_at");
  envelope.completed_at = readTime(fields, "completed_at");
  envelope.metadata = fields.object("metadata");
}

function readObjects(fields: Fields, name: string): JsonObject[] {
  return fields.list(name, "a list of objects", (element, place) => new Fields(INVALID, element, place).rest());
}

/** Members of ours that stand inside an unknown member, and nowhere else. */
function grouped(read: JsonValue): Interpretation[] {
  if (!(read instanceof Map)) return [];
  const known = new Envelope().toStateDict();
  return Array.from(read).flatMap(([group, members]) => {
    if (known.has(group) || !(members instanceof Map)) return [];
    const ours = Array.from(members).filter(([name, value]) => known.has(name) && value !== null && (read.get(name) ?? null) === null);
    return ours.map(([name, value]) => ({
      pointer: `/${escapeSegment(group)}/${name}`,
      read: describe(value),
      taken_as: `a part of the unknown member, not \`${name}\``,
    }));
  });
}
