/** The page: signs in, shows the screen of the address, says when it is not live. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";

import { FlowScreen, FlowsScreen, StartScreen } from "./flows.js";
import { InboxScreen } from "./inbox.js";
import { deafSince, watch } from "./live.js";
import { titled } from "./parts.js";
import { QuestionScreen } from "./question.js";
import { at, go, place, replace } from "./router.js";
import { RunScreen } from "./run.js";
import { RunsScreen } from "./runs.js";
import { recall, signIn, signOut, who, why } from "./session.js";
import { moment } from "./words.js";
import { Offline, Refused, key } from "./wire.js";

/** Where one wanted to go before one had to sign in. */
let wanted = "";

/** A code in the address is used once, and stands there no longer. */
async function enter(): Promise<void> {
  const { parts } = place.value;
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
  if (first === "r" && second !== undefined) return <RunScreen id={second} part={third === "why" || third === "cost" || third === "map" ? third : "steps"} chosen={third === "at" ? fourth : undefined} />;
  if (first === "flows") return second === undefined ? <FlowsScreen /> : <FlowScreen key={second} name={second} />;
  if (first === "start" && second !== undefined) return <StartScreen key={second} name={second} />;
  if (first === "keys") return <KeysScreen />;
  return <section class="page"><h1>There is nothing here</h1><p><a href="#/inbox">Questions</a> · <a href="#/runs">Runs</a> · <a href="#/flows">Flows</a></p></section>;
}

const KEYS: readonly [keys: string, does: string][] = [
  ["g i, g r, g f", "go to the questions, the runs, the flows"],
  ["/", "go to the filter"],
  ["j k, arrows", "next and previous row"],
  ["→ ←, space", "unfold and fold"],
  ["Enter", "open the place"],
  ["e E", "next and previous failure"],
  ["w s c m", "of a run: why, its steps, what it cost, its map"],
  ["Ctrl+Enter", "send the answer that is chosen, or start the run"],
  ["?", "this list"],
];

function KeysScreen(): JSX.Element {
  titled("Keys");
  return (
    <section class="page">
      <h1>Keys</h1>
      <table><thead><tr><th scope="col">key</th><th scope="col">does</th></tr></thead><tbody>{KEYS.map(([keys, does]) => <tr key={keys}><th scope="row"><kbd>{keys}</kbd></th><td>{does}</td></tr>)}</tbody></table>
      <p>No single key answers a question, or changes anything.</p>
    </section>
  );
}

function Bar(): JSX.Element {
  const first = place.value.parts[0] ?? "inbox";
  const link = (to: string, label: string, own: string[]): JSX.Element => <a href={to} aria-current={own.includes(first) ? "page" : undefined}>{label}</a>;
  const [error, setError] = useState(false);
  return (
    <header class="bar">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>To the content</a>
      <nav aria-label="screens">{link("#/inbox", "Questions", ["inbox", "q"])}{link("#/runs", "Runs", ["runs", "r"])}{link("#/flows", "Flows", ["flows", "start"])}</nav>
      <span class="who">{who.value?.name}{who.value?.tenant === "local" ? "" : ` · ${who.value?.tenant}`}</span>
      <button class="link" onClick={() => void signOut().catch(() => setError(true))}>Sign out</button>
      {error && <span role="alert">no answer</span>}
    </header>
  );
}

function NotLive(): JSX.Element | null {
  const since = deafSince.value;
  if (since === undefined) return null;
  return <p class="notlive" role="status">Not live since {moment(since)}: there is no answer from the server. Trying again. Actions are off.</p>;
}

/** Keys that go somewhere. They do nothing in fields, and none changes anything. */
function useKeys(): void {
  useEffect(() => {
    let before = "";
    const hear = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      const pressed = before + event.key;
      before = event.key === "g" ? "g" : "";
      if (pressed === "gi") go("#/inbox");
      else if (pressed === "gr") go("#/runs");
      else if (pressed === "gf") go("#/flows");
      else if (event.key === "?") go("#/keys");
      else if (place.value.parts[0] === "r" && "wscm".includes(event.key)) go(at("r", place.value.parts[1] ?? "", ...({ w: ["why"], c: ["cost"], m: ["map"] }[event.key] ?? [])));
      else if (event.key === "/") {
        const filter = document.getElementById("filter");
        if (filter !== null) event.preventDefault(), filter.focus();
      }
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
}

function Page(): JSX.Element {
  useKeys();
  if (who.value === undefined) return <main class="page"><p class="note" role="status">Asking the server …</p></main>;
  if (who.value === null) return <main id="main" tabIndex={-1}><SignIn /></main>;
  return <><Bar /><NotLive /><main id="main" tabIndex={-1}><Screen /></main></>;
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
