/** A command seen as an attempt of a step: what it is given, and what it leaves behind however it ends. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Envelope, formatCompact, formatJson, readSkillReport, runStep, writeHandoff, type Environment, type SkillReport } from "envoi";

/** A folder with what the engine gives, and the variables that name it. */
async function given(run: (environment: Environment, folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "envoi-attempt-"));
  const ids = { ENVOI_RUN_ID: "run-1", ENVOI_FLOW: "f", ENVOI_STEP: "count", ENVOI_VISIT: "2", ENVOI_ATTEMPT: "count.2.1", ENVOI_ITERATION: "1", ENVOI_KEY: "run-1:count.2" };
  const files = { ENVOI_RUN_BASE: folder, ENVOI_REPORT: join(folder, "a", "report.json"), ENVOI_OUTPUT: join(folder, "a", "output.txt") };
  try {
    await run({ ...ids, ...files }, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The report that was left. */
function report(folder: string): SkillReport {
  return readSkillReport(join(folder, "a", "report.json")) ?? assert.fail("no report was left");
}

test("a command finds what the engine gives it", async () => {
  await given(async (environment, folder) => {
    const put = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const handoff = writeHandoff({ step_id: "s", flow_key: "f", run_id: "r", status: "succeeded", output: "before" });
    const more = {
      ENVOI_HANDOFF: put("handoff.json", formatJson(handoff)),
      ENVOI_FEEDBACK: put("feedback.txt", "Status: NO\n--- stderr\nline 1\n--- stderr\n"),
      ENVOI_ENVELOPE: put("envelope.json", formatJson(new Envelope())),
      ENVOI_ANSWER: put("answer.json", '{"text":"yes","approved":true,"n":1.0}'),
    };
    await runStep((step) => {
      assert.deepEqual([step.runId, step.flow, step.id, step.visit, step.attempt, step.iteration], ["run-1", "f", "count", 2, "count.2.1", 1]);
      assert.deepEqual([step.key, step.runBase, step.skillName], ["run-1:count.2", folder, "count"]);
      assert.equal(step.handoff?.summary, "before");
      assert.deepEqual(step.feedback, { text: "Status: NO\n", stderr: "line 1\n--- stderr\n" });
      assert.deepEqual(step.envelope, new Envelope());
      assert.deepEqual([step.answer?.text, formatCompact(step.answer?.members)], ["yes", '{"text":"yes","approved":true,"n":1.0}']);
    }, { environment: { ...environment, ...more } });
    await runStep((step) => {
      assert.deepEqual([step.answer?.text, step.answer?.choice, step.answer?.attachments, step.answer?.members], ["plain", null, [], new Map()]);
      assert.deepEqual([step.handoff, step.feedback, step.envelope], [null, null, null]);
    }, { environment: { ...environment, ENVOI_ANSWER: put("answer.txt", "plain") } });
  });
});

test("what the body returns and says is left for the engine, each file whole", async () => {
  await given(async (environment, folder) => {
    const left = await runStep(async (step) => {
      step.say("Counted.");
      step.say("Status: VERIFIED");
      step.metrics["llm_calls"] = 0;
      return { words: 3 };
    }, { environment, skillName: "word-count" });
    const { ok, skillName, data, metrics, error } = report(folder);
    assert.deepEqual([ok, skillName, formatCompact(data), formatCompact(metrics), error], [true, "word-count", '{"words":3}', '{"llm_calls":0}', undefined]);
    assert.equal(left?.skillName, "word-count");
    assert.equal(readFileSync(join(folder, "a", "output.txt"), "utf8"), "Counted.\nStatus: VERIFIED\n");
    assert.deepEqual(readdirSync(join(folder, "a")), ["output.txt", "report.json"]);
  });
});

async function thrown(run: Promise<unknown>): Promise<unknown> {
  return run.then(() => assert.fail("nothing was thrown"), (cause: unknown) => cause);
}

test("an exception makes the report say so, and goes on its way", async () => {
  await given(async (environment, folder) => {
    const causes: [unknown, { code: string; message: string }][] = [
      [new TypeError("no \ud800"), { code: "SKILL_EXCEPTION", message: "TypeError: no \ufffd" }],
      [Object.assign(new Error("gone"), { code: "ENOENT" }), { code: "ENOENT", message: "Error: gone" }],
      ["words", { code: "SKILL_EXCEPTION", message: "words" }],
    ];
    for (const [cause, error] of causes) {
      const body = (): never => {
        throw cause;
      };
      assert.equal(await thrown(runStep(body, { environment })), cause);
      const { ok, data } = report(folder);
      assert.deepEqual([ok, report(folder).statedError(), data], [false, error, null]);
    }
  });
});

test("a failure that is said is reported, and data that JSON cannot say is one", async () => {
  await given(async (environment, folder) => {
    await runStep((step) => step.fail("no rates today", "THROTTLED"), { environment });
    assert.deepEqual([report(folder).ok, report(folder).statedError()], [false, { code: "THROTTLED", message: "no rates today" }]);
    await thrown(runStep(() => NaN, { environment }));
    assert.deepEqual([report(folder).ok, report(folder).statedError()?.code], [false, "SKILL_REPORT_INVALID"]);
  });
});

test("without Envoi a command runs too, and leaves no report", async () => {
  assert.equal(await runStep((step) => [step.visit, step.iteration, step.handoff], { environment: {} }), null);
});
