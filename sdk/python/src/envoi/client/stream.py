"""Streams of events (SSE), followed over broken connections and restarted servers.

The place in a stream is the id of the last event that was handed out, and nothing else.
"""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Optional

from ..json import MAX_BYTES
from .caller import Caller, is_passing, unreachable
from .errors import ApiError
from .patience import Patience
from .wire import Exchange, Lost, Reply, Request

SILENCE = 60.0
"""After so many seconds without data a stream is opened anew. By default servers send a heartbeat every 15 seconds."""

_LINE_END = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)


class SseEvent(NamedTuple):
    """One event of a stream."""

    id: str
    data: str


class Lines:
    """Pieces of a stream as events. What has not ended with an empty line is none."""

    def __init__(self) -> None:
        self._rest = b""
        self._seen = 0
        self._id = ""
        self._data: List[str] = []

    def feed(self, piece: bytes) -> List[SseEvent]:
        """The events that are whole now. Raises ApiError for one that is larger than any document may be."""
        text = self._rest + piece
        events: List[SseEvent] = []
        start = 0
        for end in _LINE_END.finditer(text, self._seen):
            self._take(text[start : end.start()], events)
            start = end.end()
        self._rest = text[start:]
        # A carriage return at the very end may be half a line's end.
        self._seen = max(len(self._rest) - 1, 0)
        if len(self._rest) + sum(map(len, self._data)) > MAX_BYTES:
            raise ApiError(200, "", "an event of more than 16 MiB")
        return events

    def _take(self, line: bytes, events: List[SseEvent]) -> None:
        if not line:
            if self._data:
                events.append(SseEvent(self._id, "\n".join(self._data)))
            self._data = []
            return
        name, _, value = line.decode("utf-8", errors="replace").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value


class Follower:
    """Reads one stream to its end, wherever it breaks."""

    def __init__(self, caller: Caller, path: str, last_id: Optional[str], patience: float) -> None:
        self._caller = caller
        self._path = path
        self._last_id = last_id
        self._patience = Patience(patience, caller.clock)
        self.deadline: Optional[float] = None
        """When reading is given up with a TimeoutError."""

    def events(self) -> Iterator[SseEvent]:
        """Each event once, in order. Raises ApiError for a refusal, Unreachable when patience is over."""
        return (event for event in self.signs() if event is not None)

    def signs(self) -> Iterator[Optional[SseEvent]]:
        """As `events`, and None for each sign of life that is no event."""
        while True:
            exchange = self._open()
            if exchange is None:
                return
            moved = False
            with exchange:
                for event in self._read(exchange):
                    if event is None:
                        yield None
                        continue
                    # A server may send it again; the caller gets it once.
                    if event.id == self._last_id:
                        continue
                    moved = True
                    self._last_id = event.id
                    self._patience.moved()
                    yield event
            if not moved:
                # A server that is going closes its streams at once until it is gone.
                self._patience.rest()

    def _open(self) -> Optional[Exchange]:
        """An open stream; None if there is nothing more to come."""
        while True:
            try:
                exchange = self._caller.server.open(self._request(), self._silence())
                if exchange.status == 200 and exchange.header("Content-Type").startswith("text/event-stream"):
                    self._patience.answered()
                    return exchange
                with exchange:
                    if exchange.status == 204:
                        return None
                    reply = Reply.of(exchange)
            except Lost as lost:
                if lost.is_final:
                    raise unreachable(lost) from lost
                self._pause(unreachable(lost))
                continue
            if not is_passing(reply.status):
                raise reply.error()
            self._pause(reply.error(), reply.retry_after)

    def _request(self) -> Request:
        headers = {"Accept": "text/event-stream"}
        if self._last_id is not None:
            headers["Last-Event-ID"] = self._last_id
        return Request("GET", self._path, headers=headers)

    def _read(self, exchange: Exchange) -> Iterator[Optional[SseEvent]]:
        """The events of one connection, up to where it ends or breaks; None for a piece with none."""
        lines = Lines()
        while True:
            try:
                piece = exchange.piece(self._silence())
            except Lost:
                self._silence()
                return
            if not piece:
                return
            events = lines.feed(piece)
            if not events:
                yield None
            yield from events

    def _pause(self, trouble: Exception, at_least: Optional[float] = None) -> None:
        self._silence()
        self._patience.wait(trouble, at_least)

    def _silence(self) -> float:
        """How long nothing may come. Raises TimeoutError at the deadline."""
        if self.deadline is None:
            return SILENCE
        left = self.deadline - self._caller.clock.now()
        if left <= 0:
            raise TimeoutError("what was waited for did not happen in time")
        return min(SILENCE, left)
