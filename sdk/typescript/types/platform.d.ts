// What the library and its tests use of the platform, by hand: TypeScript itself is the only thing installed to build.
// Nothing of it stands in a public declaration.

declare class TextDecoder {
  constructor(label: string, options: { fatal: boolean; ignoreBOM: boolean });
  decode(bytes: Uint8Array, options?: { stream: boolean }): string;
}
declare class TextEncoder {
  encode(text: string): Uint8Array;
}
declare const crypto: {
  getRandomValues(into: Uint8Array): Uint8Array;
  /** Pages without TLS have none. */
  readonly subtle?: { digest(algorithm: string, bytes: Uint8Array): Promise<ArrayBuffer> };
};
declare const performance: { now(): number };
declare function setTimeout(run: () => void, milliseconds: number): unknown;
declare function clearTimeout(timer: unknown): void;
declare class AbortController {
  readonly signal: {
    readonly aborted: boolean;
    readonly reason: unknown;
    addEventListener(type: "abort", listener: () => void): void;
    removeEventListener(type: "abort", listener: () => void): void;
  };
  abort(reason?: unknown): void;
}
declare class Blob {
  constructor(parts: readonly (Uint8Array | string)[], options?: { type: string });
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}
interface Response {
  readonly status: number;
  text(): Promise<string>;
  readonly headers: { get(name: string): string | null };
  readonly body: {
    getReader(): {
      read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
      cancel(reason?: unknown): Promise<void>;
    };
  } | null;
}
declare const Response: { new (body?: Uint8Array | string | null, init?: { status: number; headers?: Record<string, string> }): Response };
declare function fetch(url: string, init: unknown): Promise<Response>;
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
  export function openAsBlob(path: string): Promise<Blob>;
  export function openSync(path: string, flags: string): number;
  export function fsyncSync(descriptor: number): void;
  export function closeSync(descriptor: number): void;
  export function existsSync(path: string): boolean;
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

declare module "node:util" {
  export function inspect(value: unknown, options: { depth: number; showHidden: boolean }): string;
}

declare module "node:http" {
  interface Incoming extends AsyncIterable<Uint8Array> {
    readonly method: string;
    readonly url: string;
    readonly headers: Record<string, string>;
    readonly socket: { destroy(): void };
  }
  interface Outgoing {
    writeHead(status: number, headers: Record<string, string>): void;
    end(body: Uint8Array): void;
  }
  interface HttpServer {
    listen(port: number, host: string, then: () => void): void;
    address(): { port: number };
    close(): void;
    closeAllConnections(): void;
  }
  export function createServer(answer: (request: Incoming, response: Outgoing) => void): HttpServer;
}

declare module "node:child_process" {
  export interface Child {
    readonly stdout: AsyncIterable<Uint8Array> & { destroy(): void };
    kill(signal: "SIGKILL"): boolean;
    once(event: "exit", heard: () => void): void;
  }
  export function spawn(
    command: string,
    args: readonly string[],
    options: { cwd: string; env: Record<string, string | undefined>; stdio: readonly ("ignore" | "pipe")[] },
  ): Child;

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
    function rejects(run: Promise<unknown> | (() => Promise<unknown>), check: (error: any) => boolean, message?: string): Promise<void>;
    function throws(run: () => unknown, check?: (error: unknown) => boolean, message?: string): void;
    function fail(message: string): never;
  }
  export default assert;
}

interface URL {
  readonly pathname: string;
  readonly search: string;
}
declare const URLSearchParams: { new (search: string): { keys(): IterableIterator<string> } };
declare const URL: { new (url: string, base?: string): URL };
interface ImportMeta {
  readonly url: string;
}
