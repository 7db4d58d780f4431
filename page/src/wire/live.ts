/**
 * Changes, from one stream of hints for all tabs: which run, not how. Screens load the rest.
 *
 * Six open streams would hold up every further request of the browser. So one of the tabs that are seen reads the stream, the one that
 * holds a lock, and publishes what it reads; when it is closed or hidden, another one takes over after the last event that all have
 * received. If the browser has no locks (it has them with TLS and on loopback) each tab that is seen reads a stream of its own.
 */

import { signal } from "@preact/signals";

import { BASE, Offline, Refused, ask } from "./request.js";
import { endSession, who } from "./session.js";

export interface Change {
  run: string;
  newest: number;
  question: boolean;
}

/** Since when the server does not answer; undefined while the page is live. */
export const offlineSince = signal<Date | undefined>(undefined);

type Listener = (change: Change | undefined) => void;

const listeners = new Set<Listener>();

/** Calls `listener` with every change; without one if any may have been missed. Returns what ends that. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const notify = (change: Change | undefined): void => listeners.forEach((listener) => listener(change));

/** After so long without a sign of life the stream is opened anew; the server sends one every 15 seconds. */
const SILENCE_MS = 45_000;
const POLL_MS = 5_000;
const LONGEST_WAIT_MS = 10_000;

/** A message of the tab that reads the stream to the others. `owner` is the owner of its session: a tab ignores those of others. */
interface TabMessage {
  owner: string;
  /** The event id after which another tab goes on. */
  last: string | undefined;
  /** Since when there is no answer, in milliseconds; undefined while there is one. */
  offlineSince: number | undefined;
  /** The change; null: something may have changed. Absent: nothing has. */
  change?: Change | null;
}

const NAME = `envoi:stream:${BASE}`;
const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(NAME);
/** Types say that they are always there; they are not on pages without TLS. */
const locks = navigator.locks as LockManager | undefined;

let last: string | undefined;
/** Whose changes `last` is one of. */
let lastOwner = "";

let reading: AbortController | undefined;
/** The user whose changes this tab shows; empty while it is hidden, or no user is signed in. */
let owner = "";
/** Called with every sign of life of the tab that reads. */
let onSignOfLife = (): void => undefined;

/** To the screens of this tab, and to the other tabs. */
function publish(change?: Change | null): void {
  const message: TabMessage = { owner, last, offlineSince: offlineSince.value?.getTime() };
  channel?.postMessage(change === undefined ? message : { ...message, change });
  if (change !== undefined) notify(change ?? undefined);
}

function setOfflineSince(since: number | undefined): void {
  if (offlineSince.value?.getTime() !== since) offlineSince.value = since === undefined ? undefined : new Date(since);
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
        const wasOffline = offlineSince.value !== undefined;
        setOfflineSince(undefined);
        publish(wasOffline ? null : undefined);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status === 401) return endSession("You were signed out: the session is over.");
      if (error instanceof Refused && error.status === 429) {
        // Too many streams of this token: ask from time to time.
        await pause(POLL_MS, signal);
        publish(null);
        continue;
      }
      if (error instanceof Refused && error.status === 400) last = undefined;
      if (error instanceof Offline || (error instanceof Refused && error.status >= 500)) setOfflineSince(offlineSince.value?.getTime() ?? Date.now());
      publish();
    }
    failures += 1;
    await pause(Math.min(250 * 2 ** failures, LONGEST_WAIT_MS), signal);
  }
}

/** Reads one stream to its end. */
async function read(outer: AbortSignal, onAlive: () => void): Promise<void> {
  const inner = new AbortController();
  const stop = (): void => inner.abort();
  outer.addEventListener("abort", stop, { once: true });
  let silence = setTimeout(stop, SILENCE_MS);
  try {
    const isAnew = last === undefined;
    const response = await ask("stream", { headers: last === undefined ? {} : { "last-event-id": last }, signal: inner.signal });
    onAlive();
    // A stream that begins at the present has nothing of what came before.
    if (isAnew) publish(null);
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

/** An event; a sign of life has no data, and is passed on as such. */
function take(event: string): void {
  const member = (name: string): string | undefined =>
    event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const [id, data] = [member("id"), member("data")];
  if (id !== undefined) last = id;
  publish(data === undefined ? undefined : (JSON.parse(data) as Change));
}

/** Reads the stream as soon as no other tab does, or as soon as the one that does sends nothing any more. */
async function followInTurn(signal: AbortSignal): Promise<void> {
  if (locks === undefined) return follow(signal);
  let own: Promise<void> | undefined;
  const begin = (): Promise<void> => (own ??= follow(signal));
  let silence: ReturnType<typeof setTimeout> | undefined;
  onSignOfLife = () => {
    clearTimeout(silence);
    silence = setTimeout(() => void begin(), SILENCE_MS);
  };
  onSignOfLife();
  const stopWaiting = (): void => {
    clearTimeout(silence);
    onSignOfLife = () => undefined;
  };
  signal.addEventListener("abort", stopWaiting, { once: true });
  try {
    await locks.request(NAME, { signal }, () => (stopWaiting(), begin()));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Follows changes while a user is signed in and the tab is seen. */
export function watch(): void {
  const update = (): void => {
    const next = who.value == null || document.visibilityState !== "visible" ? "" : `${who.value.tenant} ${who.value.name}`;
    if (next === owner) return;
    reading?.abort();
    reading = undefined;
    owner = next;
    if (next === "") return;
    if (next !== lastOwner) [last, lastOwner] = [undefined, next];
    setOfflineSince(undefined);
    reading = new AbortController();
    void followInTurn(reading.signal);
    notify(undefined);
  };
  channel?.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if (owner === "" || data.owner !== owner) return;
    onSignOfLife();
    last = data.last;
    setOfflineSince(data.offlineSince);
    if (data.change !== undefined) notify(data.change ?? undefined);
  });
  document.addEventListener("visibilitychange", update);
  who.subscribe(update);
}
