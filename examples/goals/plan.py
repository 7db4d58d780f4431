"""Reads the chapters from the outline."""

from pathlib import Path

import report


def chapters(outline):
    return [line.strip() for line in outline.splitlines() if line.strip()]


if __name__ == "__main__":
    found = chapters(Path("outline.txt").read_text())
    report.leave("plan", {"chapters": found})
    print(f"{len(found)} chapters")
