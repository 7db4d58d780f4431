/** Files that appear whole or not at all, for Node. */

import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Makes the folder, writes the file beside its place, and moves it there when it is on disk. */
export function writeWhole(path: string, text: string): void {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  const beside = join(folder, `.${basename(path)}.${process.pid}.tmp`);
  try {
    writeSynced(beside, text);
    renameSync(beside, path);
  } catch (cause) {
    rmSync(beside, { force: true });
    throw cause;
  }
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, "w");
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
