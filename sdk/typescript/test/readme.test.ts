import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { runExamples } from "./readme.js";

test("the examples of the README print what it says", async () => {
  const here = fileURLToPath(new URL(".", import.meta.url));
  assert((await runExamples(new URL("../README.md", import.meta.url), here)) >= 8);
});
