/** One request, and what comes back. Nothing is repeated here. */

import { JsonError } from "../json/error.js";
import { parseJson } from "../json/read.js";
import { asString, type JsonObject, type JsonValue } from "../json/value.js";
import { ApiError } from "./errors.js";
import type { BlobLike, BodyReader, Fetch, FetchResponse, Signal } from "./platform.js";

/** The connection failed. */
export class Lost extends Error {
  constructor(cause: unknown) {
    super("the connection failed", { cause });
  }
}

/** A server works for up to 15 minutes on the files of a run, and sends nothing meanwhile. */
export const LONGEST_WORK_MS = 16 * 60_000;

/** One request. */
export interface Request {
  method: "GET" | "POST";
  path: string;
  query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array | BlobLike | string;
  signal?: Signal | undefined;
  /** Whether the server may work for long before it answers. */
  isLong?: boolean;
}

/** A path of the API, whatever its segments contain. A segment that would lead elsewhere is a `RangeError`. */
export function pathOf(...segments: readonly string[]): string {
  const lost = segments.find((segment) => segment === "" || segment === "." || segment === "..");
  if (lost !== undefined) throw new RangeError(`\`${lost}\` names nothing`);
  return `/v1/${segments.map(encodeURIComponent).join("/")}`;
}

/** Where a server is, and how to speak to it. */
export class Server {
  private readonly url: string;
  /** Not a member that is printed or written as JSON with the client. */
  readonly #token: string;
  private readonly fetch: Fetch;
  readonly timeoutMs: number;

  constructor(url: string, token: string, fetch: Fetch, timeoutMs: number) {
    if (!/^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/.test(url)) {
      throw new RangeError(`\`${url}\` is not the address of a server, such as \`http://127.0.0.1:7007\``);
    }
    if (!/^[\x21-\x7e]+$/.test(token)) throw new RangeError("a token is printable ASCII, and not empty");
    this.url = url.replace(/\/+$/, "");
    this.#token = token;
    this.fetch = fetch;
    this.timeoutMs = timeoutMs;
  }

  /**
   * Sends a request; what comes back has its status and headers, and its body still to be read. Nothing may come for so long;
   * for what is being brought, nothing need come until it is.
   *
   * @throws Lost; the signal's reason when that is aborted
   */
  async open(request: Request, silenceMs = request.isLong ? Math.max(this.timeoutMs, LONGEST_WORK_MS) : this.timeoutMs): Promise<Exchange> {
    const watch = new Watch(silenceMs, request.signal);
    const isUpload = request.body !== undefined && typeof request.body !== "string";
    try {
      const answer = this.fetch(this.target(request), this.init(request, watch.signal));
      return new Exchange(await (isUpload ? answer : watch.over(answer)), watch);
    } catch (error) {
      throw watch.verdict(error);
    }
  }

  private target({ path, query = {} }: Request): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const words = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
    return `${this.url}${path}${words.length > 0 ? "?" : ""}${words.join("&")}`;
  }

  private init({ method, headers, body }: Request, signal: unknown): unknown {
    const all = { authorization: `Bearer ${this.#token}`, ...headers };
    // The token goes nowhere else.
    const careful = { redirect: "manual", credentials: "omit", cache: "no-store" };
    return { method, headers: all, ...(body === undefined ? {} : { body }), signal, ...careful };
  }
}

/** Ends a request when nothing comes for too long, or the caller aborts it. */
class Watch {
  private readonly controller = new AbortController();
  private readonly silenceMs: number;
  private readonly caller: Signal | undefined;
  private readonly stop = (): void => this.controller.abort(this.caller?.reason);

  constructor(silenceMs: number, caller: Signal | undefined) {
    this.silenceMs = silenceMs;
    this.caller = caller;
    if (caller?.aborted) this.stop();
    caller?.addEventListener("abort", this.stop);
  }

  get signal(): unknown {
    return this.controller.signal;
  }

  /** Waits for what is to come, no longer than nothing may come. */
  async over<T>(coming: Promise<T>, silenceMs = this.silenceMs): Promise<T> {
    const timer = setTimeout(() => this.controller.abort(new Error(`nothing came for ${silenceMs} ms`)), silenceMs);
    try {
      return await coming;
    } finally {
      clearTimeout(timer);
    }
  }

  /** What a failure is: the caller's wish, or a lost connection. */
  verdict(error: unknown): unknown {
    this.done();
    if (this.caller?.aborted) return this.caller.reason;
    return new Lost(this.controller.signal.aborted ? this.controller.signal.reason : error);
  }

  done(): void {
    this.caller?.removeEventListener("abort", this.stop);
  }
}

/** An answer whose body is still to be read. */
export class Exchange {
  readonly status: number;
  private readonly headers: FetchResponse["headers"];
  private readonly reader: BodyReader | undefined;
  private readonly watch: Watch;

  constructor(response: FetchResponse, watch: Watch) {
    this.status = response.status;
    this.headers = response.headers;
    this.reader = response.body?.getReader();
    this.watch = watch;
  }

  /** A header; empty if there is none. */
  header(name: string): string {
    return this.headers.get(name) ?? "";
  }

  /** What has come, once something has; undefined at the end. @throws Lost, also if nothing comes for so long */
  async piece(silenceMs?: number): Promise<Uint8Array | undefined> {
    if (this.reader === undefined) return undefined;
    try {
      const { done, value } = await this.watch.over(this.reader.read(), silenceMs);
      return done ? undefined : value;
    } catch (error) {
      throw this.watch.verdict(error);
    }
  }

  /** The answer with its whole body. @throws Lost if it breaks off */
  async reply(): Promise<Reply> {
    const pieces: Uint8Array[] = [];
    for (let piece = await this.piece(); piece !== undefined; piece = await this.piece()) pieces.push(piece);
    this.watch.done();
    return new Reply(this.status, this.header("content-type"), this.header("retry-after"), joined(pieces));
  }

  /** Ends it, read or not. */
  async close(): Promise<void> {
    this.watch.done();
    // What is broken already need not be ended.
    await this.reader?.cancel().catch(() => undefined);
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** An answer with its body. */
export class Reply {
  readonly status: number;
  readonly body: Uint8Array;
  /** Milliseconds, if the server states some. A date in place of seconds is left to our own pauses. */
  readonly retryAfterMs: number | undefined;
  private readonly kind: string;

  constructor(status: number, kind: string, retryAfter: string, body: Uint8Array) {
    this.status = status;
    this.kind = kind;
    this.retryAfterMs = /^[0-9]{1,9}$/.test(retryAfter.trim()) ? Number(retryAfter) * 1000 : undefined;
    this.body = body;
  }

  text(): string {
    return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(this.body);
  }

  /** The body as a JSON object, without a lost digit. @throws ApiError for what is none */
  object(): JsonObject {
    const value = this.json();
    if (value instanceof Map) return value;
    throw this.strange("no object");
  }

  private json(): JsonValue {
    try {
      return parseJson(this.body);
    } catch (error) {
      throw error instanceof JsonError ? this.strange(error.message) : error;
    }
  }

  private strange(why: string): ApiError {
    return new ApiError({ status: this.status, code: "", detail: `the answer is not the JSON that was expected: ${why}` });
  }

  /** The answer as a refusal. */
  error(): ApiError {
    const { status, retryAfterMs } = this;
    const retryAfter = retryAfterMs === undefined ? null : retryAfterMs / 1000;
    const plain = { status, code: "", detail: `an answer of status ${status} that is not Envoi's`, retryAfter };
    if (!this.kind.startsWith("application/problem+json")) return new ApiError(plain);
    try {
      const members = this.object();
      const text = (name: string): string | undefined => asString(members.get(name));
      const stated = { code: text("code") ?? "", detail: text("detail") ?? plain.detail, title: text("title") ?? "" };
      return new ApiError({ ...plain, ...stated, hint: text("hint") ?? null });
    } catch (error) {
      return error instanceof ApiError ? error : new ApiError(plain);
    }
  }
}
