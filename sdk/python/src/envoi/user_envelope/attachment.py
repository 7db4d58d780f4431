"""A reference to a file: which artifact, which revision of it, and what its bytes must hash to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from .. import json
from ..errors import INVALID_USER_ENVELOPE, ContractError, shorten
from ..fields import ABSENT, COUNT, Fields, words_of
from ..vocabulary import OriginKind


@dataclass(frozen=True)
class AttachmentRef:
    """A reference to a file. It proves nothing: who resolves it takes size and type from the store, and compares the digest."""

    artifact_id: str
    representation_revision_id: str
    digest: str
    mime: str
    origin_kind: OriginKind
    title: Optional[str] = None
    filename: Optional[str] = None
    size: Optional[int] = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, place: str = "") -> "AttachmentRef":
        """Reads a reference; null is not absent, and a member that is unknown is refused.

        Raises ContractError `INVALID_USER_ENVELOPE` with the place, under `place`.
        """
        fields = Fields(data, INVALID_USER_ENVELOPE, place)
        reference = cls(
            artifact_id=_named(fields, "artifactId"),
            representation_revision_id=_named(fields, "representationRevisionId"),
            digest=_named(fields, "digest"),
            mime=_named(fields, "mime"),
            origin_kind=_origin(fields),
            title=_optional_text(fields, "title"),
            filename=_optional_text(fields, "filename"),
            size=_size(fields),
        )
        refuse_unknown(fields)
        return reference

    def to_dict(self) -> Dict[str, Any]:
        """The reference, without members that are not there."""
        members = {
            "artifactId": self.artifact_id,
            "representationRevisionId": self.representation_revision_id,
            "digest": self.digest,
            "mime": self.mime,
            "originKind": OriginKind(self.origin_kind).value,
            "title": self.title,
            "filename": self.filename,
            "size": self.size,
        }
        return {name: value for name, value in members.items() if value is not None}


def refuse_unknown(fields: Fields) -> None:
    """This contract alone refuses members that it does not know."""
    for name in fields.rest():
        raise ContractError(fields.code, fields.pointer(name), "no further member", shorten(name))


def _named(fields: Fields, name: str) -> str:
    text = fields.required_text(name)
    if not text:
        raise fields.wrong(name, "a string that is not empty", text)
    return text


def _origin(fields: Fields) -> OriginKind:
    word = fields.required_text("originKind")
    try:
        return OriginKind(word)
    except ValueError:
        raise fields.wrong("originKind", words_of(OriginKind), word) from None


def _optional_text(fields: Fields, name: str) -> Optional[str]:
    value = fields.take(name)
    if value is ABSENT:
        return None
    if not isinstance(value, str):
        raise fields.wrong(name, "a string", value)
    return value


def _size(fields: Fields) -> Optional[int]:
    value = fields.take("size")
    if value is ABSENT:
        return None
    size = json.as_count(value)
    if size is None:
        raise fields.wrong("size", COUNT, value)
    return size
