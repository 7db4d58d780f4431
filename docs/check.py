#!/usr/bin/env python3
"""Runs the commands that the documents show: docs/check.py [PAGE.md ...].

Without a page: those of PAGES. Uses the binary that $ENVOI names, else the one that cargo has built.

A page is read section by section (`## Title`). Each section has an empty folder of its own, a store of its own, and its
blocks run there in their order. A page of TOGETHER has one folder, as who reads it from top to bottom has.

- A block ```yaml or ```python whose first line is a comment with a file name (`# flow.yaml`) is written to that file.
- A block ```sh is given to bash, which stops at the first command that fails (`-e`). Its stdin is empty.
- A block ```text right after it is what the commands print (stdout and stderr). `…` stands for any characters; a line that
  is only `…` stands for any number of lines.
- Any other block is for reading only; so is a block ```console.

Without a page, each complete flow (```yaml with `flow:` and `steps:`) of README.md and of every page here is also given to `envoi check`.

Ends with 0 if every command ran and printed what the page says, and every flow is right, else with 1 and the page's line.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGES = ["quickstart.md", "cookbook.md", "filters.md", "part.md"]
TOGETHER = ["quickstart.md"]
SECONDS = 300
"""After this time a block is given up: a page that waits for ever would hide its mistake."""

SEEN = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR"]
"""What the commands of a page have of the environment."""


def blocks(page):
    """Yield (section, line, language, text) of each fenced block."""
    section, language, began, lines = "", None, 0, []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if language is not None:
            if line == "```":
                yield section, began, language, "\n".join(lines)
                language = None
            else:
                lines.append(line)
        elif line.startswith("```"):
            language, began, lines = line[3:].strip(), number, []
        elif line.startswith("## "):
            section = line[3:]


def matches(expected, printed):
    """Whether `printed` is `expected`, whose `…` stand for anything."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


def check(page, envoi, scratch):
    """Run one page; return its mistakes as texts, and how many blocks ran."""
    mistakes, ran = [], 0
    section, folder, printed, failed = None, None, None, None
    for name, line, language, text in blocks(page):
        if name != section:
            section, printed = name, None
            if folder is None or page.name not in TOGETHER:
                folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        if failed == section:
            continue
        where = f"{page.name}:{line} ({section})"
        first = text.partition("\n")[0]
        if language in ("yaml", "python") and re.fullmatch(r"# [\w./-]+\.\w+", first):
            file = folder / first[2:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n", "utf-8")
        elif language == "sh":
            # Nothing that `envoi` names where a step fails: who reads the page may have set other things.
            environment = {key: value for key, value in os.environ.items() if key in SEEN}
            environment["PATH"] = f"{envoi.parent}:{environment['PATH']}"
            try:
                done = subprocess.run(
                    ["bash", "-e", "-c", text],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                mistakes.append(f"{where}: not done after {SECONDS} s")
                failed = section
                continue
            ran += 1
            printed = done.stdout.decode("utf-8", "replace")
            if done.returncode != 0:
                mistakes.append(f"{where}: exit code {done.returncode}\n{printed}")
                failed = section
        elif language == "text" and printed is not None:
            if not matches(text, printed):
                mistakes.append(f"{where}: printed something else:\n{printed}")
            printed = None
    return mistakes, ran


def wrong_flows(page, envoi, scratch):
    """Check each complete flow of one page; return the mistakes as texts, and how many flows there are. Flows that name other files are left out."""
    mistakes, checked = [], 0
    for name, line, language, text in blocks(page):
        is_flow = language == "yaml" and all(re.search(f"^{key}:", text, re.MULTILINE) for key in ("flow", "steps"))
        if not is_flow or re.search(r"flow: \./", text):
            continue
        file = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "flow.yaml"
        file.write_text(text + "\n", "utf-8")
        done = subprocess.run([envoi, "check", file], capture_output=True, text=True, timeout=SECONDS, check=False)
        checked += 1
        if done.returncode != 0:
            mistakes.append(f"{page.name}:{line} ({name}): {done.stderr}")
    return mistakes, checked


def main():
    pages = [pathlib.Path(given) for given in sys.argv[1:]] or [HERE / page for page in PAGES]
    target = os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")
    envoi = pathlib.Path(os.environ.get("ENVOI", pathlib.Path(target) / "debug" / "envoi")).resolve()
    wrong = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        for page in pages:
            mistakes, ran = check(page, envoi, scratch)
            wrong += len(mistakes)
            for mistake in mistakes:
                print(mistake, file=sys.stderr)
            print(f"{page.name}: {ran} blocks ran, {len(mistakes)} mistakes")
            if ran == 0:
                print(f"{page.name}: it has no block to run", file=sys.stderr)
                wrong += 1
        if not sys.argv[1:]:
            checked = 0
            for page in [HERE.parent / "README.md", *sorted(HERE.rglob("*.md"))]:
                mistakes, found = wrong_flows(page, envoi, scratch)
                checked += found
                wrong += len(mistakes)
                for mistake in mistakes:
                    print(mistake, file=sys.stderr)
            print(f"{checked} flows of README.md and of all pages are checked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
