"""Reviews all files: no bare `eval`."""

import re
from pathlib import Path

import findings

BARE = re.compile(r"(?<![\w.])eval\(")


def review(name, text):
    found = (number for number, line in enumerate(text.splitlines(), 1) if BARE.search(line))
    return [f"{name}:{number}: `eval` runs whatever it reads" for number in found]


if __name__ == "__main__":
    files = sorted(Path("change").glob("*.py"))
    findings.leave("security", [line for file in files for line in review(file.name, file.read_text())])
