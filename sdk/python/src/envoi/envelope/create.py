"""Makes a new envelope: the only part of this contract that draws an id and reads the clock."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional
from uuid import uuid4

from .. import json, moment
from ..moment import Time
from .state import Envelope


def create_envelope(
    raw_input: str,
    user_id: str = "",
    session_id: str = "",
    request_id: Optional[str] = None,
    metadata: Optional[Mapping[str, Any]] = None,
    *,
    envelope_id: Optional[str] = None,
    now: Optional[Time] = None,
) -> Envelope:
    """A new envelope with the seed's defaults. Ids that are not given are made; `received_at` is `created_at`."""
    copied: Dict[str, Any] = json.plain(dict(metadata or {}))
    at = moment.now() if now is None else moment.text_of(now)
    return Envelope(
        envelope_id=envelope_id if envelope_id is not None else f"env_{uuid4().hex}",
        request_id=request_id if request_id is not None else f"req_{uuid4().hex}",
        user_id=user_id,
        session_id=session_id,
        raw_input=raw_input,
        received_at=at,
        created_at=at,
        metadata=copied,
    )
