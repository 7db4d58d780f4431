"""A thin client of `envoi serve`: starts runs, follows them, answers their questions with files.

    from envoi.client import Client

    client = Client("http://127.0.0.1:7007", token)
    run = client.start_run("publish", {"title": "Notes"})["run"]
    for event in client.follow_run(run):
        print(event["seq"], event["event"]["type"])

Each method is one operation of `spec/openapi.json`, named for it, and returns the server's answer. Standard library only.
`import envoi` does not load it: a command that Envoi runs needs no network.
"""

from .client import Client
from .content import File
from .errors import ApiError, DigestMismatch, Unreachable
from .shapes import (
    ArtifactVersion,
    ChangedFiles,
    ComparedFile,
    Comparison,
    Event,
    Flow,
    FlowPlan,
    FlowShape,
    Forked,
    HandoffRow,
    Health,
    Log,
    PinnedFlow,
    Question,
    QuestionDetail,
    Run,
    RunLedger,
    RunSoFar,
    StepRow,
    Steps,
    Token,
)
from .questions import Change, QuestionEvent, QuestionList

__all__ = [
    "ApiError",
    "Change",
    "ArtifactVersion",
    "ChangedFiles",
    "ComparedFile",
    "Client",
    "Comparison",
    "DigestMismatch",
    "Event",
    "File",
    "Flow",
    "FlowPlan",
    "FlowShape",
    "Forked",
    "HandoffRow",
    "Health",
    "Log",
    "PinnedFlow",
    "Question",
    "QuestionDetail",
    "QuestionEvent",
    "QuestionList",
    "Run",
    "RunLedger",
    "RunSoFar",
    "StepRow",
    "Steps",
    "Token",
    "Unreachable",
]
