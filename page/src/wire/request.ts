/**
 * Requests to the server: with the session's key, below the address of the page, with any prefix.
 *
 * Owns the errors that a request can have, and the wait that a server requires. The screens decide which requests are made.
 */

/** The server refuses. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly hint: string | null,
    readonly requestId: string,
    readonly retryAfterS: number | undefined,
    /** The scopes of which the session would need one. */
    readonly scopes: readonly string[] = [],
  ) {
    super(detail);
  }

  /** How long the server, or a proxy before it, wants to be left alone until the same is asked again; undefined if that is of no use. */
  get waitMs(): number | undefined {
    return [429, 502, 503, 504].includes(this.status) ? Math.max(300, (this.retryAfterS ?? 2) * 1000) : undefined;
  }
}

/** There is no answer. */
export class Offline extends Error {}

/** The folder of the page: it ends with a slash. */
export const BASE = location.pathname.replace(/[^/]*$/, "");

const KEY = `envoi:${BASE}`;

/** The half of the session that the page keeps; the other one is a cookie that no script can read. */
export const key = {
  get: (): string | undefined => localStorage.getItem(KEY) ?? undefined,
  set: (value: string | undefined): void => (value === undefined ? localStorage.removeItem(KEY) : localStorage.setItem(KEY, value)),
  /** Calls `changed` when another tab has signed in or out. */
  watch: (changed: () => void): void => addEventListener("storage", (event) => event.key === KEY && changed()),
};

export interface Ask {
  method?: "GET" | "POST";
  body?: unknown;
  /** A body that is no JSON. */
  raw?: Blob;
  /** The request is done once under it, however often it is sent. */
  once?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The response of the server, with any body. */
export async function ask(path: string, { method = "GET", body, raw, once, headers = {}, signal }: Ask = {}): Promise<Response> {
  const own = key.get();
  const all: Record<string, string> = { ...headers };
  if (own !== undefined) all["x-envoi-page"] = own;
  if (once !== undefined) all["idempotency-key"] = once;
  if (body !== undefined) all["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(`${BASE}v1/${path}`, {
      method,
      headers: all,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      ...(raw !== undefined ? { body: raw } : body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Offline("no answer");
  }
  if (response.ok) return response;
  throw await refused(response);
}

async function refused(response: Response): Promise<Refused> {
  const of = (value: unknown): string => (typeof value === "string" ? value : "");
  let problem: Record<string, unknown> = {};
  try {
    const found: unknown = await response.json();
    if (typeof found === "object" && found !== null) problem = found as Record<string, unknown>;
  } catch {
    // A response of another program than the server has no body that could be read.
  }
  return new Refused(
    response.status,
    of(problem["code"]),
    of(problem["detail"]) || `the server answered ${response.status}`,
    of(problem["hint"]) || null,
    of(problem["request_id"]) || (response.headers.get("x-request-id") ?? ""),
    secondsUntil(response.headers.get("retry-after") ?? ""),
    Array.isArray(problem["scopes"]) ? problem["scopes"].map(of) : [],
  );
}

/** `Retry-After` as seconds, or as a date, which proxies send. */
function secondsUntil(text: string): number | undefined {
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

export async function json<T>(path: string, options: Ask = {}): Promise<T> {
  return (await (await ask(path, options)).json()) as T;
}

/** A key of its own for a request. `crypto.randomUUID` is not there on pages without TLS. */
export function freshKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The longest time for tries without an answer, and the longest if the server gives a time. */
const PATIENCE_MS = 20_000;
const LONGEST_WAIT_MS = 120_000;

/**
 * Repeats the request while there is no answer, or the server answers "later": under one key it is done once. `waits` is called with the
 * time of the next try while the server is waited for, and then without. If another user signs in meanwhile, it gives up: the request was
 * not theirs.
 */
export async function patiently<T>(get: () => Promise<T>, waits: (until?: number) => void = () => undefined): Promise<T> {
  const began = Date.now();
  const asks = key.get();
  for (let wait = 300; ; wait = Math.min(wait * 2, 3000)) {
    try {
      return await get();
    } catch (error) {
      const later = error instanceof Refused ? error.waitMs : undefined;
      if (!(error instanceof Offline) && later === undefined) throw error;
      const next = Date.now() + (later ?? wait);
      if (next > began + (later === undefined ? PATIENCE_MS : LONGEST_WAIT_MS)) throw error;
      if (later !== undefined) waits(next);
      await new Promise((resolve) => setTimeout(resolve, later ?? wait));
      waits();
      if (key.get() !== asks) throw error;
    }
  }
}
