// What the library and its tests use of the platform, by hand: TypeScript itself is the only thing installed to build.
// Nothing of it stands in a public declaration.

declare class TextDecoder {
  constructor(label: string, options: { fatal: boolean; ignoreBOM: boolean });
  decode(bytes: Uint8Array): string;
}
declare class TextEncoder {
  encode(text: string): Uint8Array;
}
declare const crypto: { randomUUID(): string };
declare const process: {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execPath: string;
  readonly pid: number;
  exitCode: number | undefined;
  readonly stdout: { write(text: string): boolean };
  readonly stderr: { write(text: string): boolean };
};

declare module "node:fs" {
  export function readFileSync(path: string | URL): Uint8Array;
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
  export function writeFileSync(path: string | URL | number, text: string | Uint8Array, options?: { flag?: string }): void;
  export function openSync(path: string, flags: string): number;
  export function fsyncSync(descriptor: number): void;
  export function closeSync(descriptor: number): void;
  export function mkdirSync(path: string, options?: { recursive?: boolean }): void;
  export function mkdtempSync(prefix: string): string;
  export function renameSync(from: string, to: string): void;
  export function rmSync(path: string, options?: { recursive?: boolean; force?: boolean }): void;
  export function readdirSync(path: string | URL): string[];
}

declare module "node:path" {
  export function basename(path: string): string;
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
}

declare module "node:os" {
  export function tmpdir(): string;
}

declare module "node:url" {
  export function fileURLToPath(url: string | URL): string;
}

declare module "node:child_process" {
  export function spawnSync(
    command: string,
    args: readonly string[],
    options?: { input?: string; cwd?: string; encoding?: "utf8"; env?: Record<string, string | undefined>; maxBuffer?: number },
  ): { status: number | null; stdout: string; stderr: string };
}

declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): void;
  export function test(name: string, options: { skip: boolean | string }, run: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  function assert(value: unknown, message?: string): asserts value;
  namespace assert {
    function equal(actual: unknown, expected: unknown, message?: string): void;
    function notEqual(actual: unknown, expected: unknown, message?: string): void;
    function deepEqual(actual: unknown, expected: unknown, message?: string): void;
    function throws(run: () => unknown, check?: (error: unknown) => boolean, message?: string): void;
    function fail(message: string): never;
  }
  export default assert;
}

interface URL {
  readonly pathname: string;
}
declare const URL: { new (url: string, base?: string): URL };
interface ImportMeta {
  readonly url: string;
}
