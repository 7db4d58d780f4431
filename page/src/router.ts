/** Where one is: a fragment, which no server sees. */

import { signal } from "@preact/signals";

export interface Place {
  /** Between the slashes. */
  parts: string[];
  query: URLSearchParams;
}

function read(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const decoded = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return { parts: path.split("/").filter((part) => part !== "").map(decoded), query: new URLSearchParams(query) };
}

export const place = signal<Place>(read());

addEventListener("hashchange", () => (place.value = read()));

/** The address of a place. */
export const at = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export function go(address: string): void {
  location.hash = address;
}

/** Changes the address without a step in the history: what stands in it is not to be come back to. */
export function replace(address: string): void {
  history.replaceState(null, "", address);
  place.value = read();
}
