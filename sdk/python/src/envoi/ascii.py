"""Case and white space of ASCII alone. Python's own methods know all of Unicode, and the contracts must not."""

from __future__ import annotations

SPACE = " \t\n\r\f"
"""White space, as `strip` takes it."""

_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def lower(text: str) -> str:
    """The text with A to Z in lower case; nothing else changes, so places in both are the same."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def same(one: str, other: str) -> bool:
    """Whether both are equal but for the case of ASCII letters."""
    return lower(one) == lower(other)


def is_blank(text: str) -> bool:
    """Whether there is nothing but white space."""
    return not text.strip(SPACE)


def is_letter(scalar: str) -> bool:
    """Whether it is one of A to Z or a to z."""
    return len(scalar) == 1 and scalar.isascii() and scalar.isalpha()
