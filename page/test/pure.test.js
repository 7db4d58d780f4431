// Tests that need no browser: differences of texts, forms, the tree of a run.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

async function module(name) {
  const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL(`../src/${name}`, import.meta.url))], bundle: true, write: false, format: "esm", jsx: "automatic", jsxImportSource: "preact", platform: "node" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const { diff, diffOfFiles, counted, inPairs } = await module("model/diff.ts");
const { marked } = await module("model/marked.ts");
const { fieldsOf, read } = await module("parts/form.tsx");
const { treeOf, flat, every, above, movedBy } = await module("model/tree.ts");
const { axisOf } = await module("model/axis.ts");
const { partsOf, replaced } = await module("model/list.ts");
const { filesBetween, isAlike, loopsIn, pairsOfRounds, pairsOfRuns } = await module("model/pairs.ts");
const { changedSince } = await module("model/changed.ts");
const { rawItems, rawMember } = await module("model/raw.ts");
const { lined, named } = await module("parts/untrusted.tsx");
const { linesOf, inWords } = await module("model/map.ts");
const { barOf, ofRow, worked, workOf } = await module("model/worked.ts");
const { inTwo } = await module("model/names.ts");
const { nano, ofNano, usedBy } = await module("model/used.ts");
const { firstFailure } = await module("model/failure.ts");
const { blocks, inlines, plainLine, values } = await module("model/markdown.ts");

// Objects of a browser that node lacks.
const kept = new Map();
globalThis.location = { pathname: "/" };
globalThis.document = { documentElement: { style: {} } };
globalThis.localStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) };
const { Refused, key, patiently } = await module("wire/request.ts");
const { Announcements, announce } = await module("parts/announcements.tsx");

test("who does not see what changes is told one sentence at a time, at most one in five seconds, and how many more there are", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const said = () => Announcements().props.children;
  for (const sentence of ["one.", "two.", "three."]) announce(sentence);
  const heard = [said()];
  for (const ms of [4_999, 1, 4_999]) t.mock.timers.tick(ms), heard.push(said());
  announce("four.");
  heard.push(said());
  for (const ms of [1, 5_000]) t.mock.timers.tick(ms), heard.push(said());
  announce("five.");
  heard.push(said());
  assert.deepEqual(heard, ["one.", "one.", "two. And 1 more change.", "two. And 1 more change.", "two. And 1 more change.", "four.", "four.", "five."]);
});

test("what waits for a busy server is not asked again in the name of somebody else", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  for (const [next, expected, times] of [["of-ann", "answer", 2], ["of-ben", "OVERLOADED", 1], [undefined, "OVERLOADED", 1]]) {
    key.set("of-ann");
    let asked = 0;
    const answer = async () => {
      asked += 1;
      if (asked === 1) throw new Refused(503, "OVERLOADED", "busy", null, "", 3);
      return "answer";
    };
    let done;
    await new Promise((waits) => {
      done = patiently(answer, (until) => until !== undefined && queueMicrotask(waits)).catch((error) => error.code);
    });
    key.set(next);
    t.mock.timers.tick(3000);
    assert.deepEqual([await done, asked], [expected, times], String(next));
  }
});

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

test("what cannot be seen at the end and at the beginning of a file is a difference", () => {
  const shown = (before, after) => diffOfFiles(before, after).map(({ kind, text, isUnended }) => `${kind} ${JSON.stringify(text)}${isUnended ? " unended" : ""}`);
  assert.deepEqual(shown("a\nb", "a\nb\n"), ['same "a"', 'removed "b" unended', 'added "b"']);
  assert.deepEqual(shown("a\n", "b"), ['removed "a"', 'added "b" unended']);
  assert.deepEqual(shown("a\nb", "c\nb"), ['removed "a"', 'added "c"', 'same "b" unended']);
  assert.deepEqual(shown("a\r\n", "a\n"), ['removed "a\\r"', 'added "a"']);
  assert.deepEqual(shown("\ufeffa\n", "a\n"), ['removed "\ufeffa"', 'added "a"']);
  assert.deepEqual(shown("", "\n"), ['added ""']);
  // Words and outputs have no such end.
  assert.deepEqual(counted(diff("a", "a\n")), [0, 0]);
  assert.equal(marked("a", [["item 1", "b\n"]]), "<<<<<<< ours\na\n=======\nb\n>>>>>>> item 1\n");
});

test("several versions of a file stand beside each other between markers, and each of them can be taken from there", () => {
  const text = (...lines) => lines.map((line) => `${line}\n`).join("");
  const [ours, first, second] = [text("1", "two", "3", "4", "5", "6"), text("1", "TWO", "3", "4", "5", "six"), text("0", "1", "2", "3", "4", "5", "6")];
  assert.equal(
    marked(ours, [["item 1", first], ["item 2", second]]),
    text("<<<<<<< ours", "=======", "0", ">>>>>>> item 2", "1", "<<<<<<< ours", "two", "======= item 1", "TWO", "======= item 2", "2", ">>>>>>> item 1, item 2", "3", "4", "5", "<<<<<<< ours", "6", "=======", "six", ">>>>>>> item 1"),
  );
  assert.equal(marked("", [["item 1", "a\n"], ["item 2", "a\n"]]), text("<<<<<<< ours", "======= item 1", "a", "======= item 2", "a", ">>>>>>> item 1, item 2"));
  assert.equal(marked(ours, [["item 1", ours]]), ours);
  // For any versions: without the markers and the others, each version is there unchanged.
  const words = ["a", "b", "c"];
  for (let seed = 1; seed <= 200; seed += 1) {
    const of = (by) => Array.from({ length: (seed * by) % 11 }, (_, nth) => words[(seed * 7 + nth * nth * by + nth) % 3]);
    const all = { ours: of(3), "item 1": of(5), "item 2": of(7) };
    const both = marked(text(...all.ours), [["item 1", text(...all["item 1"])], ["item 2", text(...all["item 2"])]]);
    for (const [name, lines] of Object.entries(all)) assert.deepEqual(version(both, name), lines, `${seed} ${name}\n${both}`);
  }
});

/** A version in a marked text. If it has no lines of its own between markers, it has those of `ours`. */
function version(both, name) {
  const found = [];
  const lines = both.split("\n").slice(0, -1);
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at] !== "<<<<<<< ours") found.push(lines[at]);
    else {
      const end = lines.findIndex((line, nth) => nth > at && line.startsWith(">>>>>>> "));
      const parts = new Map();
      let part = "ours";
      parts.set(part, []);
      for (const line of lines.slice(at + 1, end)) {
        if (line.startsWith("=======")) parts.set((part = line.slice(8) || lines[end].slice(8)), []);
        else parts.get(part).push(line);
      }
      found.push(...(parts.get(name) ?? parts.get("ours")));
      at = end;
    }
  }
  return found;
}

test("side by side, what was removed stands beside what was added in its place", () => {
  const pairs = (before, after) => inPairs(diff(before, after)).map((pair) => pair.map((change) => change?.text ?? ""));
  assert.deepEqual(pairs("a\nb\nc\n", "a\nB\nmore\nc\n"), [["a", "a"], ["b", "B"], ["", "more"], ["c", "c"]]);
  assert.deepEqual(pairs("a\nb\n", "b\n"), [["a", ""], ["b", "b"]]);
  const long = Array.from({ length: 20 }, (_, nth) => `${nth}\n`);
  const found = inPairs(diff(long.join(""), [...long, "end\n"].join("")));
  assert.equal(found.filter(([left]) => left?.kind === "left out").length, 1, "what is left out stands once");
  assert.deepEqual(found.at(-1)[1], { kind: "added", text: "end" });
});

test("a part of a list that is read again takes its place, whatever has come or gone meanwhile", () => {
  const list = (next, ...runs) => ({ runs: runs.map((run) => ({ run })), next, so_far: runs.map((run) => ({ run, steps_done: 1 })), counts: null });
  const ids = (found) => found && [found.runs.map(({ run }) => run).join(""), found.next];
  const known = list("f", "a", "b", "c", "d", "e", "f");
  assert.deepEqual(partsOf(known, ["d", "f", "c"], 2), [1, 2]);
  assert.deepEqual(partsOf(known, ["new"], 2), [0], "a new one stands first");
  assert.deepEqual(ids(replaced(known, 2, list("d", "c", "d"))), ["abcdef", "f"], "as it was");
  assert.deepEqual(ids(replaced(known, 0, list("a", "n", "a"))), ["nabcdef", "f"], "one is new");
  assert.deepEqual(ids(replaced(known, 2, list("e", "d", "e"))), ["abdef", "f"], "one is no longer among those that are asked for");
  assert.deepEqual(ids(replaced(known, 4, list("g", "f", "g"))), ["abcdfg", "g"], "the last part goes on beyond what was known");
  assert.deepEqual(ids(replaced(known, 6, list("h", "g", "h"))), ["abcdefgh", "h"], "a further part");
  assert.deepEqual(ids(replaced(known, 2, list(null, "c"))), ["abc", null], "nothing follows");
  assert.equal(replaced(known, 0, list("y", "x", "y")), undefined, "what is left cannot be known");
  const { so_far: soFar, counts } = replaced({ ...known, counts: { failed: 1 } }, 2, { ...list("d", "c", "d"), so_far: [{ run: "c", steps_done: 2 }] });
  assert.deepEqual([soFar.map(({ run, steps_done: done }) => `${run}${done}`).join(" "), counts], ["a1 b1 c2 e1 f1", { failed: 1 }], "what is not said now of a run that is read again is not kept");
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

test("visits of a loop are its rounds: past ones say why they were sent back, the newest one what is to come", () => {
  const step = (id, more = {}) => ({ step: id, kind: "run", needs: [], runs_flow: null, for_each: false, loop_to: null, max_iterations: null, condition: null, ...more });
  const row = (place, seq, more = {}) => {
    const parts = place.split(".");
    return [place, { place, part_of: null, step: parts.at(-2), scope: "", visit: Number(parts.at(-1)), item: null, value: null, items: null, state: "succeeded", ended_at: "x", leads_to: "advance", summary: "", first_seq: seq, seq: seq + 3, ...more }];
  };
  const shape = { graph: false, flows: {}, steps: [step("a"), step("draft"), step("critic", { loop_to: "draft", max_iterations: 4 }), step("end")] };
  const rows = [row("a.1", 0), row("draft.1", 4), row("critic.1", 8, { leads_to: "loop", summary: "two dates are wrong" }), row("draft.2", 12, { state: "running", ended_at: null })];
  const nodes = treeOf(new Map(rows), shape);
  const told = (all) => flat(all, () => true).map(({ level, name, group, row }) => `${level} ${name}${group ? ` [${group.state}${group.kind === "loop" ? ` ${group.count}/${group.most}` : ""}]` : row ? "" : " (to come)"}`);
  assert.deepEqual(told(nodes), ["1 a", "1 draft … critic [running 2/5]", "2 round 1 [sent_back]", "3 draft", "3 critic", "2 round 2 [running]", "3 draft", "3 critic (to come)", "1 end (to come)"]);
  assert.equal(every(nodes).find(({ name }) => name === "round 1").group.words, "two dates are wrong");
  assert.deepEqual(above(nodes, "draft.2"), ["loop of .draft … critic", "round 2 of .draft … critic"]);
  // A single pass is no loop yet; and each visit is shown once, in any order of the rows.
  assert.deepEqual(told(treeOf(new Map(rows.slice(0, 2)), shape)), ["1 a", "1 draft", "1 critic (to come)", "1 end (to come)"]);
  const shuffled = treeOf(new Map([...rows].reverse()), shape);
  assert.deepEqual(told(shuffled), told(nodes));
  // A step that repeats itself needs no rounds.
  const alone = { graph: false, flows: {}, steps: [step("poll", { loop_to: "poll", max_iterations: 9 })] };
  assert.deepEqual(told(treeOf(new Map([row("poll.1", 0, { leads_to: "loop" }), row("poll.2", 4)]), alone)), ["1 poll [succeeded 2/10]", "2 poll", "2 poll"]);
  // Loops that cross are one.
  const crossing = { graph: false, flows: {}, steps: [step("a"), step("b", { loop_to: "a", max_iterations: 1 }), step("c", { loop_to: "b", max_iterations: 1 })] };
  const crossed = [row("a.1", 0), row("b.1", 4, { leads_to: "loop" }), row("a.2", 8), row("b.2", 12), row("c.1", 16, { leads_to: "loop" }), row("b.3", 20), row("c.2", 24)];
  assert.deepEqual(told(treeOf(new Map(crossed), crossing)), ["1 a … c [succeeded 3/undefined]", "2 round 1 [sent_back]", "3 a", "3 b", "2 round 2 [sent_back]", "3 a", "3 b", "3 c", "2 round 3 [succeeded]", "3 b", "3 c"]);
  // In a graph, what lies on the ways between goes round, and nothing beside it.
  const graph = { graph: true, flows: {}, steps: [step("a"), step("b", { needs: ["a"] }), step("side"), step("c", { needs: ["b"], loop_to: "a", max_iterations: 3 })] };
  const parallel = [row("a.1", 0), row("side.1", 1), row("b.1", 4), row("c.1", 8, { leads_to: "loop" }), row("a.2", 12), row("b.2", 16), row("c.2", 20)];
  assert.deepEqual(told(treeOf(new Map(parallel), graph)), ["1 a … c [succeeded 2/4]", "2 round 1 [sent_back]", "3 a", "3 b", "3 c", "2 round 2 [succeeded]", "3 a", "3 b", "3 c", "1 side"]);
});

test("rows in view stay where they are while others come and go above them, and single ones move away", () => {
  const rows = (...places) => places.map((place) => ({ place }));
  const before = rows("a", "b", "c", "d", "e", "f", "g");
  assert.equal(movedBy(before, 2, 6, before), 0);
  assert.equal(movedBy(before, 2, 6, rows("x", "y", ..."abcdefg")), 2, "two have come");
  assert.equal(movedBy(before, 2, 6, rows(..."bcdefga")), -1, "one above is over, and stands at the end");
  assert.equal(movedBy(before, 2, 6, rows(..."abdefgc")), -1, "the first one in view is over: the others stay");
  assert.equal(movedBy(before, 2, 6, rows("x", "y")), 0, "none of them is there any more");
});

test("steps of inner flows are seen before they run; of items, those that failed come first", () => {
  const step = (id, more = {}) => ({ step: id, kind: "run", needs: [], runs_flow: null, for_each: false, loop_to: null, ...more });
  const shape = { graph: false, flows: { inner: { graph: false, steps: [step("x"), step("y", { runs_flow: "inner" })] } }, steps: [step("a"), step("b", { runs_flow: "inner" })] };
  assert.deepEqual(flat(treeOf(new Map(), shape), () => true).map(({ level, name }) => `${level} ${name}`), ["1 a", "1 b", "2 x", "2 y"], "a flow in itself ends somewhere");
  const item = (nth, state) => [`${nth}.c.1`, { place: `${nth}.c.1`, part_of: "c.1", step: "c", scope: String(nth), visit: 1, item: nth, value: String(nth), items: null, state, ended_at: "x", first_seq: nth, seq: nth }];
  const whole = ["c.1", { place: "c.1", part_of: null, step: "c", scope: "", visit: 1, item: null, value: null, items: 5, state: "failed", ended_at: "x", first_seq: 0, seq: 9 }];
  const [node] = treeOf(new Map([whole, item(0, "succeeded"), item(1, "running"), item(2, "failed"), item(3, "asks"), item(4, "succeeded")]), { graph: false, flows: {}, steps: [step("c", { for_each: true })] });
  assert.deepEqual(node.parts.map(({ name }) => name), ["2", "3", "1", "0", "4"]);
  assert.deepEqual([...node.items.counts], [["failed", 1], ["asks", 1], ["running", 1], ["succeeded", 2]]);
});

test("what changed since a question was put before is told against what was there then", () => {
  const file = (path, before, after) => ({ path, created: before === null, before_digest: before, after_digest: after });
  const since = (before, now) => changedSince(before, now).map(({ path, created, before_digest: from, after_digest: to }) => [path, created, from, to]);
  assert.deepEqual(since([file("a", null, "1")], [file("a", null, "1")]), [], "as it was");
  assert.deepEqual(since([file("a", null, "1")], [file("a", null, "2")]), [["a", false, "1", "2"]], "made in the first round, changed in the second");
  assert.deepEqual(since([], [file("a", "0", "1"), file("b", null, "1")]), [["a", false, "0", "1"], ["b", true, null, "1"]], "first touched since then");
  assert.deepEqual(since([file("a", "0", "1"), file("b", null, "1")], []), [["a", false, "1", "0"], ["b", false, "1", null]], "put back");
  assert.deepEqual(since([file("a", "0", null)], [file("a", "0", "2")]), [["a", true, null, "2"]], "deleted then, there again");
  assert.deepEqual(since([], [{ path: "a", created: false, before_digest: null, after_digest: "1" }]), [["a", false, null, "1"]], "what it was is not known");
});

test("the axis leaves out what is long and idle, and keeps the order of times", () => {
  const work = (from, to, isWork = true) => ({ from, to, isWork });
  const plain = axisOf([work(0, 50), work(50, 100)]);
  assert.deepEqual([plain.at(0), plain.at(25), plain.at(100), plain.breaks], [0, 0.25, 1, []]);
  // An hour of waiting between two seconds of work.
  const waits = axisOf([work(0, 1000), work(1000, 3_601_000, false), work(3_601_000, 3_602_000)]);
  assert.equal(waits.breaks.length, 1);
  assert.equal(waits.breaks[0].ms, 3_600_000);
  assert(waits.at(1000) > 0.45 && waits.at(3_601_000) < 0.55, `${waits.at(1000)} ${waits.at(3_601_000)}`);
  const times = [0, 500, 1000, 2000, 1_800_000, 3_601_000, 3_601_500, 3_602_000].map(waits.at);
  assert.deepEqual([...times].sort((a, b) => a - b), times);
  assert.deepEqual([axisOf([]).at(5), axisOf([work(7, 7)]).at(7)], [0, 0]);
});

/** A row that began and ended at these seconds; null: it is not over. */
const rowAt = (from, to, more = {}) => ({ place: "a.1", part_of: null, step: "a", scope: "", visit: 1, item: null, items: null, state: to === null ? "running" : "succeeded", started_at: new Date(from * 1000).toISOString(), ended_at: to === null ? null : new Date(to * 1000).toISOString(), attempts: 1, took_ms: 0, cost_usd: null, waits: [], seq: to ?? 9, first_seq: from, leads_to: null, ...more });
const waitAt = (from, until, reason = "next_try") => ({ from: new Date(from * 1000).toISOString(), until: until === null ? null : new Date(until * 1000).toISOString(), reason });
const nodeOf = (row, parts = []) => ({ place: row?.place ?? "loop", name: "", row, group: row === undefined ? { kind: "loop" } : undefined, shape: undefined, level: 1, parts, items: undefined });
const HOURS = 3 * 3600;

test("a bar has the work and the waits of what it stands for, also when that is over or folded", () => {
  const seconds = ({ works }) => works.map(([from, to]) => [from / 1000, to / 1000]);
  // It worked for two seconds, waited for three hours, worked for two seconds.
  const waited = rowAt(0, HOURS + 4, { waits: [waitAt(2, HOURS + 2)] });
  assert.deepEqual(seconds(ofRow(waited, 0)), [[0, 2], [HOURS + 2, HOURS + 4]]);
  assert.deepEqual(seconds(ofRow(rowAt(0, 9), 0)), [[0, 9]]);
  // It waits still; it works again; it is not known since when nothing works on it.
  assert.deepEqual(seconds(ofRow(rowAt(0, null, { waits: [waitAt(2, null)] }), 60_000)), [[0, 2]]);
  assert.deepEqual(seconds(ofRow(rowAt(0, null, { waits: [waitAt(2, 5)] }), 60_000)), [[0, 2], [5, 60]]);
  assert.deepEqual(seconds(ofRow(rowAt(0, null, { state: "left" }), 60_000)), []);
  // A question has done nothing but wait.
  assert.deepEqual(seconds(ofRow(rowAt(0, HOURS, { waits: [waitAt(0, HOURS, "person")] }), 0)), []);
  // Folded, the picture is the same: the axis leaves the wait out, and the bar shows it.
  const folded = nodeOf(undefined, [nodeOf(waited), nodeOf(rowAt(HOURS + 4, HOURS + 8))]);
  assert.deepEqual(seconds(worked(folded, 0)), [[0, 2], [HOURS + 2, HOURS + 8]].map(([a, b]) => [a, b]));
  const axis = axisOf(workOf(folded, false, 0));
  assert.deepEqual(axis.breaks.map(({ ms }) => ms), [HOURS * 1000]);
  assert.deepEqual(barOf(worked(folded, 0), axis.at).map(({ isWait }) => isWait), [false, true, false]);
  assert(axis.at(2000) > 0.2, "what was done is seen");
  assert.deepEqual(barOf(ofRow(rowAt(0, 9), 0), axis.at).map(({ isWait }) => isWait), [false]);
  // Each wait has its reason; a known reason counts more than a gap.
  const person = ofRow(rowAt(0, HOURS, { waits: [waitAt(2, HOURS - 2, "person")] }), 0);
  assert.deepEqual(barOf(person, axisOf([{ ...person, isWork: true }]).at).map(({ reason }) => reason), [undefined, "person", undefined]);
  const due = ofRow(rowAt(0, null, { state: "ready", waits: [waitAt(2, 5)] }), 60_000);
  assert.deepEqual(due.waits.map(([from, to, reason]) => [from / 1000, to / 1000, reason]), [[2, 5, "next_try"], [5, 60, "slot"]]);
  // The time between its parts, and after them, is no wait.
  const whole = nodeOf(rowAt(0, 12), [nodeOf(rowAt(0, 4)), nodeOf(rowAt(6, 8))]);
  assert.deepEqual(barOf(worked(whole, 0), axisOf(workOf(whole, false, 0)).at).map(({ isWait }) => isWait), [false]);
  const stopped = nodeOf(rowAt(0, HOURS), [nodeOf(rowAt(0, 4)), nodeOf(rowAt(HOURS - 8, HOURS))]);
  assert.deepEqual(barOf(worked(stopped, 0), axisOf(workOf(stopped, false, 0)).at).map(({ isWait }) => isWait), [false, true, false], "no engine was there");
  // An open part goes on with the time, what is over stays.
  const open = nodeOf(undefined, [nodeOf(rowAt(0, 2)), nodeOf(rowAt(5, null))]);
  assert.deepEqual([worked(open, 8_000).to, worked(open, 9_000).to], [8_000, 9_000]);
  assert.equal(worked(nodeOf(undefined, []), 0), undefined, "it has not begun");
});

test("a name in two has all of it, its end whole, and never a mark alone", () => {
  for (const name of ["", "short", "draft … critic", "twelve-chars", "357.page.1.look_4.1", "57 src/journal/pages/part-057.md", "a".repeat(40), "é".repeat(20), "😀".repeat(20), "src/....................md"]) {
    const [begin, end] = inTwo(name);
    assert.equal(begin + end, name);
    assert(end === "" ? [...name].length <= 11 : [...end].length >= 6 && [...end].length <= 12 && begin !== "", `${name}: ${begin} ${end}`);
  }
  assert.deepEqual(inTwo("357.page.1.look_4.1"), ["357.page", ".1.look_4.1"]);
  assert.deepEqual(inTwo("57 src/journal/pages/part-057.md"), ["57 src/journal/pages", "/part-057.md"]);
});

test("a loop with very many visits has a bar", () => {
  const many = nodeOf(undefined, Array.from({ length: 200_000 }, (_, nth) => nodeOf(rowAt(nth * 10, nth * 10 + 1))));
  const { from, to, works } = worked(many, 0);
  assert.deepEqual([from, to], [0, 1_999_991_000]);
  assert(works.length <= 200, `${works.length} parts`);
  assert(axisOf(workOf(many, false, 0)).at(to) === 1);
});

test("amounts of rounds are added without a loss", () => {
  for (const amount of ["0.00", "1.20", "0.000000001", "12345.678901234"]) assert.equal(ofNano(nano(amount)), amount);
  assert.equal(ofNano(nano("0.1") + nano("0.2")), "0.30");
  const round = nodeOf(undefined, [nodeOf(rowAt(0, 1, { cost_usd: "0.10", attempts: 2, took_ms: 700 })), nodeOf(rowAt(0, 1, { attempts: 0, took_ms: 9_000 }), [nodeOf(rowAt(0, 1, { cost_usd: "0.20", took_ms: 300 }))])]);
  const { cost, attempts, workMs } = usedBy(round);
  assert.deepEqual([ofNano(cost), attempts, workMs], ["0.30", 3, 1000], "the time of a whole is that of its parts");
});

test("the first failure is the one that ended the run", () => {
  const failed = (place, seq, more = {}) => [place, { place, part_of: null, step: place.split(".").at(-2), scope: "", visit: Number(place.split(".").at(-1)), item: null, items: null, state: "failed", leads_to: "terminate", seq, ...more }];
  const first = (...rows) => firstFailure(new Map(rows))?.place;
  assert.equal(first(), undefined);
  assert.equal(first(failed("lint.1", 3, { leads_to: "advance" }), failed("test.1", 9)), "test.1", "one that the flow has taken, long before");
  assert.equal(first(failed("test.1", 3, { leads_to: "loop" }), failed("test.2", 9, { leads_to: "exhausted" })), "test.2", "rounds that were sent back");
  assert.equal(first(failed("test.1", 3), failed("test.2", 9)), "test.2", "what was done again after the run was reopened");
  assert.equal(first(failed("lint.1", 3, { leads_to: "advance" })), "lint.1", "if no other is known");
  const whole = (leads_to) => failed("check.1", 8, { items: 2, leads_to });
  const item = (nth, seq) => failed(`${nth}.check.1`, seq, { part_of: "check.1", item: nth, scope: String(nth), leads_to: "advance" });
  assert.equal(first(whole("terminate"), item(0, 4), item(1, 3)), "1.check.1", "an item, in the order of time");
  assert.equal(first(whole("advance"), item(0, 4), failed("send.1", 9)), "send.1", "items that the flow has taken");
  assert.equal(first(failed("build.1", 7), failed("build.1.compile.1", 5, { part_of: "build.1", scope: "build.1" })), "build.1.compile.1", "a step of an inner flow");
  // While rows are missing, a failure that the flow has taken is not called the one that ended it.
  const soFar = (...rows) => firstFailure(new Map(rows), false)?.place;
  assert.equal(soFar(failed("lint.1", 3, { leads_to: "advance" })), undefined);
  assert.equal(soFar(item(0, 4)), undefined, "whether the step of this item ended the run is not known yet");
  assert.equal(soFar(failed("lint.1", 3, { leads_to: "advance" }), failed("test.1", 9)), "test.1");
});

test("two rounds are compared step by step, also within, and two runs place by place", () => {
  const row = (place, more = {}) => ({ place, step: place.split(".").at(-2), visit: Number(place.split(".").at(-1)), item: null, state: "succeeded", summary: "", attempts: 1, cost_usd: null, value: null, leads_to: "advance", ...more });
  const node = (row, parts = []) => ({ place: row.place, name: row.step, row, group: undefined, parts });
  const to_come = { place: "send.…", name: "send", row: undefined, group: undefined, parts: [] };
  const round = (count, parts) => ({ place: `round ${count}`, name: `round ${count}`, row: undefined, group: { kind: "round", count }, parts });
  const first = round(1, [node(row("draft.1")), node(row("build.1"), [node(row("build.1.compile.1"))]), node(row("each.1"), [node(row("0.each.1", { item: 0 })), node(row("1.each.1", { item: 1, state: "failed" }))])]);
  const second = round(2, [node(row("draft.2")), node(row("draft.3")), node(row("build.2"), [node(row("build.2.compile.1", { summary: "two warnings" }))]), node(row("each.2"), [node(row("0.each.2", { item: 0 }))]), to_come]);
  const loop = { place: "loop", name: "draft … each", row: undefined, group: { kind: "loop" }, parts: [first, second] };
  const poll = { place: "loop of poll", name: "poll", row: undefined, group: { kind: "loop" }, parts: [node(row("poll.1")), node(row("poll.2"))] };
  const loops = loopsIn([node(row("prepare.1")), loop, poll]);
  assert.deepEqual(loops.map(({ name, rounds }) => [name, rounds.map((each) => each.name)]), [["draft … each", ["round 1", "round 2"]], ["poll", ["visit 1", "visit 2"]]]);
  const told = (pairs) => pairs.map((pair) => [pair.name, pair.before?.place ?? null, pair.after?.place ?? null, isAlike(pair)]);
  assert.deepEqual(told(pairsOfRounds(...loops[0].rounds)), [
    ["draft", "draft.1", "draft.2", true],
    ["draft (2)", null, "draft.3", false],
    ["build", "build.1", "build.2", true],
    ["build › compile", "build.1.compile.1", "build.2.compile.1", false],
    ["each", "each.1", "each.2", true],
    ["each › 0.each", "0.each.1", "0.each.2", true],
    ["each › 1.each", "1.each.1", null, false],
  ]);
  assert.deepEqual(told(pairsOfRounds(...loops[1].rounds)), [["poll", "poll.1", "poll.2", true]]);
  const rows = (...all) => new Map(all.map((each) => [each.place, each]));
  assert.deepEqual(told(pairsOfRuns(rows(row("a.1"), row("b.1", { state: "failed" }), row("c.1")), rows(row("a.1"), row("b.1"), row("d.1")))), [["a.1", "a.1", "a.1", true], ["b.1", "b.1", "b.1", false], ["d.1", null, "d.1", false], ["c.1", "c.1", null, false]]);
});

test("of files, what both visits have changed is compared, and nothing is said of what one of them left alone", () => {
  const file = (path, after, more = {}) => ({ path, before_digest: "sha256:old", after_digest: after, created: false, size_bytes: 3, ...more });
  const before = [file("same.txt", "sha256:1"), file("differs.txt", "sha256:2"), file("left.txt", "sha256:3"), file("gone.txt", null)];
  const after = [file("differs.txt", "sha256:4"), file("same.txt", "sha256:1"), file("gone.txt", "sha256:5"), file("own.txt", "sha256:6")];
  assert.deepEqual(filesBetween(before, after), {
    differing: [file("differs.txt", "sha256:4", { before_digest: "sha256:2" }), file("gone.txt", "sha256:5", { before_digest: null, created: true })],
    same: ["same.txt"],
    onlyBefore: ["left.txt"],
    onlyAfter: ["own.txt"],
  });
});

test("a member of a document is shown as it stands there", () => {
  const text = '{ "a": "}\\"{", "data" : {"price": 1.00, "big": 123456789012345678901234567890, "x": [1, {"data": 2}]} , "z":null}';
  assert.equal(rawMember(text, "data"), '{"price": 1.00, "big": 123456789012345678901234567890, "x": [1, {"data": 2}]}');
  assert.equal(rawMember(text, "a"), '"}\\"{"');
  assert.equal(rawMember(text, "z"), "null");
  assert.equal(rawMember(text, "price"), undefined);
  assert.equal(rawMember("{}", "a"), undefined);
  assert.deepEqual(rawItems('[ {"a": [1, 2]} ,"],", 1.00,[]]'), ['{"a": [1, 2]}', '"],"', "1.00", "[]"]);
  assert.deepEqual(rawItems("[]"), []);
  assert.equal(rawMember(`{"data": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "data").length, 200_000, "however deep it is");
});

test("characters that deceive are named: controls, bidi, invisible ones, halves of pairs", () => {
  for (const [text, told] of [["a\u0000b", "aU+0000b"], ["\u202eab\u202c", "U+202EabU+202C"], ["in\u200bvisible", "inU+200Bvisible"], ["\ufeffx", "U+FEFFx"], ["\ud800", "U+D800"], ["x\udc00y", "xU+DC00y"], ["\u{e0041}", "U+E0041"], ["\u2066a\u2069", "U+2066aU+2069"], ["soft\u00adhyphen", "softU+00ADhyphen"]]) assert.equal(named(text), told);
  for (const text of ["a\tb\n", "\u{1f600}", "áß漢字", "עברית"]) assert.equal(named(text), text);
});

test("an output is cut into lines, and colours go on over them", () => {
  const lines = lined("a\u001b[31mb\nc\u001b[0md\r\n\nlast");
  assert.deepEqual(lines.map(({ plain }) => plain), ["ab", "cd", "", "last"]);
  assert.equal(lines[1].parts[0].props.class, "fg-red");
  assert.deepEqual(lined("x\n").length, 1);
  const long = lined(`${"y".repeat(50_000)}\n`);
  assert.equal(long[0].plain.length, 50_000);
  assert.match(long[0].parts.at(-1).props.children, /30000 more characters/);
});

test("a line that was written over shows what was written last, and a long one is read once", () => {
  const plain = (text) => lined(text).map((line) => line.plain);
  assert.deepEqual(plain("10 %\r20 %\r\u001b[K\u001b[32m100 %\u001b[0m\ndone\r\n"), ["100 %", "done"]);
  assert.deepEqual(plain("kept\r\r\nkept\r"), ["kept", "kept"], "a return with nothing after it takes nothing away");
  assert.deepEqual(plain("\r\r\na\r\nb"), ["", "a", "b"]);
  // Read more than once from each of its characters, this would never end.
  assert.deepEqual(plain(`${"z".repeat(4_000_000)}\n${"\r".repeat(1_000_000)}x`).map(({ length }) => length), [4_000_000, 1]);
});

test("a step that repeats itself has a tick for each of its visits", () => {
  const row = (visit, state, leads) => ({ place: `poll.${visit}`, step: "poll", scope: "", visit, part_of: null, item: null, items: null, state, leads_to: leads, seq: visit * 10 + 5, first_seq: visit * 10, summary: "" });
  const shape = { graph: false, steps: [{ step: "poll", loop_to: "poll", max_iterations: 4, needs: [] }], flows: {} };
  const rows = [row(1, "failed", "loop"), row(2, "succeeded", "loop"), row(3, "running", null)];
  const [loop] = treeOf(new Map(rows.map((each) => [each.place, each])), shape);
  assert.deepEqual([loop.group.kind, loop.ticks], ["loop", ["failed", "succeeded", "running"]]);
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
  assert.deepEqual(inlines("delete *.md and *.txt, __init and __main"), [{ kind: "text", text: "delete *.md and *.txt, __init and __main" }], "what only looks like a pair stays");
  assert.equal(plainLine("## **Publish** the `notes` [of 0.9](https://example.org)?"), "Publish the notes of 0.9?");
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
