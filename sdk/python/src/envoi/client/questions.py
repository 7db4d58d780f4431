"""Questions as they are listed, and as they come and go; runs as they change."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, NamedTuple, Optional, cast

from .shapes import Event, Question, Questions


class QuestionEvent(NamedTuple):
    """Something that happened to a question: it was put, answered, has expired, or its run has ended."""

    id: str
    """What to give as `after` to miss nothing that follows."""
    run: str
    event: Event

    @classmethod
    def of(cls, id: str, data: Any) -> "QuestionEvent":
        """As a stream sends it."""
        return cls(id, data["run"], cast(Event, data["record"]))


class Change(NamedTuple):
    """A run has changed: it has new events."""

    id: str
    """What to give as `after` to miss nothing that follows."""
    run: str
    newest: int
    """Its newest event."""
    question: bool
    """Whether one of the new events is about a question."""

    @classmethod
    def of(cls, id: str, data: Any) -> "Change":
        """As a stream sends it."""
        return cls(id, data["run"], data["newest"], data["question"])


class QuestionList:
    """Questions, oldest first, read page by page as one goes through them."""

    def __init__(self, read: Callable[[Optional[str]], Questions]) -> None:
        self._read = read
        self._first = read(None)

    @property
    def last_event_id(self) -> str:
        """`follow_questions(after=…)` from here on misses nothing that is not in the list."""
        return self._first["last_event_id"]

    def __iter__(self) -> Iterator[Question]:
        page = self._first
        while True:
            yield from page["questions"]
            following = page["next"]
            if following is None:
                return
            page = self._read(following)

    def all(self) -> List[Question]:
        """All of them."""
        return list(self)
