// The step `links`, a skill: looks at every relative link of every Markdown page in a folder, and reports the broken ones.
//
// A project that has the package installed imports it by its name, "envoi".

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { writeSkillReport } from "../../sdk/typescript/dist/node.js";

const SKILL = "check-links";

/** The relative links of a page: their targets, without what follows `#`. */
function linksOf(page) {
  const targets = Array.from(readFileSync(page, "utf8").matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target);
  return targets.filter((target) => !/^(?:[a-z]+:|#|\/)/.test(target)).map((target) => target.replace(/#.*/, ""));
}

function check(folder) {
  const pages = readdirSync(folder).filter((name) => name.endsWith(".md")).sort();
  const links = pages.flatMap((name) => linksOf(join(folder, name)).map((target) => ({ page: name, target })));
  const broken = links.filter(({ page, target }) => !existsSync(join(dirname(join(folder, page)), target)));
  return { pages: pages.length, links: links.length, broken };
}

const [folder = "docs", path = process.env.ENVOI_REPORT ?? "out/report.json"] = process.argv.slice(2);
const found = check(folder);
const [first] = found.broken;
const error = first && { code: "BROKEN_LINK", message: `${found.broken.length} of ${found.links}, first: ${first.page} to ${first.target}` };
writeSkillReport(path, SKILL, found, { metrics: { pages: found.pages }, error });
