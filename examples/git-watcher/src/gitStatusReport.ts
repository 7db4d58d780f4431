/**
 * The skill `git-watcher REPOSITORY [SINCE]`: what is new in a local repository since a commit, and what is not committed.
 *
 * It asks git and changes nothing. A folder that is no repository, and a commit that is not in it, are failures.
 */

import { spawnSync } from "node:child_process";

import { runStep } from "../../../sdk/typescript/dist/node.js";

/** One commit, the newest first. */
interface Commit {
  readonly id: string;
  readonly author: string;
  readonly subject: string;
}

/** The report's data. */
interface Status {
  readonly branch: string;
  readonly head: string;
  readonly commits: readonly Commit[];
  /** Paths with changes that are not committed. */
  readonly changed: readonly string[];
}

/** At most this many commits are listed; a repository that is seen for the first time may have thousands. */
const MOST_COMMITS = 50;

function git(repository: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", ["-C", repository, ...args], { encoding: "utf8" });
  // Without git there is neither a status nor anything said.
  if (status !== 0) throw new Error(`git ${args[0] ?? ""}: ${stderr?.trim() ?? "it cannot be started"}`);
  return stdout;
}

function commits(repository: string, since: string): Commit[] {
  const range = since === "" ? "HEAD" : `${since}..HEAD`;
  const listed = git(repository, "log", "-z", `--max-count=${MOST_COMMITS}`, "--format=%H%n%an%n%s", range);
  return listed.split("\0").filter((text) => text !== "").map((text) => {
    const [id = "", author = "", subject = ""] = text.split("\n");
    return { id, author, subject };
  });
}

/** `-z` leaves paths as they are; the old name of a renamed file comes as an entry of its own, which is left out. */
function changed(repository: string): string[] {
  const entries = git(repository, "status", "--porcelain", "-z").split("\0");
  return entries.filter((entry, place) => entry !== "" && !/^[RC]/.test(entries[place - 1] ?? "")).map((entry) => entry.slice(3));
}

function status(repository: string, since: string): Status {
  const head = git(repository, "rev-parse", "HEAD").trim();
  const branch = git(repository, "rev-parse", "--abbrev-ref", "HEAD").trim();
  return { branch, head, commits: commits(repository, since), changed: changed(repository) };
}

await runStep(
  (step) => {
    const [repository = ".", since = ""] = process.argv.slice(2);
    try {
      const found = status(repository, since);
      step.metrics["commits"] = found.commits.length;
      step.say(`${found.branch}: ${found.commits.length} new commits, ${found.changed.length} files not committed.`);
      return found;
    } catch (error) {
      step.fail(error instanceof Error ? error.message : String(error), "NOT_READABLE");
      return undefined;
    }
  },
  { skillName: "git-watcher" },
);
