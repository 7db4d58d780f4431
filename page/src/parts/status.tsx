/** Small parts that several screens have: states, errors, times that pass. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

import type { Loaded } from "../state/load.js";
import { at } from "../state/router.js";
import { Offline, Refused } from "../wire/request.js";
import { who } from "../wire/session.js";
import { Line, named } from "./untrusted.js";

/** The present time, to the second; it does not change while the page is hidden. */
export const now = signal(Date.now());
setInterval(() => document.visibilityState === "visible" && (now.value = Date.now()), 1000);

/** A state has a sign, a word and a colour. */
const SIGNS: Readonly<Record<string, [sign: string, tone: string, word?: string]>> = {
  running: ["●", "busy"],
  held: ["◷", "warn", "running"],
  waiting_for_account: ["◷", "warn", "waiting for account"],
  running_without_an_engine: ["●", "warn", "running without an engine"],
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

/** `words` has more than the word alone, such as until when. */
export function State({ of, words }: { of: string; words?: string | undefined }): JSX.Element {
  const [sign, tone, word] = SIGNS[of] ?? ["·", "dim"];
  return (
    <span class={`state ${tone} ${words === undefined ? "" : "long"}`}>
      <span aria-hidden="true">{sign}</span> {words === undefined ? (word ?? of) : <Line text={words} />}
    </span>
  );
}

/** The time until the next try. The text for a screen reader does not change every second. With `comes` it comes into sight. */
export function NextTry({ at, comes = false, children }: { at: number | undefined; comes?: boolean; children: ComponentChildren }): JSX.Element | null {
  const line = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (comes) line.current?.scrollIntoView({ block: "nearest" });
  }, [at === undefined]);
  if (at === undefined) return null;
  const s = Math.ceil((at - now.value) / 1000);
  return <p class="warn" role="status" ref={line}>{children} <span aria-hidden="true">{s > 0 ? `In ${s} s.` : "Now."}</span></p>;
}

/** Why something could not be done, and what to do. */
export function Trouble({ error, retryAt, children }: { error: Refused | Offline; retryAt?: number | undefined; children?: ComponentChildren }): JSX.Element {
  if (error instanceof Offline) {
    return <div class="trouble" role="alert"><p>There is no answer from the server. Nothing was done that is not shown here; the page tries again.</p>{children}</div>;
  }
  const [scope] = error.scopes;
  return (
    <div class="trouble" role="alert">
      <p><Line text={error.detail} /></p>
      {scope !== undefined && <p>Your session has not the scope <code>{scope}</code>. The operator of the server can make a link with this scope: <code>{`envoi page --for ${who.value?.name ?? "NAME"} --scope ${scope}`}</code>.</p>}
      {error.hint !== null && <p class="note"><Line text={error.hint} /></p>}
      <p class="note">
        {error.code !== "" && <a href={at("code", error.code)}><code>{error.code}</code></a>} {error.requestId !== "" && <>request <code>{error.requestId}</code></>}
      </p>
      <NextTry at={retryAt}>The page asks again by itself.</NextTry>
      {children}
    </div>
  );
}

/** The value, the wait for it, or the error. A shown value stays when a later look fails. `title` is the heading until then. */
export function Shown<T>({ of, title, children }: { of: Loaded<T>; title?: string; children: (value: T) => ComponentChildren }): JSX.Element {
  const { value, error, retryAt } = of;
  if (value === undefined) {
    const heading = title !== undefined && <h1>{title}</h1>;
    return <>{heading}{error === undefined ? <p class="note" role="status">Asking the server …</p> : <Trouble error={error} retryAt={retryAt} />}</>;
  }
  return <>{error !== undefined && !(error instanceof Offline) && <Trouble error={error} retryAt={retryAt} />}{children(value)}</>;
}

/** Sets the title of the tab. A number alone, as `(2)`, is put before the name. */
export function titled(text: string): void {
  const title = text === "" ? "Envoi" : /^\(\d+\+?\)$/.test(text) ? `${text} Envoi` : `${named(text)} · Envoi`;
  if (document.title !== title) document.title = title;
}
