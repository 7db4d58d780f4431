/**
 * What the server's answers and requests look like.
 *
 * Generated from `spec/openapi.json` by `cargo xtask generate`: change it there.
 */

/** A reference to a file (contract 5). */
export type AttachmentRef = object;

export type Amount = Most | string;

export type Most = number | {
  /** The largest number that they can: 2^53 − 1. */
  more_than: number;
};

export interface Amounts {
  /** Attempts. */
  agent_hops: number;
  /** Dollars. */
  cost_usd: string;
  /** Times that loops went back. */
  iterations: number;
  /** Calls of models. */
  llm_calls: number;
  /** Rounds. */
  rounds: number;
  /** Tokens that models were given. */
  tokens_in: number;
  /** Tokens that models gave. */
  tokens_out: number;
  /** Attempts and calls of models of which it is not known how many calls they made: `llm_calls` is the least. */
  unknown_calls: number;
  /** Those of which it is not known what they cost: `cost_usd` is the least. */
  unknown_costs: number;
  /** Those of which it is not known how many tokens they used: `tokens_in` and `tokens_out` are the least. */
  unknown_tokens: number;
  /** Time of waiting for closed accounts, of the run itself: it is not shared with forks, and steps have none. */
  waiting_ms: number;
  /** Time of work. */
  wall_time_ms: number;
}

export interface Answer {
  /** Files that come with it. */
  attachments?: readonly AttachmentRef[] | undefined;
  /** The decision; where the question takes words, they are the answer without one. */
  choice?: "approve" | "deny" | "respond" | "proceed" | "again" | "ours" | "theirs" | "edit" | "stop" | "rerun" | "fail" | "raise" | undefined;
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
    /** Time of waiting for closed accounts. */
    waiting_ms?: number | undefined;
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

export interface ArtifactVersion {
  /** The digest of its content; null if it was deleted. */
  digest: string | null;
  /** Relative to the workspace. */
  path: string;
  /** Its size; null if it was deleted. */
  size_bytes: number | null;
  /** The visit that left it. */
  visit: string;
}

export interface Artifacts {
  /** The versions, sorted by their paths; those of one path in the order in which they were handed over. */
  artifacts: readonly ArtifactVersion[];
  /** The `cursor` of the next page; null on the last. */
  next: string | null;
  /** How many there are on all pages. */
  total: number;
}

export interface BridgeAnswer {
  /** Which model it was. */
  model: string;
  /** What the model says. */
  text: string;
  /** What the call used. */
  usage: {
    /** Dollars. */
    cost_usd: string | null;
    /** Tokens that the model was given. */
    tokens_in: number | null;
    /** Tokens that the model gave. */
    tokens_out: number | null;
  };
}

export interface BridgeRefusal {
  /** The error code. */
  code?: string | undefined;
  /** What exactly is wrong. */
  detail?: string | undefined;
  /** The refusal as a word. */
  error: string;
  /** Each mistake at its place. */
  issues?: readonly ({
    /** What. */
    message: string;
    /** Where. */
    path: string;
  })[] | undefined;
  /** Why a file cannot be read. */
  reason?: string | undefined;
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

export interface CachedFrom {
  /** The attempt, such as `build.1.1`. */
  attempt: string;
  /** Its run, which may be gone. */
  run: string;
}

export interface ChangedFile {
  /** The digest of its content when the question was raised, or of the last one that the run, or the visit, has left; null if it was deleted. */
  after_digest: string | null;
  /** The digest of its content before the run, or before the visit that was asked about; null if there was none, or if that is not known. */
  before_digest: string | null;
  /** Whether the run made it. */
  created: boolean;
  /** Its path in the workspace. */
  path: string;
  /** The size of that content; null if it was deleted, or if the server does not say. */
  size_bytes: number | null;
}

export interface ChangedFiles {
  /** The files; at most 1,000. */
  files: readonly ChangedFile[];
  /** How many there are. */
  total: number;
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
  data: readonly ({
    /** When, in seconds since 1970; 0: not known. */
    created: number;
    /** Its id. */
    id: string;
    /** What this is. */
    object: "model";
    /** Who offers it. */
    owned_by: string;
  })[];
  /** What this is. */
  object: "list";
}

export interface ChatRefusal {
  /** Why. */
  error: {
    /** The error code. */
    code: string;
    /** What exactly is wrong. */
    message: string;
    /** Always null. */
    param: unknown | null;
    /** The class of error, as the OpenAI API has it. */
    type: string;
  };
}

export interface Compare {
  /** The texts of a flow that is not registered, and of all flows that it names, by their paths. They need a token with the scope `admin`. */
  files?: object | undefined;
  /** The corrected flow: the digest of a registered one, or its id for the newest. With `files`: which of them it is. By default the flow that the run is pinned to: what going on as it is means. */
  flow?: string | null | undefined;
  /** Whether a fork is meant, from that step or from the one that stopped the run: `notes` and `refusals` are then those of a fork. */
  fork?: boolean | undefined;
  /** The step from which on finished steps run again; by default none does. */
  from?: string | null | undefined;
}

export interface ComparedFile {
  /** Lines that came. 0 for a file that is no text. */
  added: number;
  /** What stands there; null if nothing does. */
  after: FileState | null;
  /** What stood there; null if nothing did. */
  before: FileState | null;
  /** The attempts that changed it, in their order. `edited between A and B`: it changed between these two attempts, not by an attempt. `set back for A`: Envoi set it back before that attempt. `restored after A`: a restore that came after it set it back. */
  by: readonly string[];
  /** The lines that differ, with three around them, as text for people; null unless `lines` was asked for. Characters that would steer a terminal are escaped, and long lines are cut: it is no patch. */
  lines: string | null;
  /** Relative to the workspace. Bytes that are no UTF-8 are replaced. */
  path: string;
  /** Lines that went. */
  removed: number;
}

export interface ComparedStep {
  /** How it differs. */
  change: "kept" | "changed" | "new" | "gone";
  /** Where it differs: keys of the step or of the flow, and flows that it runs with their steps. */
  differs_in: readonly string[];
  /** What the run does with it from here on. */
  from_here: "stays" | "runs" | "runs_again" | "does_not_run";
  /** What its last visit came to; null if there was none. */
  status: "succeeded" | "failed" | "skipped" | null;
  /** The step. */
  step: string;
}

export interface Comparison {
  /** The step from which on finished steps run again; null if none does. */
  again_from: string | null;
  /** The digest of the corrected flow. */
  corrected_digest: string;
  /** The digest of the flow that it is pinned to. */
  flow_digest: string;
  /** Where the run goes on, in listed order; null in a graph, or if that step is gone. */
  goes_on_at: string | null;
  /** Whether there is nothing to correct: the run is pinned to this flow, and no step is to run again. */
  is_same: boolean;
  /** The limits that differ, each as `name: before -> after`. */
  limits: readonly string[];
  /** What else follows, each in a sentence: approvals given in advance that are void. */
  notes: readonly string[];
  /** Why the corrected flow cannot take over, each in a sentence; empty: it can. */
  refusals: readonly string[];
  /** The run. */
  run: string;
  /** The steps of both flows: those of the corrected one in its order, then those that are gone. */
  steps: readonly ComparedStep[];
  /** What is sent as `seen` to agree to this; it is another one when anything of this is. */
  subject: string;
  /** Whether an attempt is running: the corrected flow takes over when it has settled. */
  waits: boolean;
}

export interface Correct {
  /** The texts of a flow that is not registered, and of all flows that it names, by their paths. They need a token with the scope `admin`. */
  files?: object | undefined;
  /** The corrected flow: the digest of a registered one, or its id for the newest. With `files`: which of them it is. */
  flow: string;
  /** The step from which on finished steps run again; by default none does. */
  from?: string | null | undefined;
  /** The reason, for the journal. Older clients send it as `why`. */
  reason?: string | null | undefined;
  /** The `subject` of the comparison that is agreed to; if it is another by now, the correction is refused. */
  seen: string;
}

export interface Differences {
  /** The files, sorted by their paths. */
  files: readonly ComparedFile[];
  /** The `cursor` of the next page; null on the last. */
  next: string | null;
  /** With `outside`, a sentence about the files that the run has changed in its tree, but not in its workspace; null if there are none. */
  outside: string | null;
  /** How many there are on all pages. */
  total: number;
}

export interface ErrorPage {
  /** The code. */
  code: string;
  /** The page, in Markdown. */
  page: string;
}

export interface Event {
  /** When it was decided. */
  at: string;
  /** What happened. */
  event: {
    /** Its type, such as `attempt_settled`. */
    type: string;
  };
  /** Its place in the run, from 0. */
  seq: number;
  /** The event as the journal has it, if the request wants that. */
  stored?: string | undefined;
}

export interface Events {
  /** The events. */
  events: readonly Event[];
  /** The `after` of the next page; null on the last. */
  next: number | null;
}

export interface FileState {
  /** The digest of its content, or of the target of a link; null if it is not kept. */
  digest: string | null;
  /** Its kind. */
  kind: "file" | "link" | "empty_folder" | "left_out";
  /** The permission bits in octal digits, such as `644`. */
  mode: string;
  /** Its size. */
  size_bytes: number;
}

export interface Flow {
  /** Its digest. */
  digest: string;
  /** Its own file first, then those that it names. */
  files: readonly string[];
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

export interface FlowInput {
  /** Its value if none is given; null if it has none. */
  default: unknown;
  /** Its name. */
  input: string;
  /** Whether a run has to be given it. */
  required: boolean;
  /** The JSON Schema of its value. */
  schema: object;
}

export interface FlowPlan {
  /** Attempts of all steps. */
  attempts: Most;
  /** Dollars that reports may tell of. */
  cost_usd: string | null;
  /** Time from the start to the end, if every attempt has a slot and every question an answer at once. */
  elapsed_ms: Most | null;
  /** The file, as it was named. */
  file: string;
  /** Its id. */
  flow: string;
  /** Times that loops go back. */
  iterations: Most;
  /** The limits that lower the worst case. */
  limits: readonly PlannedLimit[];
  /** Calls of models that reports may tell of. */
  llm_calls: Most | null;
  /** What sends the run back. */
  loops: readonly PlannedLoop[];
  /** What to lower for fewer attempts; null if nothing in the file can be lowered. */
  most_attempts: MostAttempts | null;
  /** What to lower for less time; null if nothing in the file can be lowered. */
  most_time: MostTime | null;
  /** What has to be known to read the figures. */
  notes: readonly string[];
  /** Rounds of its goals; null if it has none. */
  rounds: number | null;
  /** Its steps, and after them those of the flows that it runs. */
  steps: readonly PlannedStep[];
  /** Visits of all steps. */
  visits: Most;
  /** Time of waiting before further tries, added up. */
  waits_ms: Most;
  /** Time in which attempts run, added up. */
  wall_time_ms: Most | null;
}

export interface FlowShape {
  /** Its digest. */
  digest: string;
  /** Its id. */
  flow: string;
  /** The steps of the flows that it names, directly or not, by their ids. */
  flows: object;
  /** Whether `needs` says what follows what, and not the order of the steps. */
  graph: boolean;
  /** Its inputs, in the order of the file. */
  inputs: readonly FlowInput[];
  /** What is repeated until all goals are reached; null if it has no goals. */
  rounds: Rounds | null;
  /** Its steps, in the order of the file. */
  steps: readonly StepShape[];
  /** For people; null if it has none. */
  title: string | null;
}

export interface Flows {
  /** The flows. */
  flows: readonly Flow[];
}

export interface Forbidden {
  /** `Forbidden`. */
  error: "Forbidden";
}

export interface Fork {
  /** The texts of a flow that is not registered, and of all flows that it names, by their paths. They need a token with the scope `admin`. */
  files?: object | undefined;
  /** The corrected flow under which the new run goes on from there: the digest of a registered one, or its id for the newest. With `files`: which of them it is. By default the flow that held there. */
  flow?: string | null | undefined;
  /** A step of the run's own flow, as it was entered last; the one that stopped it by default. */
  from?: string | null | undefined;
  /** The reason, for the journal. Older clients send it as `why`. */
  reason?: string | null | undefined;
  /** How the run uses its workspace; alone by default. */
  workspace?: "alone" | "shared" | "copy" | undefined;
  /** Steps whose questions are approved as they are put. */
  yes_to?: readonly string[] | undefined;
}

export interface Forked {
  /** Whether an engine, or a step under its supervisor, works on the run now; null if it has ended. */
  activity: "working" | "stopped" | "set_aside" | null;
  /** Since when. */
  activity_since: string | null;
  /** Who started it. */
  actor: string;
  /** How many events it has. */
  events: number;
  /** Whether a change of its files, by `envoi restore` or `envoi apply`, was begun and is not done. */
  files_half_set_back: boolean;
  /** The id of its flow. */
  flow: string;
  /** The digest of the flow that it is pinned to. */
  flow_digest: string;
  /** The run that it was forked from; null if it is no fork. */
  forked_from: string | null;
  /** The head of the chain over its events, as `export` has it; null unless it is over, and in a list of runs. */
  head: string | null;
  /** Whether an attempt is in doubt, so that a person has to decide. */
  in_doubt: boolean;
  /** Attempts that were started and have not ended. */
  live_attempts: number;
  /** What should be known besides, such as files that differ from what they were at the step. */
  notes: readonly string[];
  /** Questions that wait for a person. */
  open_questions: number;
  /** The part of its flow that it does; null if it does all of it. */
  part: {
    /** This step and what follows it. */
    from: string | null;
    /** These steps and no others; empty if others were not left out in this way. */
    only: readonly string[];
    /** Not these steps. */
    skip: readonly string[];
    /** This step and what comes before it. */
    until: string | null;
    /** The run whose hand-offs stand for those of steps that are left out. */
    with: string | null;
  } | null;
  /** Why it ended, in a sentence; null while it goes on. */
  reason: string | null;
  /** The first run of its family; null if it is no fork. */
  root: string | null;
  /** Its id. */
  run: string;
  /** Why it is set aside; null if it is not. */
  set_aside: {
    /** The error code; `envoi explain CODE` says more. */
    code: string;
    /** What was found. */
    evidence: string;
    /** Why, in a sentence. */
    reason: string;
    /** Since when. */
    since: string;
  } | null;
  /** How it stands, in one word, with what works on it now and what it waits for. */
  stands: "set_aside" | "stopped" | "running_without_an_engine" | "waiting_for_account" | "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  /** When its first event was decided. */
  started_at: string;
  /** Where it stands. */
  status: "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  /** The step it is in, or was in when it ended. */
  step: string | null;
  /** Whether a step of it goes on under its supervisor without an engine; who resumes it waits for that step. */
  step_works: boolean;
  /** Whose run it is. */
  tenant: string;
  /** Why it ended, as a word of contract 3; null while it goes on. */
  terminal_reason: string | null;
  /** When its newest event was decided. */
  updated_at: string;
  /** The account of an agent program that a step of it waits for, the one that is tried first; null if it waits for none. */
  waits_for: {
    /** Its name. */
    account: string;
    /** When the next try is made. */
    next_try: string;
    /** When its provider says that it is open again; null if it does not say. */
    resets_at: string | null;
  } | null;
  /** The folder in which its commands run. */
  workspace: string;
}

export interface Given {
  /** When. */
  at: string;
  /** References to its files (contract 5). */
  attachments: readonly object[];
  /** Who. */
  by: string;
  /** The way it came in, such as `cli` or `rest`. */
  channel: string;
  /** The choice. */
  choice: string;
  /** The form that was filled in. */
  data: unknown;
  /** Its event in the journal of the run; null if the server does not say. */
  event: number | null;
  /** In words. */
  text: string;
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
  handoffs: readonly HandoffRow[];
}

export interface Health {
  /** `ok`. */
  status: "ok";
}

export interface InnerFlow {
  /** Which of the flow's files it is; null if that is not known. */
  file: string | null;
  /** Whether `needs` says what follows what. */
  graph: boolean;
  /** What is repeated until all goals are reached; null if it has no goals. */
  rounds: Rounds | null;
  /** Its steps. */
  steps: readonly StepShape[];
  /** For people; null if it has none. */
  title: string | null;
}

export interface LastHandoff {
  /** Why it failed; null if it did not. */
  error: string | null;
  /** Its name, such as `draft.1`. */
  handoff: string;
  /** What it came to. */
  status: "succeeded" | "failed" | "skipped";
  /** Its summary. */
  summary: string;
  /** Whether a critic has verified it; null if none has judged it. */
  verified: boolean | null;
}

export interface Lead {
  /** The choice. */
  choice: string;
  /** What it leads to, in words. */
  leads_to: string;
}

export interface Limits {
  /** Attempts. */
  agent_hops: number | null;
  /** Dollars. */
  cost_usd: string | null;
  /** Times that loops go back. */
  iterations: number | null;
  /** Calls of models. */
  llm_calls: number | null;
  /** Rounds. */
  rounds: number | null;
  /** Time of waiting for closed accounts. */
  waiting_ms: number | null;
  /** Time of work. */
  wall_time_ms: number | null;
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
  logs: readonly Log[];
  /** The `after` of the next page; null on the last. */
  next: number | null;
}

export interface MessagesRefusal {
  /** Why. */
  error: {
    /** The error code of Envoi. */
    code: string;
    /** What exactly is wrong. */
    message: string;
    /** The class of error, as that API has it. */
    type: string;
  };
  /** What this is. */
  type: "error";
}

export interface ModelAmounts {
  /** What its calls have cost, in US dollars. */
  cost_usd: string;
  /** Calls that have begun. */
  llm_calls: number;
  /** The model, as the configuration names it. */
  model: string;
  /** Who offers it, as the configuration names it; null for the calls of steps that ask a model. */
  provider: string | null;
  /** Tokens that it was given. */
  tokens_in: number;
  /** Tokens that it gave. */
  tokens_out: number;
  /** Calls that are over and whose cost is not known: `cost_usd` has nothing for them. */
  unknown_costs: number;
  /** Calls that are over and whose tokens are not known: the sums have nothing, or a part, for them. */
  unknown_tokens: number;
}

export interface MostAttempts {
  /** The file; null if the key does not stand in it. */
  file: string | null;
  /** The flow in whose file it stands. */
  flow: string;
  /** Its key, from the step or from the top of the file. */
  key: string;
  /** Whether the file says so; otherwise it is the most that any list may have. */
  known: boolean;
  /** The line, from 1. */
  line: number | null;
  /** What it is now. */
  now: number;
  /** The attempts that one less saves. */
  one_less_saves: Most;
  /** The steps that are repeated because of it. */
  path: readonly string[];
  /** The attempts of the steps in `path`. */
  spent_there: Most;
  /** The step; null if it is the flow's. */
  step: string | null;
}

export interface MostTime {
  /** The file; null if the key does not stand in it. */
  file: string | null;
  /** The flow in whose file it stands. */
  flow: string;
  /** Its key, from the step or from the top of the file. */
  key: string;
  /** Whether the file says so; otherwise it is the most that any list may have. */
  known: boolean;
  /** The line, from 1. */
  line: number | null;
  /** What it is now. */
  now: number;
  /** The time that one less saves. */
  one_less_saves_ms: Most;
  /** The steps that are repeated because of it. */
  path: readonly string[];
  /** The time of the steps in `path`. */
  spent_there_ms: Most;
  /** The step; null if it is the flow's. */
  step: string | null;
}

export interface NewSession {
  /** The half that the page sends as `X-Envoi-Page`. It is shown once. */
  key: string;
  /** Its name, which stands with everything that is done with it. */
  name: string;
  /** What it allows. */
  scopes: readonly ("read" | "answer" | "run" | "admin")[];
  /** Whose it is. */
  tenant: string;
}

export interface PinnedFlow {
  /** Its digest. */
  digest: string;
  /** The flows that it corrects, if the run has been corrected. */
  earlier?: readonly PinnedFlow[] | undefined;
  /** The version of the flow language. */
  language: number;
  /** The name of its file. */
  name: string;
  /** Texts of the flows that it names, by their paths. */
  parts: object;
  /** Its text. */
  text: string;
}

export interface PlannedItems {
  /** Whether the files say so; otherwise it is the most that any list may have. */
  known: boolean;
  /** At most. */
  most: number;
}

export interface PlannedLimit {
  /** Its key in `limits`. */
  limit: string;
  /** What it lowers that to. */
  with: Amount;
  /** What could be without it. */
  without: Amount;
}

export interface PlannedLoop {
  /** The earliest step that it goes back to. */
  back_to: string;
  /** Whether it goes back only where a person decides so. */
  by_people: boolean;
  /** Whether it is the rounds of the flow's goals. */
  by_rounds: boolean;
  /** How often it goes back each time that it is entered. */
  each_entry: number;
  /** How often it is entered. */
  entries: Most;
  /** The flow that it is in. */
  flow: string;
  /** How often it goes back in the run. */
  returns: Most;
  /** The step that closes it. */
  step: string;
}

export interface PlannedStep {
  /** Whether it asks a person and makes no attempt. */
  asks: boolean;
  /** Its attempts. */
  attempts: Most;
  /** Attempts of a visit, or of an item. */
  attempts_each: Most;
  /** How many of those are because an attempt was in doubt. */
  doubt_each: number;
  /** The flow that it is a step of. */
  flow: string;
  /** The flow that it runs; null if it runs none. */
  inner_flow: string | null;
  /** Items of a visit; null if it is done for no list. */
  items: PlannedItems | null;
  /** Its id. */
  step: string;
  /** The time limit of an attempt; null if it has none. */
  timeout_ms: number | null;
  /** Its visits. */
  visits: Most;
  /** Time of all its attempts; null if it is not bounded. */
  wall_time_ms: Most | null;
}

export interface Question {
  /** Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit`, `throttled`, `conflict` or `in_doubt`. */
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
  /** Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit`, `throttled`, `conflict` or `in_doubt`. */
  about: string;
  /** The choice that closed it; null if there was none. */
  answer: string | null;
  /** Who made it. */
  answered_by: string | null;
  /** The reason why the caller may not answer, as a sentence; null if the caller may, or if the question is closed. */
  barred: string | null;
  /** The choices that it takes, the most usual first; empty if it is closed. */
  choices: readonly string[];
  /** When it was closed; null while it is open. */
  closed_at: string | null;
  /** What one needs to know to answer. */
  evidence: unknown;
  /** When it lapses; null: never. */
  expires_at: string | null;
  /** The names of its fields, in the order of the flow file; members of `schema` have none. */
  fields: readonly string[];
  /** Files that the run had changed when it put the question. */
  files: readonly ChangedFile[];
  /** The id of the flow. */
  flow: string;
  /** The answer; null if there is none. */
  given: Given | null;
  /** The kind of question, as a word of contract 3. */
  kind: string;
  /** The last hand-off before the question; null if there is none. */
  last_handoff: LastHandoff | null;
  /** What each choice leads to; null if the question is closed. */
  leads: readonly Lead[] | null;
  /** The limits of the run; null is unlimited. */
  limits: Limits;
  /** Its id. */
  question: string;
  /** How many different people have to approve. */
  quorum: number;
  /** When it was raised. */
  raised_at: string;
  /** The run that asks. */
  run: string;
  /** The form that it wants as `data`; null if it wants none. */
  schema: unknown;
  /** The inner flows and the item in which its visit stands; empty at the top. */
  scope: string;
  /** What happens if no answer comes; null if the question does not lapse or is closed. */
  silence: string | null;
  /** Who started the run. */
  started_by: string;
  /** What has become of it. */
  state: "open" | "lapsed" | "answered" | "expired" | "changed" | "cancelled";
  /** The step that is concerned. */
  step: string;
  /** The digest of what is shown; send it back as `seen`. */
  subject: string | null;
  /** The question. */
  text: string;
  /** The title of the flow; null if it has none. */
  title: string | null;
  /** What the run and its family have used. */
  used: Amounts;
  /** Which visit of the step, from 1. */
  visit: number;
  /** Approvals so far, where several people have to approve. */
  votes: readonly ({
    /** Who. */
    by: string;
    /** The way it came in, such as `cli` or `rest`. */
    channel: string;
    /** In words. */
    text: string;
  })[];
}

export interface Questions {
  /** A stream from here on misses nothing that is not in the list. */
  last_event_id: string;
  /** The `cursor` of the next page; null on the last. */
  next: string | null;
  /** The questions. */
  questions: readonly Question[];
}

export interface Raise {
  /** By how much each limit is raised. */
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
    /** Time of waiting for closed accounts. */
    waiting_ms?: number | undefined;
    /** Time of work. */
    wall_time_ms?: number | undefined;
  };
  /** The reason, for the journal. Older clients send it as `why`. */
  reason?: string | null | undefined;
}

export interface Refused {
  /** Why, in words or as an object. */
  error: unknown;
}

export interface Resume {
  /** A decision on what the run waits for; without one, a run that failed is reopened. */
  choice?: "rerun" | "fail" | "proceed" | "again" | "ours" | "theirs" | "stop" | undefined;
  /** Whether steps whose account is closed by a limit are tried now, before its reset; also of a run that failed at it. */
  now?: boolean | undefined;
  /** The reason, for the journal. Older clients send it as `why`. */
  reason?: string | null | undefined;
}

export interface Rounds {
  /** The first step of a round. */
  first_step: string;
  /** The last step of a round. */
  last_step: string;
  /** The most rounds. */
  max_rounds: number;
}

export interface Run {
  /** Whether an engine, or a step under its supervisor, works on the run now; null if it has ended. */
  activity: "working" | "stopped" | "set_aside" | null;
  /** Since when. */
  activity_since: string | null;
  /** Who started it. */
  actor: string;
  /** How many events it has. */
  events: number;
  /** Whether a change of its files, by `envoi restore` or `envoi apply`, was begun and is not done. */
  files_half_set_back: boolean;
  /** The id of its flow. */
  flow: string;
  /** The digest of the flow that it is pinned to. */
  flow_digest: string;
  /** The run that it was forked from; null if it is no fork. */
  forked_from: string | null;
  /** The head of the chain over its events, as `export` has it; null unless it is over, and in a list of runs. */
  head: string | null;
  /** Whether an attempt is in doubt, so that a person has to decide. */
  in_doubt: boolean;
  /** Attempts that were started and have not ended. */
  live_attempts: number;
  /** Questions that wait for a person. */
  open_questions: number;
  /** The part of its flow that it does; null if it does all of it. */
  part: {
    /** This step and what follows it. */
    from: string | null;
    /** These steps and no others; empty if others were not left out in this way. */
    only: readonly string[];
    /** Not these steps. */
    skip: readonly string[];
    /** This step and what comes before it. */
    until: string | null;
    /** The run whose hand-offs stand for those of steps that are left out. */
    with: string | null;
  } | null;
  /** Why it ended, in a sentence; null while it goes on. */
  reason: string | null;
  /** The first run of its family; null if it is no fork. */
  root: string | null;
  /** Its id. */
  run: string;
  /** Why it is set aside; null if it is not. */
  set_aside: {
    /** The error code; `envoi explain CODE` says more. */
    code: string;
    /** What was found. */
    evidence: string;
    /** Why, in a sentence. */
    reason: string;
    /** Since when. */
    since: string;
  } | null;
  /** How it stands, in one word, with what works on it now and what it waits for. */
  stands: "set_aside" | "stopped" | "running_without_an_engine" | "waiting_for_account" | "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  /** When its first event was decided. */
  started_at: string;
  /** Where it stands. */
  status: "running" | "waiting" | "succeeded" | "failed" | "exhausted" | "cancelled";
  /** The step it is in, or was in when it ended. */
  step: string | null;
  /** Whether a step of it goes on under its supervisor without an engine; who resumes it waits for that step. */
  step_works: boolean;
  /** Whose run it is. */
  tenant: string;
  /** Why it ended, as a word of contract 3; null while it goes on. */
  terminal_reason: string | null;
  /** When its newest event was decided. */
  updated_at: string;
  /** The account of an agent program that a step of it waits for, the one that is tried first; null if it waits for none. */
  waits_for: {
    /** Its name. */
    account: string;
    /** When the next try is made. */
    next_try: string;
    /** When its provider says that it is open again; null if it does not say. */
    resets_at: string | null;
  } | null;
  /** The folder in which its commands run. */
  workspace: string;
}

export interface RunLedger {
  /** Attempts in doubt: `used` has their whole budget, or nothing if they had none. */
  attempts_in_doubt: number;
  /** What it has used itself of each model: by steps that ask a model, and through the bridge. What other programs report names no model. */
  by_model: readonly ModelAmounts[];
  /** What each step has used. */
  by_step: object;
  /** Its limits; null is unlimited. */
  limits: Limits;
  /** What of that it has used itself. */
  own_used: Amounts;
  /** By how much the limits were raised. */
  raised: Amounts;
  /** What is set aside for live attempts. */
  reserved: Amounts;
  /** Its id. */
  run: string;
  /** Calls of models whose cost is not known: `used` has nothing for them. */
  unknown_costs: number;
  /** What it and its family have used. */
  used: Amounts;
}

export interface RunSoFar {
  /** Attempts that it has used itself. */
  agent_hops: number;
  /** Dollars that it has used itself, without the other runs of its family. */
  cost_usd: string;
  /** When the first of its steps that wait for their next try is tried again; null if none waits for that. */
  next_try_at: string | null;
  /** Its id. */
  run: string;
  /** Steps of its own flow. */
  steps: number;
  /** Steps of its own flow that are over and have not failed, each counted once. */
  steps_done: number;
  /** Calls of models and attempts whose cost is not known. */
  unknown_costs: number;
}

export interface Runs {
  /** How many runs there are in which status, those of other pages too, whatever `status` says; null if `counts` did not ask for it. */
  counts: object | null;
  /** The `cursor` of the next page; null on the last. */
  next: string | null;
  /** The runs. */
  runs: readonly Run[];
  /** What these runs have done and used, if `so_far` asked for it; without those that are too long to be read with this page. */
  so_far: readonly RunSoFar[];
}

export interface SignIn {
  /** The code of a link that `envoi page` has printed. It is good once. */
  code?: string | undefined;
  /** A token. */
  token?: string | undefined;
}

export interface Start {
  /** The digest of a registered flow, or its id for the newest. */
  flow: string;
  /** By the names that the flow declares. */
  inputs?: object | undefined;
  /** Stands in the run's envelope; at most 64 KiB, and no name that Envoi writes there itself (`run_id`, `flow`, …). */
  metadata?: object | undefined;
  /** Whether all its commands are run, also those whose results are in the cache. */
  no_cache?: boolean | undefined;
  /** The part of the flow that is run; all of it by default. */
  part?: {
    /** This step and what follows it: all later ones, or in a graph those that need it. */
    from?: string | undefined;
    /** These steps and no others; it stands without `from`, `until` and `skip`. */
    only?: readonly string[] | undefined;
    /** Not these steps. */
    skip?: readonly string[] | undefined;
    /** This step and what comes before it: all earlier ones, or in a graph those that it needs. */
    until?: string | undefined;
    /** The run, of the same flow and tenant, whose hand-offs stand for those of steps that are left out. */
    with?: string | null | undefined;
  } | undefined;
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

export interface StepRow {
  /** Attempts so far. 0: it has none of its own. */
  attempts: number;
  /** Whose result it has, if that came from the cache of steps: its command was not started. Null otherwise. */
  cached_from: CachedFrom | null;
  /** What its attempts have cost; null if none has reported a cost. */
  cost_usd: string | null;
  /** When its hand-off was written; null before. */
  ended_at: string | null;
  /** The event with which it began. */
  first_seq: number;
  /** Which item, from 0; null if it is none. */
  item: number | null;
  /** How many items it has; null if it is not done for a list. */
  items: number | null;
  /** Where it leads, such as `advance` or `loop`; `exhausted` if its loop has had its last round without success. Null before its end. */
  leads_to: string | null;
  /** When its next attempt begins, if it waits for that. */
  next_try_at: string | null;
  /** The place of what it is part of: the visit that it is an item of, or the one that runs its flow. Null at the top. */
  part_of: string | null;
  /** Where it is, such as `build.2.compile.1` or `0.check.1`: as hand-offs and commands name it. */
  place: string;
  /** The open question about it. */
  question: string | null;
  /** The inner flows and the item in which it stands; empty at the top. */
  scope: string;
  /** The newest event that changed the row. */
  seq: number;
  /** When its first event was decided. */
  started_at: string;
  /** Where it stands. */
  state: "running" | "left" | "ready" | "retries" | "asks" | "in_doubt" | "open" | "succeeded" | "failed" | "skipped";
  /** Its step. */
  step: string;
  /** What it came to or why it failed, in a line. Of an open one with items: how far it has come. */
  summary: string;
  /** The time of its last attempt; of a whole, from its beginning to its end. Null before its end. */
  took_ms: number | null;
  /** The value of the item, in a line; null if it is none. */
  value: string | null;
  /** Which visit of the step, from 1. */
  visit: number;
  /** When nothing worked on it: stretches of a second or more, in their order. Of very many, the longest. */
  waits?: readonly StepWait[] | undefined;
}

export interface StepShape {
  /** Steps that its text may choose. */
  branches: readonly string[];
  /** The condition without which it is skipped; null if there is none. */
  condition: string | null;
  /** Whether the run goes on when it has failed. */
  continue_on_error: boolean;
  /** Whether it is done once for each value of a list. */
  for_each: boolean;
  /** How many of them have to be done: `all`, `any`, `settled` or a number. */
  join: string;
  /** What it does. */
  kind: "run" | "ask" | "flow" | "a2a" | "agent" | "model";
  /** The line of its flow's text on which it begins, from 1; null if that is not known. */
  line: number | null;
  /** The step to which it goes back if it sends the run back; null if it does not loop. */
  loop_to: string | null;
  /** How often that may be; null if it does not loop. */
  max_iterations: number | null;
  /** The steps that it waits for, if `needs` says what follows what. */
  needs: readonly string[];
  /** Where it leads in place of the next step: the id of a step, or `end`; null for the next one. */
  next: string | null;
  /** The flow that it runs; null if it runs none. */
  runs_flow: string | null;
  /** The skill whose report it leaves; null if it needs none. */
  skill: string | null;
  /** Its id. */
  step: string;
  /** Most tries of a visit, from 1. */
  tries: number;
}

export interface StepWait {
  /** When it began. */
  from: string;
  /** What for. A wait for a free slot after it belongs to it. */
  reason: "next_try" | "account" | "person";
  /** When it was over; null if it goes on. */
  until: string | null;
}

export interface Steps {
  /** The newest event that the rows take account of: the `after` with which to ask for changes later. */
  newest: number;
  /** The `after` of the next page; null on the last. */
  next: number | null;
  /** The rows. */
  steps: readonly StepRow[];
}

export interface Token {
  /** Its name, which stands with everything that is done with it. */
  name: string;
  /** What it allows. */
  scopes: readonly ("read" | "answer" | "run" | "admin")[];
  /** Whose it is. */
  tenant: string;
}
