/** `tellNews REPORT SEEN`: appends the new commits to `news.md`, and keeps in `SEEN` up to where they were told. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { readSkillReport, runStep, toPlain } from "../../../sdk/typescript/dist/node.js";

interface News {
  readonly branch: string;
  readonly head: string;
  readonly commits: readonly { readonly id: string; readonly author: string; readonly subject: string }[];
}

await runStep((step) => {
  const [path = "", seen = ".seen"] = process.argv.slice(2);
  const { branch, head, commits } = toPlain(readSkillReport(path)?.data ?? null) as News;
  const before = existsSync("news.md") ? readFileSync("news.md", "utf8") : "# News\n";
  const lines = commits.map(({ id, author, subject }) => `- ${id.slice(0, 8)} ${subject} (${author})\n`).reverse();
  // Told once: a step that is done again finds its own lines.
  const more = lines.filter((line) => !before.includes(line));
  writeFileSync("news.md", before + more.join(""));
  writeFileSync(seen, `${head}\n`);
  step.say(`${more.length} commits of ${branch} told.`);
});
