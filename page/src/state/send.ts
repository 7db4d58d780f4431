/** A request that changes something: sent once, however often it is tried, and never shown as done before the server confirms it. */

import { useRef, useState } from "preact/hooks";

import { Offline, Refused, freshKey, json, patiently } from "../wire/request.js";

export interface Sending {
  busy: boolean;
  error: Refused | Offline | undefined;
  /** When it is sent again, while the server wants to be left alone. */
  waitsUntil: number | undefined;
  /** The server's answer; undefined if it refuses, or does not answer: `error` has that. */
  send: <T>(path: string, body?: unknown) => Promise<T | undefined>;
  forget: () => void;
}

export function useSending(): Sending {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Refused | Offline>();
  const [waitsUntil, setWaits] = useState<number>();
  // The same request has the same key, until it was answered.
  const once = useRef<[request: string, key: string]>(["", ""]);
  const send = async <T>(path: string, body?: unknown): Promise<T | undefined> => {
    if (busy) return undefined;
    const request = `${path} ${JSON.stringify(body)}`;
    if (once.current[0] !== request) once.current = [request, freshKey()];
    setBusy(true);
    setError(undefined);
    try {
      const answer = await patiently(() => json<T>(path, { method: "POST", ...(body === undefined ? {} : { body, once: once.current[1] }) }), setWaits);
      once.current = ["", ""];
      return answer;
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Offline)) throw error;
      setError(error);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, waitsUntil, send, forget: () => setError(undefined) };
}
