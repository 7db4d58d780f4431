"""Labelled statuses: which colons of a line end a label, and what stands after one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterator, Optional, Tuple

from ..ascii import SPACE, is_letter, lower, same
from ..letters import is_alphanumeric, is_word_part

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
        """Whether both say the same, whatever the case."""
        return self.negated == other.negated and same(self.word, other.word)

    def shown(self) -> str:
        """As a reason names it."""
        return f"not {self.word}" if self.negated else self.word


class Template:
    """In place of a status: an echoed template, such as `VERIFIED | UNVERIFIED` or `<status>`."""


TEMPLATE = Template()


def statuses(line: str) -> Iterator["Status | Template | None"]:
    """What stands after each status label of a line; None for no word at all."""
    for before, after in _colons(line):
        if _ends_with_label(before, _status_length):
            yield value(after)


def denies_help(line: str) -> bool:
    """Whether the line says that further iteration cannot help."""
    for before, after in _colons(line):
        if _ends_with_label(before, _help_length):
            said = value(after)
            if isinstance(said, Status) and not said.negated and is_no(said.word):
                return True
    return False


def is_no(word: str) -> bool:
    """Whether a value of the help label means no."""
    return lower(word) in ("no", "false")


def names_status(name: str) -> bool:
    """Whether a member has the name of the status label."""
    return same(name, "status")


def names_help(name: str) -> bool:
    """Whether a member has a name of the help label."""
    return lower(name) in _HELP


def _colons(line: str) -> Iterator[Tuple[str, str]]:
    at = line.find(":")
    while at >= 0:
        yield line[:at], line[at + 1 :]
        at = line.find(":", at + 1)


def _status_length(text: str) -> Optional[int]:
    return 6 if same(text[-6:], "status") else None


def _help_length(text: str) -> Optional[int]:
    return next((len(label) for label in _HELP if same(text[-len(label) :], label)), None)


def _ends_with_label(before: str, length_of: Callable[[str], Optional[int]]) -> bool:
    """Whether a label ends here that is not the end of a longer name: `exit status` and `http_status` are others."""
    before = before.rstrip(SPACE).rstrip(_MARKUP).rstrip(SPACE)
    length = length_of(before)
    if length is None:
        return False
    prefix = before[: len(before) - length].rstrip(_MARKUP)
    spaced = prefix.rstrip(SPACE)
    if not spaced:
        return True
    if len(spaced) < len(prefix):
        return not is_alphanumeric(spaced[-1])
    return spaced[-1] in "([{,;|#—–"


def value(text: str) -> "Status | Template | None":
    """What the beginning of a text says as the value of a label."""
    text = text.lstrip(_DRESS)
    first = _word(text)
    if first is None:
        return TEMPLATE if text[:1] in ("<", "[", "{", "(") else None
    denied = _denied(*first)
    stated, after = denied or first
    if goes_on_with_alternative(after):
        return TEMPLATE
    return Status(stated, negated=denied is not None)


def _denied(first: str, after: str) -> Optional[Tuple[str, str]]:
    """What `NOT X` or `NOT YET X` denies, and what follows it."""
    second = _next_word(after) if same(first, "not") else None
    if second is None or not same(second[0], "yet"):
        return second
    return _next_word(second[1]) or second


def _next_word(text: str) -> Optional[Tuple[str, str]]:
    start = text.lstrip(_DRESS)
    return _word(start) if len(start) < len(text) else None


def _word(text: str) -> Optional[Tuple[str, str]]:
    """The word at the beginning, and what follows. Letters of any script that touch it belong to it."""
    if not is_letter(text[:1]):
        return None
    end = 1
    while end < len(text) and is_word_part(text[end]):
        end += 1
    # Underscores around a word are markup: `_VERIFIED_`.
    bare = text[:end].rstrip("_")
    return bare, text[len(bare) :]


def goes_on_with_alternative(after: str) -> bool:
    """Whether a word is followed by `|`, `/` or `or` and another word."""
    after = after.lstrip(_DRESS)
    if after[:1] in ("|", "/"):
        return is_letter(after[1:].lstrip(_DRESS)[:1])
    conjunction = _word(after)
    if conjunction is None or not same(conjunction[0], "or") or conjunction[1][:1] not in (" ", "\t"):
        return False
    return is_letter(conjunction[1].lstrip(_DRESS)[:1])
