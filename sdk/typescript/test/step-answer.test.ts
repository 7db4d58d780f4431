/** The answer of a person, as a command finds it. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Attempt, ContractError, JsonError, JsonNumber, formatCompact, type Answer } from "envoi";

const REF = '{"artifactId":"a","representationRevisionId":"r","digest":"d","mime":"m","originKind":"upload"}';
const DATA = '{"net":1.00,"id":123456789012345678901234567890,"far":1e400}';
const FULL = `{"text":"Approved with edits.","attachments":[${REF}],"interrupt":"int_1","step":"review","visit":2,"kind":"confirmation","question":"Publish?","choice":"approve","approved":true,"data":${DATA},"by":"ada","channel":"cli","answered_at":"2026-02-20T05:30:00.000+01:00","files":[{"artifactId":"a","filename":"edits.pdf","path":"/run/files/edits.pdf"},{"artifactId":"b","unreadable":"it is not in this tenant","tried":2}],"later":[1.0]}`;

/** What a command reads from a file of that content. */
function given(content: string, name = "answer.json"): Answer {
  const folder = mkdtempSync(join(tmpdir(), "envoi-answer-"));
  try {
    writeFileSync(join(folder, name), content);
    const environment = { ENVOI_ANSWER: join(folder, name), ENVOI_ANSWER_FILES: "/run/files" };
    return new Attempt(environment).answer ?? assert.fail("there is no answer");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("each member is there with its type", () => {
  const answer = given(FULL);
  assert.deepEqual([answer.text, answer.interrupt, answer.step], ["Approved with edits.", "int_1", "review"]);
  assert.deepEqual([answer.visit, answer.kind, answer.question], [2, "confirmation", "Publish?"]);
  assert.deepEqual([answer.choice, answer.approved], ["approve", true]);
  assert.deepEqual([answer.by, answer.channel, answer.answered_at], ["ada", "cli", "2026-02-20T05:30:00.000+01:00"]);
  assert.deepEqual(answer.attachments.map((each) => each.artifactId), ["a"]);
  assert.deepEqual(answer.files, [
    { artifactId: "a", filename: "edits.pdf", path: "/run/files/edits.pdf", unreadable: null },
    { artifactId: "b", filename: null, path: null, unreadable: "it is not in this tenant" },
  ]);
  assert.deepEqual([answer.paths, answer.folder], [["/run/files/edits.pdf"], "/run/files"]);
});

test("numbers keep their text, and unknown members are kept", () => {
  const answer = given(FULL);
  assert.equal(formatCompact(answer.data), DATA);
  assert.equal(formatCompact(answer.members), FULL);
  const id = answer.data instanceof Map ? answer.data.get("id") : undefined;
  assert.equal(id instanceof JsonNumber && id.toBigInt(), 123456789012345678901234567890n);
});

test("an answer of few words is read too", () => {
  const contents = [['{"text":"Yes."}', "Yes."], ["{}", ""], ['{"text":null,"choice":null,"data":null,"approved":null}', ""]] as const;
  for (const [content, text] of contents) {
    const answer = given(content);
    assert.deepEqual([answer.text, answer.choice, answer.approved, answer.data], [text, null, null, null]);
    assert.deepEqual([answer.attachments, answer.files, answer.paths], [[], [], []]);
  }
});

test("a file that is no JSON is its text", () => {
  const answer = given(FULL, "answer.txt");
  assert.deepEqual([answer.text, answer.choice, answer.members.size], [FULL, null, 0]);
});

test("data may be anything", () => {
  for (const data of ["[1.0]", '"x"', "0", "false"]) assert.equal(formatCompact(given(`{"data":${data}}`).data), data);
});

test("what an answer is not is refused with its place", () => {
  const rows = [
    ["[]", ""], ['{"text":1}', "/text"], ['{"choice":"maybe"}', "/choice"], ['{"choice":"Approve"}', "/choice"], ['{"kind":"quiz"}', "/kind"], ['{"visit":1.5}', "/visit"], ['{"approved":"yes"}', "/approved"],
    ['{"attachments":null}', "/attachments"], ['{"attachments":[{}]}', "/attachments/0"], ['{"answered_at":"soon"}', "/answered_at"], ['{"files":{}}', "/files"],
    ['{"files":[{"path":"/x"}]}', "/files/0"], ['{"files":[{"artifactId":"a"}]}', "/files/0"], ['{"files":[{"artifactId":"a","path":1}]}', "/files/0/path"],
  ] as const;
  for (const [content, pointer] of rows) {
    assert.throws(() => given(content), (error) => error instanceof ContractError && error.code === "INVALID_USER_ENVELOPE" && error.pointer === pointer, content);
  }
  assert.throws(() => given('{"text":"a","text":"b"}'), (error) => error instanceof JsonError);
});
