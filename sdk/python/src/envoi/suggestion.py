"""The nearest of the words that would have been accepted."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

_LONGEST = 64
"""Longer words are never near; this also bounds the work."""


def nearest(found: str, candidates: Sequence[str], *, within: bool = True) -> Optional[str]:
    """The candidate that `found` was probably meant to be: at most a third of the letters differ, or (`within`) it stands in
    it, as `routing` in `step_routing`.
    """
    found = found.lower()
    if len(found) > _LONGEST:
        return None
    near: List[Tuple[int, int, str]] = []
    for place, word in enumerate(candidates):
        edits = 0 if within and word in found else _distance(found, word)
        if edits <= max(1, max(len(found), len(word)) // 3):
            near.append((edits, place, word))
    return min(near)[2] if near else None


def _distance(source: str, target: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other."""
    before: List[int] = []
    above = list(range(len(target) + 1))
    for row, letter in enumerate(source):
        current = [row + 1]
        for column, other in enumerate(target):
            edits = min(above[column] + (letter != other), above[column + 1] + 1, current[column] + 1)
            if row and column and source[row - 1] == other and target[column - 1] == letter:
                edits = min(edits, before[column - 1] + 1)
            current.append(edits)
        before, above = above, current
    return above[-1]
