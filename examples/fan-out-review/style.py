"""Reviews one file: no tabs."""

import sys
from pathlib import Path

import findings


def review(name, text):
    return [f"{name}:{number}: a tab" for number, line in enumerate(text.splitlines(), 1) if "\t" in line]


if __name__ == "__main__":
    file = sys.argv[1]
    findings.leave(f"style-{file}", review(file, (Path("change") / file).read_text()))
