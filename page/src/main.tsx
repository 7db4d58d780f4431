/** The page: signs in, shows the screen of the address, and shows when it is not live. */

import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";

import { moment } from "./model/words.js";
import { Announcements } from "./parts/announcements.js";
import { titled } from "./parts/status.js";
import { at, go, look, place, replace } from "./state/router.js";
import { settings } from "./state/settings.js";
import { CodeScreen } from "./views/code.js";
import { FlowScreen, FlowsScreen, StartScreen } from "./views/flows.js";
import { InboxScreen } from "./views/inbox.js";
import { KeysScreen } from "./views/keys.js";
import { QuestionScreen } from "./views/question.js";
import { PARTS, RunScreen } from "./views/run.js";
import { RunsScreen } from "./views/runs.js";
import { offlineSince, watch } from "./wire/live.js";
import { Offline, Refused, key } from "./wire/request.js";
import { recall, signIn, signOut, who, why } from "./wire/session.js";
import { isOther } from "./wire/version.js";

/** The address that was wanted before the sign-in. */
let wanted = "";

/** Screens that are the same for every user: they do not wait until the user is known. */
const ALIKE = new Set(["inbox", "runs", "r"]);

/** Whether there is a session from before. The first answer shows whether it is still valid. */
const isBack = signal(false);

/** A code in the address is used once, and then removed from it. */
async function enter(): Promise<void> {
  const { parts } = place.value;
  isBack.value = parts[0] !== "in" && key.get() !== undefined;
  if (parts[0] === "in" && parts[1] !== undefined) {
    const [, code, ...to] = parts;
    replace(to.length === 0 ? "#/inbox" : at(...to));
    try {
      return await signIn({ code });
    } catch (error) {
      const isOld = error instanceof Refused && error.status === 401;
      await recall();
      if (who.value === null) why.value = isOld ? "This link was used already, or it is too old. `envoi page` makes a new one." : said(error);
      return;
    }
  }
  return recall();
}

const said = (error: unknown): string => (error instanceof Refused ? error.detail : "There is no answer from the server.");

function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  titled("Sign in");
  const send = async (): Promise<void> => {
    if (token.trim() === "" || busy) return;
    setBusy(true);
    setError("");
    try {
      await signIn({ token: token.trim() });
      if (wanted !== "") go(wanted);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Offline)) throw error;
      setError(error instanceof Refused && error.status === 401 ? "This token is not good: it is wrong, expired or revoked." : said(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="page signin">
      <h1>Sign in</h1>
      {why.value !== "" && <p class="trouble" role="alert">{why.value}</p>}
      <p>On the machine of the server, <code>envoi page</code> prints a link that signs you in. Or paste a token.</p>
      <form onSubmit={(event) => (event.preventDefault(), void send())}>
        <div class="field">
          <label for="token">Token</label>
          <input id="token" type="password" autocomplete="off" spellcheck={false} value={token} disabled={busy} onInput={(event) => setToken(event.currentTarget.value)} aria-describedby={error === "" ? undefined : "token-wrong"} />
          {error !== "" && <p class="wrong" id="token-wrong" role="alert">{error}</p>}
        </div>
        <button class="main" type="submit" disabled={busy}>{busy ? "Asking …" : "Sign in"}</button>
      </form>
    </section>
  );
}

function Screen(): JSX.Element {
  const { parts, query } = place.value;
  const [first = "inbox", second, third, fourth] = parts;
  if (first === "inbox") return <InboxScreen closed={query.has("closed")} />;
  if (first === "q" && second !== undefined) return <QuestionScreen id={second} />;
  if (first === "runs") return <RunsScreen />;
  if (first === "r" && second !== undefined) return <RunScreen id={second} part={PARTS.find((part) => part === third) ?? "steps"} chosen={third === "at" ? fourth : undefined} />;
  if (first === "flows") return second === undefined ? <FlowsScreen /> : <FlowScreen key={second} name={second} />;
  if (first === "start" && second !== undefined) return <StartScreen key={second} name={second} />;
  if (first === "keys") return <KeysScreen />;
  if (first === "code" && second !== undefined) return <CodeScreen key={second} code={second} />;
  return <section class="page"><h1>There is nothing here</h1><p><a href="#/inbox">Questions</a> · <a href="#/runs">Runs</a> · <a href="#/flows">Flows</a></p></section>;
}

function Bar(): JSX.Element {
  const first = place.value.parts[0] ?? "inbox";
  const link = (to: string, label: string, own: string[]): JSX.Element => <a href={to} aria-current={own.includes(first) ? "page" : undefined}>{label}</a>;
  const [error, setError] = useState(false);
  return (
    <header class="bar">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>To the content</a>
      <nav aria-label="screens">{link("#/inbox", "Questions", ["inbox", "q"])}{link("#/runs", "Runs", ["runs", "r"])}{link("#/flows", "Flows", ["flows", "start"])}</nav>
      <span class="who">{who.value?.name}{who.value != null && who.value.tenant !== "local" && ` · ${who.value.tenant}`}</span>
      <a class="help" href="#/keys" aria-label="Help" aria-current={first === "keys" ? "page" : undefined}>?</a>
      <button class="link" onClick={() => void signOut().catch(() => setError(true))}>Sign out</button>
      {error && <span role="alert">no answer</span>}
    </header>
  );
}

function NotLive(): JSX.Element | null {
  const since = offlineSince.value;
  if (since === undefined && isOther.value) return <p class="notlive" role="status">The server has another version of this page by now. <button class="small" onClick={() => location.reload()}>Reload</button></p>;
  if (since === undefined) return null;
  return <p class="notlive" role="status">Not live since {moment(since)}: there is no answer from the server. Trying again. Actions are off.</p>;
}

/** Whether letters are typed there, and so are no keys. */
const takesLetters = (target: HTMLElement): boolean => /^(TEXTAREA|SELECT)$/.test(target.tagName) || (target instanceof HTMLInputElement && !/^(radio|checkbox|button|file)$/.test(target.type));

const OF_A_RUN: Readonly<Record<string, string[]>> = { w: ["why"], s: [], d: ["files"], c: ["cost"], m: ["map"] };

/** Clicks or focuses this element. */
function reach(id: string, how: "click" | "focus"): boolean {
  const element = document.getElementById(id);
  element?.scrollIntoView({ block: "nearest" });
  element?.[how]();
  return element !== null;
}

/** To the next place, or the one before, at which a file differs; the lines that differ there have the focus. */
function toChange(by: 1 | -1): void {
  const isChange = (line: Element | null): boolean => line !== null && /^(pair )?(added|removed)$/.test(line.className);
  const all = [...document.querySelectorAll<HTMLElement>(".diff > [role=row]")].filter((line) => isChange(line) && !isChange(line.previousElementSibling));
  const here = all.findIndex((line) => line === document.activeElement);
  const to = all[here === -1 ? (by === 1 ? 0 : all.length - 1) : here + by];
  if (to === undefined) return;
  to.tabIndex = -1;
  to.focus();
  to.scrollIntoView({ block: "center" });
}

function back(): void {
  const { parts } = place.value;
  if (parts[2] === "at") go(at("r", parts[1] ?? ""));
  else if (parts.length > 1) go(`#/${{ q: "inbox", r: "runs", start: "flows" }[parts[0] ?? ""] ?? parts[0]}`);
}

/** Keys that go somewhere. They do nothing in fields, and none changes anything. */
function useKeys(): void {
  useEffect(() => {
    let before = "";
    const SCREENS: Readonly<Record<string, string>> = { i: "#/inbox", r: "#/runs", f: "#/flows" };
    // Two keys in a row come first: the second one alone may mean something to what has the focus.
    const onKeyPair = (event: KeyboardEvent): void => {
      const isKey = !event.ctrlKey && !event.metaKey && !event.altKey && !takesLetters(event.target as HTMLElement) && settings.value.letters;
      const to = isKey && before === "g" ? SCREENS[event.key] : undefined;
      before = isKey && event.key === "g" ? "g" : "";
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      go(to);
    };
    const onKey = (event: KeyboardEvent): void => {
      look();
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.key === "Escape") return takesLetters(target) ? target.blur() : back();
      if (takesLetters(target) || !settings.value.letters) return;
      const { parts } = place.value;
      const isRun = parts[0] === "r" && parts[1] !== undefined;
      const own = OF_A_RUN[event.key];
      if (event.key === "?") go("#/keys");
      else if (event.key === "n" || event.key === "p") toChange(event.key === "n" ? 1 : -1);
      else if (isRun && own !== undefined) go(at("r", parts[1] ?? "", ...own));
      else if (isRun && event.key === "l") reach("output", "focus");
      else if (isRun && event.key === "[") reach("before", "click");
      else if (isRun && event.key === "]") reach("after", "click");
      else if (event.key === "." && reach("actions", "focus")) event.preventDefault();
      else if (event.key === "/" && (reach("find", "focus") || reach("filter", "focus"))) event.preventDefault();
    };
    addEventListener("keydown", onKeyPair, true);
    addEventListener("keydown", onKey);
    return () => (removeEventListener("keydown", onKeyPair, true), removeEventListener("keydown", onKey));
  }, []);
}

function Page(): JSX.Element {
  useKeys();
  const isEarly = isBack.value && ALIKE.has(place.value.parts[0] ?? "inbox");
  if (who.value === undefined && !isEarly) return <main class="page"><p class="note" role="status">Asking the server …</p></main>;
  if (who.value === null) return <main id="main" tabIndex={-1}><SignIn /></main>;
  return <><Bar /><NotLive /><main id="main" tabIndex={-1}><Screen /></main><Announcements /></>;
}

const app = document.getElementById("app");
if (app !== null) {
  app.replaceChildren();
  render(<Page />, app);
  who.subscribe((token) => {
    if (token === null && !/^#\/(in\b|$)/.test(location.hash)) wanted = location.hash;
  });
  key.watch(() => void recall());
  addEventListener("hashchange", () => place.value.parts[0] === "in" && void enter());
  watch();
  const begin = (): void => void enter().catch(() => setTimeout(begin, 2000));
  begin();
}
