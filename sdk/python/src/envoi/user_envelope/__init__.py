"""A person's answer with files, through a channel that carries only text (contract 5).

    >>> from envoi import parse_user_envelope
    >>> parse_user_envelope('{"text": "Approved with edits."}', True).text
    'Approved with edits.'
    >>> parse_user_envelope('{"text": "Approved with edits."}', False).text
    '{"text": "Approved with edits."}'

Once the caller has opted in there is no way back to plain text. No file is resolved here: whose they are is not in the text.
"""

from ..vocabulary import OriginKind
from .answer import BlankAnswerError, answer_text
from .attachment import AttachmentRef
from .parse import (
    EXTENSION_URI,
    MAX_ATTACHMENTS,
    UserEnvelope,
    UserEnvelopeParseError,
    WrappedAnswer,
    parse_user_envelope,
    wrap_user_envelope,
)

__all__ = [
    "EXTENSION_URI",
    "MAX_ATTACHMENTS",
    "AttachmentRef",
    "BlankAnswerError",
    "OriginKind",
    "UserEnvelope",
    "UserEnvelopeParseError",
    "WrappedAnswer",
    "answer_text",
    "parse_user_envelope",
    "wrap_user_envelope",
]
