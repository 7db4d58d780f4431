"""Takes a user envelope apart, and puts one together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from .. import json
from ..errors import INVALID_USER_ENVELOPE, ContractError
from ..fields import ABSENT, Fields
from .attachment import AttachmentRef, refuse_unknown

EXTENSION_URI = "urn:envoi:a2a:user-envelope:v1"
"""The A2A extension under which the opt-in travels."""

MAX_ATTACHMENTS = 20
"""How many attachments an answer may have, from all sources together."""

_NOT_JSON = "user_envelope=true but body.user is not valid JSON"
_NO_MATCH = "user_envelope=true but body.user does not match {text, attachments?}"


class UserEnvelopeParseError(ValueError):
    """An envelope is refused, and nothing of it is used. `reason` begins as callers know it; `cause` has the place."""

    code = INVALID_USER_ENVELOPE

    def __init__(self, reason: str, cause: Optional[ContractError] = None) -> None:
        super().__init__(f"{self.code}: {reason}")
        self.reason = reason
        self.cause = cause

    @classmethod
    def because(cls, beginning: str, cause: ContractError) -> "UserEnvelopeParseError":
        """The refusal with one of the known beginnings, then what exactly."""
        pointer = f" at `{cause.pointer}`" if cause.pointer else ""
        place = "" if cause.line is None else f" (line {cause.line}, column {cause.column})"
        return cls(f"{beginning}: expected {cause.expected}, found {cause.found}{pointer}{place}", cause)

    @classmethod
    def too_many(cls, in_envelope: int, in_body: int) -> "UserEnvelopeParseError":
        """The refusal of more attachments than an answer may have."""
        total = in_envelope + in_body
        return cls(
            "merged attachments exceed the 20-ref total "
            f"(envelope {in_envelope} + body {in_body} = {total})"
        )


@dataclass(frozen=True)
class UserEnvelope:
    """An answer: what the model sees, and references to the files that come with it."""

    text: str
    attachments: List[AttachmentRef] = field(default_factory=list)

    def to_dict(self) -> Dict[str, Any]:
        """`text`, then `attachments` if there are any."""
        if not self.attachments:
            return {"text": self.text}
        return {"text": self.text, "attachments": [reference.to_dict() for reference in self.attachments]}


def parse_user_envelope(
    raw: str, enabled: bool, top_level_attachments: Sequence[Union[AttachmentRef, Mapping[str, Any]]] = ()
) -> UserEnvelope:
    """Takes an answer apart.

    Not `enabled`: the text is `raw`, character for character. `enabled`: `raw` must be
    `{"text": …, "attachments"?: […]}` and nothing else. Attachments are the envelope's, then those of the top level.

    Raises TypeError if `enabled` is anything but True or False: a `"false"` or a 1 that some other program sent is no consent.
    Raises UserEnvelopeParseError if the opted-in text is no envelope, or for more than 20 attachments; ContractError
    `INVALID_USER_ENVELOPE` for a top-level attachment that is no reference.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled: expected True or False, found {enabled!r}")
    top_level = [
        each if isinstance(each, AttachmentRef) else AttachmentRef.from_dict(each)
        for each in top_level_attachments
    ]
    answer = _opted_in(raw) if enabled else UserEnvelope(raw)
    if len(answer.attachments) + len(top_level) > MAX_ATTACHMENTS:
        raise UserEnvelopeParseError.too_many(len(answer.attachments), len(top_level))
    return UserEnvelope(answer.text, [*answer.attachments, *top_level])


def _opted_in(raw: str) -> UserEnvelope:
    try:
        value = json.loads(raw)
    except json.JsonError as error:
        cause = ContractError.of_json(INVALID_USER_ENVELOPE, error)
        raise UserEnvelopeParseError.because(_NOT_JSON, cause) from None
    try:
        return _read(value)
    except ContractError as refusal:
        raise UserEnvelopeParseError.because(_NO_MATCH, refusal.located(raw)) from None


def _read(value: Any) -> UserEnvelope:
    fields = Fields(value, INVALID_USER_ENVELOPE)
    text = fields.required_text("text")
    refs = fields.take("attachments")
    if refs is ABSENT:
        refs = []
    if not isinstance(refs, list):
        raise fields.wrong("attachments", "a list of references", refs)
    if len(refs) > MAX_ATTACHMENTS:
        found = f"{len(refs)} of them"
        raise ContractError(INVALID_USER_ENVELOPE, "/attachments", "at most 20 references", found)
    attachments = [
        AttachmentRef.from_dict(each, place=f"/attachments/{index}") for index, each in enumerate(refs)
    ]
    refuse_unknown(fields)
    return UserEnvelope(text, attachments)


@dataclass(frozen=True)
class WrappedAnswer:
    """What goes through the channel: `payload` is the text alone, or, `enveloped`, the JSON that the opt-in must go with.

    `dropped` counts the candidates that were no valid reference.
    """

    payload: str
    enveloped: bool
    dropped: int


def wrap_user_envelope(text: str, attachments: Iterable[Any] = ()) -> WrappedAnswer:
    """Wraps an answer for a text-only channel. Without a valid attachment it stays the text.

    Raises UserEnvelopeParseError for more than 20 valid attachments: the receiver would refuse them.
    """
    candidates = list(attachments)
    valid: List[AttachmentRef] = []
    for candidate in candidates:
        try:
            plain = candidate.to_dict() if isinstance(candidate, AttachmentRef) else candidate
            valid.append(AttachmentRef.from_dict(plain))
        except ContractError:
            continue
    if len(valid) > MAX_ATTACHMENTS:
        raise UserEnvelopeParseError.too_many(len(valid), 0)
    dropped = len(candidates) - len(valid)
    if not valid:
        return WrappedAnswer(text, False, dropped)
    return WrappedAnswer(json.dumps(UserEnvelope(text, valid).to_dict(), compact=True), True, dropped)
