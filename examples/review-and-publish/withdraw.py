"""Undoes what draft.py did: removes the notes, and gives the reserved version back. Can be run again."""

import sys
from pathlib import Path


def withdraw(version, folder=Path("notes")):
    (folder / f"{version}.md").unlink(missing_ok=True)
    reserved = folder / "reserved.txt"
    if reserved.exists():
        left = [line for line in reserved.read_text().splitlines() if line != version]
        reserved.write_text("".join(f"{line}\n" for line in left))


def main():
    withdraw(sys.argv[1])
    print(f"Withdrawn: {sys.argv[1]} is free again.")


if __name__ == "__main__":
    main()
