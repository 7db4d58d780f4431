/**
 * What has changed, from one stream of hints for the whole tab: which run, not how. Screens ask for the rest.
 *
 * The stream is open only while the tab is seen. Six open streams would hold up every further request of the browser.
 */

import { signal } from "@preact/signals";

import { over, who } from "./session.js";
import { Offline, Refused, ask } from "./wire.js";

export interface Change {
  run: string;
  newest: number;
  question: boolean;
}

/** Since when nothing is heard of the server; undefined while the page is live. */
export const deafSince = signal<Date | undefined>(undefined);

type Hearer = (change: Change | undefined) => void;

const hearers = new Set<Hearer>();

/** Calls `hear` with every change; without one if any may have been missed. */
export function listen(hear: Hearer): () => void {
  hearers.add(hear);
  return () => void hearers.delete(hear);
}

const tell = (change: Change | undefined): void => hearers.forEach((hear) => hear(change));

/** After so long without a sign of life the stream is opened anew; the server sends one every 15 seconds. */
const SILENCE_MS = 45_000;
const POLL_MS = 5_000;
const LONGEST_WAIT_MS = 10_000;

let last: string | undefined;
let open: AbortController | undefined;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

async function follow(signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      await read(signal, () => {
        failures = 0;
        if (deafSince.value !== undefined) {
          deafSince.value = undefined;
          tell(undefined);
        }
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status === 401) return over("You were signed out: the session is over.");
      if (error instanceof Refused && error.status === 429) {
        // Too many streams of this token: ask from time to time.
        await pause(POLL_MS, signal);
        tell(undefined);
        continue;
      }
      if (error instanceof Refused && error.status === 400) last = undefined;
      if (error instanceof Offline || (error instanceof Refused && error.status >= 500)) deafSince.value ??= new Date();
    }
    failures += 1;
    await pause(Math.min(250 * 2 ** failures, LONGEST_WAIT_MS), signal);
  }
}

/** Reads one stream to its end. */
async function read(outer: AbortSignal, alive: () => void): Promise<void> {
  const inner = new AbortController();
  const stop = (): void => inner.abort();
  outer.addEventListener("abort", stop, { once: true });
  let silence = setTimeout(stop, SILENCE_MS);
  try {
    const response = await ask("stream", { headers: last === undefined ? {} : { "last-event-id": last }, signal: inner.signal });
    alive();
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; reader !== undefined; ) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE_MS);
      const events = (text + value).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) take(event);
    }
  } catch (error) {
    if (!outer.aborted && inner.signal.aborted) throw new Offline("silence");
    if (error instanceof TypeError) throw new Offline("the stream broke off");
    throw error;
  } finally {
    clearTimeout(silence);
    outer.removeEventListener("abort", stop);
    inner.abort();
  }
}

function take(event: string): void {
  const member = (name: string): string | undefined =>
    event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const [id, data] = [member("id"), member("data")];
  if (data === undefined) return;
  if (id !== undefined) last = id;
  tell(JSON.parse(data) as Change);
}

/** Opens the stream while somebody is signed in and looks, closes it otherwise. */
export function watch(): void {
  const settle = (): void => {
    const wanted = who.value != null && document.visibilityState === "visible";
    if (wanted && open === undefined) {
      open = new AbortController();
      void follow(open.signal);
      tell(undefined);
    } else if (!wanted && open !== undefined) {
      open.abort();
      open = undefined;
    }
  };
  document.addEventListener("visibilitychange", settle);
  who.subscribe(settle);
}
