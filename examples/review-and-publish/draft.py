"""Drafts the notes of a version from changes.txt, and reserves the version.

Sent back for another round, it does what the reviewer says in $ENVOI_FEEDBACK: each line of the form "drop WORD" leaves
out the changes in which WORD stands; the rest becomes the introduction.
"""

import os
import sys
from pathlib import Path

HEADINGS = {"add": "New", "fix": "Mended", "remove": "Gone"}


def changes(text):
    """Pairs of kind and what changed, in the order of the file."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return [(kind.strip(), what.strip()) for kind, what in pairs]


def wishes(feedback):
    """The words to drop, and the introduction that is wanted."""
    lines = [line.strip() for line in feedback.splitlines() if line.strip()]
    drop = [line[len("drop ") :] for line in lines if line.lower().startswith("drop ")]
    rest = [line for line in lines if not line.lower().startswith("drop ")]
    return drop, " ".join(rest)


def notes(version, all_changes, feedback=""):
    """The notes as Markdown."""
    drop, introduction = wishes(feedback)
    kept = [(kind, what) for kind, what in all_changes if not any(word in what for word in drop)]
    parts = [f"# {version}"]
    if introduction:
        parts.append(introduction)
    for kind, heading in HEADINGS.items():
        items = [f"- {what}" for found, what in kept if found == kind]
        if items:
            parts.append("\n".join([f"## {heading}", *items]))
    return "\n\n".join(parts) + "\n"


def reserve(path, version):
    """Adds the version to the reserved ones, once."""
    reserved = path.read_text().splitlines() if path.exists() else []
    if version not in reserved:
        path.write_text("".join(f"{line}\n" for line in [*reserved, version]))


def main():
    version = sys.argv[1]
    feedback = os.environ.get("ENVOI_FEEDBACK")
    said = Path(feedback).read_text() if feedback else ""
    folder = Path("notes")
    folder.mkdir(exist_ok=True)
    text = notes(version, changes(Path("changes.txt").read_text()), said)
    (folder / f"{version}.md").write_text(text)
    reserve(folder / "reserved.txt", version)
    print(f"The notes of {version} have {text.count('- ')} entries.")


if __name__ == "__main__":
    main()
