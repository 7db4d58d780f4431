/** The keys, and what a person may choose for this browser. */

import type { JSX } from "preact";

import { titled } from "../parts/status.js";
import { choose, settings, type Theme } from "../state/settings.js";

const KEYS: readonly [keys: string, does: string][] = [
  ["g i, g r, g f", "go to the questions, the runs, the flows"],
  ["/", "go to the filter of the runs or the steps, or find in an output"],
  ["j k, arrows", "next and previous row"],
  ["→ ←, space", "unfold and fold"],
  ["Enter", "open the place"],
  ["e E", "next and previous failure, also one that is folded away"],
  ["f", "to the newest row"],
  ["w s d c m", "of a run: why, its steps, its files, what it cost, its map"],
  ["l", "of a visit: to its output"],
  ["n p", "of a file: to the next and the previous change"],
  ["[ ]", "of a visit: the attempt or the visit before, and the next one; where rounds are compared: the rounds"],
  [".", "to what can be done with the run"],
  ["Esc", "close the visit, or go back to the list"],
  ["Ctrl+Enter", "send the answer that is chosen, or start the run"],
  ["?", "this list"],
];

const THEMES: readonly [Theme, string][] = [["auto", "as the system"], ["light", "light"], ["dark", "dark"]];

export function KeysScreen(): JSX.Element {
  titled("Help");
  const { theme, letters, announces } = settings.value;
  return (
    <section class="page">
      <h1>Help</h1>
      <p>A question waits for a person; a run is one time that a flow is done. Everything here can also be done in a terminal: <code>envoi help</code>.</p>
      <h2>Keys</h2>
      <div class="across" tabIndex={0} role="region" aria-label="keys">
        <table><thead><tr><th scope="col">key</th><th scope="col">does</th></tr></thead><tbody>{KEYS.map(([keys, does]) => <tr key={keys}><th scope="row"><kbd>{keys}</kbd></th><td>{does}</td></tr>)}</tbody></table>
      </div>
      <p>No single key answers a question, or changes anything. In fields they do nothing.</p>
      <h2>In this browser</h2>
      <fieldset class="field">
        <legend>Colours</legend>
        {THEMES.map(([value, label]) => <label class="option" key={value}><input type="radio" name="theme" checked={theme === value} onChange={() => choose({ theme: value })} /> {label}</label>)}
      </fieldset>
      <label class="option"><input type="checkbox" checked={letters} onChange={(event) => choose({ letters: event.currentTarget.checked })} /> Single letters are keys</label>
      <label class="option"><input type="checkbox" checked={announces} onChange={(event) => choose({ announces: event.currentTarget.checked })} /> A screen reader says what changes by itself: a question, a failure, an end</label>
    </section>
  );
}
