"""Labelled statuses: which colons of a line end a label, and what stands after one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from ..ascii import SPACE, is_letter, lower, same
from ..letters import is_alphanumeric, word_end

_MARKUP = "*_\"'`"
"""What dresses a word up."""

_DRESS = _MARKUP + " \t"

_HELP = ("can further iteration help", "can_further_iteration_help")


@dataclass(frozen=True)
class Status:
    """A status as it was read; `negated` for `NOT X` and `NOT YET X`, which is never a success."""

    word: str
    negated: bool = False

    def agrees_with(self, other: "Status") -> bool:
        """Whether both are the same status, ignoring case."""
        return self.negated == other.negated and same(self.word, other.word)

    def shown(self) -> str:
        """As a reason names it."""
        return f"not {self.word}" if self.negated else self.word


class Template:
    """In place of a status: an echoed template, such as `VERIFIED | UNVERIFIED` or `<status>`."""


TEMPLATE = Template()


def statuses(line: str) -> Iterator["Status | Template | None"]:
    """What stands after each status label of a line; None for no word at all."""
    return _values(line, ("status",))


def denies_help(line: str) -> bool:
    """Whether the line denies that further iteration can help."""
    answers = [value for value in _values(line, _HELP) if isinstance(value, Status)]
    return any(not value.negated and is_no(value.word) for value in answers)


def is_no(word: str) -> bool:
    """Whether a value of the help label means no."""
    return lower(word) in ("no", "false")


def names_status(name: str) -> bool:
    """Whether a member has the name of the status label."""
    return same(name, "status")


def names_help(name: str) -> bool:
    """Whether a member has a name of the help label."""
    return lower(name) in _HELP


def _values(line: str, labels: Tuple[str, ...]) -> Iterator["Status | Template | None"]:
    at = line.find(":")
    while at >= 0:
        if any(_ends_with(line, at, label) for label in labels):
            yield value(line, at + 1)
        at = line.find(":", at + 1)


def _ends_with(line: str, end: int, label: str) -> bool:
    """Whether a label ends here that is not the end of a longer name: `exit status` and `http_status` are others."""
    end = _back(line, _back(line, _back(line, end, SPACE), _MARKUP), SPACE)
    start = end - len(label)
    if start < 0 or not same(line[start:end], label):
        return False
    prefix = _back(line, start, _MARKUP)
    spaced = _back(line, prefix, SPACE)
    if spaced == 0:
        return True
    if spaced < prefix:
        return not is_alphanumeric(line[spaced - 1])
    return line[spaced - 1] in "([{,;|#—–"


def _back(line: str, end: int, passed: str) -> int:
    """Where a text ends without the scalars to be passed over."""
    while end and line[end - 1] in passed:
        end -= 1
    return end


def value(line: str, at: int = 0) -> "Status | Template | None":
    """The value of a label that begins at `at`."""
    at = _undressed(line, at)
    first = _word(line, at)
    if first is None:
        return TEMPLATE if line[at : at + 1] in ("<", "[", "{", "(") else None
    denied = _denied(line, *first)
    stated, end = denied or first
    if goes_on_with_alternative(line, end):
        return TEMPLATE
    return Status(stated, negated=denied is not None)


_Word = Tuple[str, int]
"""A word, and where it ends."""


def _denied(line: str, first: str, end: int) -> Optional[_Word]:
    """What `NOT X` or `NOT YET X` denies."""
    second = _next_word(line, end) if same(first, "not") else None
    if second is None or not same(second[0], "yet"):
        return second
    return _next_word(line, second[1]) or second


def _next_word(line: str, end: int) -> Optional[_Word]:
    start = _undressed(line, end)
    return _word(line, start) if start > end else None


def _undressed(line: str, at: int) -> int:
    while line[at : at + 1] and line[at] in _DRESS:
        at += 1
    return at


def _word(line: str, at: int) -> Optional[_Word]:
    """The word that begins here. Letters of any script that touch it belong to it."""
    if not is_letter(line[at : at + 1]):
        return None
    # Underscores around a word are markup: `_VERIFIED_`.
    bare = line[at : word_end(line, at)].rstrip("_")
    return bare, at + len(bare)


def goes_on_with_alternative(line: str, end: int) -> bool:
    """Whether a word that ends here is followed by `|`, `/` or `or` and another word."""
    at = _undressed(line, end)
    if line[at : at + 1] in ("|", "/"):
        return _begins_word(line, at + 1)
    conjunction = _word(line, at)
    if conjunction is None or not same(conjunction[0], "or"):
        return False
    return line[conjunction[1] : conjunction[1] + 1] in (" ", "\t") and _begins_word(line, conjunction[1])


def _begins_word(line: str, at: int) -> bool:
    start = _undressed(line, at)
    return is_letter(line[start : start + 1])
