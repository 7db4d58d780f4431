"""The steps of the flow: `skill.py collect FOLDER`, `draft REPORT`, `critic MOST`.

Each is a command like any other; `envoi.step()` gives it what came before and leaves its text and its report, whatever
happens in between.
"""

import re
import sys
from pathlib import Path

import envoi

NOTES = Path("NOTES.md")
KINDS = ("added", "changed", "fixed")


def collect(folder):
    """Reads the fragments `NAME.KIND.md` into the report's data."""
    with envoi.step("collect-fragments") as step:
        entries = []
        for file in sorted(Path(folder).glob("*.md")):
            kind = file.name.split(".")[-2]
            if kind not in KINDS:
                raise ValueError(f"{file.name}: a fragment is one of {', '.join(KINDS)}")
            entries.append({"kind": kind, "text": " ".join(file.read_text(encoding="utf-8").split())})
        step.data = {"entries": entries}
        step.metrics["fragments"] = len(entries)
        if not entries:
            step.fail(f"no fragment in {folder}", code="NOTHING_TO_SAY")
        step.text(f"Found {len(entries)} fragments.")


def draft(report):
    """Writes the notes: all sentences first, later the first one of each entry, at last only what was added."""
    with envoi.step("draft-notes") as step:
        entries = envoi.read_skill_report(report).data["entries"]
        if step.iteration >= 1:
            entries = [{**entry, "text": first_sentence(entry["text"])} for entry in entries]
        if step.iteration >= 2:
            entries = [entry for entry in entries if entry["kind"] == "added"]
        NOTES.write_text(page(entries), encoding="utf-8")
        step.data = {"entries": len(entries), "characters": len(page(entries))}
        step.text(f"Draft {step.visit}: {len(entries)} entries.")
        if step.feedback:
            step.text(f"The critic had said: {step.feedback.text.splitlines()[0]}")


def critic(most):
    """Says whether the notes fit."""
    with envoi.step("critic") as step:
        length = len(NOTES.read_text(encoding="utf-8"))
        step.text(f"{length} of {most} characters; the draft said: {step.handoff.summary.splitlines()[0]}")
        step.text("Status: FITS" if length <= int(most) else "Status: TOO_LONG")


def first_sentence(text):
    return re.split(r"(?<=[.!?]) ", text, maxsplit=1)[0]


def page(entries):
    sections = []
    for kind in KINDS:
        lines = [f"- {entry['text']}\n" for entry in entries if entry["kind"] == kind]
        sections += [f"## {kind.title()}\n\n", *lines, "\n"] if lines else []
    return "# Release notes\n\n" + "".join(sections).rstrip("\n") + "\n"


if __name__ == "__main__":
    {"collect": collect, "draft": draft, "critic": critic}[sys.argv[1]](sys.argv[2])
