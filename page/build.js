// Builds the page into `crates/server/page/`, or into the folder that is given: four files, which are committed.
//
// The same sources and the same lock file give the same bytes.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] ?? join(here, "../crates/server/page");
const common = { bundle: true, minify: true, write: false, absWorkingDir: here, logLevel: "warning", legalComments: "none" };

async function bundled(entry, more) {
  const { outputFiles } = await build({ ...common, ...more, entryPoints: [entry] });
  return outputFiles[0].contents;
}

const script = await bundled("src/main.tsx", { format: "esm", target: "es2022", charset: "utf8", jsx: "automatic", jsxImportSource: "preact" });
const style = await bundled("src/app.css", { target: "chrome123" });
const icon = readFileSync(join(here, "src/icon.svg"));
const version = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
const html = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("app.js", `app.js?v=${version(script)}`)
  .replace("app.css", `app.css?v=${version(style)}`)
  .replace("icon.svg", `icon.svg?v=${version(icon)}`);

mkdirSync(to, { recursive: true });
for (const [name, bytes] of [["app.js", script], ["app.css", style], ["icon.svg", icon], ["index.html", html]]) {
  writeFileSync(join(to, name), bytes);
}
