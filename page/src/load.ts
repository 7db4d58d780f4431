/** What a screen shows, asked for again whenever it may have changed. */

import { useEffect, useState } from "preact/hooks";

import { listen, type Change } from "./live.js";
import { over } from "./session.js";
import { Offline, Refused } from "./wire.js";

/** At most so often. */
const EVERY_MS = 250;
const RETRY_MS = 2_000;

export interface Loaded<T> {
  value: T | undefined;
  error: Refused | Offline | undefined;
  /** When it is asked again, if the server has said so. */
  retryAt?: number | undefined;
  /** Asks again now. */
  again: () => void;
}

/**
 * `get` is asked at once, and again after each change that `concerns` it. What is shown stays while it is asked, and when there is
 * no answer.
 */
export function useLoaded<T>(get: (signal: AbortSignal, before: T | undefined) => Promise<T>, keys: unknown[], concerns: (change: Change) => boolean): Loaded<T> {
  const [state, set] = useState<Omit<Loaded<T>, "again">>({ value: undefined, error: undefined });
  const [forced, force] = useState(0);
  useEffect(() => {
    const own = new AbortController();
    let value: T | undefined;
    let due = false;
    let busy = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = (ms: number): void => {
      due = true;
      if (!busy && timer === undefined) timer = setTimeout(() => ((timer = undefined), void run()), ms);
    };
    const run = async (): Promise<void> => {
      [due, busy] = [false, true];
      try {
        value = await get(own.signal, value);
        if (!own.signal.aborted) set({ value, error: undefined });
      } catch (error) {
        if (own.signal.aborted) return;
        if (error instanceof Refused && error.status === 401) return over("You were signed out: the session is over.");
        if (!(error instanceof Refused || error instanceof Offline)) throw error;
        const wait = error instanceof Refused ? error.waitMs : undefined;
        set({ value, error, retryAt: wait === undefined ? undefined : Date.now() + wait });
        if (error instanceof Offline) soon(RETRY_MS);
        else if (wait !== undefined) soon(wait);
      } finally {
        busy = false;
        if (due && timer === undefined && !own.signal.aborted) soon(EVERY_MS);
      }
    };
    set({ value: undefined, error: undefined });
    void run();
    const deaf = listen((change) => (change === undefined || concerns(change)) && soon(EVERY_MS));
    return () => (deaf(), clearTimeout(timer), own.abort());
  }, [...keys, forced]);
  return { ...state, again: () => force((count) => count + 1) };
}
