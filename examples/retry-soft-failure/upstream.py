"""A service that gives exchange rates, and gives them to nobody who asks too often.

It stands in for a real one, on this machine only: a web server on a free port of 127.0.0.1 that lives as long as
the step. It answers every third request. The two before get what many real services send: HTTP 200, and a polite
notice where the answer should be. How often it was asked is kept in `.upstream/asked`, as the real one would keep
it, on its own side.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

ASKED = Path(".upstream/asked")
ANSWERS_EVERY = 3
RATES = {"CHF": "0.9400", "DKK": "7.4610", "USD": "1.0850"}


def count():
    """Count one more request and return how many there were."""
    asked = int(ASKED.read_text()) + 1 if ASKED.exists() else 1
    ASKED.parent.mkdir(exist_ok=True)
    ASKED.write_text(str(asked))
    return asked


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if count() % ANSWERS_EVERY == 0:
            body = {"base": "EUR", "rates": RATES}
        else:
            body = {"notice": "You are asking too often. Please try again in a moment."}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Says nothing: the step's output is the step's."""


@contextmanager
def service():
    """The address of the running service."""
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/rates"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
