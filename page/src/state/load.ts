/** The data of a screen, loaded again when they may have changed. */

import { useEffect, useRef, useState } from "preact/hooks";

import { listen, type Change } from "../wire/live.js";
import { Offline, Refused } from "../wire/request.js";
import { endSession } from "../wire/session.js";

/** At most so often. */
const EVERY_MS = 250;
const RETRY_MS = 2_000;

export interface Loaded<T> {
  value: T | undefined;
  error: Refused | Offline | undefined;
  /** When it is asked again, if the server has said so. */
  retryAt?: number | undefined;
  /** Loads again now. */
  again: () => void;
}

/** The result, and the keys that it was loaded for. */
interface Found<T> extends Omit<Loaded<T>, "again"> {
  of: readonly unknown[];
}

const same = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && b.every((key, nth) => Object.is(key, a[nth]));

/**
 * `get` is called at once, and again after each change that `concerns` it. The shown value stays meanwhile, and when there is no
 * answer. `get` may `show` the first part of a long answer before it has all of it.
 */
export function useLoaded<T>(get: (signal: AbortSignal, before: T | undefined, show: (part: T) => void) => Promise<T>, keys: unknown[], concerns: (change: Change) => boolean): Loaded<T> {
  const [state, setState] = useState<Found<T>>({ of: keys, value: undefined, error: undefined });
  const [forced, force] = useState(0);
  // A value is shown while it is loaded again; a value for other keys is not.
  const last = useRef<[keys: unknown[], value: T | undefined]>([[], undefined]);
  const set = (found: Omit<Found<T>, "of">): void => setState({ ...found, of: keys });
  useEffect(() => {
    const own = new AbortController();
    let value = same(last.current[0], keys) ? last.current[1] : undefined;
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
        value = await get(own.signal, value, (part) => own.signal.aborted || set({ value: part, error: undefined }));
        if (own.signal.aborted) return;
        last.current = [keys, value];
        set({ value, error: undefined });
      } catch (error) {
        if (own.signal.aborted) return;
        if (error instanceof Refused && error.status === 401) return endSession("You were signed out: the session is over.");
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
    set({ value, error: undefined });
    void run();
    const unlisten = listen((change) => (change === undefined || concerns(change)) && soon(EVERY_MS));
    return () => (unlisten(), clearTimeout(timer), own.abort());
  }, [...keys, forced]);
  // If the keys have changed, the result is that of another screen: an address never shows the data of the one before.
  const found = same(state.of, keys) ? state : { value: undefined, error: undefined };
  return { ...found, again: () => force((count) => count + 1) };
}
