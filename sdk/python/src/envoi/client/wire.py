"""One request over one connection, and what comes back. Nothing is repeated here.

A connection serves one request: none can have gone stale, and any thread may send one.
"""

from __future__ import annotations

import ssl
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Any, Dict, Mapping, Optional, Type, Union
from urllib.parse import quote, urlencode, urlsplit

from .. import json
from .content import Content
from .errors import ApiError

PIECE = 64 * 1024

LONGEST_WORK = 16 * 60.0
"""Seconds. A server works for up to 15 minutes on the files of a run, and sends nothing meanwhile."""


class Lost(Exception):
    """The connection failed."""

    def __init__(self, cause: Exception, *, was_sent: bool) -> None:
        super().__init__(str(cause) or type(cause).__name__)
        self.was_sent = was_sent
        """Whether the server may have seen the request."""
        self.is_final = isinstance(cause, ssl.SSLCertVerificationError)
        """Whether it would fail again."""


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    path: str
    query: Mapping[str, Union[str, int, bool, None]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Optional[Content] = None
    is_long: bool = False
    """Whether the server may work for long before it answers."""

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        given = {name: value for name, value in self.query.items() if value is not None}
        words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        return self.path + (f"?{urlencode(words)}" if words else "")


def path_of(*segments: str) -> str:
    """A path of the API, whatever its segments contain. Raises ValueError for one that would lead elsewhere."""
    for segment in segments:
        if segment in ("", ".", ".."):
            raise ValueError(f"`{segment}` names nothing")
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


class Server:
    """Where a server is, and how to speak to it."""

    def __init__(self, url: str, token: str, ca: Optional[str], timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"`{url}` is not the address of a server, such as `http://127.0.0.1:7007`")
        if not token or not token.isascii() or not token.isprintable():
            raise ValueError("a token is printable ASCII, and not empty")
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._tls = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None

    def open(self, request: Request, timeout: Optional[float] = None) -> "Exchange":
        """Sends a request; what comes back has its status and headers, and its body still to be read. Raises Lost."""
        connection = self._connection(self.silence(request) if timeout is None else timeout)
        try:
            return Exchange(connection, self._asked(connection, request))
        except BaseException:
            connection.close()
            raise

    def silence(self, request: Request) -> float:
        """How many seconds nothing may come."""
        return max(self._timeout, LONGEST_WORK) if request.is_long else self._timeout

    def _connection(self, timeout: float) -> HTTPConnection:
        if self._tls is None:
            return HTTPConnection(self._host, self._port, timeout=timeout)
        return HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)

    def _asked(self, connection: HTTPConnection, request: Request) -> HTTPResponse:
        headers: Dict[str, str] = {"Authorization": f"Bearer {self._token}", "Accept": "*/*", **request.headers}
        with ExitStack() as stack:
            body: Any = None
            if request.content is not None:
                # Before the connection, so that a missing file raises its own error.
                body, length = stack.enter_context(request.content.opened())
                headers["Content-Type"] = request.content.mime
                if length is not None:
                    headers["Content-Length"] = str(length)
            elif request.method == "POST":
                headers["Content-Length"] = "0"
            try:
                connection.connect()
            except OSError as error:
                raise Lost(error, was_sent=False) from error
            try:
                _send(connection, request.method, self._prefix + request.target, body, headers)
                return connection.getresponse()
            except (OSError, HTTPException) as error:
                raise Lost(error, was_sent=True) from error


def _send(connection: HTTPConnection, method: str, target: str, body: Any, headers: Dict[str, str]) -> None:
    try:
        connection.request(method, target, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError):
        # Who refuses a body need not read it to its end. Perhaps the answer is there already.
        pass


class Exchange:
    """An answer whose body is still to be read."""

    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status

    def header(self, name: str) -> str:
        """A header; empty if there is none."""
        return self._response.headers.get(name) or ""

    def piece(self, timeout: float) -> bytes:
        """What has come, once something has; empty at the end. Raises Lost, also if nothing comes for so long."""
        if self._connection.sock is not None:
            self._connection.sock.settimeout(timeout)
        try:
            return self._response.read1(PIECE)
        except (OSError, HTTPException) as error:
            raise Lost(error, was_sent=True) from error

    def body(self) -> bytes:
        """All of it. Raises Lost if it breaks off."""
        try:
            return self._response.read()
        except (OSError, HTTPException) as error:
            raise Lost(error, was_sent=True) from error

    def close(self) -> None:
        """Ends the connection."""
        self._response.close()
        self._connection.close()

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Reply:
    """An answer with its body."""

    status: int
    kind: str
    retry_after: Optional[float]
    body: bytes

    @classmethod
    def of(cls, exchange: Exchange) -> "Reply":
        """Reads it to its end. Raises Lost."""
        wait = exchange.header("Retry-After").strip()
        # A date in place of seconds is left to our own pauses.
        seconds = float(wait) if wait.isascii() and wait.isdigit() else None
        return cls(exchange.status, exchange.header("Content-Type"), seconds, exchange.body())

    def json(self) -> Any:
        """The body as JSON, without a lost digit. Raises ApiError for what is none."""
        try:
            return json.loads(self.body)
        except json.JsonError as error:
            raise ApiError(self.status, "", f"the answer is not the JSON that was expected: {error}") from None

    def object(self) -> Any:
        """The same, if it is an object."""
        value = self.json()
        if not isinstance(value, dict):
            raise ApiError(self.status, "", "the answer is not the JSON object that was expected")
        return value

    def error(self) -> ApiError:
        """The answer as a refusal."""
        members: Any = {}
        if self.kind.startswith("application/problem+json"):
            try:
                members = self.object()
            except ApiError as error:
                members = {"detail": error.detail}
        text = {name: value for name, value in members.items() if isinstance(value, str)}
        detail = text.get("detail", f"an answer of status {self.status} that is not Envoi's")
        hint, title = text.get("hint"), text.get("title", "")
        return ApiError(self.status, text.get("code", ""), detail, hint, title, self.retry_after)
