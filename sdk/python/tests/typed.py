"""What a program with types says of this library. Never run: mypy reads it in strict mode, as its author would."""

from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Dict, List, Optional

import envoi
from envoi.client import (
    ApiError,
    Client,
    DigestMismatch,
    Event,
    File,
    Flow,
    Forked,
    HandoffRow,
    Health,
    Log,
    PinnedFlow,
    QuestionDetail,
    QuestionEvent,
    QuestionList,
    Run,
    Token,
    Unreachable,
)


def skill(folder: Path) -> envoi.SkillReport:
    with envoi.step("count") as step:
        before: Optional[envoi.HandoffEnvelope] = step.handoff
        step.text(before.summary if before else "nothing", 1)
        step.metrics["llm_calls"] = 1
        step.fail("no rates today", code="THROTTLED")
    error = envoi.SkillError("X", "m")
    return envoi.write_skill_report(folder / "report.json", "count", {"n": 1}, metrics={"n": 1}, error=error)


def state() -> Dict[str, object]:
    envelope = envoi.create_envelope("words", user_id="u", metadata={"a": 1})
    envelope.created_at = datetime(2026, 1, 2)
    envelope.processing_history = [envoi.ProcessingRecord("a", 1, started_at="2026-01-02T03:04:05Z")]
    reason: Optional[envoi.TerminalReason] = envelope.terminal_reason
    return {**envelope.to_state_dict(), "reason": reason}


def handoff() -> str:
    written: envoi.HandoffEnvelope = envoi.write_handoff(step_id="s", flow_key="f", run_id="r", status="succeeded")
    signal: envoi.RoutingSignal = envoi.resolve_routing(written.summary, {"loop_target": "VERIFIED"})
    decision: envoi.Decision = signal.decision
    return decision.value


def follow(client: Client, run: Run) -> List[Event]:
    try:
        waiting: QuestionList = client.list_questions(run=run["run"])
        for row in waiting:
            question: QuestionDetail = client.get_question(row["question"])
            client.answer_question(
                question["question"],
                "approve",
                files=[b"words", Path("a.txt"), BytesIO(b"words"), File(b"words", "a.txt")],
                seen=question["subject"],
            )
        first: QuestionEvent = next(client.follow_questions())
        return [first.event, *client.follow_run(run["run"])]
    except (ApiError, DigestMismatch, Unreachable):
        return []


def look(client: Client, run: str) -> str:
    token: Token = client.get_token()
    pinned: PinnedFlow = client.get_run_flow(run)
    flows: List[Flow] = client.list_flows()
    forked: Forked = client.fork_run(run, "draft")
    rows: List[HandoffRow] = client.list_handoffs(run)
    logs: List[Log] = client.list_logs(run)
    health: Health = client.get_health()
    return f"{token['name']} {pinned['name']} {flows} {forked['run']} {rows} {logs} {health['status']}"
