"""Requests that are answered: sent again where that is safe and helps, refused as the server refuses them."""

from __future__ import annotations

from typing import Tuple

from .errors import Unreachable
from .patience import Clock, Patience
from .wire import Lost, Reply, Request, Server

NOT_DONE = (429,)
"""The server refused before it did anything: any request can be repeated."""

PERHAPS_DONE = (502, 503, 504)
"""It is unknown whether the request was done: only an idempotent one is repeated."""


class Caller:
    """Sends requests to one server, with so many seconds of patience."""

    def __init__(self, server: Server, patience: float) -> None:
        self.server = server
        self.patience = patience
        self.clock = Clock()

    def ask(self, request: Request, *expected: int) -> Reply:
        """The answer to a request. Raises ApiError for another status than those expected, Unreachable for none."""
        is_there = request.content is None or request.content.can_be_repeated
        can_repeat = request.is_repeatable and is_there
        patience = Patience(self.patience, self.clock)
        while True:
            try:
                with self.server.open(request) as exchange:
                    reply = Reply.of(exchange)
            except Lost as lost:
                trouble = unreachable(lost)
                if lost.is_final or (lost.was_sent and not can_repeat):
                    raise trouble from lost
                patience.wait(trouble)
                continue
            if reply.status in expected:
                return reply
            if not is_there or not is_passing(reply.status, can_repeat):
                raise reply.error()
            patience.wait(reply.error(), reply.retry_after)


def is_passing(status: int, can_repeat: bool) -> bool:
    """Whether the same request may fare better later."""
    again: Tuple[int, ...] = NOT_DONE + PERHAPS_DONE if can_repeat else NOT_DONE
    return status in again


def unreachable(lost: Lost) -> Unreachable:
    """What callers get to see of it."""
    return Unreachable(f"no answer came: {lost}")
