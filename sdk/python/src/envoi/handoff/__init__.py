"""The hand-off from one step to the next (contract 2): what happened, where the files are, where to go.

    >>> from envoi import write_handoff
    >>> handoff = write_handoff(step_id="s", flow_key="f", run_id="r", status="succeeded", output="done", artifacts=["a.md"])
    >>> handoff.artifacts
    {'a.md': 'f/a.md'}

Does not decide where to go, places no file, and reads no clock.
"""

from ..vocabulary import HandoffStatus
from .draft import HandoffDraft, Identity, decode_draft
from .envelope import HandoffEnvelope
from .summary import MAX_SUMMARY_SCALARS, summarize
from .write import write, write_handoff

__all__ = [
    "MAX_SUMMARY_SCALARS",
    "HandoffDraft",
    "HandoffEnvelope",
    "HandoffStatus",
    "Identity",
    "decode_draft",
    "summarize",
    "write",
    "write_handoff",
]
