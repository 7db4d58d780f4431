"""One leg of the chain (see chain.py): the same frames as `crates/contract/examples/passage.rs`, with the Python library."""

import sys

import envoi
from envoi.errors import read_document


def signal(document: bytes) -> envoi.RoutingSignal:
    """A signal stands in other documents; here it is one itself."""
    return read_document(document, "ROUTING_SIGNAL_INVALID", envoi.RoutingSignal.from_dict)


def interpreted(envelope: object) -> list:
    """What reading an envelope had to interpret."""
    return [[each.pointer, each.read, each.taken_as] for each in envoi.Envelope.import_dict(envelope)[1]]


def route(document: bytes) -> list:
    """A signal and its audit."""
    resolution = envoi.resolve(envoi.decode_routing_input(document))
    return [resolution.signal.to_resolver_dict(), resolution.audit.to_dict()]


PASSES = {
    "envelope": lambda document: envoi.Envelope.from_json(document).to_state_dict(),
    "envelope-dict": lambda document: envoi.Envelope.from_json(document).to_dict(),
    "handoff": lambda document: envoi.HandoffEnvelope.from_json(document).to_dict(),
    "signal": lambda document: signal(document).to_dict(),
    "signal-resolver": lambda document: signal(document).to_resolver_dict(),
    "report": lambda document: envoi.SkillReport.from_json(document).to_dict(),
    "answer": lambda document: envoi.parse_user_envelope(document.decode(), True).to_dict(),
    "import": lambda document: read_document(document, "ENVELOPE_INVALID", interpreted),
    "route": route,
    "write": lambda document: envoi.write_handoff(document).to_dict(),
    "json": envoi.json.loads,
}


def main() -> None:
    frames, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := frames.readline():
        kind, form, length = header.decode().split()
        document = frames.read(int(length))
        frames.read(1)
        try:
            verdict, text = "ok", envoi.json.dumps(PASSES[kind](document), compact=form == "compact")
        except (envoi.ContractError, envoi.UserEnvelopeParseError, envoi.JsonError) as refusal:
            verdict, text = "refused", str(refusal)
        answer = text.encode()
        answers.write(b"%s %d\n%s\n" % (verdict.encode(), len(answer), answer))
    answers.flush()


main()
