"""The same bytes as the Rust implementation, on thousands of generated inputs. Runs when $ENVOI names the binary."""

import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

import envoi
from tests import generate

ENVOI = os.environ.get("ENVOI")
SEED = int(os.environ.get("ENVOI_TEST_SEED", "20261122"))
CASES = int(os.environ.get("ENVOI_TEST_CASES", "500"))


def expectation(make) -> dict:
    """What a case expects: the very text that this library writes, or its very refusal."""
    try:
        made = make()
    except (envoi.ContractError, envoi.UserEnvelopeParseError) as refusal:
        return {"expect_error": {"code": refusal.code, "reason_prefix": refusal.reason}}
    return {"expect_text": envoi.json.dumps(made)}


def route_case(chance: random.Random) -> dict:
    given = envoi.json.dumps(generate.routing_input(chance), compact=chance.random() < 0.5)
    make = lambda: envoi.resolve(envoi.decode_routing_input(given)).signal.to_resolver_dict()
    return {"op": "route.resolve", "input_text": given, **expectation(make)}


def labelled_route_case(chance: random.Random) -> dict:
    given = generate.labelled_routing(chance)
    make = lambda: envoi.resolve(envoi.decode_routing_input(given)).signal.to_resolver_dict()
    return {"op": "route.resolve", "input_text": given, **expectation(make)}


def convert_case(chance: random.Random) -> dict:
    given = {"signal": generate.signal(chance), "to": chance.choice(("orchestrator", "resolver"))}
    given.update(generate.some(chance, ("current_flow",), lambda: "f"))
    make = lambda: envoi.convert(given["signal"], given["to"], given.get("current_flow"))
    return {"op": "route.convert", "input": given, **expectation(make)}


def handoff_case(chance: random.Random) -> dict:
    given = envoi.json.dumps(generate.draft(chance), compact=chance.random() < 0.5)
    return {"op": "handoff.write", "input_text": given, **expectation(lambda: envoi.write_handoff(given).to_dict())}


def labelled_handoff_case(chance: random.Random) -> dict:
    given = generate.labelled_draft(chance)
    return {"op": "handoff.write", "input_text": given, **expectation(lambda: envoi.write_handoff(given).to_dict())}


def envelope_case(chance: random.Random) -> dict:
    given = generate.envelope(chance)
    if chance.random() < 0.2:
        given[chance.choice(list(envoi.Envelope().to_state_dict()))] = generate.value(chance, 2)
    return roundtrip_case(envoi.json.dumps(given, compact=chance.random() < 0.5))


def roundtrip_case(document: str) -> dict:
    try:
        state = envoi.Envelope.from_json(document).to_state_dict()
    except envoi.ContractError as refusal:
        expected = {"expect_error": {"code": refusal.code, "reason_prefix": refusal.reason}}
    else:
        texts = {name: envoi.json.dumps(member, compact=True) for name, member in state.items()}
        expected = {"expect": {"members": texts}}
    return {"op": "envelope.roundtrip", "input_text": document, **expected}


def broken_case(chance: random.Random) -> dict:
    """A damaged document; often it still is a valid one."""
    document = envoi.json.dumps(generate.envelope(chance), compact=chance.random() < 0.5)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(document))
        inserted = chance.choice(("", "", *'{}[]",:\\\n\t 0e-.+tfn\x00é\xa0\ufeff', "\\ud83d", "\\udc00", "\\u00e9", '"iteration":1,', "null"))
        document = document[:at] + inserted + document[at + chance.randrange(3) :]
    return roundtrip_case(document)


def answer_case(chance: random.Random) -> dict:
    ref = {"artifactId": "a", "representationRevisionId": "r", "digest": "d", "mime": "m", "originKind": "upload"}
    refs = ([], [ref], [{**ref, "size": generate.count(chance)}], [{**ref, "title": generate.text(chance)}], [ref] * 20, None, [{}], [{**ref, "x": 1}])
    given = {"text": chance.choice((generate.text(chance), "t", "t", None)), **generate.some(chance, ("attachments",), lambda: chance.choice(refs))}
    raw = envoi.json.dumps(given) if chance.random() < 0.9 else generate.step_text(chance)
    case = {"raw": raw, "enabled": chance.random() < 0.8, "top_level": chance.choice(([], [ref]))}
    make = lambda: envoi.parse_user_envelope(case["raw"], case["enabled"], case["top_level"]).to_dict()
    return {"op": "user_envelope.parse", "input": case, **expectation(make)}


def judge_case(chance: random.Random) -> dict:
    report = {"ok": chance.random() < 0.5, "generatedAt": "t", "skillName": "s", **generate.some(chance, ("data", "error", "metrics"), lambda: generate.value(chance, 2))}
    error = {"code": chance.choice(("X", "", 1)), "message": chance.choice((generate.text(chance), 1))}
    report.update(generate.some(chance, ("error",), lambda: error))
    texts = (None, envoi.json.dumps(report), envoi.json.dumps(generate.value(chance, 2)), "{")
    given = {"exit": chance.choice((0, 0, 0, 1, None)), "stderr": chance.choice(("", " ", "boom é" * 600)), "declared": chance.random() < 0.5, "report_text": chance.choice(texts)}

    def make() -> dict:
        verdict = envoi.judge(exit=given["exit"], stderr=given["stderr"], report_text=given["report_text"], declared=given["declared"])
        return {"ok": verdict.ok, "error": verdict.error and verdict.error.to_dict()}

    return {"op": "skill.judge", "input": given, **expectation(make)}


MAKERS = (
    route_case, labelled_route_case, convert_case, handoff_case, labelled_handoff_case, envelope_case,
    broken_case, answer_case, judge_case,
)  # fmt: skip


@unittest.skipUnless(ENVOI, "ENVOI does not name the binary")
class TheSameBytes(unittest.TestCase):
    def test_generated_cases_give_the_same_bytes_in_both_languages(self) -> None:
        for make in MAKERS:
            with self.subTest(make.__name__), tempfile.TemporaryDirectory() as folder:
                chance = random.Random(f"{SEED} {make.__name__}")
                cases = [{**make(chance), "name": f"{make.__name__} {index}"} for index in range(CASES)]
                file = Path(folder, "cases.json")
                file.write_text(envoi.json.dumps(cases), encoding="utf-8")
                run = subprocess.run([ENVOI, "conformance", file], capture_output=True, text=True, encoding="utf-8")
                self.assertTrue(run.stdout == f"{CASES} passed, 0 failed\n", run.stdout[:3000] + run.stderr)

    def test_the_filters_give_the_same_bytes(self) -> None:
        chance = random.Random(SEED)
        for _ in range(40):
            given = generate.routing_input(chance)
            self.check("route", given, lambda: envoi.resolve(envoi.RoutingInput.from_dict(given)).signal.to_resolver_dict())
            given = generate.draft(chance)
            self.check("handoff", given, lambda: envoi.write_handoff(given).to_dict())

    def check(self, command: str, given: dict, make) -> None:
        run = subprocess.run([ENVOI, command], input=envoi.json.dumps(given).encode(), capture_output=True)
        try:
            expected = envoi.json.dumps(make()).encode()
        except envoi.ContractError:
            expected = b""
        self.assertEqual((run.stdout, run.returncode), (expected, 0 if expected else 2))


if __name__ == "__main__":
    unittest.main()
