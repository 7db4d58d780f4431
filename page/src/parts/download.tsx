/** Contents that can be saved as a file. A file is never opened under the address of the page. */

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

import { size } from "../model/words.js";
import { Offline, Refused, ask } from "../wire/request.js";
import { Line } from "./untrusted.js";

/** Above it is asked once more, with the size; above the other one the browser would run out of memory. */
const LARGE = 32 * 1024 * 1024;
const MOST = 1024 * 1024 * 1024;

/** A content that is not read yet, because it is large. */
class Large extends Error {
  constructor(readonly bytes: number) {
    super("large");
  }
}

/** Its size is known before any of it is read. It is kept where the browser keeps files, and not in the memory of the page. */
async function save(path: string, name: string, most: number): Promise<void> {
  const own = new AbortController();
  const response = await ask(path, { signal: own.signal });
  const bytes = Number(response.headers.get("content-length") ?? 0);
  if (bytes > most) {
    own.abort();
    throw new Large(bytes);
  }
  const url = URL.createObjectURL((await response.blob()).slice(0, undefined, "application/octet-stream"));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** `path` is one of the server; `name` is that of the file; `command` has it too, however large it is. */
export function Download({ path, name, command, children }: { path: string; name: string; command?: string; children: ComponentChildren }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [large, setLarge] = useState<number>();
  const act = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      await save(path, name, large === undefined ? LARGE : MOST);
      setLarge(undefined);
    } catch (error) {
      if (error instanceof Large) return setLarge(error.bytes);
      if (!(error instanceof Refused || error instanceof Offline)) throw error;
      setError(error instanceof Offline ? "There is no answer from the server." : error.status === 404 ? "The store does not have its content any more." : error.detail);
    } finally {
      setBusy(false);
    }
  };
  if (large !== undefined && large > MOST) return <span class="wrong" role="alert">It has {size(large)}: too much for a browser.{command !== undefined && <> Take it with <code>{command}</code></>}</span>;
  return (
    <>
      <button class="link" disabled={busy} onClick={() => void act()}>{busy ? "asking …" : large === undefined ? children : `download all ${size(large)}`}</button>
      {large !== undefined && !busy && <span class="note" role="status"> It is large.</span>}
      {error !== "" && <span class="wrong" role="alert"> <Line text={error} /></span>}
    </>
  );
}
