"""A call of a model through the server that runs this command: counted, charged to the run and bounded.

    from envoi import call_model

    answer = call_model("Sum up the report.", system="Be brief.")
    print(answer.text, answer.usage.cost_usd)

The server gives each attempt an address (`ENVOI_BRIDGE_URL`) and a token (`ENVOI_BRIDGE_TOKEN`). A call is made once: it is
not repeated, because the provider may charge for the first call.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Union

from . import json
from .user_envelope import AttachmentRef

if TYPE_CHECKING:
    import urllib.request

TIMEOUT_S = 600.0
"""How long a call may take by default; a provider of the server may have a shorter limit."""

_ANSWER_BYTES = 16 * 1024 * 1024


class NoBridgeError(RuntimeError):
    """This command is not run by a server that offers models: `ENVOI_BRIDGE_URL` or `ENVOI_BRIDGE_TOKEN` is not set."""


class BridgeError(RuntimeError):
    """A call that was refused or failed.

    `status` is that of HTTP, 0 where no answer came. `code` is Envoi's, such as `BUDGET_EXHAUSTED` or `UNKNOWN_MODEL_ID`; empty
    where there is none. `body` is the answer as it came. `may_retry` is false where another call would not help, or would be
    paid for twice.
    """

    def __init__(self, status: int, code: str, message: str, body: Any = None, may_retry: bool = False) -> None:
        super().__init__(f"{code or f'HTTP {status}'}: {message}" if status else message)
        self.status = status
        self.code = code
        self.body = body
        self.may_retry = may_retry


@dataclass(frozen=True)
class ModelUse:
    """What a call used, as far as the provider reports it. `cost_usd` is decimal text; None: the model has no price."""

    tokens_in: Optional[int] = None
    tokens_out: Optional[int] = None
    cost_usd: Optional[str] = None


@dataclass(frozen=True)
class ModelAnswer:
    """What a model answered. `members` has every member as it was read."""

    text: str
    model: str
    usage: ModelUse
    members: Dict[str, Any] = field(default_factory=dict)


def call_model(
    user: str,
    *,
    model: Optional[str] = None,
    system: Optional[str] = None,
    attachments: Sequence[Union[AttachmentRef, Mapping[str, Any]]] = (),
    user_envelope: bool = False,
    environ: Optional[Mapping[str, str]] = None,
    timeout_s: float = TIMEOUT_S,
) -> ModelAnswer:
    """Sends a request to a model, and returns its answer.

    `model` None is the server's default. `user_envelope`: `user` is a user envelope (contract 5).

    Raises NoBridgeError without a bridge, BridgeError for a refusal or a failure, TypeError if `user_envelope` is anything but True
    or False, JsonError for a value that JSON cannot express.
    """
    if not isinstance(user_envelope, bool):
        raise TypeError(f"user_envelope: expected True or False, found {user_envelope!r}")
    given = os.environ if environ is None else environ
    url, token = given.get("ENVOI_BRIDGE_URL"), given.get("ENVOI_BRIDGE_TOKEN")
    if not url or not token:
        raise NoBridgeError("no models here: ENVOI_BRIDGE_URL and ENVOI_BRIDGE_TOKEN are set by a server that offers some")
    references = [each if isinstance(each, AttachmentRef) else AttachmentRef.from_dict(each) for each in attachments]
    body: Dict[str, Any] = {"user": user}
    optional = {
        "model": model,
        "system": system,
        "user_envelope": True if user_envelope else None,
        "attachments": [each.to_dict() for each in references] or None,
    }
    body.update({name: value for name, value in optional.items() if value is not None})
    # A command that calls no model does not load these.
    import urllib.request

    request = urllib.request.Request(
        url,
        data=json.dumps(body, compact=True).encode("utf-8"),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        method="POST",
    )
    return _answer(_sent(request, timeout_s))


def _sent(request: urllib.request.Request, timeout_s: float) -> Any:
    import urllib.error
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """The token goes to the bridge and nowhere else."""

        def redirect_request(self, *_: Any) -> None:
            return None

    opener = urllib.request.build_opener(NoRedirect)
    try:
        with opener.open(request, timeout=timeout_s) as response:
            return _document(response.read(_ANSWER_BYTES + 1))
    except urllib.error.HTTPError as refused:
        body = _document(refused.read(_ANSWER_BYTES + 1))
        raise _refusal(refused.code, body, refused.headers.get("x-should-retry")) from None
    except OSError as error:
        raise BridgeError(0, "", f"the bridge did not answer: {error}") from None


def _document(content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JsonError:
        return None


def _refusal(status: int, body: Any, should_retry: Optional[str]) -> BridgeError:
    members = body if isinstance(body, dict) else {}
    nested = members.get("error")
    nested = nested if isinstance(nested, dict) else {}
    code = members.get("code") or nested.get("code") or ""
    words = (members.get("reason"), members.get("detail"), nested.get("message"), members.get("error"))
    message = next((each for each in words if isinstance(each, str)), f"the bridge answered {status}")
    may_retry = should_retry != "false" and status in (429, 503)
    return BridgeError(status, code if isinstance(code, str) else "", message, body, may_retry)


def _answer(body: Any) -> ModelAnswer:
    members = body if isinstance(body, dict) else {}
    text, model, usage = members.get("text"), members.get("model"), members.get("usage")
    if not isinstance(text, str):
        raise BridgeError(200, "", "the bridge answered without a text", body)
    usage = usage if isinstance(usage, dict) else {}
    cost = usage.get("cost_usd")
    return ModelAnswer(
        text=text,
        model=model if isinstance(model, str) else "",
        usage=ModelUse(
            json.as_count(usage.get("tokens_in")),
            json.as_count(usage.get("tokens_out")),
            None if cost is None else str(cost),
        ),
        members=members,
    )
