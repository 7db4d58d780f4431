/** The signed-in user: by a code in the address, by a token that was pasted, or from before. */

import { signal } from "@preact/signals";

import type { NewSession, Token } from "./api.js";
import { Refused, ask, json, key } from "./request.js";

/** `undefined`: not known yet; null: no user. */
export const who = signal<Token | null | undefined>(undefined);

/** The reason why no user is signed in, if there is one to show. */
export const why = signal<string>("");

export const may = (scope: "answer" | "run" | "admin"): boolean => {
  const scopes = who.value?.scopes ?? [];
  return scopes.includes(scope) || scopes.includes("admin");
};

/** Looks whether the session from before is still good. */
export async function recall(): Promise<void> {
  if (key.get() === undefined) {
    who.value = null;
    return;
  }
  try {
    who.value = await json<Token>("token");
  } catch (error) {
    if (error instanceof Refused && error.status === 401) endSession("You were signed out: the session is over.");
    else throw error;
  }
}

/** Begins a session. @throws Refused if the code or the token is not good, Offline */
export async function signIn(by: { code: string } | { token: string }): Promise<void> {
  key.set(undefined);
  const { key: half, ...token } = await json<NewSession>("sessions", { method: "POST", body: by });
  key.set(half);
  why.value = "";
  who.value = token;
}

/** Ends the session here and at the server: what was copied of it is good for nothing. */
export async function signOut(): Promise<void> {
  try {
    await ask("sessions/end", { method: "POST" });
  } catch (error) {
    // A session that is over is what was wanted.
    if (!(error instanceof Refused && error.status === 401)) throw error;
  }
  // Drafts go with a sign-out. After a session that lapsed the same person finds them again.
  for (const name of Object.keys(sessionStorage)) if (/^envoi:(draft|start):/.test(name)) sessionStorage.removeItem(name);
  endSession("");
}

/** The session is good no more. */
export function endSession(reason: string): void {
  key.set(undefined);
  why.value = reason;
  who.value = null;
}
