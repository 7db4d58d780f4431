/** The output of an attempt: the end of it, or its beginning for a line that is counted from there. */

import { Refused, ask } from "./request.js";

/** So much of the end is asked for at first. */
export const TAIL_BYTES = 64 * 1024;

export type Stream = "stdout" | "stderr";

export interface Tail {
  text: string;
  /** The bytes before it, those of it, and those of the whole. */
  from: number;
  length: number;
  whole: number;
}

export async function tail(run: string, attempt: string, stream: Stream, signal: AbortSignal, most = TAIL_BYTES, isTail = true): Promise<Tail> {
  try {
    const path = `runs/${encodeURIComponent(run)}/logs/${encodeURIComponent(attempt)}/${stream}`;
    const response = await ask(path, { headers: { range: isTail ? `bytes=-${most}` : `bytes=0-${most - 1}` }, signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const [, from = "0", whole = String(bytes.length)] = /bytes (\d+)-\d+\/(\d+)/.exec(response.headers.get("content-range") ?? "") ?? [];
    return { text: new TextDecoder().decode(bytes), from: Number(from), length: bytes.length, whole: Number(whole) };
  } catch (error) {
    // Nothing was written.
    if (error instanceof Refused && error.status === 416) return { text: "", from: 0, length: 0, whole: 0 };
    throw error;
  }
}
