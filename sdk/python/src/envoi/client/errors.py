"""What can go wrong between a client and its server."""

from __future__ import annotations

from typing import Optional


class ApiError(Exception):
    """The server refused (RFC 9457). Act on `status` and `code`; `envoi explain CODE` explains the code.

    What is no problem of Envoi's, such as the page of a proxy, has an empty `code`.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        hint: Optional[str] = None,
        title: str = "",
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(status, code, detail, hint, title, retry_after)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint
        self.title = title
        self.retry_after = retry_after
        """After how many seconds the request may be repeated, if the server states it."""

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.code or self.status}: {self.detail}{hint}"


class Unreachable(ConnectionError):
    """No answer came. Without an `Idempotency-Key` it is unknown whether the server did the request."""


class DigestMismatch(Exception):
    """Content with another digest than the requested one. None of it is returned."""

    def __init__(self, digest: str, found: str) -> None:
        super().__init__(digest, found)
        self.digest = digest
        self.found = found

    def __str__(self) -> str:
        return f"the content that came for {self.digest} has the digest {self.found}"
