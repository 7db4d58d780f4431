import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Envelope,
  FlowInterrupt,
  HandoffEnvelope,
  InterruptResponse,
  JsonError,
  JsonNumber,
  MAX_BYTES,
  ProcessingRecord,
  RoutingSignal,
  SkillReport,
  createEnvelope,
  createInterrupt,
  formatCompact,
  formatJson,
  parseJson,
  resolve,
  toJson,
  toJsonObject,
  toPlain,
  writeHandoff,
  type Source,
} from "envoi";

import { Chance, json } from "./chance.js";

function refusal(source: Source): JsonError {
  try {
    parseJson(source);
  } catch (error) {
    assert(error instanceof JsonError);
    return error;
  }
  return assert.fail(`was read: ${String(source).slice(0, 80)}`);
}

test("what is read is written as it came: order, digits, strings", () => {
  const texts = [
    '{"10":1,"9":2,"a":3,"1":4}',
    '{"__proto__":{"x":1},"constructor":null,"toJSON":[],"toJson":0}',
    "[123456789012345678901234567890,1.00,1e400,-0,9007199254740993,0.1E+2]",
    '["\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001f\u007f\u2028/é🧪"]',
    "null",
    '""',
  ];
  for (const text of texts) assert.equal(formatCompact(parseJson(text)), text);
});

test("escapes are minimal and white space is ours", () => {
  const read = parseJson(' { "a" : [ ] , "b":[{ }, "\\u0041\\/\\ud83e\\uddea" ]}\r\n');
  assert.equal(formatCompact(read), '{"a":[],"b":[{},"A/🧪"]}');
  assert.equal(formatJson(read), '{\n  "a": [],\n  "b": [\n    {},\n    "A/🧪"\n  ]\n}\n');
});

test("any value survives two trips, indented or not", () => {
  const chance = new Chance(20);
  for (let times = 0; times < 3000; times += 1) {
    const value = json(chance, 5);
    const [compact, pretty] = [formatCompact(value), formatJson(value)];
    assert.deepEqual(parseJson(compact), value);
    assert.equal(formatCompact(parseJson(pretty)), compact);
    assert.equal(formatJson(parseJson(formatJson(parseJson(pretty)))), pretty);
    assert.deepEqual(parseJson(new TextEncoder().encode(pretty)), value);
  }
});

test("a refusal says where, what was expected and what was found", () => {
  const rows: [string, string][] = [
    ["", "line 1, column 1: expected a value, found the end of the text"],
    ['{"a":1,\n "é":2, "a":3}', 'line 2, column 9, at `/a`: expected each member name once, found a second member `"a"`'],
    ['{"🧪":[1,tru]}', "line 1, column 9, at `/🧪/1`: expected a value, found `tru]}`"],
    ['{"a/b":{"~":"\\ud800"}}', 'line 1, column 14, at `/a~1b/~0`: expected a whole surrogate pair, found `\\ud800"}}`'],
    ['"\\udc00\\ud800"', 'line 1, column 2: expected a whole surrogate pair, found `\\udc00\\ud800"`'],
    ['"\\udc00\\udc00"', 'line 1, column 2: expected a whole surrogate pair, found `\\udc00\\udc00"`'],
    ['"a\nb"', "line 1, column 3: expected the rest of a string (control characters are escaped), found ``"],
    ["[1] x", "line 1, column 5: expected the end of the document, found `x`"],
    ["[1,]", "line 1, column 4, at `/1`: expected a value, found `]`"],
    ["[01]", "line 1, column 2, at `/0`: expected a number, found `01]`"],
    ["[NaN]", "line 1, column 2, at `/0`: expected a value, found `NaN]`"],
    ["[.5]", "line 1, column 2, at `/0`: expected a value, found `.5]`"],
    ["{a:1}", "line 1, column 2: expected a member name in quotes, found `a:1}`"],
    ["\uFEFF1", "line 1, column 1: expected JSON without a byte order mark, found a byte order mark"],
    ["\u00a01", "line 1, column 1: expected a value, found `\u00a01`"],
    ['"\ud800"', "line 1, column 2: expected UTF-8 text, found a lone surrogate"],
  ];
  for (const [text, message] of rows) assert.equal(refusal(text).message, message);
});

test("equal names are found among many members, too", () => {
  const many = Array.from({ length: 40 }, (_, index) => `"${index}":0`);
  assert.equal(refusal(`{${many.join(",")},"39":1,"0":1}`).pointer, "/39");
  assert.equal(parseJson(`{${many.join(",")}}`) instanceof Map, true);
});

test("127 levels are read and written, 128 are not", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  assert.equal(formatCompact(parseJson(nested(127))), nested(127));
  assert.equal(refusal(nested(128)).expected, "at most 127 levels of nesting");
  let value: unknown = [];
  for (let levels = 1; levels < 127; levels += 1) value = { a: value };
  assert.equal(formatCompact(value).length, 126 * 6 + 2);
  assert.throws(() => toJson([value]), (error) => error instanceof JsonError && error.expected === "at most 127 levels of nesting");
});

test("a document has at most 16 MiB of UTF-8, as text or as bytes", () => {
  const fits = `"${"é".repeat(MAX_BYTES / 2 - 1)}"`;
  assert.equal(parseJson(fits), fits.slice(1, -1));
  for (const source of [`${fits} `, new TextEncoder().encode(`${fits} `)]) {
    assert.equal(refusal(source).message, `line 1, column 1: expected a document of at most 16 MiB, found ${MAX_BYTES + 1} bytes`);
  }
});

test("bytes that are no UTF-8 are refused where they stand", () => {
  const rows: [number[], string][] = [
    [[0x22, 0xff, 0x22], "0xFF"],
    [[0x22, 0xc0, 0x80], "0xC0"],
    [[0x22, 0xed, 0xa0, 0x80], "0xED"],
    [[0x22, 0xf4, 0x90, 0x80, 0x80], "0xF4"],
    [[0x22, 0xe2, 0x82], "0xE2"],
    [[0x22, 0xe0, 0x9f, 0x80], "0xE0"],
  ];
  for (const [bytes, byte] of rows) {
    assert.equal(refusal(new Uint8Array(bytes)).message, `line 1, column 2: expected UTF-8 text, found the byte ${byte}`);
  }
  assert.equal(refusal(new Uint8Array([0x22, 0xc3, 0xa9, 0xf0, 0x9f, 0xa7, 0xaa, 0x80])).position?.column, 4);
});

test("ordinary JavaScript values are JSON, and what cannot be said is refused", () => {
  const date = { toJSON: () => "2026-01-02" };
  const value = { n: 1.5, z: -0, big: 2n ** 70n, gone: undefined, list: [null, true], map: new Map([["10", 1]]), date, own: new JsonNumber("1.0") };
  assert.equal(formatCompact(value), '{"n":1.5,"z":-0,"big":1180591620717411303424,"list":[null,true],"map":{"10":1},"date":"2026-01-02","own":1.0}');
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const wrong of [NaN, Infinity, undefined, () => 1, Symbol("x"), "\ud800", { "\udc00": 1 }, [undefined], new Map([[1, 1]]), cycle]) {
    assert.throws(() => toJson(wrong), (error) => error instanceof JsonError);
  }
});

/** A class that keeps something to itself. */
class Secretive {
  readonly #hidden = 1;
  get shown(): number {
    return this.#hidden;
  }
}

/** What `toJson` says of a value that it refuses. */
function unsaid(value: unknown): string {
  try {
    return `was taken as ${formatCompact(value)}`;
  } catch (error) {
    assert(error instanceof JsonError, String(error));
    return error.message;
  }
}

test("what would be written as an empty object is refused, where it stands and what it is", () => {
  const values: [unknown, string][] = [
    [new Set(["a"]), "a JavaScript `Set`"],
    [Promise.resolve(3), "a JavaScript `Promise`: an `await` is missing"],
    [{ then: (): void => undefined }, "a JavaScript `Object`: an `await` is missing"],
    [new Error("disk full"), "a JavaScript `Error`"],
    [new TypeError("x"), "a JavaScript `TypeError`"],
    [/a/, "a JavaScript `RegExp`"],
    [new WeakMap(), "a JavaScript `WeakMap`"],
    [new Uint8Array(2), "a JavaScript `Uint8Array`"],
    [new Number(4), "a JavaScript `Number`"],
    [new Secretive(), "a JavaScript `Secretive`"],
    [new Date(NaN), "an invalid `Date`"],
    [Symbol("x"), "a JavaScript `symbol`"],
    [() => 1, "a JavaScript `function`"],
    [[undefined], "a JavaScript `undefined`"],
  ];
  for (const [value, found] of values) {
    const at = Array.isArray(value) ? "/a~1b/0/0" : "/a~1b/0";
    assert.equal(unsaid({ "a/b": [value] }), `at \`${at}\`: expected a value that JSON can express, found ${found}`);
    assert.equal(unsaid(new Map([["a/b", [value]]])), `at \`${at}\`: expected a value that JSON can express, found ${found}`);
  }
  assert.equal(unsaid({ n: NaN }), "at `/n`: expected a number that JSON can express, found `NaN`");
  assert.equal(unsaid({ s: "\udce9" }), "at `/s`: expected text, found half a surrogate pair");
});

test("what has a `toJson` or a `toJSON` says itself, once and by the name it stands under", () => {
  class Money {
    readonly #cents: number;
    constructor(cents: number) {
      this.#cents = cents;
    }
    toJSON(name: string): object {
      return { [name]: this.#cents, at: new Date(0) };
    }
  }
  assert.equal(formatCompact({ price: new Money(5), list: [new Money(6)] }), '{"price":{"price":5,"at":"1970-01-01T00:00:00.000Z"},"list":[{"0":6,"at":"1970-01-01T00:00:00.000Z"}]}');
  assert.equal(formatCompact({ toJson: () => 1, toJSON: () => 2 }), "1");
  class Itself {
    toJSON(): this {
      return this;
    }
  }
  assert.equal(unsaid([new Itself()]), "at `/0`: expected a value that JSON can express, found a JavaScript `Itself`");
  assert.equal(formatCompact({ bare: Object.assign(Object.create(null), { a: 1 }), [Symbol("x")]: 1 }), '{"bare":{"a":1}}');
});

test("`JSON.stringify` is refused by all that it would empty or shorten", () => {
  const envelope = createEnvelope({ raw_input: "a", user_id: "u", session_id: "s", metadata: { a: 1 } });
  envelope.interrupt = createInterrupt({ kind: "timeout" });
  envelope.processing_history.push(new ProcessingRecord());
  const read = Envelope.decode(formatJson(envelope));
  const handoff = writeHandoff({ step_id: "s", flow_key: "f", run_id: "r", status: "succeeded", artifacts: ["a.md"] });
  const { signal, audit } = resolve({ handoff_text: "x" });
  const report = SkillReport.from({ ok: true, generatedAt: "t", skillName: "s", data: { a: 1 }, metrics: {} });
  const { outputs, metadata, active_stages, completed_stage_set, failed_stages, goal_completion_status, unknown } = new Envelope();
  const lost: unknown[] = [
    new JsonNumber("0.7"), parseJson("[1]"), parseJson("{}"), parseJson('[{"a":{}}]'), toJson({}), toJsonObject({}), [toJson({ a: {} })],
    envelope, envelope.toDict(), envelope.toStateDict(), envelope.toJson(), envelope.metadata, envelope.getStageContext(),
    read, read.outputs, read.metadata, read.active_stages, read.failed_stages, read.unknown, read.interrupt, read.interrupt?.data, read.processing_history,
    outputs, metadata, active_stages, completed_stage_set, failed_stages, goal_completion_status, unknown,
    new FlowInterrupt({ kind: "timeout" }), new FlowInterrupt({ kind: "timeout" }).data, new InterruptResponse(), new InterruptResponse().unknown, new InterruptResponse().toJson(),
    new ProcessingRecord(), new ProcessingRecord().toJson(), handoff, handoff.artifacts, handoff.toJson(), handoff.unknown, HandoffEnvelope.decode(formatJson(handoff)).artifacts,
    signal, signal.toResolver(), signal.toOrchestrator(), signal.unknown, new RoutingSignal().unknown, audit, audit.toJson(), audit.passed_over, { signal }, report, report.toJson(), report.data, report.metrics, report.unknown,
  ];
  const goals = new Envelope();
  goals.initializeGoals(["g"]);
  for (const each of [...lost, goals.goal_completion_status]) {
    assert.throws(() => JSON.stringify(each), (error) => error instanceof TypeError && error.message.includes("use `formatJson`"));
  }
  assert.equal(JSON.stringify(toPlain(toJson({ a: { b: 0.7 } }))), '{"a":{"b":0.7}}');
  assert.deepEqual(parseJson('{"a":{}}'), new Map([["a", new Map()]]));
});

test("a JSON value as ordinary JavaScript", () => {
  const plain = toPlain(parseJson('{"a":[1.50,null],"__proto__":{"x":true}}'));
  assert.equal(JSON.stringify(plain), '{"a":[1.5,null],"__proto__":{"x":true}}');
  assert.equal((plain as { x?: boolean }).x, undefined);
});

test("a number is asked for its value without losing it", () => {
  const integers: [string, number | undefined][] = [
    ["0", 0], ["-0", 0], ["0.000", 0], ["4096.0", 4096], ["4.096e3", 4096], ["40960e-1", 4096], ["9007199254740991", 9007199254740991],
    ["9007199254740992", undefined], ["1.5", undefined], ["-1", undefined], ["1e400", undefined], ["0e99999999999999999999", 0], ["1e-99999999999999999999", undefined],
  ];
  for (const [token, value] of integers) assert.equal(new JsonNumber(token).toSafeInteger(), value, token);
  const fractions: [string, boolean][] = [["0", true], ["1", true], ["1.0", true], ["10e-1", true], ["0.7", true], ["1.01", false], ["-0.1", false], ["1e-400", true], ["2", false]];
  for (const [token, is] of fractions) assert.equal(new JsonNumber(token).isFractionOfOne(), is, token);
  assert.equal(new JsonNumber("123456789012345678901234567890").toBigInt(), 123456789012345678901234567890n);
  assert.equal(new JsonNumber("1e3").toNumber(), 1000);
  for (const wrong of ["", "+1", "01", "1.", ".1", "1e", " 1", "1 ", "0x1", "NaN"]) {
    assert.equal(JsonNumber.parse(wrong), undefined);
    assert.throws(() => new JsonNumber(wrong), (error) => error instanceof RangeError);
  }
});
