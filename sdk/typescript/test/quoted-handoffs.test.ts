/** The search for quoted hand-offs: how much of a text it reads. What it finds is in the vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { HandoffFinder } from "../dist/routing/handoff.js";

const NAMES = '"flow_key" "routing_signal" ';
const HANDOFF = '{"step_id":"a","flow_key":"b","run_id":"c","routing_signal":{"decision":"advance"},"summary":"d"}';

/** How many hand-offs a search line by line finds, and how many UTF-16 units it reads. */
function search(text: string): { found: number; read: number } {
  const finder = new HandoffFinder(text);
  let found = 0;
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const handoff = finder.first(start, end);
    if (handoff !== undefined) found += 1;
    start = handoff?.end ?? end + 1;
  }
  return { found, read: finder.unitsRead };
}

test("a search reads each unit a few times, whatever the text", () => {
  const level = '{"a":';
  const rows: [string, string][] = [
    ["nested", `${level.repeat(100)}1${"}".repeat(100)}`],
    ["nested and open", `${level.repeat(126)}[${"1,".repeat(50_000)}`],
    ["nested too deep", level.repeat(20_000)],
    ["one line each, open", '{"a":\n'.repeat(100) + "[1],\n".repeat(20_000)],
    ["a long string", `${level.repeat(120)}"${"x".repeat(100_000)}`],
    ["braces in strings", '{"a {":['.repeat(10_000)],
    ["lists before a brace in a string", `{"a {":${"[1],".repeat(5_000)}`.repeat(10)],
    ["many objects", '{"a": 1}\n'.repeat(10_000)],
  ];
  for (const [name, row] of rows) {
    const text = NAMES + row;
    const { found, read } = search(text);
    assert.equal(found, 0, name);
    assert.equal(read <= 3 * text.length, true, `${name}: read ${read} units of ${text.length}`);
  }
});

test("all hand-offs in one object are found in one reading", () => {
  const text = `{"a":[${Array.from({ length: 500 }, () => HANDOFF).join(",\n")}]}`;
  assert.deepEqual(search(text), { found: 500, read: text.length });
});
