// Measures the page as docs/figures.md has it: bytes, requests, elements, first paint, frames. Makes pictures with $SHOTS, a folder.
//
// Needs what check.sh needs: ENVOI=…/envoi CHROMIUM=…/chromium node figures.js

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

/** Ten visits per item: the item, and nine steps that are skipped, so that nothing is started. */
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

/** Notes when the head of a run, its first row, or a list of questions came into the document: a look from outside would count its own time too. */
function noted() {
  globalThis.came = {};
  const marks = { head: "header.head .digest", tree: ".tree .line[role=row] .name b", questions: ".cards, .empty p" };
  const look = () => {
    for (const [name, what] of Object.entries(marks)) if (globalThis.came[name] === undefined && document.querySelector(what) !== null) globalThis.came[name] = performance.now();
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}

/** Records the times between frames from now on, until `frames` reads them. */
const watchFrames = (page) =>
  page.evaluate(() => {
    globalThis.frames = [];
    let before;
    const each = (now) => {
      if (before !== undefined) globalThis.frames.push(now - before);
      before = now;
      globalThis.frame = requestAnimationFrame(each);
    };
    globalThis.frame = requestAnimationFrame(each);
  });
const frames = (page) => page.evaluate(() => (cancelAnimationFrame(globalThis.frame), globalThis.frames));

const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const part = (all, of) => [...all].sort((a, b) => a - b)[Math.floor(all.length * of)];
const toldFrames = (all) => `a frame takes ${Math.round(middle(all))} ms, 95 of 100 at most ${Math.round(part(all, 0.95))} ms, the longest ${Math.round(Math.max(...all))} ms`;
const elementsOf = (page) => page.evaluate(() => document.querySelectorAll("*").length);

const stage = await Stage.open();
try {
  const files = ["index.html", "app.js", "app.css", "icon.svg"].map((name) => readFileSync(new URL(`../crates/server/page/${name}`, import.meta.url)));
  console.log(`bytes: ${Buffer.concat(files).length}, compressed one by one: ${files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0)}`);

  const run = await stage.run(FLOW);
  await stage.until(run, "succeeded");
  const person = await Person.at(stage, DESK);
  await person.context.addInitScript(noted);
  const page = await person.tab(stage.link());
  await page.getByText("Nothing waits for you.").waitFor();
  const before = await page.evaluate(() => performance.getEntries().filter(({ entryType, startTime }) => ["navigation", "resource"].includes(entryType) && startTime < globalThis.came.questions).length);
  console.log(`requests to the first screen: ${before}, in all ${person.asked.length}`);

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
    if (items === 1000) await live(page, person, pages);
    await stage.until(pages, "succeeded");
    await stage.kill();
    await stage.restart();
    await page.goto(`${stage.url}/#/r/${pages}`);
    const looks = [];
    const shows = [];
    for (let nth = 0; nth < 7; nth += 1) {
      const asked = person.asked.length;
      await page.reload();
      await page.getByRole("row", { name: /prepare/ }).waitFor();
      looks.push(await page.evaluate(() => {
        const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
        const rows = all.filter(({ name }) => /\/steps\?/.test(name));
        return { ...globalThis.came, paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, bytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0), steps: rows.reduce((sum, { transferSize }) => sum + transferSize, 0), elements: document.querySelectorAll("*").length, visits: document.querySelector(".tree .chosen, .tree button").textContent };
      }));
      looks.at(-1).requests = person.asked.length - asked;
      // In turn, so that both have the same load beside them.
      const begun = Date.now();
      stage.envoi("show", pages);
      shows.push(Date.now() - begun);
    }
    const of = (name) => Math.round(middle(looks.map((look) => look[name])));
    const ratio = (ms) => `${(ms / middle(shows)).toFixed(2)} of \`envoi show\``;
    console.log(`a real run, ${looks[0].visits}: ${of("requests")} requests, ${of("bytes")} bytes (rows ${of("steps")}), ${of("elements")} elements`);
    console.log(`  \`envoi show\` ${middle(shows)} ms; first paint ${of("paint")} ms, its head after ${of("head")} ms (${ratio(of("head"))}), the tree after ${of("tree")} ms (${ratio(of("tree"))}); the first time ${Math.round(looks[0].head)} and ${Math.round(looks[0].tree)} ms`);
    // All of them at once: each has the name of the step in its place.
    const all = 10 * items + 1;
    const begun = Date.now();
    await page.getByLabel("words in steps").fill("page");
    await page.waitForFunction((count) => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) === count, all);
    const filtered = Date.now() - begun;
    await watchFrames(page);
    await page.evaluate(async () => {
      const box = document.querySelector("[role=treegrid]");
      for (let nth = 0; nth < 120; nth += 1) {
        box.scrollTop += 400;
        await new Promise(requestAnimationFrame);
      }
    });
    console.log(`  ${all} rows at once: ${await elementsOf(page)} elements, found after ${filtered} ms; while scrolling, ${toldFrames(await frames(page))}`);
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

/** A run that goes on while all its rows are in the tree. */
async function live(page, person, run) {
  await page.goto(`${stage.url}/#/r/${run}?words=page`);
  await page.reload();
  await page.locator(".tree .line[role=row]").nth(5).waitFor();
  const asked = person.asked.length;
  const began = Date.now();
  await watchFrames(page);
  let most = 0;
  while ((await stage.ask("GET", `runs/${run}`)).status !== "succeeded") {
    most = Math.max(most, await elementsOf(page));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await page.locator("header.head").getByText("succeeded").waitFor();
  const times = await frames(page);
  const seconds = (Date.now() - began) / 1000;
  const looks = person.asked.slice(asked).filter((url) => /\/steps\?/.test(url)).length;
  console.log(`a run that grows to ${await page.locator(".tree button").first().textContent()} in ${Math.round(seconds)} s while it is looked at: at most ${most} elements, ${(looks / seconds).toFixed(1)} looks a second, ${toldFrames(times)}`);
}
