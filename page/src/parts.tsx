/** Small parts that several screens have: states, errors, times that pass. */

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

import { Line, named } from "./foreign.js";
import type { Loaded } from "./load.js";
import { Offline, Refused } from "./wire.js";

/** The present time, to the second; it stands still while nobody looks. */
export const now = signal(Date.now());
setInterval(() => document.visibilityState === "visible" && (now.value = Date.now()), 1000);

/** A state has a sign, a word and a colour. */
const SIGNS: Readonly<Record<string, [sign: string, tone: string, word?: string]>> = {
  running: ["●", "busy"],
  held: ["◷", "warn", "running"],
  waiting: ["?", "ask"],
  succeeded: ["✓", "good"],
  failed: ["✗", "bad"],
  exhausted: ["✗", "bad"],
  cancelled: ["–", "dim"],
  left: ["●", "warn"],
  ready: ["○", "dim"],
  retries: ["↻", "warn"],
  asks: ["?", "ask"],
  in_doubt: ["?", "warn", "in doubt"],
  open: ["○", "busy"],
  skipped: ["–", "dim"],
  stopped: ["■", "warn"],
  set_aside: ["!", "bad", "set aside"],
  lapsed: ["–", "warn"],
  answered: ["✓", "good"],
  expired: ["–", "warn"],
  changed: ["↻", "warn"],
  sent_back: ["↺", "warn", "sent back"],
  "not begun": ["·", "dim"],
};

/** The sign of a state alone. */
export const signOf = (state: string): string => SIGNS[state]?.[0] ?? "·";

export function State({ of }: { of: string }): JSX.Element {
  const [sign, tone, word] = SIGNS[of] ?? ["·", "dim"];
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{sign}</span> {word ?? of}
    </span>
  );
}

/** Why something could not be done, and what to do. */
export function Trouble({ error, children }: { error: Refused | Offline; children?: ComponentChildren }): JSX.Element {
  if (error instanceof Offline) {
    return <div class="trouble" role="alert"><p>There is no answer from the server. Nothing was done that is not shown here; the page tries again.</p>{children}</div>;
  }
  const scope = error.status === 403 && error.code === "SCOPE_TOO_SMALL";
  return (
    <div class="trouble" role="alert">
      <p><Line text={error.detail} /></p>
      {scope && <p>Whoever runs the server can give you more: <code>envoi page --for NAME --scope SCOPE</code>.</p>}
      {error.hint !== null && <p class="note"><Line text={error.hint} /></p>}
      <p class="note">
        {error.code !== "" && <code>{error.code}</code>} {error.requestId !== "" && <>request <code>{error.requestId}</code></>}
      </p>
      {children}
    </div>
  );
}

/** What is there, what is awaited, or why there is nothing. What is shown stays when a later look fails. */
export function Shown<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }): JSX.Element {
  const { value, error } = of;
  if (value === undefined) return error === undefined ? <p class="note" role="status">Asking the server …</p> : <Trouble error={error} />;
  return <>{error !== undefined && !(error instanceof Offline) && <Trouble error={error} />}{children(value)}</>;
}

/** Sets the title of the tab. */
export function titled(text: string): void {
  const title = text === "" ? "Envoi" : `${named(text)} · Envoi`;
  if (document.title !== title) document.title = title;
}
