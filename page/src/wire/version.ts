/** Whether the server has another version of this page by now: asked whenever it answers again after a silence. */

import { signal } from "@preact/signals";

import { offlineSince } from "./live.js";
import { BASE } from "./request.js";

/** The script that runs here, as the page names it. */
const OWN = new URL(import.meta.url).searchParams.get("v");

export const isOther = signal(false);

async function look(): Promise<void> {
  try {
    const page = await (await fetch(BASE, { cache: "no-store", credentials: "same-origin" })).text();
    const found = /app\.js\?v=([0-9a-f]+)/.exec(page)?.[1];
    isOther.value = OWN !== null && found !== undefined && found !== OWN;
  } catch {
    // It is asked again after the next silence.
  }
}

let wasOffline = false;
offlineSince.subscribe((since) => {
  if (since === undefined && wasOffline) void look();
  wasOffline = since !== undefined;
});
