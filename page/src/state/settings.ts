/** A person's settings for this browser: light or dark, and whether single letters are keys. */

import { signal } from "@preact/signals";

import { BASE } from "../wire/request.js";

const KEY = `envoi:settings:${BASE}`;

export type Theme = "auto" | "light" | "dark";

export interface Settings {
  theme: Theme;
  /** Whether single letters are keys (WCAG 2.1.4). */
  letters: boolean;
  /** Whether differences are shown side by side if there is room. */
  beside: boolean;
  /** Whether what changes by itself is read aloud (WCAG 2.2.2). */
  announces: boolean;
}

/** As they are stored. */
type Kept = Omit<Settings, "announces"> & { aloud: boolean };

function kept(): Settings {
  let found: Partial<Kept> = {};
  try {
    const read: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof read === "object" && read !== null) found = read as Partial<Kept>;
  } catch {
    // A value that is not ours counts as none.
  }
  return { theme: found.theme === "light" || found.theme === "dark" ? found.theme : "auto", letters: found.letters !== false, beside: found.beside === true, announces: found.aloud !== false };
}

export const settings = signal<Settings>(kept());

export function choose(part: Partial<Settings>): void {
  settings.value = { ...settings.value, ...part };
  const { theme, letters, beside, announces } = settings.value;
  if (theme === "auto" && letters && !beside && announces) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, JSON.stringify({ theme, letters, beside, aloud: announces } satisfies Kept));
}

settings.subscribe(({ theme }) => (document.documentElement.style.colorScheme = theme === "auto" ? "" : theme));
