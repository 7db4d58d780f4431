/**
 * SHA-256 (FIPS 180-4). By hand: what the platform has for browsers answers only later, and a resolver does not wait; pages
 * without TLS do not have it at all.
 */

/** The first 32 bits of the fractional parts of a root of the first primes. */
function rootsOfPrimes(count: number, root: (prime: number) => number): Uint32Array {
  const words = new Uint32Array(count);
  let found = 0;
  for (let candidate = 2; found < count; candidate += 1) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= candidate; factor += 1) if (candidate % factor === 0) isPrime = false;
    if (isPrime) words[found++] = (root(candidate) % 1) * 2 ** 32;
  }
  return words;
}

const ROUNDS = rootsOfPrimes(64, Math.cbrt);
const START = rootsOfPrimes(8, Math.sqrt);

/** The digest of `text` in UTF-8, as `sha256:` and 64 hexadecimal digits. */
export function digestOf(text: string): string {
  return digestOfBytes(new TextEncoder().encode(text));
}

/** The digest of bytes, in the same form. */
export function digestOfBytes(bytes: Uint8Array): string {
  const state = Uint32Array.from(START);
  const blocks = padded(bytes);
  for (let at = 0; at < blocks.byteLength; at += 64) compress(state, new DataView(blocks.buffer, at, 64));
  return `sha256:${Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("")}`;
}

/** The bytes, a one bit, zeros, and how many bits there were. */
function padded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  blocks.set(bytes);
  blocks[bytes.length] = 0x80;
  const length = new DataView(blocks.buffer, blocks.length - 8);
  length.setUint32(0, Math.floor(bytes.length / 2 ** 29));
  length.setUint32(4, (bytes.length << 3) >>> 0);
  return blocks;
}

function compress(state: Uint32Array, block: DataView): void {
  const schedule = scheduleOf(block);
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let round = 0; round < 64; round += 1) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + (ROUNDS[round] ?? 0) + (schedule[round] ?? 0);
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = (state[index] ?? 0) + word));
}

function scheduleOf(block: DataView): Int32Array {
  const words = new Int32Array(64);
  for (let at = 0; at < 16; at += 1) words[at] = block.getInt32(at * 4);
  const word = (at: number): number => words[at] ?? 0;
  for (let at = 16; at < 64; at += 1) {
    const near = turned(word(at - 15), 7) ^ turned(word(at - 15), 18) ^ (word(at - 15) >>> 3);
    const far = turned(word(at - 2), 17) ^ turned(word(at - 2), 19) ^ (word(at - 2) >>> 10);
    words[at] = word(at - 16) + near + word(at - 7) + far;
  }
  return words;
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
