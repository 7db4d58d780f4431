/**
 * What the client uses of the platform, Node or a browser: no more of it than stands here.
 *
 * An `AbortSignal`, a `Blob` or `File`, and the platform's `fetch` are such; so are a proxy's, or a test's.
 */

/** Signals when to stop, as an `AbortSignal` does. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Bytes that need not be in memory, as in a `Blob`; a `File` has a name too. */
export interface BlobLike {
  readonly size: number;
  readonly type: string;
  readonly name?: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** What `fetch` answers. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): BodyReader } | null;
}

/** Reads a body piece by piece. */
export interface BodyReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/** As the platform's `fetch`. What it is called with differs in type, not in kind, from one platform to another. */
export type Fetch = (url: string, init: any) => Promise<FetchResponse>;

/** Time as it passes. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Lets so many pass; ends early, with the signal's reason, when that is aborted. */
  sleep(milliseconds: number, signal?: Signal): Promise<void>;
}

/** The platform's own. */
export const CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, milliseconds);
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop);
    }),
};

/** A key that was never used. Not `randomUUID`, which pages without TLS do not have. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
