"""Takes the members of an object one by one, with the same refusals in every contract; what is left is unknown.

It knows types, not meanings: each contract lists its members. Values are copied: what is read shares nothing
with what it was read from.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Dict, List, Optional, Sequence, Type, TypeVar

from . import json, moment
from .errors import ContractError, describe, shorten
from .suggestion import nearest

E = TypeVar("E", bound=Enum)
T = TypeVar("T")

COUNT = "an integer from 0 to 9007199254740991"


class Absent(Enum):
    """What stands for a member that is not there; None is null."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = Absent.ABSENT


class Fields:
    """The members of an object that are not taken yet."""

    def __init__(self, value: Any, code: str, place: str = "") -> None:
        if not isinstance(value, dict):
            raise ContractError(code, place, "an object", describe(value))
        self.code = code
        self.place = place
        try:
            # One level of the document is this object itself, whatever it stands in.
            self._left: Dict[str, Any] = json.plain(value, place, place.count("/"))
        except json.JsonError as error:
            raise ContractError.of_json(code, error) from None

    def take(self, name: str) -> Any:
        """The member, which is taken then; ABSENT if there is none."""
        return self._left.pop(name, ABSENT)

    def refuse_others(self, names: Sequence[str]) -> None:
        """Refuses members that are not taken; `names` are the known members."""
        for name in self._left:
            meant = nearest(name, names)
            expected = f"one of the members {', '.join(f'`{known}`' for known in names)}"
            hint = f"did you mean `{meant}`?" if meant else ""
            raise ContractError(self.code, self.pointer(name), expected, shorten(name), hint)

    def rest(self) -> Dict[str, Any]:
        """The members that are not taken, in the order read."""
        return self._left

    def pointer(self, name: str) -> str:
        """The JSON Pointer of a member."""
        return f"{self.place}/{json.escape_segment(name)}"

    def wrong(self, name: str, expected: str, found: Any, hint: str = "") -> ContractError:
        """A refusal of the member's value."""
        return ContractError(self.code, self.pointer(name), expected, describe(found), hint)

    def missing(self, name: str) -> ContractError:
        """A refusal because there is no such member."""
        return ContractError(self.code, self.place, f"a member `{name}`", "none")

    def required_text(self, name: str) -> str:
        """A string that must be there."""
        value = self.take(name)
        if value is ABSENT:
            raise self.missing(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        return value

    def text(self, name: str, default: str = "") -> str:
        """A string with its default; null is none."""
        value = self.take(name)
        if value is ABSENT:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        return value

    def text_or_none(self, name: str) -> Optional[str]:
        """A string; null and absent are the same."""
        value = self.take(name)
        if value is ABSENT or value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "a string or null", value)
        return value

    def truth(self, name: str, default: bool = False) -> bool:
        """True or false, with its default."""
        value = self.take(name)
        if value is ABSENT:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false", value)
        return value

    def truth_or_none(self, name: str) -> Optional[bool]:
        """True or false; null and absent are the same."""
        value = self.take(name)
        if value is ABSENT or value is None:
            return None
        if not isinstance(value, bool):
            raise self.wrong(name, "true, false or null", value)
        return value

    def count(self, name: str, default: int) -> int:
        """An integer from 0 to 2^53 - 1, with its default."""
        value = self.take(name)
        if value is ABSENT:
            return default
        count = json.as_count(value)
        if count is None:
            raise self.wrong(name, COUNT, value)
        return count

    def texts(self, name: str) -> List[str]:
        """A list of strings; empty when absent."""
        return self.each(name, "strings", lambda value, place: self._text_at(value, place))

    def _text_at(self, value: Any, place: str) -> str:
        if not isinstance(value, str):
            raise ContractError(self.code, place, "a string", describe(value))
        return value

    def each(self, name: str, kind: str, read: Callable[[Any, str], T]) -> List[T]:
        """A list, each element read by `read(element, its pointer)`; empty when absent."""
        value = self.take(name)
        if value is ABSENT:
            return []
        if not isinstance(value, list):
            raise self.wrong(name, f"a list of {kind}", value)
        place = self.pointer(name)
        return [read(element, f"{place}/{index}") for index, element in enumerate(value)]

    def objects(self, name: str) -> List[Dict[str, Any]]:
        """A list of objects; empty when absent."""
        return self.each(name, "objects", lambda value, place: Fields(value, self.code, place).rest())

    def object(self, name: str) -> Dict[str, Any]:
        """An object; empty when absent."""
        value = self.take(name)
        if value is ABSENT:
            return {}
        if not isinstance(value, dict):
            raise self.wrong(name, "an object", value)
        return value

    def object_or_none(self, name: str) -> Optional[Dict[str, Any]]:
        """An object; null and absent are the same."""
        value = self.take(name)
        if value is ABSENT or value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "an object or null", value)
        return value

    def map_of(self, name: str, kind: Type[T], expected: str) -> Dict[str, T]:
        """A map whose values are all of one type; empty when absent."""
        members = self.object(name)
        for key, value in members.items():
            if not isinstance(value, kind):
                place = f"{self.pointer(name)}/{json.escape_segment(key)}"
                raise ContractError(self.code, place, expected, describe(value))
        return members

    def word(self, name: str, words: Type[E], expected: str) -> Optional[E]:
        """A word of a closed vocabulary; None when absent."""
        value = self.take(name)
        if value is ABSENT:
            return None
        try:
            return words(value)
        except (ValueError, TypeError):
            raise self.wrong(name, expected, value) from None

    def word_or_none(self, name: str, words: Type[E], expected: str) -> Optional[E]:
        """A word of a closed vocabulary; null and absent are the same."""
        if self._left.get(name, ABSENT) is None:
            self.take(name)
        return self.word(name, words, expected)

    def time(self, name: str) -> Optional[str]:
        """A time that is passed on as it is; null and absent are the same."""
        text = self.text_or_none(name)
        if text is None:
            return None
        kept = moment.passed_on(text)
        if kept is None:
            raise self.wrong(name, "an RFC 3339 time or null", text)
        return kept


def words_of(words: Type[Enum]) -> str:
    """The words of a vocabulary, for a message."""
    *first, last = [str(word.value) for word in words]
    return f"{', '.join(first)} or {last}"


def with_unknown(known: Dict[str, Any], unknown: Dict[str, Any]) -> Dict[str, Any]:
    """An object with its known members first, then the unknown ones; no name twice."""
    return {**known, **{name: json.plain(value) for name, value in unknown.items() if name not in known}}
