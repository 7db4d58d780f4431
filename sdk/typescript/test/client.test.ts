/** The client without a server of ours: what it asks for, when it asks again, how it reads a stream. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";

import { formatCompact } from "envoi";
import { ApiError, Client, DigestMismatch, Unreachable, type ClientOptions, type FetchResponse } from "envoi/client";

import { Hands, all } from "./served.js";

interface Operation {
  operationId: string;
  parameters: { in: string; name: string }[];
  requestBody?: { content: Record<string, { schema?: { properties?: object } }> };
}

const DOCUMENT = JSON.parse(readFileSync(new URL("../../../spec/openapi.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
};

/** What a `$ref` names, or the value itself. */
function resolved<T>(value: T | { $ref: string }): T {
  if (value === undefined || !("$ref" in (value as object))) return value as T;
  let found: unknown = DOCUMENT;
  for (const part of (value as { $ref: string }).$ref.split("/").slice(1)) found = (found as Record<string, unknown>)[part];
  return found as T;
}

const REF = { artifactId: "a", representationRevisionId: "r", digest: `sha256:${"0".repeat(64)}`, mime: "m", originKind: "upload" } as const;
const answer = { choice: "raise", text: "words", data: { a: 1 }, attachments: [REF], seen: "sha256:0", raise: { llm_calls: 1 }, user_envelope: true, resume: false } as const;

/** Each operation, called with all arguments of its method. */
const CALLS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  answerQuestion: (client) => client.answerQuestion("int_1", answer),
  cancelRun: (client) => client.cancelRun("run_1"),
  compareRun: (client) => client.compareRun("run_1", { flow: "main.yaml", files: { "main.yaml": "flow: f\n" }, from: "draft", fork: true }),
  correctRun: (client) => client.correctRun("run_1", { flow: "main.yaml", files: { "main.yaml": "flow: f\n" }, from: "draft", seen: "sha256:0", reason: "why" }),
  explainRun: (client) => client.explainRun("run_1"),
  followQuestions: (client) => all(client.followQuestions({ after: "run_1:3" })),
  followTenant: (client) => all(client.followTenant({ after: "run_1:3" })),
  followRun: (client) => all(client.followRun("run_1", { after: 3 })),
  forkRun: (client) => client.forkRun("run_1", { from: "draft", flow: "main.yaml", files: { "main.yaml": "flow: f\n" }, reason: "why", workspace: "copy", yes_to: ["a"] }),
  getArtifact: (client) => client.getArtifact("sha256:0"),
  getEnvelope: (client) => client.getEnvelope("run_1"),
  getFlowPlan: (client) => client.getFlowPlan("publish"),
  getFlowShape: (client) => client.getFlowShape("publish"),
  getFlow: (client) => client.getFlow("publish", { file: "inner.yaml" }),
  getHandoff: (client) => client.getHandoff("run_1", "draft", { visit: 2 }),
  getHealth: (client) => client.getHealth(),
  getLog: (client) => client.getLog("run_1", "each/1.draft.1.1", "stderr", { start: 1, end: 2 }),
  getMetrics: (client) => client.getMetrics(),
  getOpenApi: (client) => client.getOpenApi(),
  explainCode: (client) => client.explainCode("RUN_NOT_FOUND"),
  exportRun: (client) => client.exportRun("run_1", { without_files: true }),
  getPatch: (client) => client.getPatch("run_1"),
  getQuestion: (client) => client.getQuestion("int_1"),
  getReadiness: (client) => client.getReadiness(),
  getRun: (client) => client.getRun("run_1"),
  getRunContent: (client) => client.getRunContent("run_1", "sha256:0"),
  getRunLedger: (client) => client.getRunLedger("run_1"),
  getRunShape: (client) => client.getRunShape("run_1"),
  getRunFlow: (client) => client.getRunFlow("run_1"),
  getToken: (client) => client.getToken(),
  listArtifacts: (client) => all(client.listArtifacts("run_1", { all: true })),
  listDifferences: (client) => all(client.listDifferences("run_1", { states: "start..end", path: "src", lines: true, authors: true })),
  listChangedFiles: (client) => client.listChangedFiles("run_1", { place: "draft.1" }),
  listEvents: (client) => all(client.listEvents("run_1", { after: 3 })),
  listFlows: (client) => client.listFlows(),
  listHandoffs: (client) => client.listHandoffs("run_1"),
  listLogs: (client) => client.listLogs("run_1"),
  listQuestions: (client) => client.listQuestions({ run: "run_1", closed: true, newest: true }),
  listRuns: (client) => all(client.listRuns({ status: "waiting", stands: "waiting", in_doubt: true, flow: "publish", q: "a", since: "2026-01-01T00:00:00Z", root: "run_1" })),
  listSteps: (client) => client.listSteps("run_1", { after: 3 }),
  raiseRun: (client) => client.raiseRun("run_1", { more: { llm_calls: 1 }, reason: "why" }),
  registerFlow: (client) => client.registerFlow("main.yaml", { files: { "main.yaml": "flow: f\n" } }),
  resumeRun: (client) => client.resumeRun("run_1", { choice: "rerun", reason: "why", now: true }),
  startRun: (client) => client.startRun({ flow: "publish", inputs: { a: 1 }, workspace: "copy", yes_to: ["a"], user_id: "u", session_id: "s", metadata: { k: "v" }, raw_input: "asked", part: { only: ["a"], with: "run_1" }, no_cache: true }),
  uploadArtifact: (client) => client.uploadArtifact({ content: new Uint8Array(1), mime: "text/plain" }),
};

/** Operations without a method, and why. */
const BRIDGE = "asked for by the clients of OpenAI's protocol, with a token of its own (docs/bridge.md)";
const PAGE = "asked for by the web page of the server; programs have tokens (docs/server.md)";
const LEFT_OUT: Readonly<Record<string, string>> = { callModel: BRIDGE, completeChat: BRIDGE, countMessageTokens: BRIDGE, createMessage: BRIDGE, createResponse: BRIDGE, createSession: PAGE, endSession: PAGE, listModels: BRIDGE };

interface Asked {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body?: unknown;
  signal: { aborted: boolean };
}

/** An answer: status, headers, and the pieces of its body; an error breaks it off, a promise is waited for. */
type Given = [status: number, headers: Record<string, string>, ...pieces: (string | Uint8Array | Error | Promise<never>)[]];

function response([status, headers, ...pieces]: Given): FetchResponse {
  const bytes = (piece: string | Uint8Array): Uint8Array => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
  const read = async (): Promise<{ done: boolean; value?: Uint8Array }> => {
    const piece = await pieces.shift();
    if (piece instanceof Error) throw piece;
    return piece === undefined ? { done: true } : { done: false, value: bytes(piece) };
  };
  return { status, headers: { get: (name) => headers[name] ?? null }, body: { getReader: () => ({ read, cancel: async () => undefined }) } };
}

/** A client whose server gives these answers, one a request; the requests it got; a clock that is set by hand. */
function scripted(answers: (Given | Error)[], options: ClientOptions = {}): { client: Client; asked: Asked[]; clock: Hands } {
  const asked: Asked[] = [];
  const clock = new Hands();
  const left = [...answers];
  const fetch = async (url: string, init: Omit<Asked, "url">): Promise<FetchResponse> => {
    asked.push({ ...init, url: new URL(url) });
    const next = left.shift() ?? assert.fail("one request too many");
    if (next instanceof Error) throw next;
    return response(next);
  };
  return { client: new Client("http://127.0.0.1:7007", "t", { fetch, clock, ...options }), asked, clock };
}

const problem = (status: number, code: string, more: Record<string, string> = {}): Given => [status, { "content-type": "application/problem+json", ...more }, `{"code":"${code}","detail":"d","hint":null}`];
const BUSY = problem(503, "ENGINE_STOPPING", { "retry-after": "3" });
const MANY = problem(429, "TOO_MANY_STARTS", { "retry-after": "4" });
const OK: Given = [200, { "content-type": "application/json" }, '{"status":"ok",', '"run":"run_1"}'];
const refused = (status: number, code: string) => (error: unknown) => error instanceof ApiError && error.status === status && error.code === code;
const unreachable = (error: unknown): boolean => error instanceof Unreachable;

test("each operation of the document has a method or a reason, and each method asks for what is described", async () => {
  const operations = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.deepEqual(ids.filter((id) => !(id in CALLS) && !(id in LEFT_OUT)), []);
  assert.deepEqual(Object.keys(CALLS).filter((id) => !ids.includes(id)), []);
  for (const { path, method, operation } of operations) {
    const name = operation.operationId;
    if (name in LEFT_OUT) continue;
    const { client, asked } = scripted([problem(418, "NOBODY")]);
    await assert.rejects(CALLS[name]?.(client) ?? assert.fail(name), refused(418, "NOBODY"));
    const [request = assert.fail(name)] = asked;
    assert.equal(request.method, method.toUpperCase(), name);
    assert(new RegExp(`^${path.replace(/\{[^}]*\}/g, "[^/]+")}$`).test(request.url.pathname), `${name}: ${request.url.pathname}`);
    const known = operation.parameters.map((each) => resolved(each)).map((each) => `${each.in} ${each.name.toLowerCase()}`);
    const given = [...new URLSearchParams(request.url.search).keys()].map((each) => `query ${each}`);
    const headers = Object.keys(request.headers).filter((each) => !["authorization", "accept", "content-type"].includes(each));
    for (const each of [...given, ...headers.map((header) => `header ${header}`)]) assert(known.includes(each), `${name}: ${each}`);
    const media = resolved(operation.requestBody)?.content;
    if (media === undefined) assert.equal(request.body, undefined, name);
    else if (!("application/octet-stream" in media)) {
      const schema = media[request.headers["content-type"] ?? ""]?.schema ?? assert.fail(`${name}: ${request.headers["content-type"]}`);
      const members = resolved(schema).properties;
      if (members !== undefined) assert.deepEqual(Object.keys(JSON.parse(String(request.body))).sort(), Object.keys(members).sort(), name);
    }
  }
});

test("the server says how long to wait, and patience is bounded also when it asks for more", async () => {
  const served = scripted([BUSY, MANY, OK]);
  assert.equal((await served.client.getHealth()).status, "ok");
  assert.deepEqual(served.clock.slept, [3000, 4000]);
  const { client, clock } = scripted([BUSY, MANY], { patienceMs: 5000 });
  await assert.rejects(client.getHealth(), (error) => refused(429, "TOO_MANY_STARTS")(error) && error.retryAfter === 4);
  assert.deepEqual(clock.slept, [3000]);
});

test("what may be done already is asked again with its key", async () => {
  const { client, asked } = scripted([BUSY, new TypeError("fetch failed"), [200, {}, '{"st', new Error("gone")], OK, OK]);
  await client.startRun({ flow: "f" });
  await client.startRun({ flow: "f" }, { idempotencyKey: "mine" });
  const keys = asked.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys.slice(0, 4)).size, 1);
  assert.equal(keys[4], "mine");
  assert.deepEqual(new Set(asked.map(({ body }) => body)), new Set(['{"flow":"f"}']));

  const again = scripted([MANY, new TypeError("fetch failed"), BUSY, OK]);
  assert.equal((await again.client.resumeRun("run_1", { now: true })).run, "run_1");
  assert.equal(new Set(again.asked.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual(new Set(again.asked.map(({ body }) => body)), new Set(['{"now":true}']));
});

test("what is not Envoi's is told as that", async () => {
  const answers: Given[] = [[404, { "content-type": "text/html" }, "<p>"], [302, {}, ""], [200, {}, "<p>"], [200, {}, "[]"], [400, { "content-type": "application/problem+json" }, "{"]];
  for (const given of answers) {
    const [status] = given;
    await assert.rejects(scripted([[...given]]).client.getRun("run_1"), refused(status, ""), String(given));
  }
});

test("an address or a path that leads elsewhere is refused", async () => {
  for (const url of ["127.0.0.1:7007", "ftp://h", "http://", "http://a:b@h", "http://h?q"]) assert.throws(() => new Client(url, "t"), (error) => error instanceof RangeError, url);
  for (const token of ["", "a\r\nb", "é"]) assert.throws(() => new Client("http://h", token), (error) => error instanceof RangeError, token);
  for (const run of ["", ".", ".."]) await assert.rejects(scripted([]).client.getRun(run), (error) => error instanceof RangeError, run);
  const { asked, client } = scripted([OK]);
  await client.getRun("a/b?c");
  assert.equal(asked[0]?.url.pathname, "/v1/runs/a%2Fb%3Fc");
  assert.equal(asked[0]?.headers["authorization"], "Bearer t");
});

test("events are read page by page", async () => {
  // A page may be short although there are more.
  const page = (next: number | null, ...seqs: number[]): Given => [200, {}, JSON.stringify({ events: seqs.map((seq) => ({ seq })), next })];
  const { client, asked } = scripted([page(4, 3, 4), page(null, 5), page(7, 1), page(null, 8)]);
  const seqs = (await all(client.listEvents("run_1", { after: 2 }))).map(({ seq }) => seq);
  assert.deepEqual(seqs, [3, 4, 5]);
  assert.deepEqual(asked.map(({ url }) => url.search), ["?after=2&limit=100", "?after=4&limit=100"]);
  assert.deepEqual((await client.explainRun("run_1")).map(({ seq }) => seq), [1, 8]);
});

test("runs come with what they have done so far, page by page, and some without", async () => {
  const pages: Given[] = [
    [200, {}, '{"runs":[{"run":"run_3"},{"run":"run_2"}],"next":"run_2","so_far":[{"run":"run_2","steps_done":1}]}'],
    [200, {}, '{"runs":[{"run":"run_1"}],"next":null,"so_far":[{"run":"run_1","steps_done":2}]}'],
  ];
  const { client, asked } = scripted(pages);
  const found = await all(client.listRunsSoFar({ flow: "f" }));
  assert.deepEqual(found.map(({ run, soFar }) => [run.run, soFar?.steps_done]), [["run_3", undefined], ["run_2", 1], ["run_1", 2]]);
  assert.deepEqual(asked.map(({ url }) => url.search), ["?flow=f&so_far=true&limit=100", "?flow=f&so_far=true&limit=100&cursor=run_2"]);
});

test("runs are counted by their status", async () => {
  const { client, asked } = scripted([[200, {}, '{"runs":[],"next":null,"so_far":[],"counts":{"failed":3,"succeeded":12}}']]);
  assert.deepEqual(await client.countRuns({ flow: "f" }), { failed: 3, succeeded: 12 });
  assert.deepEqual(asked.map(({ url }) => url.search), ["?flow=f&counts=true&limit=1"]);
});

test("numbers of any size are read as they are written", async () => {
  const evidence = '{"net":1.00,"id":123456789012345678901234567890,"far":1e400}';
  const { client } = scripted([[200, {}, `{"visit":1,"evidence":${evidence},"later":123456789012345678901,"choices":["a"]}`]]);
  const question = await client.getQuestion("int_1");
  assert.equal(formatCompact(question), `{"visit":1,"evidence":${evidence},"later":123456789012345678901,"choices":["a"]}`);
  assert.deepEqual([question.visit, question.choices], [1, ["a"]]);
});

test("content that is not what was asked for is not given out, with the platform's digest or our own", async () => {
  const digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const { subtle } = crypto;
  for (const own of [false, true]) {
    if (own) Object.defineProperty(crypto, "subtle", { value: undefined, configurable: true });
    try {
      assert.deepEqual(await scripted([[200, {}, "a", "bc"]]).client.getArtifact(digest), new TextEncoder().encode("abc"));
      await assert.rejects(scripted([[200, {}, "abd"]]).client.getArtifact(digest), (error) => error instanceof DigestMismatch && error.digest === digest && error.found !== digest);
    } finally {
      Object.defineProperty(crypto, "subtle", { value: subtle, configurable: true });
    }
  }
});

test("an answer with too many files is refused before any is brought, and files come first", async () => {
  const files = Array.from({ length: 21 }, () => new Uint8Array(1));
  await assert.rejects(scripted([]).client.answerQuestion("int_1", { choice: "approve", files }), (error) => error instanceof RangeError);
  const ref = JSON.stringify(REF);
  const { client, asked } = scripted([[201, {}, ref], [200, {}, ref], OK]);
  const blob = new Blob(["words"], { type: "text/plain" });
  await client.answerQuestion("int_1", { files: [{ content: blob, filename: "a.txt" }, new Uint8Array(1)], attachments: [REF] });
  assert.deepEqual(asked.map(({ headers }) => headers["content-type"]), ["text/plain", "application/octet-stream", "application/json"]);
  assert.equal(asked[2]?.body, `{"attachments":[${ref.slice(0, -1)},"filename":"a.txt"},${ref},${ref}]}`);
});

const OPEN = { "content-type": "text/event-stream" };
const OVER: Given = [204, {}];
const told = (...seqs: number[]): string => seqs.map((seq) => `id: ${seq}\nevent: x\ndata: {"seq":${seq},"at":1,"event":{"type":"x"}}\n\n`).join("");

test("a stream is read whatever its pieces are", async () => {
  const bytes = new TextEncoder().encode(': hi\r\nid: 1\r\ndata: {"seq":1,"é":\r\ndata: "🧪"}\r\n\r\n:\n\nid:2\ndata:{"seq":2}\nretry: 1\n\nevent: x\n\nid: 3\rdata: {"seq":3}\r\rdata: {"seq":4}\n');
  for (let size = 1; size <= bytes.length; size += 1) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size));
    const { client, asked } = scripted([[200, OPEN, ...pieces], OVER]);
    assert.equal(formatCompact(await all(client.followRun("run_1"))), '[{"seq":1,"é":"🧪"},{"seq":2},{"seq":3}]', String(size));
    assert.equal(asked[1]?.headers["last-event-id"], "3");
  }
});

test("a stream goes on after the last whole event", async () => {
  const { client, asked, clock } = scripted([[200, OPEN, told(0, 1) + told(2).slice(0, -1)], BUSY, [200, OPEN, told(1, 2), new Error("gone")], [200, OPEN, told(3)], OVER]);
  assert.deepEqual((await all(client.followRun("run_1"))).map(({ seq }) => seq), [0, 1, 2, 3]);
  assert.deepEqual(asked.map(({ headers }) => headers["last-event-id"]), [undefined, "1", "1", "2", "3"]);
  assert.deepEqual(clock.slept, [3000]);
});

test("a stream of questions has a place to come back to before its first event", async () => {
  const list: Given = [200, {}, '{"last_event_id":"run_1:5","next":null,"questions":[]}'];
  const event = 'id: run_1:6\ndata: {"run":"run_1","record":{"seq":6,"at":1,"event":{"type":"x"}}}\n\n';
  const { client, asked } = scripted([list, new TypeError("fetch failed"), [200, OPEN, event]]);
  for await (const { id, run, event } of client.followQuestions()) {
    assert.deepEqual([id, run, event.seq], ["run_1:6", "run_1", 6]);
    break;
  }
  assert.deepEqual(asked.map(({ headers }) => headers["last-event-id"]), [undefined, "run_1:5", "run_1:5"]);
});

test("a stream that ends at once is not opened in haste", async () => {
  const { client, clock } = scripted([...Array.from({ length: 9 }, (): Given => [200, OPEN, ":\n\n"]), OVER]);
  assert.deepEqual(await all(client.followRun("run_1", { patienceMs: 1000 })), []);
  const [first = 0, last = 0] = [clock.slept[0], clock.slept.at(-1)];
  assert(clock.slept.length === 9 && first >= 50 && first <= 100 && last >= 2500 && last <= 5000, String(clock.slept));
});

test("whoever waits for a run is told that it was set aside", async () => {
  const row = (aside: string): Given => [200, {}, `{"status":"running","events":3,"set_aside":${aside}}`];
  // It is no event: the sign of life of the server is the reason to look.
  const { client, asked } = scripted([row("null"), [200, OPEN, ":\n\n"], row('{"code":"RUN_UNREADABLE"}')]);
  assert.equal((await client.waitUntil("run_1", ["succeeded"])).set_aside?.get("code"), "RUN_UNREADABLE");
  assert.deepEqual(asked.map(({ url }) => url.pathname), ["/v1/runs/run_1", "/v1/runs/run_1/stream", "/v1/runs/run_1"]);
  assert.equal(asked[1]?.headers["last-event-id"], "2");
});

test("a stream ends with what is refused, with what is no stream, and with an event without end", async () => {
  await assert.rejects(all(scripted([problem(404, "RUN_NOT_FOUND")]).client.followRun("run_1")), refused(404, "RUN_NOT_FOUND"));
  await assert.rejects(all(scripted([[200, { "content-type": "text/html" }, "<p>"]]).client.followRun("run_1")), refused(200, ""));
  const endless = Array.from({ length: 20 }, () => `data: ${"x".repeat(2 ** 20)}`);
  await assert.rejects(all(scripted([[200, OPEN, ...endless]]).client.followRun("run_1")), refused(200, ""));
});

test("a signal ends a request, a wait and a stream, with its reason", async () => {
  const stop = new AbortController();
  const asking = scripted([BUSY]);
  const waiting = new Client("http://h", "t", {
    fetch: async () => response([...BUSY]),
    clock: new Hands(() => stop.abort("enough")),
  });
  await assert.rejects(waiting.getHealth({ signal: stop.signal }), (error) => error === "enough");
  await assert.rejects(asking.client.getHealth({ signal: stop.signal }), (error) => error === "enough");

  const later = new AbortController();
  const { client, asked } = scripted([[200, OPEN, told(0), new Promise<never>((_, reject) => later.signal.addEventListener("abort", () => reject(new Error("broken off"))))]]);
  const seen: number[] = [];
  const follow = async (): Promise<void> => {
    for await (const { seq } of client.followRun("run_1", { signal: later.signal })) {
      seen.push(seq);
      later.abort("seen");
    }
  };
  await assert.rejects(follow(), (error) => error === "seen");
  assert.deepEqual([seen, asked[0]?.signal.aborted], [[0], true]);
});

test("work on the files of a run is waited for longer than a server takes for it, and nothing else is", async () => {
  const silences: number[] = [];
  const real = globalThis.setTimeout;
  const spy = ((act: () => void, delay: number) => (silences.push(delay), real(act, 0x7fffffff))) as unknown as typeof setTimeout;
  const fetch = () => Promise.reject(new Error("not there"));
  const client = new Client("http://h", "t", { fetch, clock: new Hands(), timeoutMs: 1000, patienceMs: 0 });
  const ask = async (call: () => Promise<unknown>) => {
    silences.length = 0;
    globalThis.setTimeout = spy;
    await call().catch(() => undefined).finally(() => (globalThis.setTimeout = real));
    return silences[0];
  };
  for (const name of ["getPatch", "exportRun", "listDifferences", "compareRun"]) assert.equal((await ask(() => CALLS[name]!(client)))! > 15 * 60_000, true, name);
  assert.equal(await ask(() => client.getRun("run_1")), 1000);
});

test("a server that says nothing is given up", async () => {
  const fetch = (_: string, { signal }: Asked & { signal: AbortController["signal"] }): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const client = new Client("http://h", "t", { fetch, clock: new Hands(), timeoutMs: 1, patienceMs: 300 });
  await assert.rejects(client.getHealth(), (error) => unreachable(error) && error.message === "no answer came: nothing came for 1 ms");
});

test("a token is not shown: not printed, not written as JSON, not in what is thrown", async () => {
  const shown: string[] = [];
  const fetch = async (): Promise<FetchResponse> => {
    throw new TypeError("fetch failed");
  };
  const client = new Client("http://127.0.0.1:7007", "evt_SECRET", { fetch, clock: new Hands() });
  const error = await client.getRun("run_1").catch((cause: unknown) => cause);
  for (const each of [client, error]) shown.push(inspect(each, { depth: 20, showHidden: true }), JSON.stringify(each), String(each));
  assert(shown.some((text) => text.includes("127.0.0.1")));
  assert.deepEqual(shown.filter((text) => text.includes("SECRET")), []);
});
