// What needs no browser: differences of texts, forms, the tree of a run.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

async function module(name) {
  const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL(`../src/${name}`, import.meta.url))], bundle: true, write: false, format: "esm", jsx: "automatic", jsxImportSource: "preact", platform: "node" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const { diff, counted } = await module("diff.ts");
const { fieldsOf, read } = await module("form.tsx");
const { treeOf, flat, every } = await module("tree.ts");
const { linesOf, inWords } = await module("map.ts");
const { blocks, inlines, values } = await module("markdown.ts");

test("a difference turns the old text into the new one", () => {
  const words = ["a", "b", "c", "d"];
  // Every pair of texts of up to four lines of two words, and some longer ones.
  const texts = [[]];
  for (let length = 1; length <= 4; length += 1) for (const text of texts.filter((each) => each.length === length - 1)) texts.push([...text, "a"], [...text, "b"]);
  for (let seed = 1; seed <= 60; seed += 1) texts.push(Array.from({ length: seed % 23 }, (_, nth) => words[(seed * 7 + nth * nth * seed) % 4]));
  for (const before of texts) {
    for (const after of texts) {
      const joined = (lines) => lines.map((line) => `${line}\n`).join("");
      const changes = diff(joined(before), joined(after));
      const shown = (kinds) => changes.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text);
      if (changes.some(({ kind }) => kind === "left out")) continue;
      assert.deepEqual(shown(["same", "removed"]), before);
      assert.deepEqual(shown(["same", "added"]), after);
    }
  }
});

test("lines that are the same are left out, and what differs too much is not compared", () => {
  const many = Array.from({ length: 100 }, (_, nth) => `line ${nth}`);
  const changes = diff(many.join("\n"), many.with(50, "other").join("\n"));
  assert.deepEqual(counted(changes), [1, 1]);
  assert.deepEqual(changes.filter(({ kind }) => kind === "left out").map(({ text }) => text), ["47 lines that are the same", "46 lines that are the same"]);
  const of = (word) => Array.from({ length: 5000 }, (_, nth) => `${word} ${nth}`).join("\n");
  assert.equal(diff(of("a"), of("b")), undefined);
  assert.deepEqual(diff("", ""), []);
});

test("a form says what was filled in, and what is wrong with which field", () => {
  const schema = { type: "object", required: ["a", "n"], properties: { a: { type: "string" }, n: { type: "integer", default: 2 }, e: { enum: ["x", 1, null] }, b: { type: "boolean" }, l: { type: "array", items: { type: "string" } }, o: { type: "object" }, __proto__x: { type: "string" } } };
  const fields = fieldsOf(schema);
  assert.deepEqual(fields.map(({ kind }) => kind), ["words", "number", "choice", "truth", "list", "json", "words"]);
  assert.equal(fields[1].initial, "2");
  assert.deepEqual(read(fields, { a: "words", n: "3", e: "null", b: "false", l: "a\n\n b ", o: "{}" }), { data: { a: "words", n: 3, e: null, b: false, l: ["a", "b"], o: {} } });
  assert.deepEqual(Object.keys(read(fields, { a: " ", n: "x", o: "{" }).wrong), ["a", "n", "o"]);
  assert.deepEqual(fieldsOf(schema, ["o", "b", "gone"]).map(({ name }) => name).slice(0, 3), ["o", "b", "a"]);
  assert.equal(fieldsOf({ type: "string" }), undefined);
  assert.equal(fieldsOf(null), undefined);
});

test("the tree has what has begun and what has not, each at its place", () => {
  const row = (place, more = {}) => {
    const parts = place.split(".");
    return [place, { place, part_of: null, step: parts.at(-2), scope: "", visit: Number(parts.at(-1)), item: null, value: null, items: null, state: "succeeded", ended_at: "x", seq: 0, ...more }];
  };
  const step = (id, more = {}) => ({ step: id, kind: "run", runs_flow: null, for_each: false, loop_to: null, ...more });
  const shape = { steps: [step("a"), step("b", { runs_flow: "inner" }), step("c", { for_each: true }), step("d")], flows: { inner: { steps: [step("x"), step("y")] } } };
  const rows = new Map([
    row("c.1", { items: 3, state: "open", ended_at: null }),
    row("1.c.1", { part_of: "c.1", item: 1, value: "web" }),
    row("0.c.1", { part_of: "c.1", item: 0, value: "api" }),
    row("a.1"),
    row("a.2"),
    row("b.1", { state: "running", ended_at: null }),
    row("b.1.x.1", { part_of: "b.1" }),
  ]);
  const nodes = treeOf(rows, shape);
  assert.deepEqual(flat(nodes, () => true).map(({ name, level }) => `${level} ${name}`), ["1 a", "1 a", "1 b", "2 x", "2 y", "1 c", "2 0 api", "2 1 web", "1 d"]);
  assert.deepEqual(every(nodes).filter((node) => node.row === undefined).map(({ name }) => name), ["y", "d"]);
  assert.deepEqual(treeOf(new Map(), undefined), []);
});

test("the map's lines never share a lane where they meet, and lead where the flow says", () => {
  const step = (id, more = {}) => ({ step: id, kind: "run", needs: [], join: "all", branches: [], next: null, loop_to: null, max_iterations: null, condition: null, for_each: false, tries: 1, continue_on_error: false, runs_flow: null, ...more });
  const list = linesOf({ graph: false, rounds: null, steps: [step("a"), step("b", { next: "d" }), step("c", { loop_to: "a", max_iterations: 3 }), step("d", { next: "end" }), step("e", { branches: ["a"] })] });
  assert.deepEqual(list.straight, [0, 2]);
  assert.deepEqual(list.forward.map(({ from, to }) => [from, to]), [[1, 3], [4, 0]]);
  assert.deepEqual(list.back.map(({ from, to, label }) => [from, to, label]), [[2, 0, "≤ 3"]]);
  const graph = linesOf({ graph: true, rounds: { first_step: "a", last_step: "d", max_rounds: 5 }, steps: [step("a"), step("b", { needs: ["a"] }), step("c", { needs: ["a"] }), step("d", { needs: ["b", "c", "gone"] })] });
  assert.deepEqual(graph.straight, [0, 2]);
  assert.deepEqual(graph.forward.map(({ from, to }) => [from, to]), [[0, 2], [1, 3]]);
  assert.equal(new Set(graph.forward.map(({ lane }) => lane)).size, 2, "they share a row");
  assert.deepEqual(graph.back.map(({ label }) => label), ["≤ 5 rounds"]);
  assert.deepEqual(inWords(step("d", { needs: ["b", "c"], join: "any" }), 3, { graph: true, rounds: null, steps: [] }), ["after b, c (any)"]);
});

test("Markdown: what it knows is read, what it does not stays text", () => {
  const kinds = (text) => blocks(text).map(({ kind }) => kind);
  assert.deepEqual(kinds("# a\n\ntext\nmore\n\n- x\n- y\n\n1. z\n\n> q\n\n```\ncode\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n---\n"), ["heading", "paragraph", "list", "list", "quote", "code", "table", "rule"]);
  assert.deepEqual(inlines("[x](javascript:y) <b>"), [{ kind: "text", text: "[x](javascript:y)" }, { kind: "text", text: " <b>" }]);
  assert.deepEqual(inlines("a `**` **b _c_**"), [{ kind: "text", text: "a " }, { kind: "code", text: "**" }, { kind: "text", text: " " }, { kind: "strong", parts: [{ kind: "text", text: "b " }, { kind: "em", parts: [{ kind: "text", text: "c" }] }] }]);
  assert.deepEqual(inlines("snake_case_name 2 * 3 * 4 \\*x\\*").map(({ kind }) => kind).filter((kind) => kind !== "text"), []);
  // Every text ends, and loses no letter.
  const signs = ["*", "_", "`", "[a](b)", "![", "|", "\n", "- ", "# ", "> ", "```", "\\", "Q", " "];
  for (let seed = 1; seed < 3000; seed += 1) {
    let [state, text] = [seed, ""];
    for (let nth = 0; nth < 12; nth += 1) text += signs[(state = (state * 1103515245 + 12345) % 2147483648) % signs.length];
    const letters = (value) => JSON.stringify(value, (name, inner) => (["kind", "level", "ordered"].includes(name) ? undefined : inner)).split("Q").length;
    assert.equal(letters(blocks(`${text}Q`)), text.split("Q").length + 1, JSON.stringify(text));
  }
  assert.equal(blocks("a\n\n".repeat(3000)), undefined);
  for (const sign of ["[", "*", "`", "_", "**a", "[a](", "|", "> "]) assert(blocks(sign.repeat(20_000)) !== undefined);
});

test("a table of values is read as its quotes say", () => {
  assert.deepEqual(values('a,b\r\n"x, ""y""",2\n"two\nlines",\n,', ",", 10), [["a", "b"], ['x, "y"', "2"], ["two\nlines", ""], ["", ""]]);
  assert.deepEqual(values("a\tb\n", "\t", 10), [["a", "b"]]);
  assert.deepEqual(values("1\n2\n3", ",", 2), [["1"], ["2"]]);
  assert.deepEqual(values('"open, and never closed', ",", 9), [["open, and never closed"]]);
});
