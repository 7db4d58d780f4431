"""Requests that are answered: sent again where that is safe and helps, refused as the server refuses them."""

from __future__ import annotations

from .errors import Unreachable
from .patience import Clock, Patience
from .wire import Lost, Reply, Request, Server

PASSING = (429, 502, 503, 504)
"""The server has no time. It may have done the request all the same: each one is idempotent."""


class Caller:
    """Sends requests to one server, with so many seconds of patience."""

    def __init__(self, server: Server, patience: float) -> None:
        self.server = server
        self.patience = patience
        self.clock = Clock()

    def ask(self, request: Request, *expected: int) -> Reply:
        """The answer to a request. Raises ApiError for another status than those expected, Unreachable for none."""
        can_repeat = request.content is None or request.content.can_be_repeated
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
            if not can_repeat or not is_passing(reply.status):
                raise reply.error()
            patience.wait(reply.error(), reply.retry_after)


def is_passing(status: int) -> bool:
    """Whether the same request may fare better later."""
    return status in PASSING


def unreachable(lost: Lost) -> Unreachable:
    """What callers get to see of it."""
    return Unreachable(f"no answer came: {lost}")
