#!/usr/bin/env python3
"""Says whether the recorded first hour is still true: docs/first_hour.py NOW.

NOW is what docs/first-hour.sh prints today. Compared with docs/first-hour.md, it may differ in what differs each time: ids, digests,
times, durations, process numbers, the build that `--version` names, and the order of items that are done at the same time.

Ends with 0 if nothing else differs, else with 1, and prints the lines. Then the page is to be recorded anew.
"""

import difflib
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent / "first-hour.md"

DIFFERS = [
    (r"\b(run|int)_[0-9a-z]{26}\b", r"\1_…"),
    (r"sha256:[0-9a-f]{64}", "sha256:…"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME"),
    (r"\b\d\d:\d\d\.\d\b", "CLOCK"),
    (r"\b(\d+[dhm] )*\d+(\.\d+)?s\b", "DURATION"),
    (r"(bash: line \d+:) +\d+ Killed +", r"\1 PID Killed "),
    (r"^(envoi [\d.]+) \(.*\)$", r"\1 (BUILD)"),
    (r"manylinux_\d+_\d+_\w+\.whl", "PLATFORM.whl"),
    (r" +", " "),
]
"""What differs each time, and what stands for it. A longer duration also makes a column wider."""

ITEM = re.compile(r" \d+\.[a-z]+\.\d")
"""A line about one item of a list."""


def same_each_time(text):
    """The lines of a page, without what differs each time."""
    for pattern, stand_in in DIFFERS:
        text = re.sub(pattern, stand_in, text, flags=re.MULTILINE)
    lines, items = [], []
    for line in [*text.splitlines(), ""]:
        if ITEM.match(line):
            items.append(line)
            continue
        lines += [*sorted(items), line.rstrip()]
        items = []
    return lines


def main():
    page, now = (pathlib.Path(path).read_text("utf-8") for path in (PAGE, sys.argv[1]))
    differs = list(difflib.unified_diff(same_each_time(page), same_each_time(now), PAGE.name, "today", n=1, lineterm=""))
    if differs:
        print("\n".join(differs), file=sys.stderr)
        print("docs/first-hour.md is not what happens today: docs/first-hour.sh WHEEL > docs/first-hour.md", file=sys.stderr)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
