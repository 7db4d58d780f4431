"""Publishes the notes of a version: copies them, and the files that came with the approval, to published/CHANNEL/."""

import json
import os
import shutil
import sys
from pathlib import Path


def attached(environment):
    """The files of the last answer."""
    answer = environment.get("ENVOI_ANSWER")
    files = json.loads(Path(answer).read_text())["files"] if answer else []
    return [Path(file["path"]) for file in files if "path" in file]


def publish(version, channel, urgent, files, folder=Path("published")):
    """Puts everything in its place, and returns the names."""
    target = folder / channel
    target.mkdir(parents=True, exist_ok=True)
    text = Path(f"notes/{version}.md").read_text()
    mark = "URGENT\n\n" if urgent else ""
    links = "".join(f"\nAttached: [{file.name}]({file.name})\n" for file in files)
    (target / f"{version}.md").write_text(mark + text + links)
    for file in files:
        # The copy may be written again; what the run keeps of the answer may not.
        shutil.copyfile(file, target / file.name)
    return [f"{version}.md", *(file.name for file in files)]


def main():
    version, channel, urgent = sys.argv[1:4]
    names = publish(version, channel, urgent == "true", attached(os.environ))
    print(f"Published on {channel}: {', '.join(names)}")


if __name__ == "__main__":
    main()
