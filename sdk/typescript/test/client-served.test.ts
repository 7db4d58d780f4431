/** The client against the real server: from start to answer, over kills and lost answers, with tokens that may not. */

import assert from "node:assert/strict";
import { openAsBlob, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { formatCompact, parseJson } from "envoi";
import { ApiError, Client, Unreachable, type Event, type Run } from "envoi/client";

import { APPROVAL, Dropping, Hands, NEEDS_SERVER, all, withServer } from "./served.js";

const WAITING = `
flow: slow
steps:
  - id: first
    run: echo first >> did.txt
  - id: last
    run: while [ ! -e go ]; do sleep 0.02; done
`;

/** Its first step puts a file where its hand-offs belong. */
const NASTY = `
flow: nasty
steps:
  - id: first
    run: while [ ! -e go ]; do sleep 0.02; done; rm -rf "$ENVOI_RUN_BASE/nasty"; touch "$ENVOI_RUN_BASE/nasty"
  - id: last
    run: echo last >> did.txt
`;

const text = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
const bytes = (words: string): Uint8Array => new TextEncoder().encode(words);
const type = (event: Event | undefined): unknown => event?.event.get("type");
const refused = (status: number, code: string) => (error: unknown) => error instanceof ApiError && error.status === status && error.code === code;

test("a run is started, followed, answered with files, and ends", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    const flow = await client.registerFlow(APPROVAL);
    assert.deepEqual((await client.listFlows()).map((each) => each.digest), [flow.digest]);
    assert.equal(await client.getFlow("publish"), APPROVAL);
    const requester = { user_id: "u-7", session_id: "s-7", metadata: { team: "press" }, raw_input: "Publish it." };
    const { run } = await client.startRun({ flow: "publish", inputs: { title: "Notes" }, ...requester });
    const waiting = await client.waitUntil(run);
    assert.deepEqual([waiting.status, waiting.open_questions], ["waiting", 1]);
    const [listed] = await all(await client.listQuestions({ run }));
    const { question, subject, ...shown } = await client.getQuestion(listed?.question ?? "");
    assert.deepEqual([shown.text, shown.choices], ["Publish it?", ["approve", "deny"]]);

    const edits = await openAsBlob(served.write("edits.txt", "edited\n"));
    const files = [{ content: edits, filename: "edits.txt", mime: "text/plain" }, bytes("more\n")];
    const answered = await client.answerQuestion(question, { choice: "approve", text: "Fine.", files, seen: subject ?? "" });
    assert.deepEqual([answered.state, answered.answered_by], ["answered", "first"]);
    assert.equal((await client.waitUntil(run, ["succeeded"])).terminal_reason, "completed");
    assert.deepEqual(served.did().sort(), ["draft", "edited", "more"]);

    const events = await all(client.followRun(run));
    assert.deepEqual(events, await all(client.listEvents(run)));
    assert.deepEqual(events.map(({ seq }) => seq), events.map((_, at) => at));
    assert.deepEqual(await all(client.followRun(run, { after: 2 })), events.slice(3));
    assert.deepEqual(await all(client.followRun(run, { after: events.length - 1 })), []);
    const answer = events.find((event) => type(event) === "interrupt_answered");
    assert.equal(formatCompact(answer?.event.get("attachments")).includes("edits.txt"), true);
    assert((await client.explainRun(run)).length > 0);

    assert.equal((await client.listHandoffs(run))[0]?.step, "draft");
    const steps = await client.listSteps(run);
    assert.deepEqual([steps.steps[0]?.place, steps.steps[0]?.state, steps.steps[0]?.summary], ["draft.1", "succeeded", "words"]);
    assert.deepEqual((await client.listSteps(run, { after: steps.newest })).steps, []);
    const shape = await client.getRunShape(run);
    assert.equal(shape.steps[0]?.step, "draft");
    assert.deepEqual(await client.getFlowShape(shape.digest), shape);
    assert.equal((await client.getRunLedger(run)).used.agent_hops, (await client.listLogs(run)).length);
    const plan = await client.getFlowPlan(shape.digest);
    assert.deepEqual(plan.steps.map(({ step }) => step), shape.steps.map(({ step }) => step));
    const changed = await client.listChangedFiles(run);
    assert.equal(changed.total, changed.files.length);
    assert.equal((await client.compareRun(run)).is_same, true);
    assert.deepEqual((await all(await client.listQuestions({ closed: true, newest: true }))).map((each) => each.question), [question]);
    for await (const change of client.followTenant({ after: "0" })) {
      assert.deepEqual([change.run, change.newest, change.question], [run, events.length - 1, true]);
      break;
    }
    assert.deepEqual((await all(client.listRuns({ q: "PUBLISH", since: "2020-01-01T00:00:00Z", root: run }))).map((each) => each.run), [run]);
    assert.deepEqual(await client.countRuns({ root: run }), { succeeded: 1 });
    const { code, page } = await client.explainCode("RUN_NOT_FOUND");
    assert.deepEqual([code, page.split("\n")[0]], ["RUN_NOT_FOUND", "# RUN_NOT_FOUND"]);
    const [known] = await all(client.listRunsSoFar({ flow: "publish" }));
    assert.deepEqual([known?.run.run, known?.soFar?.run, known?.soFar?.steps_done, known?.soFar?.cost_usd, known?.soFar?.next_try_at], [run, run, known?.soFar?.steps, "0.00", null]);
    assert.equal(known?.soFar?.agent_hops, (await client.getRunLedger(run)).own_used.agent_hops);
    const handoff = await client.getHandoff(run, "draft");
    assert.deepEqual([handoff.step_id, handoff.summary], ["draft", "words"]);
    const envelope = await client.getEnvelope(run);
    assert.equal(envelope.terminal_reason, "completed");
    assert.deepEqual([envelope.user_id, envelope.session_id, envelope.raw_input], ["u-7", "s-7", "Publish it."]);
    assert.equal(formatCompact(envelope.metadata).includes('"team":"press"'), true);
    const [attempt] = await client.listLogs(run);
    assert.deepEqual([attempt?.attempt, attempt?.stdout_bytes], ["draft.1.1", 6]);
    const read = async (part: { start?: number; end?: number } = {}): Promise<string> => text(await client.getLog(run, "draft.1.1", "stdout", part));
    assert.deepEqual([await read(), await read({ start: 2 }), await read({ start: 1, end: 3 }), await read({ start: 6 })], ["words\n", "rds\n", "or", ""]);
  });
});

test("what is asked of a run that is over is refused", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    await client.registerFlow(WAITING);
    const { run } = await client.startRun({ flow: "slow" });
    await client.cancelRun(run);
    assert.equal((await client.waitUntil(run, ["succeeded"])).status, "cancelled");
    served.write("go", "");
    await client.resumeRun(run, { reason: "again" });
    assert.equal((await client.waitUntil(run)).status, "succeeded");
    await assert.rejects(client.cancelRun(run), refused(409, "RUN_OVER"));
  });
});

test("a run tells whether anything works on it, or why not", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    await client.registerFlow(NASTY);
    const { run } = await client.startRun({ flow: "nasty" });
    let found = await client.getRun(run);
    assert.deepEqual([found.status, found.activity, found.set_aside], ["running", "working", null]);
    served.write("go", "");
    found = await client.waitUntil(run);
    assert.deepEqual([found.status, found.activity], ["running", "set_aside"]);
    const why = [found.set_aside?.get("code"), found.set_aside?.get("since")];
    assert.deepEqual(why, ["RUN_FILES_FAILED", found.activity_since]);
    await assert.rejects(client.resumeRun(run), refused(409, "RUN_SET_ASIDE"));
    rmSync(join(served.folder, ".envoi", "runs", run, "nasty"));
    await client.resumeRun(run);
    found = await client.waitUntil(run);
    assert.deepEqual([found.status, found.activity, found.set_aside], ["succeeded", null, null]);
    assert.deepEqual(served.did(), ["last"]);
  });
});

test("a flow is corrected as it was compared", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    const flow = (use: string): string => `flow: fix\nsteps:\n  - id: make\n    run: echo made >> did.txt\n  - id: use\n    run: ${use}\n`;
    await client.registerFlow(flow("ehco used"));
    const { run } = await client.startRun({ flow: "fix" });
    assert.equal((await client.waitUntil(run)).status, "failed");
    const fixed = { flow: "fix.yaml", files: { "fix.yaml": flow("echo used >> did.txt") } };
    const { steps, subject } = await client.compareRun(run, fixed);
    assert.deepEqual(steps.map(({ change, from_here }) => [change, from_here]), [["kept", "stays"], ["changed", "runs_again"]]);
    await assert.rejects(client.correctRun(run, { ...fixed, from: "make", seen: subject }), refused(409, "COMPARISON_CHANGED"));
    for (let time = 0; time < 2; time += 1) await client.correctRun(run, { ...fixed, seen: subject, reason: "a typo" }, { idempotencyKey: "once" });
    assert.equal((await client.waitUntil(run)).status, "succeeded");
    assert.deepEqual(served.did(), ["made", "used"]);
    const { digest } = await client.registerFlow(flow("echo other >> did.txt"));
    const fork = await client.forkRun(run, { from: "use", flow: digest });
    assert.equal((await client.waitUntil(fork.run)).flow_digest, digest);
    assert.deepEqual(served.did(), ["made", "used", "other"]);
  });
});

test("pages are read as one goes through them", NEEDS_SERVER, async () => {
  await withServer(async (client) => {
    await client.registerFlow("flow: tick\nsteps:\n  - id: ask\n    ask: Go on?\n");
    const runs: string[] = [];
    for (let at = 0; at < 101; at += 1) runs.push((await client.startRun({ flow: "tick", workspace: "shared" })).run);
    assert.deepEqual((await all(client.listRuns({ flow: "tick" }))).map(({ run }) => run), [...runs].reverse());
    for (const run of runs) await client.waitUntil(run, ["waiting"]);
    const asked = await all(await client.listQuestions());
    assert.deepEqual(asked.map(({ run }) => run).sort(), [...runs].sort());
  });
});

test("numbers of any size survive", NEEDS_SERVER, async () => {
  await withServer(async (client) => {
    await client.registerFlow("flow: n\ninputs: { price: { type: number } }\nsteps:\n  - id: a\n    run: 'true'\n");
    const price = "1.00000000000000000000000000000000001";
    const { run } = await client.startRun({ flow: "n", inputs: parseJson(`{"price":${price}}`) as Map<string, never> });
    const [started] = await all(client.listEvents(run));
    assert.equal(formatCompact(started?.event.get("inputs")), `{"price":${price}}`);
  });
});

test("each event comes once and in order over a kill and a restart", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    await client.registerFlow(WAITING);
    const { run } = await client.startRun({ flow: "slow" });
    let restarts = 0;
    const clock = new Hands(async () => {
      // The server starts after the client's first failure.
      if (restarts > 0) return;
      restarts += 1;
      await served.restart();
      served.write("go", "");
    });
    const events: Event[] = [];
    for await (const event of new Client(served.url, served.first, { clock }).followRun(run)) {
      events.push(event);
      if (type(event) === "attempt_started" && event.event.get("attempt") === "last.1.1") await served.kill();
    }
    assert.equal(restarts, 1);
    assert.equal(type(events.at(-1)), "run_ended");
    assert.deepEqual(events.map(({ seq }) => seq), events.map((_, at) => at));
    assert.deepEqual(events, await all(client.listEvents(run)));
  });
});

test("a run that no engine goes on with is stopped", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    await client.registerFlow(APPROVAL);
    const { run } = await client.startRun({ flow: "publish" });
    assert.equal((await client.waitUntil(run)).activity, "working");
    const [listed] = await all(await client.listQuestions({ run }));
    await served.kill();
    await served.restart();
    const found = await client.getRun(run);
    assert.deepEqual([found.status, found.activity], ["waiting", "stopped"]);
    assert(found.activity_since !== null && found.activity_since >= found.started_at);
    await client.answerQuestion(listed?.question ?? "", { choice: "approve" });
    assert.equal((await client.waitUntil(run, ["succeeded"])).activity, null);
  });
});

test("questions come once too, also without one before the kill", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    await client.registerFlow(APPROVAL);
    // The place from which it follows is read with the first event.
    const { last_event_id: after } = await client.listQuestions();
    const events = client.followQuestions({ after });
    const { run } = await client.startRun({ flow: "publish" });
    await client.waitUntil(run);
    await served.kill();
    await served.restart();
    const put = (await events.next()).value ?? assert.fail("no question was put");
    assert.deepEqual([put.run, type(put.event)], [run, "interrupt_raised"]);
    await served.kill();
    await served.restart();
    await client.answerQuestion(String(put.event.event.get("interrupt")), { choice: "deny" });
    const closed = (await events.next()).value ?? assert.fail("no question was closed");
    assert.equal(type(closed.event), "interrupt_answered");
    const again = client.followQuestions({ after: put.id });
    assert.deepEqual((await again.next()).value, closed);
    await again.return();
    await events.return();
  });
});

test("where nobody is, patience ends", NEEDS_SERVER, async () => {
  await withServer(async (_, served) => {
    await served.kill();
    const clock = new Hands();
    const client = new Client(served.url, served.first, { clock });
    await assert.rejects(client.getHealth(), (error) => error instanceof Unreachable && error.message.includes("ECONNREFUSED"));
    assert(clock.now() > 5000 && clock.now() <= 10_000, String(clock.slept));
    await assert.rejects(all(client.followRun("run_1", { patienceMs: 60_000 })), (error) => error instanceof Unreachable);
    assert(clock.now() > 55_000 && clock.now() <= 70_000, String(clock.slept));
  });
});

test("a start whose answer is lost starts one run, and an answer or a resumption is done once", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    await client.registerFlow(APPROVAL);
    const proxy = new Dropping(served.url);
    try {
      const other = new Client(await proxy.listen(), served.first);
      const { run } = await other.startRun({ flow: "publish" });
      assert.equal(proxy.requests.length, 2);
      assert.equal(proxy.requests[0], proxy.requests[1]);
      assert.deepEqual((await all(client.listRuns())).map((each: Run) => each.run), [run]);
      await client.waitUntil(run);
      const [listed] = await all(await client.listQuestions());
      proxy.dropped = false;
      assert.equal((await other.answerQuestion(listed?.question ?? "", { choice: "deny" })).state, "answered");
      assert.equal(proxy.requests.length, 4);
      const { run: second } = await client.startRun({ flow: "publish" });
      await client.waitUntil(second);
      proxy.dropped = false;
      assert.equal((await other.cancelRun(second)).status, "cancelled");
      assert.equal(proxy.requests.length, 6);
      proxy.dropped = false;
      assert.equal((await other.resumeRun(second)).run, second);
      assert.equal(proxy.requests.length, 8);
      assert.equal(proxy.requests[6], proxy.requests[7]);
    } finally {
      proxy.close();
    }
  });
});

test("a token without the right gets a refusal", NEEDS_SERVER, async () => {
  await withServer(async (client, served) => {
    const nobody = new Client(served.url, "evt_wrong");
    for (const ask of [() => nobody.getHealth(), () => all(nobody.followRun("run_1")), () => nobody.uploadArtifact(new Uint8Array(10))]) {
      await assert.rejects(ask, (error) => refused(401, "TOKEN_NEEDED")(error) && error.hint.includes("envoi token create"));
    }
    const reader = new Client(served.url, served.token("reader", "--scope", "read"));
    await assert.rejects(reader.startRun({ flow: "publish" }), refused(403, "SCOPE_TOO_SMALL"));
    await client.registerFlow("flow: tick\nsteps:\n  - id: a\n    run: 'true'\n");
    const { run } = await client.startRun({ flow: "tick" });
    const stranger = new Client(served.url, served.token("ann", "--scope", "admin", "--tenant", "north"));
    for (const ask of [() => stranger.getRun(run), () => stranger.cancelRun(run), () => all(stranger.followRun(run))]) {
      await assert.rejects(ask, refused(404, "RUN_NOT_FOUND"));
    }
    assert.deepEqual(await all(stranger.listRuns()), []);
    await client.waitUntil(run);
  });
});

test("content comes back as it was, and the server says how it is", NEEDS_SERVER, async () => {
  await withServer(async (client) => {
    const content = Uint8Array.from({ length: 2 ** 20 }, (_, at) => (at * 7) % 251);
    const brought = await client.uploadArtifact({ content, filename: "a.bin" });
    assert.deepEqual([brought.filename, brought.mime, brought.size], ["a.bin", "application/octet-stream", 2 ** 20]);
    assert.deepEqual(new Uint8Array(await client.getArtifact(brought.digest)), content);
    await assert.rejects(client.getArtifact(`sha256:${"0".repeat(64)}`), (error) => error instanceof ApiError && error.status === 404);
    assert.deepEqual([await client.getHealth(), await client.getReadiness()], [{ status: "ok" }, { status: "ok" }]);
    assert.equal((await client.getMetrics()).includes("envoi_runs_unfinished"), true);
    assert.equal((await client.getOpenApi()).get("openapi"), "3.1.0");
  });
});
