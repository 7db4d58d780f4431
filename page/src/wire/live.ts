/**
 * What has changed, from one stream of hints for all tabs: which run, not how. Screens ask for the rest.
 *
 * Six open streams would hold up every further request of the browser. So one of the tabs that are seen reads the stream, the one
 * that holds a lock, and passes on what it hears; when it is closed or hidden, another one takes over after the last event that all
 * have heard. Where the browser has no locks (it has them with TLS and on loopback) each tab that is seen reads a stream of its own.
 */

import { signal } from "@preact/signals";

import { BASE, Offline, Refused, ask } from "./request.js";
import { over, who } from "./session.js";

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

/** What the tab that reads the stream says to the others. `of` is whose session it is: no tab heeds another one's. */
interface News {
  of: string;
  /** The event id after which another tab goes on. */
  last: string | undefined;
  /** Since when there is no answer, in milliseconds; undefined while there is one. */
  deaf: number | undefined;
  /** What has changed; null: something may have. Absent: nothing has. */
  change?: Change | null;
}

const NAME = `envoi:stream:${BASE}`;
const hall = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(NAME);
/** Types say that they are always there; they are not on pages without TLS. */
const locks = navigator.locks as LockManager | undefined;

let last: string | undefined;
/** Whose changes `last` is one of. */
let lastOf = "";

let reading: AbortController | undefined;
/** Whose changes this tab hears; empty while it is hidden, or nobody is signed in. */
let hears = "";
/** Called with every sign of life of the tab that reads. */
let heard = (): void => undefined;

/** For the screens of this tab, and for the other tabs. */
function pass(change?: Change | null): void {
  const news: News = { of: hears, last, deaf: deafSince.value?.getTime() };
  hall?.postMessage(change === undefined ? news : { ...news, change });
  if (change !== undefined) tell(change ?? undefined);
}

function setDeaf(since: number | undefined): void {
  if (deafSince.value?.getTime() !== since) deafSince.value = since === undefined ? undefined : new Date(since);
}

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
        const wasDeaf = deafSince.value !== undefined;
        setDeaf(undefined);
        pass(wasDeaf ? null : undefined);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status === 401) return over("You were signed out: the session is over.");
      if (error instanceof Refused && error.status === 429) {
        // Too many streams of this token: ask from time to time.
        await pause(POLL_MS, signal);
        pass(null);
        continue;
      }
      if (error instanceof Refused && error.status === 400) last = undefined;
      if (error instanceof Offline || (error instanceof Refused && error.status >= 500)) setDeaf(deafSince.value?.getTime() ?? Date.now());
      pass();
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
    const isAnew = last === undefined;
    const response = await ask("stream", { headers: last === undefined ? {} : { "last-event-id": last }, signal: inner.signal });
    alive();
    // A stream that begins at the present has nothing of what came before.
    if (isAnew) pass(null);
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

/** One event; what only keeps the stream alive has no data, and is passed on as such. */
function take(event: string): void {
  const member = (name: string): string | undefined =>
    event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const [id, data] = [member("id"), member("data")];
  if (id !== undefined) last = id;
  pass(data === undefined ? undefined : (JSON.parse(data) as Change));
}

/** Reads the stream as soon as no other tab does, or as soon as the one that does says nothing any more. */
async function takeTurns(signal: AbortSignal): Promise<void> {
  if (locks === undefined) return follow(signal);
  let own: Promise<void> | undefined;
  const begin = (): Promise<void> => (own ??= follow(signal));
  let silence: ReturnType<typeof setTimeout> | undefined;
  heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => void begin(), SILENCE_MS);
  };
  heard();
  const hush = (): void => {
    clearTimeout(silence);
    heard = () => undefined;
  };
  signal.addEventListener("abort", hush, { once: true });
  try {
    await locks.request(NAME, { signal }, () => (hush(), begin()));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Hears of changes while somebody is signed in and looks. */
export function watch(): void {
  const settle = (): void => {
    const of = who.value == null || document.visibilityState !== "visible" ? "" : `${who.value.tenant} ${who.value.name}`;
    if (of === hears) return;
    reading?.abort();
    reading = undefined;
    hears = of;
    if (of === "") return;
    if (of !== lastOf) [last, lastOf] = [undefined, of];
    setDeaf(undefined);
    reading = new AbortController();
    void takeTurns(reading.signal);
    tell(undefined);
  };
  hall?.addEventListener("message", ({ data }: MessageEvent<News>) => {
    if (hears === "" || data.of !== hears) return;
    heard();
    last = data.last;
    setDeaf(data.deaf);
    if (data.change !== undefined) tell(data.change ?? undefined);
  });
  document.addEventListener("visibilitychange", settle);
  who.subscribe(settle);
}
