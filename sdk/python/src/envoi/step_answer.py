"""What a person answered, as a command finds it in `$ENVOI_ANSWER`: the words, the decision, the files.

It is read, never written: the engine makes the file. Files that the engine could fetch lie in `$ENVOI_ANSWER_FILES`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import json
from .errors import INVALID_USER_ENVELOPE
from .fields import ABSENT, Fields, words_of
from .user_envelope import AttachmentRef
from .vocabulary import InterruptKind


class AnswerChoice(str, Enum):
    """What a person decided."""

    APPROVE = "approve"
    DENY = "deny"
    PROCEED = "proceed"
    AGAIN = "again"
    OURS = "ours"
    THEIRS = "theirs"
    EDIT = "edit"
    STOP = "stop"
    RESPOND = "respond"
    RERUN = "rerun"
    FAIL = "fail"
    RAISE = "raise"


@dataclass(frozen=True)
class AnswerFile:
    """A file that came with an answer: where it lies, or why it could not be fetched."""

    artifact_id: str
    filename: Optional[str] = None
    path: Optional[Path] = None
    unreadable: Optional[str] = None

    @classmethod
    def read(cls, value: Any, place: str) -> "AnswerFile":
        """Reads `{artifactId, filename?, path}` or `{artifactId, filename?, unreadable}`; further members are passed over."""
        fields = Fields(value, INVALID_USER_ENVELOPE, place)
        artifact_id = fields.required_text("artifactId")
        filename, path = fields.text_or_none("filename"), fields.text_or_none("path")
        unreadable = fields.text_or_none("unreadable")
        if path is None and unreadable is None:
            raise fields.missing("path")
        return cls(artifact_id, filename, None if path is None else Path(path), unreadable)


@dataclass(frozen=True)
class Answer:
    """What a person answered. A short answer may have only `text`; what is missing is None.

    `data` is free-form JSON, its numbers as they were written. `members` has every member as it was read, also those that
    this version does not know.
    """

    text: str
    attachments: List[AttachmentRef] = field(default_factory=list)
    interrupt: Optional[str] = None
    """The question that was answered."""
    step: Optional[str] = None
    """The step with the question."""
    visit: Optional[int] = None
    """Which visit of it."""
    kind: Optional[InterruptKind] = None
    """The kind of the question."""
    question: Optional[str] = None
    """The text of the question."""
    choice: Optional[AnswerChoice] = None
    approved: Optional[bool] = None
    data: Any = None
    by: Optional[str] = None
    """Who answered."""
    channel: Optional[str] = None
    """By which way the answer came."""
    answered_at: Optional[str] = None
    files: List[AnswerFile] = field(default_factory=list)
    folder: Optional[Path] = None
    """Where the files lie."""
    members: Dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, content: bytes, folder: Optional[Path] = None) -> "Answer":
        """Reads an answer. Raises JsonError for what is no JSON, ContractError `INVALID_USER_ENVELOPE` with the pointer."""
        fields = Fields(json.loads(content), INVALID_USER_ENVELOPE)
        members = dict(fields.rest())
        data, visit = fields.take("data"), fields.count("visit", 0)
        return cls(
            text=fields.text_or_none("text") or "",
            attachments=fields.each("attachments", "references", lambda each, at: AttachmentRef.from_dict(each, place=at)),
            interrupt=fields.text_or_none("interrupt"),
            step=fields.text_or_none("step"),
            visit=visit or None,
            kind=fields.word_or_none("kind", InterruptKind, words_of(InterruptKind)),
            question=fields.text_or_none("question"),
            choice=fields.word_or_none("choice", AnswerChoice, words_of(AnswerChoice)),
            approved=fields.truth_or_none("approved"),
            data=None if data is ABSENT else data,
            by=fields.text_or_none("by"),
            channel=fields.text_or_none("channel"),
            answered_at=fields.time("answered_at"),
            files=fields.each("files", "files", AnswerFile.read),
            folder=folder,
            members=members,
        )

    @property
    def paths(self) -> List[Path]:
        """Where the files lie that could be fetched, in the order of the answer."""
        return [each.path for each in self.files if each.path is not None]
