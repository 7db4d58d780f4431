/**
 * A thin client of `envoi serve`: starts runs, follows them, answers their questions with files. For Node and for pages that
 * the server lets ask; nothing but `fetch`.
 *
 * Each method is one operation of `spec/openapi.json`, named as there; `listRunsSoFar` is `listRuns` with `so_far`, `countRuns` with `counts`. What
 * they have in common is elsewhere: asking again (`caller`), streams (`stream`), bytes (`content`), the wire (`wire`).
 */

import { Caller } from "./client/caller.js";
import { digestOf, uploadOf, type Content } from "./client/content.js";
import { DigestMismatch } from "./client/errors.js";
import { CLOCK, freshKey, type Clock, type Fetch, type Signal } from "./client/platform.js";
import { row, rows, type QuestionEvent } from "./client/rows.js";
import type { Answer, ArtifactVersion, ChangedFiles, Compare, ComparedFile, Comparison, Correct, ErrorPage, Event, Flow, FlowPlan, FlowShape, Fork, Forked, HandoffRow, Health, Log, PinnedFlow, Question, QuestionDetail, Raise, Resume, Run, RunLedger, RunSoFar, Start, Steps, Token } from "./client/shapes.js";
import { follow, signs, type Following } from "./client/stream.js";
import { Server, pathOf, type Reply, type Request } from "./client/wire.js";
import { Envelope } from "./envelope/envelope.js";
import { HandoffEnvelope } from "./handoff/handoff.js";
import { parseJson } from "./json/read.js";
import { asString, toJson, type JsonObject } from "./json/value.js";
import { compact } from "./json/write.js";
import { attachmentToJson, readAttachment, type AttachmentRef } from "./user-envelope/attachment.js";
import { MAX_ATTACHMENTS } from "./user-envelope/user-envelope.js";

export type { Content, Upload } from "./client/content.js";
export { ApiError, DigestMismatch, Unreachable, type Refusal } from "./client/errors.js";
export type { BlobLike, BodyReader, Clock, Fetch, FetchResponse, Signal } from "./client/platform.js";
export type { QuestionEvent } from "./client/rows.js";
export type { Answer, ArtifactVersion, ChangedFiles, Compare, ComparedFile, Comparison, Correct, ErrorPage, Event, Flow, FlowPlan, FlowShape, Fork, Forked, HandoffRow, Health, Log, PinnedFlow, Question, QuestionDetail, Raise, Resume, Run, RunLedger, RunSoFar, Start, StepRow, Steps, Token } from "./client/shapes.js";

/** Rows of one request. */
const PAGE = 100;

const FOLLOW_PATIENCE_MS = 300_000;

async function whole<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of list) all.push(each);
  return all;
}

/** How a client behaves. */
export interface ClientOptions {
  /** How long a server may send nothing; default 30 s, and 16 minutes at least where it works on the files of a run. A transfer that goes on has no limit. */
  timeoutMs?: number;
  /** How long a request is repeated if there is no answer, or the server defers it; default 10 s. */
  patienceMs?: number;
  /** In place of the platform's. */
  fetch?: Fetch;
  /** In place of the platform's, for tests. */
  clock?: Clock;
}

/** What every call takes: a signal that ends it, with its reason. */
export interface Call {
  signal?: Signal | undefined;
}

/** Which runs a list has: `q` is a text in the id, flow, step, starter or reason; `since` a time (RFC 3339); `root` a run, for its forks. */
export interface RunFilter {
  status?: Run["status"];
  stands?: Run["stands"];
  in_doubt?: boolean;
  flow?: string;
  q?: string;
  since?: string;
  root?: string;
}

/** A call that is done once, under a key; default: a fresh one. */
export interface KeyedCall extends Call {
  idempotencyKey?: string | undefined;
}

/** A call that follows a stream. */
export interface FollowCall extends Call {
  /** How long the server may be unreachable before it throws `Unreachable`; default 5 minutes. */
  patienceMs?: number | undefined;
}

/** An answer, and files that are brought for it. */
export type AnswerWithFiles = Omit<Answer, "seen"> & {
  /** The `subject` of the question. */
  seen?: string | null | undefined;
  /** Brought first; together with `attachments`, which are there already, at most 20. */
  files?: readonly Content[] | undefined;
};

/** Questions, oldest first, read page by page as one goes through them. */
export interface QuestionList extends AsyncIterable<Question> {
  /** `followQuestions` after this misses nothing that is not in the list. */
  readonly last_event_id: string;
}

/** A run has changed: it has new events. */
export interface Change {
  /** What to give as `after` to miss nothing that follows. */
  readonly id: string;
  readonly run: string;
  /** Its newest event. */
  readonly newest: number;
  /** Whether one of the new events is about a question. */
  readonly question: boolean;
}

/**
 * One server, as the bearer of one token.
 *
 * A request that may have been done is sent again only if that changes nothing: it reads or cancels, its content is known by
 * digest, or it has an `Idempotency-Key`. Every method throws {@link ApiError} for what the server refuses, {@link Unreachable} when no
 * answer came, and the signal's reason when that ends it.
 */
export class Client {
  private readonly caller: Caller;

  constructor(url: string, token: string, options: ClientOptions = {}) {
    const { timeoutMs = 30_000, patienceMs = 10_000, clock = CLOCK } = options;
    const send = options.fetch ?? ((target, init) => fetch(target, init));
    this.caller = new Caller(new Server(url, token, send, timeoutMs), patienceMs, clock);
  }

  // Flows

  /**
   * Lets a flow be started: its YAML. It becomes the newest of its id. A flow that names others comes with them: `files` has the
   * text of each by its path, and `flow` is one of these paths.
   */
  async registerFlow(flow: string, { files, signal }: { files?: Readonly<Record<string, string>> } & Call = {}): Promise<Flow> {
    const kind = files === undefined ? "application/yaml" : "application/json";
    const body = files === undefined ? flow : compact(toJson({ flow, files }));
    const request: Request = { method: "POST", path: pathOf("flows"), headers: { "content-type": kind }, body, signal };
    return row((await this.caller.ask(request, 200, 201)).object());
  }

  /** The flows that may be started, newest first. */
  async listFlows(call: Call = {}): Promise<Flow[]> {
    return rows((await this.get(call, ["flows"])).object(), "flows");
  }

  /** The text of a flow, by its digest or its id; of one of its files, where it came with others. */
  async getFlow(flow: string, { file, signal }: { file?: string } & Call = {}): Promise<string> {
    return (await this.get({ signal }, ["flows", flow], { file })).text();
  }

  /** The inputs and the steps of a flow, by its digest or its id, and what leads where. */
  async getFlowShape(flow: string, call: Call = {}): Promise<FlowShape> {
    return row((await this.get(call, ["flows", flow, "shape"])).object());
  }

  /** The worst case of a flow, by its digest or its id: what a run of it may come to at most. */
  async getFlowPlan(flow: string, call: Call = {}): Promise<FlowPlan> {
    return row((await this.get(call, ["flows", flow, "plan"])).object());
  }

  // Runs

  /**
   * Starts a run of a registered flow. It is started once, however often the request is repeated; with a key of your own also
   * over several processes: the run of the first call is returned.
   */
  async startRun(start: Start, call: KeyedCall = {}): Promise<Run> {
    return row(await this.post(call, ["runs"], start));
  }

  /** Runs, newest first; pages are read as one goes through them. */
  async *listRuns(
    { signal, ...filter }: RunFilter & Call = {},
  ): AsyncGenerator<Run, void, undefined> {
    for await (const page of this.runPages({ signal }, filter)) yield* rows<Run>(page, "runs");
  }

  /**
   * Runs as `listRuns` has them, each with what it has done and used so far; undefined for a run with so many events that this page
   * could not read them: ask again for it.
   */
  async *listRunsSoFar({ signal, ...filter }: RunFilter & Call = {}): AsyncGenerator<{ run: Run; soFar: RunSoFar | undefined }, void, undefined> {
    for await (const page of this.runPages({ signal }, { ...filter, so_far: "true" })) {
      const soFar = new Map(rows<RunSoFar>(page, "so_far").map((each) => [each.run, each]));
      for (const run of rows<Run>(page, "runs")) yield { run, soFar: soFar.get(run.run) };
    }
  }

  /** How many runs there are in which status; the filters are those of `listRuns`. A status that none is in is left out. */
  async countRuns({ signal, ...filter }: Omit<RunFilter, "status" | "stands" | "in_doubt"> & Call = {}): Promise<Record<string, number>> {
    const page = (await this.get({ signal }, ["runs"], { ...filter, counts: "true", limit: 1 })).object();
    return row(page.get("counts"));
  }

  private async *runPages(call: Call, query: RunFilter & { so_far?: string }): AsyncGenerator<JsonObject, void, undefined> {
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = (await this.get(call, ["runs"], { ...query, limit: PAGE, cursor })).object();
      yield page;
      cursor = asString(page.get("next"));
    }
  }

  /** One run. */
  async getRun(run: string, call: Call = {}): Promise<Run> {
    return row((await this.get(call, ["runs", run])).object());
  }

  /** The state of the pipeline, true at the last commit. @throws ContractError as `Envelope.decode` does */
  async getEnvelope(run: string, call: Call = {}): Promise<Envelope> {
    return Envelope.decode((await this.get(call, ["runs", run, "envelope"])).body);
  }

  /** The flow that a run is pinned to, with the texts of those that it names. */
  async getRunFlow(run: string, call: Call = {}): Promise<PinnedFlow> {
    return row((await this.get(call, ["runs", run, "flow"])).object());
  }

  /** The steps of the flow that a run is pinned to, and what leads where. */
  async getRunShape(run: string, call: Call = {}): Promise<FlowShape> {
    return row((await this.get(call, ["runs", run, "shape"])).object());
  }

  /**
   * The visits of its steps, a row each; with `after`, the `newest` of an earlier answer, those that have changed since and those
   * that are not over. All pages are in the answer.
   */
  async listSteps(run: string, { after, signal }: { after?: number } & Call = {}): Promise<Steps> {
    const page = async (from?: number): Promise<Steps> => row((await this.get({ signal }, ["runs", run, "steps"], { after: from })).object());
    let whole = await page(after);
    while (whole.next !== null && whole.next !== undefined) {
      const more = await page(whole.next);
      const known = new Set(more.steps.map(({ place }) => place));
      whole = { ...more, steps: [...whole.steps.filter(({ place }) => !known.has(place)), ...more.steps] };
    }
    return whole;
  }

  /**
   * The files that a run has changed so far: what each was before it, and what it was last. With the `place` of a step, only what
   * that visit and its parts have changed, beside what was there before it.
   */
  async listChangedFiles(run: string, { place, signal }: { place?: string } & Call = {}): Promise<ChangedFiles> {
    return row((await this.get({ signal }, ["runs", run, "files"], { place })).object());
  }

  /**
   * What differs between two states of a run's files, `A..B`, from its start to its last snapshot by default; `path` is a file or a folder.
   * With `lines`, each row has the lines that differ; with `authors`, the attempts that changed it. Pages are read as one goes through them.
   */
  async *listDifferences(run: string, { signal, lines, authors, ...which }: { states?: string; path?: string; lines?: boolean; authors?: boolean } & Call = {}): AsyncGenerator<ComparedFile, void, undefined> {
    const query = { ...which, lines: lines ? "true" : undefined, authors: authors ? "true" : undefined };
    for await (const page of this.cursorPages({ signal }, ["runs", run, "diff"], query, true)) yield* rows<ComparedFile>(page, "files");
  }

  /** What a run has changed, as a patch for `git apply`. Its first lines name what it lacks. Empty if nothing was changed. */
  async getPatch(run: string, call: Call = {}): Promise<Uint8Array> {
    return (await this.get(call, ["runs", run, "patch"], {}, true)).body;
  }

  /** The artifacts of a run by their paths: the newest version of each, or with `all` every one. `getRunContent` has what is in them. */
  async *listArtifacts(run: string, { signal, all }: { all?: boolean } & Call = {}): AsyncGenerator<ArtifactVersion, void, undefined> {
    for await (const page of this.cursorPages({ signal }, ["runs", run, "artifacts"], { all: all ? "true" : undefined })) yield* rows<ArtifactVersion>(page, "artifacts");
  }

  /** A run as one file, which `envoi verify` checks and `envoi import` takes. It needs the scope `admin`; `without_files` leaves the snapshots out. */
  async exportRun(run: string, { without_files, signal }: { without_files?: boolean } & Call = {}): Promise<Uint8Array> {
    return (await this.get({ signal }, ["runs", run, "bundle"], { without_files: without_files ? "true" : undefined }, true)).body;
  }

  private async *cursorPages(call: Call, path: string[], query: Record<string, string | undefined>, isLong = false): AsyncGenerator<JsonObject, void, undefined> {
    for (let cursor: string | undefined, more = true; more; ) {
      const page = (await this.get(call, path, { ...query, limit: PAGE, cursor }, isLong)).object();
      yield page;
      cursor = row<{ next?: string | null }>(page).next ?? undefined;
      more = cursor !== undefined;
    }
  }

  /** What a run has used of what it may use. */
  async getRunLedger(run: string, call: Call = {}): Promise<RunLedger> {
    return row((await this.get(call, ["runs", run, "ledger"])).object());
  }

  /** What has happened so far, after the event with this `seq` or from the first on. */
  listEvents(run: string, { after, signal }: { after?: number } & Call = {}): AsyncGenerator<Event, void, undefined> {
    return this.paged(run, "events", "events", { after, signal });
  }

  /** The events that decided which way the run went. */
  async explainRun(run: string, call: Call = {}): Promise<Event[]> {
    return whole(this.paged(run, "why", "events", call));
  }

  private async *paged<T>(run: string, what: string, name: string, { after, signal }: { after?: number | undefined } & Call): AsyncGenerator<T, void, undefined> {
    for (let last = after, more = true; more; ) {
      const page = (await this.get({ signal }, ["runs", run, what], { after: last, limit: PAGE })).object();
      yield* rows<T>(page, name);
      last = row<{ next?: number | null }>(page).next ?? undefined;
      more = last !== undefined;
    }
  }

  /** The hand-offs at a glance, in order. */
  async listHandoffs(run: string, call: Call = {}): Promise<HandoffRow[]> {
    return rows((await this.get(call, ["runs", run, "handoffs"])).object(), "handoffs");
  }

  /** A hand-off by its name in the list, such as `draft.1`; without a visit, the newest of the step. */
  async getHandoff(run: string, handoff: string, { visit, signal }: { visit?: number } & Call = {}): Promise<HandoffEnvelope> {
    return HandoffEnvelope.decode((await this.get({ signal }, ["runs", run, "handoffs", handoff], { visit })).body);
  }

  /** The attempts that were started, and how much they have written. */
  async listLogs(run: string, call: Call = {}): Promise<Log[]> {
    return whole(this.paged(run, "logs", "logs", call));
  }

  /** What an attempt has written, from byte `start` to before `end`; empty if that is not there (yet). */
  async getLog(
    run: string,
    attempt: string,
    stream: "stdout" | "stderr" = "stdout",
    { start = 0, end, signal }: { start?: number; end?: number } & Call = {},
  ): Promise<Uint8Array> {
    if (start < 0 || (end !== undefined && end <= start)) {
      throw new RangeError("a range begins at 0 or later and is not empty");
    }
    const isPart = start > 0 || end !== undefined;
    const headers: Record<string, string> = isPart ? { range: `bytes=${start}-${end === undefined ? "" : end - 1}` } : {};
    const request: Request = { method: "GET", path: pathOf("runs", run, "logs", attempt, stream), headers, signal };
    const reply = await this.caller.ask(request, ...(isPart ? [200, 206, 416] : [200]));
    if (reply.status === 416) return new Uint8Array();
    return reply.status === 206 ? reply.body : reply.body.subarray(start, end);
  }

  /** Ends a run; what is running is ended first. One that is cancelled already stays so. */
  async cancelRun(run: string, { signal }: Call = {}): Promise<Run> {
    const request: Request = { method: "POST", path: pathOf("runs", run, "cancel"), signal };
    return row((await this.caller.ask(request, 202)).object());
  }

  /** Lets a run go on that has stopped, or decides what is in doubt. */
  async resumeRun(run: string, resume: Resume = {}, call: KeyedCall = {}): Promise<Run> {
    return row(await this.post(call, ["runs", run, "resume"], resume));
  }

  /**
   * What happens, as it happens, after the event with this `seq` or from the first on; ends when the run is over.
   *
   * Goes on where it was when the connection breaks or the server is restarted: each event once, in order. After
   * `Unreachable`, begin again with the last `seq` that you have seen.
   */
  async *followRun(run: string, { after, ...call }: { after?: number } & FollowCall = {}): AsyncGenerator<Event, void, undefined> {
    const lastId = after === undefined ? undefined : String(after);
    for await (const { data } of this.stream(pathOf("runs", run, "stream"), lastId, call)) yield row(parseJson(data));
  }

  /**
   * The run once it has one of these statuses; without any, once it is not `running`. A run that is over or set aside is returned
   * whatever its status: its row has `set_aside`, and nothing goes on with it until it is resumed. For no longer than so long:
   * `AbortSignal.timeout(…)` as the signal.
   */
  async waitUntil(run: string, statuses: readonly Run["status"][] = [], call: FollowCall = {}): Promise<Run> {
    let found = await this.getRun(run, call);
    if (isReached(found, statuses)) return found;
    const lastId = found.events > 0 ? String(found.events - 1) : undefined;
    // That a run is set aside is no event: each sign of life of the server is reason to look.
    for await (const _ of signs(this.caller, pathOf("runs", run, "stream"), following(lastId, call))) {
      found = await this.getRun(run, call);
      if (isReached(found, statuses)) return found;
    }
    return this.getRun(run, call);
  }

  /** Gives a run more than its limits. */
  async raiseRun(run: string, raise: Raise, call: KeyedCall = {}): Promise<Run> {
    return row(await this.post(call, ["runs", run, "raise"], raise));
  }

  /**
   * What it would mean for a run to go on; changes nothing. Without `flow`: as it is. A corrected flow that is not registered is
   * brought with `files`; that needs the scope `admin`.
   */
  async compareRun(run: string, compare: Compare = {}, call: Call = {}): Promise<Comparison> {
    const headers = { "content-type": "application/json" };
    const request: Request = { method: "POST", path: pathOf("runs", run, "compare"), headers, body: compact(toJson(compare)), signal: call.signal, isLong: true };
    return row((await this.caller.ask(request, 200)).object());
  }

  /**
   * Lets a run go on under a corrected flow, once, however often the request is repeated. `seen` is the `subject` of the
   * comparison: if the correction means something else by then, it is refused (COMPARISON_CHANGED) and nothing has changed.
   */
  async correctRun(run: string, correct: Correct, call: KeyedCall = {}): Promise<Run> {
    return row(await this.post(call, ["runs", run, "correct"], correct));
  }

  /** Starts a run with the history of this one up to a step; with `flow`, it goes on from there under a corrected flow. */
  async forkRun(run: string, fork: Fork = {}, call: KeyedCall = {}): Promise<Forked> {
    return row(await this.post(call, ["runs", run, "fork"], fork));
  }

  // Questions

  /** The questions that wait for a person, oldest first or `newest` first; with `closed`, also those that do not wait any more. */
  async listQuestions({ run, closed, newest, signal }: { run?: string; closed?: boolean; newest?: boolean } & Call = {}): Promise<QuestionList> {
    const read = async (cursor?: string): Promise<JsonObject> =>
      (await this.get({ signal }, ["questions"], { run, closed, newest, limit: PAGE, cursor })).object();
    const first = await read();
    return {
      last_event_id: asString(first.get("last_event_id")) ?? "",
      async *[Symbol.asyncIterator]() {
        for (let page = first; ; ) {
          yield* rows<Question>(page, "questions");
          const next = asString(page.get("next"));
          if (next === undefined) return;
          page = await read(next);
        }
      },
    };
  }

  /** All that one needs to answer. */
  async getQuestion(question: string, call: Call = {}): Promise<QuestionDetail> {
    return row((await this.get(call, ["questions", question])).object());
  }

  /**
   * Answers a question, once, however often the request is repeated. `seen` is the `subject` of the question: if something else
   * is to be approved by then, the answer is refused.
   */
  async answerQuestion(question: string, answer: AnswerWithFiles, call: KeyedCall = {}): Promise<QuestionDetail> {
    const { files = [], attachments = [], ...members } = answer;
    if (files.length + attachments.length > MAX_ATTACHMENTS) {
      throw new RangeError(`an answer has at most ${MAX_ATTACHMENTS} files`);
    }
    const references = [...attachments];
    for (const [at, file] of files.entries()) references.splice(at, 0, await this.uploadArtifact(file, call));
    const attached = references.length > 0 ? { attachments: references.map(attachmentToJson) } : {};
    return row(await this.post(call, ["questions", question, "answer"], { ...members, ...attached }));
  }

  /**
   * What happens to questions, from now on or after the event with this id; ends only by a signal or an error. The
   * `last_event_id` of a list is the place at which that was true; `"0"` is before everything.
   */
  async *followQuestions({ after, ...call }: { after?: string } & FollowCall = {}): AsyncGenerator<QuestionEvent, void, undefined> {
    // A place to come back to, should the connection break before the first event.
    const lastId = after ?? asString((await this.get(call, ["questions"], { limit: 1 })).object().get("last_event_id"));
    for await (const { id, data } of this.stream(pathOf("questions", "stream"), lastId, call)) {
      const event = parseJson(data) as JsonObject;
      yield { id, run: asString(event.get("run")) ?? "", event: row(event.get("record")) };
    }
  }

  /**
   * Which runs change, as they change, from now on or after the change with this id; ends only by a signal or an error. Each
   * says what has changed, not how: ask for the run, its steps or its questions then.
   */
  async *followTenant({ after, ...call }: { after?: string } & FollowCall = {}): AsyncGenerator<Change, void, undefined> {
    const lastId = after ?? asString((await this.get(call, ["questions"], { limit: 1 })).object().get("last_event_id"));
    for await (const { id, data } of this.stream(pathOf("stream"), lastId, call)) {
      const { run, newest, question } = row<Omit<Change, "id">>(parseJson(data));
      yield { id, run, newest, question };
    }
  }

  // Content

  /** Brings content. What comes back can be an attachment of an answer; it has the name of what was brought. */
  async uploadArtifact(given: Content, { signal }: Call = {}): Promise<AttachmentRef> {
    const { content, filename, mime } = uploadOf(given);
    const headers = { "content-type": mime };
    const request: Request = { method: "POST", path: pathOf("artifacts"), headers, body: content, signal };
    const reference = readAttachment((await this.caller.ask(request, 200, 201)).object());
    return filename === undefined ? reference : { ...reference, filename };
  }

  /** Content by its digest. @throws DigestMismatch for content with another digest */
  async getArtifact(digest: string, call: Call = {}): Promise<Uint8Array> {
    return this.content(digest, ["artifacts", digest], call);
  }

  /** What an event of a run names by its digest: a text, a report, a file as it was. Throws as `getArtifact` does. */
  async getRunContent(run: string, digest: string, call: Call = {}): Promise<Uint8Array> {
    return this.content(digest, ["runs", run, "contents", digest], call);
  }

  private async content(digest: string, path: string[], call: Call): Promise<Uint8Array> {
    const { body } = await this.get(call, path);
    const found = await digestOf(body);
    if (found !== digest) throw new DigestMismatch(digest, found);
    return body;
  }

  // The server

  /** The caller: the name, the tenant and the scopes of the token. */
  async getToken(call: Call = {}): Promise<Token> {
    return row((await this.get(call, ["token"])).object());
  }

  /** What an error code of the server or of a run means, and what to do, in Markdown. */
  async explainCode(code: string, call: Call = {}): Promise<ErrorPage> {
    return row((await this.get(call, ["errors", code])).object());
  }

  /** Whether the process answers. */
  async getHealth(call: Call = {}): Promise<Health> {
    return row((await this.get(call, ["health"])).object());
  }

  /** Whether the engine takes requests and the store can be read. */
  async getReadiness(call: Call = {}): Promise<Health> {
    return row((await this.get(call, ["ready"])).object());
  }

  /** Figures of the tenant, as Prometheus reads them. */
  async getMetrics(call: Call = {}): Promise<string> {
    return (await this.get(call, ["metrics"])).text();
  }

  /** The description of the API. */
  async getOpenApi(call: Call = {}): Promise<JsonObject> {
    return (await this.get(call, ["openapi.json"])).object();
  }

  private get({ signal }: Call, segments: readonly string[], query: NonNullable<Request["query"]> = {}, isLong = false): Promise<Reply> {
    return this.caller.ask({ method: "GET", path: pathOf(...segments), query, signal, isLong }, 200);
  }

  /** Sends an object, under a key that stays the same when it is sent again. */
  private async post(
    { idempotencyKey = freshKey(), signal }: KeyedCall,
    segments: readonly string[],
    body: object,
  ): Promise<JsonObject> {
    const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
    const request: Request = { method: "POST", path: pathOf(...segments), headers, body: compact(toJson(body)), signal };
    return (await this.caller.ask(request, 200, 201, 202)).object();
  }

  private stream(path: string, lastId: string | undefined, call: FollowCall): ReturnType<typeof follow> {
    return follow(this.caller, path, following(lastId, call));
  }
}

function following(lastId: string | undefined, call: FollowCall): Following {
  return { lastId, patienceMs: call.patienceMs ?? FOLLOW_PATIENCE_MS, signal: call.signal };
}

function isReached({ status, set_aside }: Run, statuses: readonly Run["status"][]): boolean {
  if ((status !== "running" && status !== "waiting") || set_aside !== null) return true;
  return statuses.length > 0 ? statuses.includes(status) : status !== "running";
}
