"""A plugin for pytest: whatever the kit asks the server under test, it asks with the token of $ENVOI_TOKEN.

The kit knows no authentication, and the server has no way in without a token but for the card. And the kit, which is one for 1.0,
says so with every request but the one for the card: without it the card has what readers of 0.3 need too, which the kit's
schema does not know.
"""

import os

import httpx

TOKEN = os.environ["ENVOI_TOKEN"]
SERVER = httpx.URL(os.environ["ENVOI_URL"])


def _with_token(request):
    if (request.url.host, request.url.port) == (SERVER.host, SERVER.port):
        request.headers.setdefault("Authorization", f"Bearer {TOKEN}")
        if request.url.path == "/.well-known/agent-card.json":
            request.headers.setdefault("A2A-Version", "1.0")


def _send(plain):
    def send(self, request, **more):
        _with_token(request)
        return plain(self, request, **more)

    return send


# Each way to ask, the functions of the module and streams too, ends here.
httpx.Client.send = _send(httpx.Client.send)
httpx.AsyncClient.send = _send(httpx.AsyncClient.send)
