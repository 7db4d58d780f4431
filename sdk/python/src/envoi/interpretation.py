"""What reading an envelope or hand-off of another system had to interpret: every value that comes out otherwise than it went in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator

from . import json
from .errors import describe
from .fields import ABSENT


@dataclass(frozen=True)
class Interpretation:
    """A value that was read by its meaning and is written in another way: an upper-case word, `4096.0`, a time with two zones.

    `read` is how it was written, `taken_as` what it is written as now (`nothing` if it is left out); both are shortened.
    """

    pointer: str
    read: str
    taken_as: str


def interpretations(read: Any, written: Any, pointer: str = "") -> Iterator[Interpretation]:
    """What differs. What was null, or not there, has its default now and is not among it."""
    if read is None:
        return
    if isinstance(read, dict) and isinstance(written, dict):
        for name, member in read.items():
            yield from interpretations(member, written.get(name, ABSENT), f"{pointer}/{json.escape_segment(name)}")
    elif isinstance(read, list) and isinstance(written, list):
        for index, element in enumerate(read):
            kept = written[index] if index < len(written) else ABSENT
            yield from interpretations(element, kept, f"{pointer}/{index}")
    elif not _is_same(read, written):
        yield Interpretation(pointer, describe(read), "nothing" if written is ABSENT else describe(written))


def _is_same(read: Any, written: Any) -> bool:
    """Numbers are the same if they are written in the same way."""
    if written is ABSENT or isinstance(read, (dict, list)) or isinstance(written, (dict, list)):
        return False
    return json.dumps(read, compact=True) == json.dumps(written, compact=True)
