"""How long to wait before a request is repeated, and when to stop.

Knows nothing of requests: the caller gives the error, and gets it raised when it lasts too long.
"""

from __future__ import annotations

import random
import time
from typing import Optional

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


class Clock:
    """Time as it passes; tests have one of their own."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Lets them pass."""
        time.sleep(seconds)


class Patience:
    """Pauses that double, together at most `seconds` long since the server was last there."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since = clock.now()
        self._pause = FIRST_PAUSE

    def wait(self, trouble: Exception, at_least: Optional[float] = None) -> None:
        """Waits, at least as long as the server has requested. Raises `trouble` if that is longer than there is patience."""
        pause = max(at_least or 0.0, self._next())
        if self._clock.now() + pause > self._since + self._seconds:
            raise trouble
        self._clock.sleep(pause)

    def rest(self) -> None:
        """Waits, however long it lasts already."""
        self._clock.sleep(self._next())

    def answered(self) -> None:
        """The server is there: patience begins anew, pauses stay as long as they are."""
        self._since = self._clock.now()

    def moved(self) -> None:
        """Something came of it: all begins anew."""
        self.answered()
        self._pause = FIRST_PAUSE

    def _next(self) -> float:
        pause = self._pause
        self._pause = min(pause * 2, LONGEST_PAUSE)
        # Many clients that lose one server are not to come back in step.
        return pause * random.uniform(0.5, 1.0)
