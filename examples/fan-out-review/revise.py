"""Writes the change, and revises it by what reviewers found."""

import os
import re
import shutil
from pathlib import Path

CHANGE = Path("change")
PLACE = re.compile(r"^(\w+\.py):(\d+): (.+)$")


def repaired(line, finding):
    """A line without what was found in it. Stands in for an author who reads the finding."""
    if finding == "a tab":
        return line.replace("\t", "    ")
    if finding == "`eval` runs whatever it reads":
        return line.replace("eval(", "ast.literal_eval(")
    if finding.startswith("the total is"):
        return line.replace("total - price", "total + price")
    return line


def revise(feedback):
    """Repairs each place of `feedback`; returns how many there were."""
    places = [match.groups() for match in map(PLACE.match, feedback.splitlines()) if match]
    for name, number, finding in places:
        file = CHANGE / name
        lines = file.read_text().splitlines(keepends=True)
        lines[int(number) - 1] = repaired(lines[int(number) - 1], finding)
        file.write_text("".join(lines))
    return len(places)


def main():
    feedback = os.environ.get("ENVOI_FEEDBACK")
    if feedback is None:
        shutil.rmtree(CHANGE, ignore_errors=True)
        shutil.copytree("draft", CHANGE)
        print("written")
    else:
        print(f"revised by {revise(Path(feedback).read_text())} findings")


if __name__ == "__main__":
    main()
