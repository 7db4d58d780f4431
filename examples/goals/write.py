"""Works on the first open chapter: writes it, or makes one that was too short longer. Stands in for an agent."""

import json
import sys
from pathlib import Path

FOLDER = Path("chapters")


def work(chapter):
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{chapter}.txt"
    if not file.exists():
        # Two chapters are easy, the third takes a second go.
        sentences = 1 if chapter == "repair" else 3
    else:
        sentences = 3
    file.write_text(f"About {chapter}.\n" * sentences)


if __name__ == "__main__":
    chapter = json.loads(sys.argv[1])[0]
    work(chapter)
    print(f"wrote {chapter}")
