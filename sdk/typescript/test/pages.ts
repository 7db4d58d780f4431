/** The seeds' pages, whose examples are run as they are printed. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SEEDS = fileURLToPath(new URL("../../../spec/seeds/", import.meta.url));

export function page(name: string): string {
  return readFileSync(join(SEEDS, name), "utf8");
}

/** The fenced blocks of a page in a language, in order. */
export function blocks(name: string, language = ""): string[] {
  const found = Array.from(page(name).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm));
  return found.filter(([, said]) => said === language).map(([, , text = ""]) => text);
}

/** The only block of a page in a language. */
export function block(name: string, language = ""): string {
  const [only = "", ...others] = blocks(name, language);
  if (only === "" || others.length > 0) throw new Error(`${name} has not exactly one block: ${language}`);
  return only;
}

/** The blocks of seed 3: the interface, and how a skill writes its report, with the package's name in place of a path. */
export function skillReport(): { printed: string; usage: string } {
  const [printed = "", usage = ""] = blocks("3-skill-report.md", "typescript");
  return { printed, usage: usage.replace("../../../lib/skillReport.js", "envoi") };
}
