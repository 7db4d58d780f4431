"""What the resolver and the writer of hand-offs are given: JSON or labelled text, most of it right.

Every language must make the same of it: a signal with its audit, a hand-off, or a refusal.
"""

import documents
from documents import count, maybe, signal, some, text, time, value
from spelling import Chance, Number, Object, spell

WORDS = (
    "Status:", "status:", "**Status:** ", "`status`: ", '"status": ', "Exit status:", "http_status:", "VERIFIED", "verified", "UNVERIFIED", "VERIFIED_",
    "DONE", "vérified", "VERIFIEDा", "not", "NOT", "yet", "or", "|", "/", ",", ".", "-", "**", "(", "[", "—", "\n", "\n", "\n", "\r\n", "\t", " ", "\x0c",
    "\xa0", "> ", "```", "```json", "```yaml", "~~~", "Go to step 'build'", "go to step `test`", "Route to step deploy,", "route_to: build", "route_to : 'test'",
    '"route_to": "build"', "Go to flow 'other' step 'x'", "Go to flow home, step build", "do not", "don’t", "never", "go  to", "step", "flow", "to:",
    "Can further iteration help: no", "can_further_iteration_help: false", "Kelvin", "ſtatus:", ":", "é", "中", "𝕏", "the review", "{", "}",
    "Status: VERIFIED", "Status: VERIFIED | UNVERIFIED", "x",
)  # fmt: skip
WHOLE = (
    '{"status": "VERIFIED"}', '{"Status": "unverified", "x": [1]}', '{"status": "a", "STATUS": "b"}', '{"route_to": "build", "status": 1}',
    '{"can_further_iteration_help": false, "status": "no"}', '{"status": "VERIFIED"', "status: VERIFIED\nnotes: x", "status: A\n  status: B\n- a: b\n",
)  # fmt: skip
QUOTED = ('"one\ntwo"', "one\ntwo\n\n", '"unclosed', '"a \\n \\u00e9"', '"a\nb" \nc"', "", '""', "plain", '"', " \n x", "null", "it: is", "Status: DONE")
DRAFT_LABELS = {
    "Step ID": ('"s"', "s", " s "), "Flow key": ("f", '"f"'), "Run ID": ("run-20260102-030405-x", '"r"', "run-20261302-030405-x"), "Output": QUOTED,
    "Status": ("succeeded", '"failed"', "failed", "skipped", "done"), "Error": ("null", "", *QUOTED[:3]), "Duration": ("45000 ms", "5", "5ms", "4.5e3 ms", "long", "-1"),
    "Artifacts": ("a.md, b.md", "[a.md, 'b.md']", '"a", b', "", "[]", "../x"), "Summary": QUOTED, "Timestamp": ("2026-01-02T03:04:05Z", "null", '"2026-01-02T03:04:05+01:00"', "x"),
    "Routing": ("none", "", "decision=loop, reason=a, b, confidence=0.90", "decision=branch, route=x", "decision=next,needs_human=true, x=[a, b]", "decision=dance"),
    "Started at": ("2026-01-02T03:04:05Z", "soon"),
}  # fmt: skip
ROUTE_LABELS = {
    "Handoff text": ('"Status: VERIFIED"', "Status: DONE\n> quoted", '"Status: X\nStatus: VERIFIED"', "Go to step 'a'", *QUOTED), "Iteration": ("2", "0", "x", "4096.0"),
    "Flow": ("f", '"f"'), "Steps": ("[a, b]", "a", ""), "Hints": ("false", "true", "no"),
    "Step routing": (
        "loop_target=VERIFIED, success_values=[VERIFIED, DONE], max_iterations=2", "none", "null", "routing_kind=microloop, loop_target=null",
        "loop_target='VERIFIED', can_further_iteration_help=false", "success_values=DONE", "routing_kind=branch", "loop_target=a=b", "routing_kind=circle",
    ),
}  # fmt: skip


def step_text(chance: Chance) -> str:
    if chance.once(8):
        fence = chance.of(("{}", "{}", "```json\n{}\n```", "```\n{}\n```", "~~~yaml\n{}\n~~~", "````\n{}\n```"))
        return chance.of(("", " \n")) + fence.replace("{}", chance.of(WHOLE)) + chance.of(("", "\n"))
    many = 150 if chance.once(12) else 12
    return chance.of((" ", " ", "")).join(chance.some(many, lambda: chance.of(WORDS)))


def long_text(chance: Chance) -> str:
    """One that needs a digest; its words are about as long as a cut looks for white space."""
    return chance.of(("\n", " ", "")).join(chance.some(60, lambda: chance.of((step_text(chance), "𝕏" * (70 + chance.below(20))))))


def route(chance: Chance) -> bytes:
    """An input of the resolver."""
    if chance.once(3):
        return labelled(chance, ROUTE_LABELS, ("Handoff text",))
    routing = some(chance, {
        "routing_kind": lambda: chance.of(("linear", "microloop", "branch")), "loop_target": lambda: chance.of(("VERIFIED", "DONE", None)),
        "success_values": lambda: chance.of((["VERIFIED"], ["verified", "VERIFIED", "DONE"], [], ["vérified"], ["no"])),
        "max_iterations": lambda: Number(chance.of(("0", "1", "3", "2.0"))), "can_further_iteration_help": lambda: not chance.once(3),
    }, inside=2)  # fmt: skip
    made = some(chance, {
        "handoff_text": lambda: step_text(chance), "routing": lambda: None if chance.once(12) else routing,
        "iteration": lambda: Number(str(chance.below(5))), "flow": lambda: chance.of((None, "home", "other")),
        "steps": lambda: chance.of((None, ["build", "test"], ["other/x", "x"], [])), "hints": lambda: not chance.once(5),
    }, ("handoff_text", "routing"))  # fmt: skip
    return spell(made, chance, chance.once(2))


def write(chance: Chance) -> bytes:
    """What a hand-off is written from."""
    if chance.once(3):
        return labelled(chance, DRAFT_LABELS, ("Step ID", "Flow key", "Run ID", "Status"))
    status = chance.of(("succeeded", "failed", "skipped"))
    makers = {"step_id": lambda: "s", "flow_key": lambda: chance.of(("f", "home")), "run_id": lambda: chance.of(("r", "run-20251228-010000-a"))}
    makers["status"] = lambda: status
    needed = tuple(makers)
    makers.update({each: lambda: chance.of((step_text, long_text, text))(chance) for each in ("output", "summary")})
    makers["routing_signal"] = lambda: signal(chance, 2)
    makers["artifacts"] = lambda: chance.of((["a.md", "b/c.md"], Object([("a", "f/a")]), None, Object(), ["../x"], Object([("", "x")])))
    makers["error"] = lambda: chance.of((None, "")) if status == "succeeded" and not chance.once(9) else maybe(chance, text)
    makers["duration_ms"] = lambda: count(chance)
    makers.update({each: lambda: maybe(chance, time) for each in ("timestamp", "started_at")})
    makers.update({each: lambda: value(chance, 2) for each in ("file_changes", "verification_details", "routing_audit", "assumptions_made")})
    makers["prompt_hash"] = lambda: maybe(chance, text)
    return spell(some(chance, makers, needed), chance, chance.once(2))


def labelled(chance: Chance, labels: dict, needed: tuple) -> bytes:
    """Labelled text: those that are needed nearly always, some of the others, now and then a line too many."""
    chosen = [label for label in labels if (not chance.once(30) if label in needed else chance.once(3))]
    lines = [f"{chance.of((label, label.lower(), f' {label} '))}: {chance.of(labels[label])}" for label in chance.shuffled(chosen)]
    if chance.once(10):
        lines.insert(chance.below(len(lines) + 1), chance.of(("what?", "", "  ", "Status succeeded", "Output: x", "Flow: x")))
    broken = b"\xff" if chance.once(60) else b""
    return chance.of(("\n", "\n", "\r\n")).join(lines).encode() + broken + chance.of((b"", b"\n", b"\n\n"))


def imported(chance: Chance) -> bytes:
    """An envelope of somebody else, of which it is asked what had to be interpreted."""
    return spell(documents.envelope(chance), chance, False)


INPUTS = {"route": route, "write": write, "import": imported}
