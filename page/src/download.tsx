/** What can be kept as a file. It is never opened under the address of the page. */

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

import { Line } from "./foreign.js";
import { Offline, Refused, ask } from "./wire.js";

async function save(path: string, name: string): Promise<void> {
  const response = await ask(path);
  const url = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** `path` is one of the server; `name` is that of the file. */
export function Download({ path, name, children }: { path: string; name: string; children: ComponentChildren }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const act = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      await save(path, name);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Offline)) throw error;
      setError(error instanceof Offline ? "There is no answer from the server." : error.status === 404 ? "The store does not have its content any more." : error.detail);
    } finally {
      setBusy(false);
    }
  };
  return <><button class="link" disabled={busy} onClick={() => void act()}>{busy ? "asking …" : children}</button>{error !== "" && <span class="wrong" role="alert"> <Line text={error} /></span>}</>;
}
