/** What can go wrong between a client and its server. */

/** The content of a refusal. */
export interface Refusal {
  /** HTTP's own; 0 where a browser hides it. */
  status: number;
  /** Stable, for programs; empty for what is no problem of Envoi's, such as the page of a proxy. */
  code: string;
  detail: string;
  hint?: string | null;
  title?: string;
  /** After how many seconds the request may be repeated, if the server states it. */
  retryAfter?: number | null;
}

/** The server refused (RFC 9457). Act on `status` and `code`; `envoi explain CODE` explains the code. */
export class ApiError extends Error implements Refusal {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly hint: string | null;
  readonly title: string;
  readonly retryAfter: number | null;

  constructor({ status, code, detail, hint = null, title = "", retryAfter = null }: Refusal) {
    super(`${code || String(status)}: ${detail}${hint === null ? "" : `; ${hint}`}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.hint = hint;
    this.title = title;
    this.retryAfter = retryAfter;
  }
}

/** No answer came. Without an `Idempotency-Key` it is unknown whether the server did the request. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(cause: unknown) {
    super(`no answer came: ${reasonOf(cause)}`, { cause });
  }
}

/** `fetch` gives the same message for every failure; the cause stands below. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message || error.name;
}

/** Content with another digest than the requested one. None of it is returned. */
export class DigestMismatch extends Error {
  override readonly name = "DigestMismatch";
  readonly digest: string;
  readonly found: string;

  constructor(digest: string, found: string) {
    super(`the content that came for ${digest} has the digest ${found}`);
    this.digest = digest;
    this.found = found;
  }
}
