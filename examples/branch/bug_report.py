"""Reads a bug report: a plain text with fields such as `Version: 2.4.1` anywhere in it, the first line being its
title.
"""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BugReport:
    name: str
    title: str
    text: str

    def field(self, name):
        """What stands after `Name:` at the beginning of a line, or None if nothing does."""
        match = re.search(rf"^{re.escape(name)}:[ \t]*(\S.*)$", self.text, re.MULTILINE | re.IGNORECASE)
        return match.group(1).strip() if match else None

    def has_steps(self):
        """Whether it says how to see the defect: at least two numbered lines."""
        return len(re.findall(r"^\s*\d+[.)]\s+\S", self.text, re.MULTILINE)) >= 2

    def mentions(self, *words):
        """Those of `words` that stand in it as whole words, whatever the case."""
        return [word for word in words if re.search(rf"\b{re.escape(word)}\b", self.text, re.IGNORECASE)]


def read(path):
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    lines = text.strip().splitlines()
    return BugReport(Path(path).stem, lines[0].strip() if lines else "(empty)", text)
