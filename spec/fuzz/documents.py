"""Documents that every language must accept: any subset of members, in any order, with everything that a careless program loses.

Each `make` gives the value of a document; CONTRACTS 0 to 5 say what may stand in it.
"""

from spelling import Chance, Number, Object

MAX_DEPTH = 127

SCALARS = (
    'abcXYZ019 _-/~.:,"\\\b\f\n\r\t\x00\x01\x1f\x7f\x80\xa0éßñıKſ‮\u200d\u2028\u2029\ufeff\ufffd\ufffe\uffff\ue000\ufdd0'
    "\U0001f600\U0001f468\U00010000\U0010fffd\U0010ffff中文ا\u0301\u093eﷺ𝕏"
)
NAMES = (
    "10", "9", "01", "-1", "1e3", "", " ", "a", "b", "A", "é", "e\u0301", "a/b", "a~b", "~0", "~1", "/", "\x00", "\ufeff", "𝕏",
    "__proto__", "constructor", "prototype", "toJSON", "toJson", "hasOwnProperty", "length", "self", "__class__", "__dict__", "unknown",
    "Iteration", "ENVELOPE_ID", "iteration ", "data", "error", "metadata", "null", "true", "$ref", "route",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "1", "-1", "1.0", "1.00", "-0.0", "0.1", "1e5", "1E+05", "1e400", "-1e-400", "9007199254740993", "1e-7", "5e-324",
    "123456789012345678901234567890", "0.1234567890123456789", "3.141592653589793", "100e-2", "1e16", "12345678901234567", "1E400",
    "-1E-0", "0e0", "0.0e-00", "1e00000000000000000000000000001", "1e99999999999999999999", "-1e-99999999999999999999", "1.7976931348623157e308",
    "1.7976931348623159e308", "2.2250738585072014e-308", "18446744073709551616", "-9223372036854775809", "9" * 400, "0." + "0" * 300 + "1",
)  # fmt: skip
COUNTS = (
    "0", "1", "3", "42", "9007199254740991", "9007199254740991.000", "9.007199254740991e15", "4096.0", "4.096e3", "4096000e-3", "1E2",
    "-0", "0.0", "-0.0e-3", "0e999999999999999999999", "0.000000000000001e15", "9007199254740991e0", "1" + "0" * 15, "10e-1",
)  # fmt: skip
REASONS = (
    "completed", "max_iterations_exceeded", "max_llm_calls_exceeded", "max_agent_hops_exceeded", "max_loop_exceeded", "user_cancelled",
    "tool_failed_fatally", "llm_failed_fatally", "policy_violation", "completed_successfully", "clarification_required",
    "confirmation_required", "denied_by_policy", "tool_failed_recoverably", "max_stage_visits_exceeded", "edge_limit_exceeded",
    "break_requested", "time_limit_exceeded", "cost_limit_exceeded", "max_stages_exceeded",
)  # fmt: skip
KINDS = ("clarification", "confirmation", "agent_review", "checkpoint", "resource_exhausted", "timeout", "system_error")
DECISIONS = (
    "advance", "proceed", "continue", "next", "loop", "rerun", "retry", "repeat", "iterate", "terminate", "blocked", "stop", "end", "exit",
    "branch", "route", "switch", "redirect",
)  # fmt: skip
SHARES = ("0", "1", "0.5", "0.90", "10e-1", "1.000", "0e0", "-0", "-0.0", "1e-400", "0.7000000000000000000001", "100E-2", "0.69")
PIECES = ("a", "b.md", "dir", "..a", "a..", "...", ".", "é", " ", "c:", "x y", "C:x", "~", "a:b")
ORIGINS = ("upload", "email_attachment", "agent_generated", "external_link", "live_generator")


def text(chance: Chance, most: int = 12) -> str:
    if chance.once(6):
        return "".join(chr(_scalar(chance)) for _ in range(chance.below(4)))
    return "".join(chance.some(most, lambda: chance.of(SCALARS)))


def _scalar(chance: Chance) -> int:
    scalar = chance.below(0x110000 - 0x800)
    return scalar if scalar < 0xD800 else scalar + 0x800


def number(chance: Chance) -> Number:
    if chance.once(2):
        return Number(chance.of(NUMBERS))
    whole = _digits(chance, 40).lstrip("0") or "0"
    fraction = f".{_digits(chance, 20)}" if chance.once(2) else ""
    power = f"{chance.of('eE')}{chance.of(('', '+', '-'))}{_digits(chance, 4)}" if chance.once(3) else ""
    return Number(f"{chance.of(('', '-'))}{whole}{fraction}{power}")


def _digits(chance: Chance, most: int) -> str:
    return "".join(chance.of("0123456789") for _ in range(1 + chance.below(most)))


def value(chance: Chance, depth: int = 4) -> object:
    kind = chance.below(8 if depth else 5)
    if kind == 0:
        return None
    if kind == 1:
        return chance.once(2)
    if kind == 2:
        return number(chance)
    if kind < 5:
        return text(chance)
    if kind == 5:
        return chance.some(4, lambda: value(chance, depth - 1))
    return members(chance, depth - 1)


def members(chance: Chance, depth: int = 3, most: int = 5) -> Object:
    if chance.once(60):
        most = 40  # more than are compared one by one
    return distinct(chance.some(most, lambda: (name(chance), value(chance, depth))))


def name(chance: Chance) -> str:
    return chance.of(NAMES) if chance.once(2) else text(chance, 6)


def distinct(pairs: list) -> Object:
    """Each name once."""
    return Object(dict(pairs).items())


def deep(chance: Chance, inside: int) -> object:
    """A value that brings what stands `inside` so many levels near the limit, or to it."""
    nested: object = value(chance, 0)
    for _ in range(MAX_DEPTH - inside - (0 if chance.once(2) else chance.below(30))):
        nested = [nested] if chance.once(2) else Object([(name(chance), nested)])
    return nested


def free(chance: Chance, inside: int) -> object:
    return deep(chance, inside) if chance.once(150) else value(chance)


def free_object(chance: Chance, inside: int) -> Object:
    made = members(chance)
    if chance.once(60):
        return distinct([*made, (name(chance), deep(chance, inside))])
    return made


def unknown(chance: Chance, known: tuple, inside: int) -> list:
    """Members that no contract knows."""
    if chance.once(2):
        return []
    made = chance.some(3, lambda: (name(chance), free(chance, inside)))
    return [pair for pair in made if pair[0] not in known]


def some(chance: Chance, makers: dict, needed: tuple = (), *, inside: int = 1, open: bool = True) -> Object:
    """The needed members and some of the others, in any order, with unknown ones among them."""
    made = [(each, make()) for each, make in makers.items() if each in needed or chance.once(2)]
    made += unknown(chance, tuple(makers), inside) if open else []
    return distinct(chance.shuffled(made))


def time(chance: Chance) -> str:
    year = chance.of(("0000", "0001", "1970", "2000", "2024", "2026", "9999", f"{chance.below(10000):04}"))
    leap = int(year) % 4 == 0 and (int(year) % 100 != 0 or int(year) % 400 == 0)
    month = 1 + chance.below(12)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    day = days if chance.once(4) else 1 + chance.below(days)
    clock = f"{chance.below(24):02}:{chance.below(60):02}:{chance.of((0, 5, 59, 60)):02}"
    fraction = f".{_digits(chance, 12)}" if chance.once(2) else ""
    moved = f"{chance.of('+-')}{chance.below(24):02}:{chance.below(60):02}"
    offset = chance.of(("Z", "Z", "z", "", "+00:00", "-00:00", "+00:00Z", "+00:00z", "+23:59", "-23:59", moved))
    return f"{year}-{month:02}-{day:02}{chance.of('TTt ')}{clock}{fraction}{offset}"


def count(chance: Chance) -> Number:
    return Number(str(chance.below(2**53)) if chance.once(3) else chance.of(COUNTS))


def maybe(chance: Chance, make) -> object:
    return None if chance.once(4) else make(chance)


def texts(chance: Chance) -> list:
    return chance.some(4, lambda: text(chance))


def flags(chance: Chance) -> Object:
    return distinct(chance.some(4, lambda: (name(chance), chance.once(2))))


def text_map(chance: Chance) -> Object:
    return distinct(chance.some(4, lambda: (name(chance), text(chance))))


def objects(chance: Chance) -> list:
    return chance.some(3, lambda: free_object(chance, 3))


def cased(chance: Chance, word: str) -> str:
    """The word in another case, now and then."""
    return chance.of((word, word, word.upper(), word.title(), "".join(chance.of((c, c.upper())) for c in word)))


def response(chance: Chance) -> Object:
    return some(chance, {
        "text": lambda: maybe(chance, text), "approved": lambda: chance.of((True, False, None)), "decision": lambda: maybe(chance, text),
        "data": lambda: maybe(chance, members), "received_at": lambda: maybe(chance, time),
    }, inside=3)  # fmt: skip


def interrupt(chance: Chance) -> Object:
    """With the sixteen members of one relative, the eight of another, or any."""
    owners = ("request_id", "user_id", "session_id", "envelope_id", "trace_id", "span_id")
    makers = {each: lambda: maybe(chance, text) for each in ("id", "question", "message", *owners)}
    makers["kind"] = lambda: chance.of(KINDS)
    makers["data"] = lambda: maybe(chance, members)
    makers["response"] = lambda: maybe(chance, response)
    makers["status"] = lambda: chance.of(("pending", "resolved", "expired", "cancelled", None))
    makers.update({each: lambda: maybe(chance, time) for each in ("created_at", "expires_at", "resolved_at")})
    eight = ("id", "kind", "question", "message", "data", "response", "created_at", "expires_at")
    width = chance.below(3)
    if width == 0:
        return some(chance, {each: makers[each] for each in eight}, eight, inside=2, open=False)
    return some(chance, makers, tuple(makers) if width == 1 else ("kind",), inside=2)


def record(chance: Chance) -> Object:
    return some(chance, {
        "agent": lambda: text(chance), "stage_order": lambda: count(chance), "started_at": lambda: maybe(chance, time),
        "completed_at": lambda: maybe(chance, time), "duration_ms": lambda: count(chance),
        "status": lambda: chance.of(("running", "success", "error", "skipped")), "error": lambda: maybe(chance, text),
        "llm_calls": lambda: count(chance),
    }, inside=3)  # fmt: skip


def envelope(chance: Chance) -> Object:
    makers: dict = {}
    for kind, names in (
        (lambda: text(chance), ("envelope_id", "request_id", "user_id", "session_id", "raw_input", "current_stage")),
        (lambda: maybe(chance, time), ("received_at", "created_at", "completed_at")),
        (lambda: free_object(chance, 2), ("outputs", "metadata")),
        (lambda: texts(chance), ("stage_order", "all_goals", "remaining_goals", "loop_feedback")),
        (lambda: count(chance), ("iteration", "max_iterations", "llm_call_count", "max_llm_calls", "agent_hop_count")),
        (lambda: count(chance), ("max_agent_hops", "current_stage_number", "max_stages")),
        (lambda: chance.once(2), ("terminated", "interrupt_pending", "parallel_mode")),
        (lambda: maybe(chance, text), ("termination_reason",)),
        (lambda: None if chance.once(9) else cased(chance, chance.of(REASONS)), ("terminal_reason",)),
        (lambda: maybe(chance, interrupt), ("interrupt",)),
        (lambda: flags(chance), ("active_stages", "completed_stage_set")),
        (lambda: text_map(chance), ("failed_stages", "goal_completion_status")),
        (lambda: objects(chance), ("completed_stages", "prior_plans", "errors")),
        (lambda: chance.some(3, lambda: record(chance)), ("processing_history",)),
    ):
        makers.update(dict.fromkeys(names, kind))
    made = some(chance, makers, tuple(makers) if chance.once(4) else ())
    return distinct([*made, ("request_context", members(chance))]) if chance.once(5) else made


def route(chance: Chance, inside: int) -> object:
    """A name, or the resolver's object. In an object a step may only have a `/` where the name can say the same."""
    step = chance.of(("a", "b-1", " ", "é", "10"))
    flow = chance.of(("f", "home", "𝕏"))
    if chance.once(2):
        return chance.of((step, f"{flow}/{step}", f"{flow}/{step}/x"))
    parts = [("step_id", f"{step}/x" if chance.once(5) else step), ("flow", flow)]
    if chance.once(3) and "/" not in parts[0][1]:
        parts = chance.of((parts[:1], [parts[0], ("flow", None)]))
    return distinct(chance.shuffled([*parts, *unknown(chance, ("flow", "step_id"), inside + 1)]))


def signal(chance: Chance, inside: int = 1) -> Object:
    word = chance.of(DECISIONS)
    branches = word in ("branch", "route", "switch", "redirect")
    made = some(chance, {
        "decision": lambda: cased(chance, word), "next_step_id": lambda: chance.of((None, "a", "f/a", "𝕏")),
        "route": lambda: None if chance.once(4) else route(chance, inside), "reason": lambda: text(chance),
        "confidence": lambda: Number(chance.of(SHARES)), "needs_human": lambda: chance.once(2),
    }, ("decision",), inside=inside)  # fmt: skip
    if branches and not any(value for each, value in made if each in ("next_step_id", "route")):
        made = distinct([*made, ("next_step_id", "a")])
    return made


def path(chance: Chance) -> str:
    return "/".join([chance.of(PIECES), *chance.some(2, lambda: chance.of(PIECES))]).replace("C:/", "C/").replace("c:/", "c/")


def handoff(chance: Chance) -> Object:
    status = chance.of(("succeeded", "failed", "skipped"))
    makers = {each: lambda: chance.of(("s", "é", "run-20251228-010000-a", "10", " x")) for each in ("step_id", "flow_key", "run_id")}
    makers["routing_signal"] = lambda: signal(chance, 2)
    makers["summary"] = lambda: chance.of("ab 𝕏é") * chance.of((1999, 2000)) if chance.once(20) else text(chance)
    makers["status"] = lambda: status
    needed = tuple(makers)
    makers["artifacts"] = lambda: distinct(chance.some(4, lambda: (name(chance), path(chance))))
    makers["error"] = lambda: chance.of((None, "")) if status == "succeeded" else maybe(chance, text)
    makers["duration_ms"] = lambda: count(chance)
    makers["timestamp"] = lambda: maybe(chance, time)
    for each in ("file_changes", "verification_details", "routing_audit", "assumptions_made", "decisions_made"):
        makers[each] = lambda: free(chance, 1)
    makers["prompt_hash"] = lambda: maybe(chance, text)
    makers["verification_passed"] = lambda: chance.of((True, False, None))
    return some(chance, makers, needed)


def report(chance: Chance) -> Object:
    return some(chance, {
        "ok": lambda: chance.once(2), "generatedAt": lambda: chance.of(("2026-02-20T05:30:00.000Z", text(chance))),
        "skillName": lambda: text(chance), "data": lambda: free(chance, 1),
        "metrics": lambda: members(chance) if chance.once(2) else value(chance),
        "error": lambda: distinct([("code", value(chance, 1)), ("message", value(chance, 1))]) if chance.once(2) else value(chance),
    }, ("ok", "generatedAt", "skillName"))  # fmt: skip


def filled(chance: Chance) -> str:
    return text(chance) or chance.of(SCALARS)


def reference(chance: Chance) -> Object:
    required = {each: lambda: filled(chance) for each in ("artifactId", "representationRevisionId", "digest", "mime")}
    required["originKind"] = lambda: chance.of(ORIGINS)
    optional = {"title": lambda: text(chance), "filename": lambda: text(chance), "size": lambda: count(chance)}
    return some(chance, {**required, **optional}, tuple(required), open=False)


def answer(chance: Chance) -> Object:
    most = 20 if chance.once(10) else 3
    return some(chance, {
        "text": lambda: text(chance), "attachments": lambda: chance.some(most, lambda: reference(chance)),
    }, ("text",), open=False)  # fmt: skip


OTHERS = {
    "envelope-dict": envelope, "handoff": handoff, "signal": signal, "signal-resolver": signal, "report": report, "answer": answer,
    "json": lambda chance: free(chance, 0),
}  # fmt: skip
