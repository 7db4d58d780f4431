/** A command seen as an attempt of a step: what it is given, and what it leaves behind however it ends. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Envelope, formatCompact, formatJson, readSkillReport, runStep, writeData, writeHandoff, type Attempt, type Environment, type SkillReport } from "envoi";

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

test("data is handed over without a report, as a whole or not at all", async () => {
  await given(async (_, folder) => {
    const environment = { ENVOI_DATA: join(folder, "a", "data.json") };
    assert.equal(writeData({ files: [1, 2.5, null] }, { environment }), true);
    const written = readFileSync(environment.ENVOI_DATA, "utf8");
    assert.deepEqual(JSON.parse(written), { files: [1, 2.5, null] });
    assert.throws(() => writeData({ at: Number.NaN }, { environment }));
    assert.equal(readFileSync(environment.ENVOI_DATA, "utf8"), written);
    assert.equal(writeData({ files: 1 }, { environment: {} }), false);
  });
});

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

/** An error whose words are a trap. */
class Mute extends Error {
  override toString(): string {
    throw new Error("no words");
  }
}

test("what cannot be said is left out of the report, and no more than that: limits are held by the metrics", async () => {
  await given(async (environment, folder) => {
    const used = (step: Attempt): void => void Object.assign(step.metrics, { llm_calls: 7, cost_usd: "1.50" });
    const rows: [unknown, object, string, string][] = [
      [{ seen: new Set() }, {}, "null", '{"llm_calls":7,"cost_usd":"1.50"}'],
      [{ total: Promise.resolve(3) }, {}, "null", '{"llm_calls":7,"cost_usd":"1.50"}'],
      [{ toJSON: () => assert.fail("no words") }, {}, "null", '{"llm_calls":7,"cost_usd":"1.50"}'],
      [{ words: 3 }, { tokens_in: -3 }, '{"words":3}', '{"llm_calls":7,"cost_usd":"1.50"}'],
      [{ words: 3 }, { llm_calls: "7" }, '{"words":3}', '{"cost_usd":"1.50"}'],
      [{ words: 3 }, { rate: NaN }, '{"words":3}', '{"llm_calls":7,"cost_usd":"1.50"}'],
      [{ seen: new Set() }, { tokens_in: Promise.resolve(1), "half \ud800": 1 }, "null", '{"llm_calls":7,"cost_usd":"1.50"}'],
    ];
    for (const [data, metrics, leftData, leftMetrics] of rows) {
      const refusal = await thrown(runStep((step) => (used(step), Object.assign(step.metrics, metrics), data), { environment }));
      const left = report(folder);
      assert.deepEqual([left.ok, formatCompact(left.data), formatCompact(left.metrics)], [false, leftData, leftMetrics]);
      const [code, message] = [left.statedError()?.code, left.statedError()?.message ?? ""];
      assert.equal(code, "SKILL_REPORT_INVALID");
      assert(message.startsWith("data or metrics: ") && message.includes(refusal instanceof Error ? refusal.message : "?"), message);
    }
    for (const metrics of [null, 5, "x"] as unknown[]) {
      await runStep((step) => void Object.assign(step, { metrics }), { environment }).catch(() => undefined);
      assert.equal(report(folder).skillName, "count");
    }
    await runStep((step) => void Object.assign(step, { metrics: new Map([["llm_calls", 7]]) }), { environment });
    assert.equal(formatCompact(report(folder).metrics), '{"llm_calls":7}');
  });
});

test("the body's own exception is what ends it, whatever the report could not say", async () => {
  await given(async (environment, folder) => {
    const cause = new RangeError("boom");
    const body = (step: Attempt): never => {
      Object.assign(step.metrics, { llm_calls: 7, rate: NaN });
      step.data = new Set();
      throw cause;
    };
    assert.equal(await thrown(runStep(body, { environment })), cause);
    const { data, metrics } = report(folder);
    assert.deepEqual([report(folder).statedError(), data, formatCompact(metrics)], [{ code: "SKILL_EXCEPTION", message: "RangeError: boom" }, null, '{"llm_calls":7}']);
    const nowhere = { ...environment, ENVOI_REPORT: join(folder, "f", "report.json") };
    writeFileSync(join(folder, "f"), "a file where a folder should be");
    assert.equal(await thrown(runStep(body, { environment: nowhere })), cause);
  });
});

test("where the text cannot be left, the report still is", async () => {
  await given(async (environment, folder) => {
    writeFileSync(join(folder, "f"), "a file where a folder should be");
    const body = (step: Attempt): void => {
      step.metrics["llm_calls"] = 7;
      step.say("words");
    };
    await thrown(runStep(body, { environment: { ...environment, ENVOI_OUTPUT: join(folder, "f", "output.txt") } }));
    assert.equal(formatCompact(report(folder).metrics), '{"llm_calls":7}');
  });
});

test("a failure is reported whatever it says of itself", async () => {
  await given(async (environment, folder) => {
    const said: [unknown, string, string][] = [
      ["cannot read caf\udce9.txt", "UNREADABLE", "cannot read caf\ufffd.txt"],
      ["no \ud800", "HALF_\ud800", "no \ufffd"],
      [new Mute("x"), "SKILL_ERROR", "Mute"],
      [undefined, "SKILL_ERROR", "undefined"],
    ];
    for (const [message, code, left] of said) {
      await runStep((step) => {
        step.metrics["llm_calls"] = 3;
        step.fail(message as string, code);
      }, { environment });
      assert.deepEqual(report(folder).statedError(), { code: code.replace("\ud800", "\ufffd"), message: left });
      assert.equal(formatCompact(report(folder).metrics), '{"llm_calls":3}');
    }
    const trap = { get code(): string { throw new Error("no code"); } };
    const thrownOnes: [unknown, string][] = [
      [new Mute("x"), "Mute"],
      [Object.create(null), "object"],
      [{ message: "words" }, "words"],
      [Symbol("q"), "Symbol(q)"],
      [null, "null"],
      [trap, "[object Object]"],
      [Object.assign(new Error(), { message: "half \ud800" }), "Error: half \ufffd"],
    ];
    for (const [cause, message] of thrownOnes) {
      const body = (step: Attempt): never => {
        step.metrics["llm_calls"] = 3;
        throw cause;
      };
      assert.equal(await thrown(runStep(body, { environment })), cause);
      assert.deepEqual(report(folder).statedError(), { code: "SKILL_EXCEPTION", message });
      assert.equal(formatCompact(report(folder).metrics), '{"llm_calls":3}');
    }
    for (const error of [new Error("disk full"), { code: "FULL", message: "disk \ud800" }, "disk full"]) {
      await runStep((step) => void Object.assign(step, { error }), { environment });
      assert.equal(report(folder).ok, false);
      assert(report(folder).statedError()?.message.includes("disk"), formatCompact(report(folder)));
    }
    await runStep((step) => void Object.assign(step, { error: null }), { environment, skillName: "half \ud800" });
    assert.deepEqual([report(folder).ok, report(folder).skillName], [true, "half \ufffd"]);
  });
});

test("without Envoi a command runs too, and leaves no report", async () => {
  assert.equal(await runStep((step) => [step.visit, step.iteration, step.handoff], { environment: {} }), null);
});
