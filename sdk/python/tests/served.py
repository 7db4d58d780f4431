"""A real server in a folder of its own, and servers that are not what they should be."""

import http.server
import os
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Callable, List, Optional

import envoi
from envoi.client import Client
from envoi.client.patience import Clock

ENVOI = os.environ.get("ENVOI")

APPROVAL = """
flow: publish
inputs:
  title: { type: string, default: Notes }
steps:
  - id: draft
    run: echo draft >> did.txt; echo words
  - id: approve
    ask: Publish it?
  - id: publish
    run: cat "$ENVOI_ANSWER_FILES"/* >> did.txt
"""


class Served:
    """`envoi serve` in a folder; a second one there goes on where the first was."""

    def __init__(self, folder: Path, address: str = "127.0.0.1:0") -> None:
        self.folder = folder
        command = [str(ENVOI), "--json", "serve", "--listen", address]
        environ = {**os.environ, "ENVOI_HOME": str(folder / ".envoi")}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        said = envoi.json.loads(self.process.stdout.readline())
        self.url: str = said["listening"]
        self.first: Optional[str] = said.get("token")

    @property
    def address(self) -> str:
        return self.url.partition("://")[2]

    def token(self, *arguments: str) -> str:
        """A new token, as `envoi token create` makes it."""
        environ = {**os.environ, "ENVOI_HOME": str(self.folder / ".envoi")}
        command = [str(ENVOI), "token", "create", *arguments]
        made = subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, check=True)
        return made.stdout.strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@unittest.skipUnless(ENVOI, "ENVOI does not name the binary")
class WithServer(unittest.TestCase):
    """A test with a server and a client of it that may do all."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Bound and not listened to: nobody else is given the port while the server is away, and the server may have it again and again.
        held = socket.socket()
        self.addCleanup(held.close)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        self.served = Served(self.folder, f"127.0.0.1:{held.getsockname()[1]}")
        self.addCleanup(lambda: self.served.kill())
        assert self.served.first is not None
        self.token = self.served.first
        self.client = Client(self.served.url, self.token)

    def restart(self) -> None:
        """The server that was killed is there again, at the same address."""
        self.served = Served(self.folder, self.served.address)

    def did(self) -> List[str]:
        """What the steps have left."""
        return (self.folder / "did.txt").read_text(encoding="utf-8").splitlines()


class Dropping:
    """A proxy that drops the first answer and forwards all others. It drops one more when `dropped` is cleared."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self._server, self._name = (host, int(port)), address.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: List[bytes] = []
        self.dropped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, socket.create_connection(self._server) as server:
                # The server answers to its own name only.
                request = _whole(client).replace(self.url.partition("://")[2].encode(), self._name)
                self.requests.append(request)
                server.sendall(request)
                answer = _whole(server)
                if self.dropped.is_set():
                    client.sendall(answer)
                self.dropped.set()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def _whole(connection: socket.socket) -> bytes:
    """A message whose header says how long it is."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += connection.recv(65536)
    head, _, body = read.partition(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    length = int(next((value for name, _, value in lines if name == b"content-length"), b"0"))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


class Scripted:
    """A server that gives these answers, one a request: status, headers, body."""

    def __init__(self, *answers: tuple) -> None:
        left = list(answers)
        self.requests: List[str] = []
        self.headers: List[dict] = []
        self.bodies: List[bytes] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                outer.requests.append(f"{self.command} {self.path}")
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                outer.bodies.append(self._body())
                status, headers, body = left.pop(0)
                self.send_response_only(status)
                # Without a length the body ends with the connection.
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    if value is not None:
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                whole = b""
                while size := int(self.rfile.readline(), 16):
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return whole

            do_GET = do_POST = answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Hands(Clock):
    """A clock that advances only in `sleep`, with a hook for each sleep."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.slept: List[float] = []
        self.meanwhile = meanwhile

    def now(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.meanwhile()
