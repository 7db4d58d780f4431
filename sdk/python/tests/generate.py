"""Random but repeatable material: JSON values with everything that a careless program loses, envelopes, step texts."""

import random

import envoi

NUMBERS = (
    "0", "-0", "1", "-1", "1.0", "1.00", "-0.0", "0.1", "1e5", "1E+05", "1e400", "-1e-400", "9007199254740993",
    "123456789012345678901234567890", "0.1234567890123456789", "3.141592653589793", "1e-7", "100e-2", "5e-324",
    "2.5", "1e16", "12345678901234567", "-9" * 1 + "9" * 700,
)  # fmt: skip
SCALARS = 'abcXYZ019 _-/~.:"\\\b\f\n\r\t\x00\x1f\x7f\xa0éßñıKſ‮\u2028\ufeff�\U0001f600\U0010ffff中文ا\u0301\u093e'
TIMES = (
    "2026-01-26T09:30:00.123456", "2026-01-26T09:30:00+05:30", "2026-01-26T09:30:00.123456789Z",
    "2026-01-26t09:30:00z", "2016-12-31T23:59:60Z", "0000-02-29T00:00:00Z", "2026-01-26 09:30:00-00:00",
    "2026-01-26T09:30:00.5+00:00Z", "9999-12-31T23:59:59.999Z",
)  # fmt: skip


def text(chance: random.Random, most: int = 12) -> str:
    return "".join(chance.choice(SCALARS) for _ in range(chance.randrange(most)))


def number(chance: random.Random) -> object:
    if chance.random() < 0.3:
        return envoi.json.loads(str(chance.randrange(-(10**30), 10**30)))
    if chance.random() < 0.2:
        return chance.uniform(-1e9, 1e9)
    return envoi.json.loads(chance.choice(NUMBERS))


def value(chance: random.Random, depth: int = 4) -> object:
    kind = chance.randrange(8 if depth else 5)
    if kind == 0:
        return None
    if kind == 1:
        return chance.random() < 0.5
    if kind == 2:
        return number(chance)
    if kind < 5:
        return text(chance)
    if kind == 5:
        return [value(chance, depth - 1) for _ in range(chance.randrange(5))]
    return members(chance, depth - 1)


def members(chance: random.Random, depth: int = 3, most: int = 5) -> dict:
    return {text(chance): value(chance, depth) for _ in range(chance.randrange(most))}


def deep(levels: int) -> object:
    nested: object = "the bottom"
    for level in range(levels):
        nested = [nested] if level % 2 else {"": nested}
    return nested


def some(chance: random.Random, names: tuple, make) -> dict:
    """Some of the members, in any order."""
    chosen = [name for name in names if chance.random() < 0.5]
    chance.shuffle(chosen)
    return {name: make() for name in chosen}


def unknown(chance: random.Random) -> dict:
    return {f"x-{text(chance, 5)}": value(chance) for _ in range(chance.randrange(3))}


def count(chance: random.Random) -> object:
    tokens = ("0", "3", "9007199254740991", "4096.0", "4.096e3", "-0", "40960e-1")
    return envoi.json.loads(chance.choice(tokens))


def interrupt(chance: random.Random) -> dict:
    texts = ("id", "request_id", "user_id", "session_id", "envelope_id", "question", "message", "trace_id", "span_id")
    made = some(chance, texts, lambda: chance.choice((None, text(chance))))
    made["kind"] = chance.choice(list(envoi.InterruptKind)).value
    made.update(some(chance, ("created_at", "expires_at", "resolved_at"), lambda: time_or_none(chance)))
    made.update(some(chance, ("status",), lambda: chance.choice((None, "pending", "resolved", "expired"))))
    made.update(some(chance, ("data",), lambda: chance.choice((None, members(chance)))))
    made.update(some(chance, ("response",), lambda: chance.choice((None, response(chance)))))
    return {**made, **unknown(chance)}


def response(chance: random.Random) -> dict:
    made = some(chance, ("text", "decision"), lambda: chance.choice((None, text(chance))))
    made.update(some(chance, ("approved",), lambda: chance.choice((None, True, False))))
    made.update(some(chance, ("data",), lambda: chance.choice((None, members(chance)))))
    made.update(some(chance, ("received_at",), lambda: time_or_none(chance)))
    return {**made, **unknown(chance)}


def record(chance: random.Random) -> dict:
    made = some(chance, ("agent",), lambda: text(chance))
    made.update(some(chance, ("stage_order", "duration_ms", "llm_calls"), lambda: count(chance)))
    made.update(some(chance, ("started_at", "completed_at"), lambda: time_or_none(chance)))
    made.update(some(chance, ("status",), lambda: chance.choice(list(envoi.RecordStatus)).value))
    made.update(some(chance, ("error",), lambda: chance.choice((None, text(chance)))))
    return {**made, **unknown(chance)}


def time_or_none(chance: random.Random) -> object:
    return chance.choice((None, *TIMES))


def several(chance: random.Random, make) -> list:
    return [make(chance) for _ in range(chance.randrange(4))]


def envelope(chance: random.Random) -> dict:
    """The wire form of an envelope, as anybody might have written it."""
    made = some(chance, ("envelope_id", "request_id", "user_id", "session_id", "raw_input", "current_stage"), lambda: text(chance))
    made.update(some(chance, ("received_at", "created_at", "completed_at"), lambda: time_or_none(chance)))
    made.update(some(chance, ("outputs", "metadata"), lambda: members(chance)))
    made.update(some(chance, ("stage_order", "all_goals", "remaining_goals", "loop_feedback"), lambda: several(chance, text)))
    made.update(some(chance, ("iteration", "max_iterations", "llm_call_count", "max_stages"), lambda: count(chance)))
    reasons = [None, *(reason.value for reason in envoi.TerminalReason), "COMPLETED", "User_Cancelled"]
    made.update(some(chance, ("terminal_reason",), lambda: chance.choice(reasons)))
    made.update(some(chance, ("terminated", "interrupt_pending", "parallel_mode"), lambda: chance.random() < 0.5))
    made.update(some(chance, ("termination_reason",), lambda: chance.choice((None, text(chance)))))
    made.update(some(chance, ("interrupt",), lambda: chance.choice((None, interrupt(chance)))))
    made.update(some(chance, ("active_stages", "completed_stage_set"), lambda: {text(chance): True, text(chance): False}))
    made.update(some(chance, ("failed_stages", "goal_completion_status"), lambda: {text(chance): text(chance)}))
    made.update(some(chance, ("completed_stages", "prior_plans", "errors"), lambda: several(chance, members)))
    made.update(some(chance, ("processing_history",), lambda: several(chance, record)))
    together = [*made.items(), *unknown(chance).items()]
    chance.shuffle(together)
    return dict(together)


WORDS = (
    "Status:", "status:", "**Status:** ", "`status`: ", '"status": ', "Exit status:", "http_status:", "Loop-status:",
    "VERIFIED", "verified", "UNVERIFIED", "VERIFIED_", "_VERIFIED_", "DONE", "vérified", "VERIFIEDा", "not", "NOT", "yet",
    "or", "|", "/", ",", ".", "-", "**", "(", ")", "[", "<status>", "—", "\n", "\n", "\n", "\r\n", "\t", " ", "\x0c", "\xa0",
    "> ", "```", "```json", "```yaml", "~~~", "Go to step 'build'", "go to step `test`", "Route to step deploy,",
    "route_to: build", "route_to : 'test'", '"route_to": "build"', "Go to flow 'other' step 'x'", "do not", "don’t", "never",
    "Go to flow home, step build", "go  to", "step", "stepé", "flow", "to:", "Can further iteration help: no",
    "can_further_iteration_help: false", "Can further iteration help: not no", "Kelvin", "ſtatus:", ":", "é", "中", "the review",
    "{", "}", "status: VERIFIED", "Status: VERIFIED | UNVERIFIED", "'a/b'", "x",
)  # fmt: skip
JSON_TEXTS = (
    '{"status": "VERIFIED"}', '{"Status": "unverified", "x": [1]}', '{"status": "a", "STATUS": "b"}',
    '{"route_to": "build", "status": 1}', '{"can_further_iteration_help": false, "status": "no"}', '{"status": "VERIFIED"',
    '{\n  "summary": "VERIFIED",\n  "n": 1\n}', "status: VERIFIED\nnotes: x", "status: VERIFIED\n  status: DONE\n- a: b\n",
)  # fmt: skip


def step_text(chance: random.Random, most: int = 12) -> str:
    if chance.random() < 0.15:
        whole = chance.choice(JSON_TEXTS)
        fence = chance.choice(("", "", "```json\n{}\n```", "```\n{}\n```", "~~~yaml\n{}\n~~~", "```yml\n{}\n```\n", "````\n{}\n```"))
        return chance.choice(("", " \n")) + (fence.replace("{}", whole) if fence else whole) + chance.choice(("", "\n"))
    glue = chance.choice((" ", " ", ""))
    return glue.join(chance.choice(WORDS) for _ in range(chance.randrange(most)))


def long_text(chance: random.Random) -> str:
    """One that needs a digest, most of the time."""
    if chance.random() < 0.4:  # words about as long as the reach of a cut that looks for white space
        return chance.choice(("\n", " ")).join("w" * chance.randrange(76, 84) for _ in range(40))
    pieces = [step_text(chance, 8) for _ in range(chance.randrange(30, 160))]
    filler = "lorem ipsum é dolor sit amet consectetur adipiscing elit " * chance.randrange(5)
    return chance.choice(("\n", " ", "", filler)).join(pieces)


def routing(chance: random.Random) -> object:
    if chance.random() < 0.08:
        return None
    made = some(chance, ("routing_kind",), lambda: chance.choice(("linear", "microloop", "branch")))
    made.update(some(chance, ("loop_target",), lambda: chance.choice(("VERIFIED", "DONE", None))))
    values = (["VERIFIED"], ["verified", "VERIFIED", "DONE"], [], ["vérified"], ["no"])
    made.update(some(chance, ("success_values",), lambda: chance.choice(values)))
    made.update(some(chance, ("max_iterations",), lambda: chance.choice((0, 1, 3))))
    made.update(some(chance, ("can_further_iteration_help",), lambda: chance.random() < 0.7))
    return made


def routing_input(chance: random.Random) -> dict:
    made = {"handoff_text": step_text(chance), "routing": routing(chance)}
    made.update(some(chance, ("iteration",), lambda: chance.randrange(5)))
    made.update(some(chance, ("flow",), lambda: chance.choice((None, "home", "other"))))
    made.update(some(chance, ("steps",), lambda: chance.choice((None, ["build", "test"], ["other/x", "x"]))))
    made.update(some(chance, ("hints",), lambda: chance.random() < 0.8))
    return made


def signal(chance: random.Random, careful: bool = False) -> dict:
    words = ("advance", "proceed", "LOOP", "retry", "terminate", "branch", "Route", "switch")
    routes = (None, "a", "f/a", "g/a/b", {"flow": "f", "step_id": "a"}, {"step_id": "a", "x": 1})
    sure = (1, 0.5, envoi.json.loads("0.90"), envoi.json.loads("10e-1"))
    if not careful:
        words += ("dance", "")
        routes += ("/a", "a/", {"flow": None, "step_id": "a/b"}, 7)
        sure += (1.5, "high")
    made = {"decision": chance.choice(words)}
    made.update(some(chance, ("next_step_id",), lambda: chance.choice((None, "a", "f/a", ""))))
    made.update(some(chance, ("route",), lambda: chance.choice(routes)))
    made.update(some(chance, ("reason",), lambda: text(chance)))
    made.update(some(chance, ("confidence",), lambda: chance.choice(sure)))
    made.update(some(chance, ("needs_human",), lambda: chance.random() < 0.5))
    if careful and made["decision"] in ("branch", "Route", "switch"):
        made["next_step_id"] = "a"
    return {**made, **unknown(chance)}


def draft(chance: random.Random) -> dict:
    """What a hand-off is written from; most of the time one that can be."""
    careful = chance.random() < 0.8
    ids = ("r", "run-20251228-010000-a", "run-20251328-010000-a")
    made = {"step_id": "s", "flow_key": chance.choice(("f", "home")), "run_id": chance.choice(ids)}
    made["status"] = chance.choice(("succeeded", "failed", "skipped") if careful else ("succeeded", "done"))
    made.update(some(chance, ("output", "summary"), lambda: chance.choice((step_text, long_text))(chance)))
    made.update(some(chance, ("routing_signal",), lambda: signal(chance, careful)))
    lists = (["a.md", "b/c.md"], {"a": "f/a"}, None, {})
    lists += () if careful else (["../x"], {"a": "/x"}, {"": "x"}, {"c": "C:/x"})
    made.update(some(chance, ("artifacts",), lambda: chance.choice(lists)))
    errors = (None, "") if careful and made["status"] == "succeeded" else (None, "", " ", "it broke")
    made.update(some(chance, ("error",), lambda: chance.choice(errors)))
    made.update(some(chance, ("duration_ms",), lambda: count(chance) if careful else 1.5))
    times = ("2026-01-02T03:04:05+01:00", "2026-01-26T09:30:00.5+00:00Z", "0000-02-29T00:00:00Z", "2016-12-31T23:59:60Z")
    times += () if careful else ("soon", *TIMES)
    made.update(some(chance, ("timestamp", "started_at"), lambda: chance.choice((None, *times))))
    free = ("file_changes", "verification_details", "routing_audit", "assumptions_made", "decisions_made")
    made.update(some(chance, free, lambda: value(chance, 2)))
    made.update(some(chance, ("prompt_hash",), lambda: chance.choice((None, "", "sha256:x"))))
    return {**made, **unknown(chance)}


QUOTED = ('"one\ntwo"', "one\ntwo\n\n", '"unclosed', '"a \\n \\u00e9"', '"a\nb" \nc"', "", '""', "plain", '"', " \n x", "null", "it: is")
HANDOFF_LABELS = {
    "Step ID": ('"s"', "s", " s "), "Flow key": ("f", '"f"'), "Run ID": ("run-20260102-030405-x", '"r"'), "Output": QUOTED,
    "Status": ("succeeded", '"failed"', "failed", "skipped", "done"), "Error": ("null", "", *QUOTED[:3]), "Duration": ("45000 ms", "5", "5ms", "4.5e3 ms", "long"),
    "Artifacts": ("a.md, b.md", "[a.md, 'b.md']", '"a", b', "", "[]"), "Summary": QUOTED, "Timestamp": ("2026-01-02T03:04:05Z", "null", '"2026-01-02T03:04:05+01:00"'),
    "Routing": ("none", "", "decision=loop, reason=a, b, confidence=0.90", "decision=branch, route=x", "decision=next,needs_human=true, x=[a, b]", "decision=dance"),
    "Started at": ("2026-01-02T03:04:05Z", "soon"),
}  # fmt: skip
ROUTING_LABELS = {
    "Handoff text": ('"Status: VERIFIED"', "Status: DONE\n> quoted", '"Status: X\nStatus: VERIFIED"', *QUOTED), "Iteration": ("2", "0", "x"), "Flow": ("f", '"f"'),
    "Steps": ("[a, b]", "a"), "Hints": ("false", "true", "no"),
    "Step routing": (
        "loop_target=VERIFIED, success_values=[VERIFIED, DONE], max_iterations=2", "none", "null", "routing_kind=microloop, loop_target=null",
        "loop_target='VERIFIED', can_further_iteration_help=false", "success_values=DONE", "routing_kind=branch", "loop_target=a=b",
    ),
}  # fmt: skip


def labelled(chance: random.Random, labels: dict, needed: tuple) -> str:
    """Labelled text: those that are needed nearly always, some of the others, now and then a line too many."""
    chosen = [label for label in labels if chance.random() < (0.97 if label in needed else 0.3)]
    chance.shuffle(chosen)
    lines = [f"{chance.choice((label, label, label.lower(), f' {label} '))}: {chance.choice(labels[label])}" for label in chosen]
    if chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(("what?", "", "  ", "Status succeeded", "Output: x")))
    return chance.choice(("\n", "\n", "\n", "\r\n")).join(lines) + chance.choice(("", "\n", "\n\n"))


def labelled_draft(chance: random.Random) -> str:
    return labelled(chance, HANDOFF_LABELS, ("Step ID", "Flow key", "Run ID", "Status"))


def labelled_routing(chance: random.Random) -> str:
    return labelled(chance, ROUTING_LABELS, ("Handoff text",))
