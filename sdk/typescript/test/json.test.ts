import assert from "node:assert/strict";
import { test } from "node:test";

import { JsonError, JsonNumber, MAX_BYTES, formatCompact, formatJson, parseJson, toJson, toPlain, type Source } from "envoi";

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
