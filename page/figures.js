// Measures the page as docs/figures.md has it: bytes, requests, elements, first paint, frames. Makes pictures with $SHOTS, a folder.
//
// Needs what check.sh needs: ENVOI=…/envoi CHROMIUM=…/chromium node figures.js

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import { DESK, Person, Stage, ended } from "./test/stage.js";

const FLOW = `
flow: one
title: Release of the notes
steps:
  - id: prepare
    run: echo prepared
  - id: check
    run: echo 'Three pages, all dates agree with the tags.'
`;

/** Of an item ten visits: the item, and nine steps that are skipped, so that nothing is started. */
const PAGES = (items) => `
flow: pages
title: All pages of the site
steps:
  - id: prepare
    run: echo prepared
  - id: page
    for_each: \${{ range(${items}) | list }}
    flow: page.yaml
`;
const ONE_PAGE = `flow: page\nsteps:\n${Array.from({ length: 9 }, (_, nth) => `  - id: look_${nth}\n    if: "false"\n    run: echo looked\n`).join("")}`;

const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

const stage = await Stage.open();
try {
  const files = ["index.html", "app.js", "app.css", "icon.svg"].map((name) => readFileSync(new URL(`../crates/server/page/${name}`, import.meta.url)));
  console.log(`bytes: ${Buffer.concat(files).length}, compressed one by one: ${files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0)}`);

  const run = await stage.run(FLOW);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  console.log(`requests to the first screen: ${person.asked.length}`);

  const paints = [];
  for (let nth = 0; nth < 7; nth += 1) {
    await page.goto(`${stage.url}/#/r/${run}`);
    await page.reload();
    await page.getByRole("treegrid").waitFor();
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
  }
  console.log(`first paint, middle of 7: ${Math.round(middle(paints))} ms`);

  // Real runs, the server's part included. The first look after the server came up reads all events of the run.
  for (const items of [1, 40, 1000]) {
    const { digest } = await stage.ask("POST", "flows", { flow: "pages.yaml", files: { "pages.yaml": PAGES(items), "page.yaml": ONE_PAGE } });
    const pages = (await stage.ask("POST", "runs", { flow: digest, workspace: "shared" })).run;
    await stage.until(pages, "succeeded");
    await stage.kill();
    await stage.restart();
    await page.goto(`${stage.url}/#/r/${pages}`);
    const looks = [];
    for (let nth = 0; nth < 7; nth += 1) {
      const asked = person.asked.length;
      await page.reload();
      // What the run is at stands there before its steps do.
      await page.locator("header.head .digest").waitFor();
      const head = await page.evaluate(() => performance.now());
      await page.getByRole("treegrid").waitFor();
      await page.getByRole("row", { name: /prepare/ }).waitFor();
      looks.push(await page.evaluate(() => {
        const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
        const rows = all.filter(({ name }) => /\/steps\?/.test(name));
        return { paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, shown: performance.now(), bytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0), steps: rows.reduce((sum, { transferSize }) => sum + transferSize, 0), elements: document.querySelectorAll("*").length, visits: document.querySelector(".tree .chosen, .tree button").textContent };
      }));
      Object.assign(looks.at(-1), { requests: person.asked.length - asked, head });
    }
    const shows = Array.from({ length: 7 }, () => {
      const begun = Date.now();
      stage.envoi("show", pages);
      return Date.now() - begun;
    });
    console.log(`\`envoi show\` of it, middle of 7: ${middle(shows)} ms`);
    const of = (name) => Math.round(middle(looks.map((look) => look[name])));
    console.log(`a real run, ${looks[0].visits}: ${of("requests")} requests, ${of("bytes")} bytes (rows ${of("steps")}), ${of("elements")} elements, first paint ${of("paint")} ms, its head after ${of("head")} ms, the tree after ${of("shown")} ms, the first time after ${Math.round(looks[0].shown)} ms`);
    // All of them at once: each has the name of the step in its place.
    const all = 10 * items + 1;
    const begun = Date.now();
    await page.getByLabel("words in steps").fill("page");
    await page.waitForFunction((count) => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) === count, all);
    const filtered = Date.now() - begun;
    await page.getByRole("treegrid").focus();
    const frames = await page.evaluate(async () => {
      const box = document.querySelector("[role=treegrid]");
      const times = [];
      let before = await new Promise(requestAnimationFrame);
      for (let nth = 0; nth < 120; nth += 1) {
        box.scrollTop += 400;
        const now = await new Promise(requestAnimationFrame);
        times.push(now - before);
        before = now;
      }
      return times;
    });
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    const sorted = [...frames].sort((a, b) => a - b);
    console.log(`${all} rows at once: ${elements} elements, found after ${filtered} ms, a frame takes ${Math.round(middle(frames))} ms, 95 of 100 at most ${Math.round(sorted[Math.floor(sorted.length * 0.95)])} ms`);
    if (items < 1000) continue;
    await page.evaluate(() => (document.querySelector("[role=treegrid]").scrollTop = 100_000));
    await person.shot(page, "visits");
    await page.emulateMedia({ colorScheme: "dark" });
    await person.shot(page, "visits-dark");
  }
  await person.context.close();
} finally {
  await ended();
}
