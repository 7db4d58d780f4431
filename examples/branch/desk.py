"""The steps after triage: `desk.py hotfix|backlog|needs-info|record REPORT`.

The first three put a card into `desk/<pile>/`; `record` notes in `desk/journal.txt` on which pile the report lies. Each
can be run again without doing its work twice.
"""

import sys
from pathlib import Path

import bug_report
import triage

DESK = Path("desk")

WHAT_NEXT = {
    "hotfix": "Somebody looks at this today. Branch from the last release.",
    "backlog": "To be ordered with the rest on Monday.",
    "needs-info": "Ask the reporter; close after two weeks without an answer.",
}


def put_on_pile(pile, report):
    step, reason = triage.decide(report)
    card = DESK / pile / f"{report.name}.md"
    card.parent.mkdir(parents=True, exist_ok=True)
    quoted = "\n".join(f"> {line}".rstrip() for line in report.text.strip().splitlines())
    card.write_text(f"# {report.title}\n\n{WHAT_NEXT[pile]}\nWhy here: {reason}.\n\n{quoted}\n", encoding="utf-8")
    print(f"{report.name} lies on the pile {pile}: {card}")


def record(report):
    piles = [pile for pile in WHAT_NEXT if (DESK / pile / f"{report.name}.md").exists()]
    line = f"{report.name}: {', '.join(piles)}\n"
    journal = DESK / "journal.txt"
    known = journal.read_text(encoding="utf-8") if journal.exists() else ""
    if line not in known.splitlines(keepends=True):
        journal.write_text(known + line, encoding="utf-8")
    print(f"In the journal: {line.strip()}")


def main(work, path):
    report = bug_report.read(path)
    if work == "record":
        record(report)
    else:
        put_on_pile(work, report)


if __name__ == "__main__":
    main(*sys.argv[1:])
