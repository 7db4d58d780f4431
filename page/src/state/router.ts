/** The place in the page: a fragment, which no server sees. */

import { signal } from "@preact/signals";

export interface Place {
  /** Between the slashes. */
  parts: string[];
  query: URLSearchParams;
}

function read(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const decoded = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return { parts: path.split("/").filter((part) => part !== "").map(decoded), query: new URLSearchParams(query) };
}

let known = location.hash;
export const place = signal<Place>(read(known));

/**
 * Takes `place` from the present address. The browser changes the address at once, but reports it in a later task (HTML, "navigate to a
 * fragment"): a key that is pressed in between must not act on the place before.
 */
export function look(): void {
  if (known === location.hash) return;
  known = location.hash;
  place.value = read(known);
}

addEventListener("hashchange", look);

/** The address of a place. */
export const at = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export function go(address: string): void {
  location.hash = address;
  look();
}

/** Names in the address what is chosen on a screen, so that a link leads to it; nothing is named by an empty text. */
export function setQuery(name: string, value: string): void {
  setQueries({ [name]: value });
}

/** The same for several of them; what is not among them stays. */
export function setQueries(values: Readonly<Record<string, string>>): void {
  const [path = "", old = ""] = location.hash.split("?", 2);
  const query = new URLSearchParams(old);
  for (const [name, value] of Object.entries(values)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  replace(`${path}${query.size > 0 ? `?${query}` : ""}`);
}

/** Changes the address without a step in the history: the old address must not come back. */
export function replace(address: string): void {
  history.replaceState(null, "", address);
  look();
}
