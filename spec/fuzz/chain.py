"""Carries generated documents through all three languages, and compares every byte that comes out.

A document D is decoded and encoded by each language for itself: Rust(D), Python(D) and TypeScript(D) must be the same bytes N.
Then it goes round: Rust → Python → TypeScript → Rust → Python → TypeScript → Rust, on one line first and indented from the
second trip on; at each stop the bytes must be N in that form, so that two trips change nothing after the first reading.

What a resolver, a writer of hand-offs and an import make of their inputs, with audits and reports, is compared in the same way,
once: it is another kind of document. So is a refusal.

A broken document must be refused by all three with the very same message (code, pointer, line, column, what was expected and
found, what to do), or be accepted by all three with the same bytes. Bytes that are not UTF-8 cannot be given to a decoder of
texts: answers are broken in other ways.

The same seed gives the same documents. A disagreement is printed with the document as a Python literal; exit 1.
"""

import argparse
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import damage
import documents
import inputs
from spelling import Chance, Object, spell

HERE = Path(__file__).resolve().parent
SHOWN = 5
"""How many disagreements are printed."""

LONGEST = 600
"""How many bytes of a text are printed; the seed has the rest."""


class Language:
    """One implementation: a process that answers frames."""

    def __init__(self, name: str, command: list) -> None:
        self.name = name
        self.command = command

    def pass_all(self, form: str, batch: list) -> list:
        """Decodes and encodes each `(kind, document)`; for each whether it was accepted, and the bytes."""
        frames = b"".join(b"%s %s %d\n%s\n" % (kind.encode(), form.encode(), len(text), text) for kind, text in batch)
        run = subprocess.run(self.command, input=frames, stdout=subprocess.PIPE, check=True)
        answers, at = [], 0
        while at < len(run.stdout):
            end = run.stdout.index(b"\n", at)
            verdict, length = run.stdout[at:end].split()
            at = end + 1 + int(length) + 1
            answers.append((verdict == b"ok", run.stdout[end + 1 : at - 1]))
        if len(answers) != len(batch):
            sys.exit(f"{self.name} answered {len(answers)} of {len(batch)} documents")
        return answers


class Findings:
    """What the languages disagreed about."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, what: str, kind: str, document: bytes, answers: dict) -> None:
        self.count += 1
        if self.count > SHOWN:
            return
        print(f"\n{what}: {kind} {document[:LONGEST]!r} ({len(document)} bytes)")
        for name, (accepted, text) in answers.items():
            print(f"  {name}: {'accepted' if accepted else 'refused'} {text[:LONGEST]!r}")


def apart(languages: list, batch: list) -> list:
    """What each language makes of each document by itself."""
    answers = [language.pass_all("compact", batch) for language in languages]
    return [dict(zip((language.name for language in languages), each)) for each in zip(*answers)]


def carry(languages: list, batch: list, findings: Findings, what: str) -> int:
    """Documents that must be accepted: apart, then two trips round. How many bytes went round."""
    together = apart(languages, batch)
    first = []
    for (kind, document), answers in zip(batch, together):
        if len(set(answers.values())) > 1 or not all(accepted for accepted, _ in answers.values()):
            findings.add(f"{what}, read apart", kind, document, answers)
        first.append(answers["rust"][1])
    rust, python, typescript = languages
    legs = ((python, "compact"), (typescript, "compact"), (rust, "indented"), (python, "indented"), (typescript, "indented"), (rust, "compact"))
    now, indented = first, None
    for language, form in legs:
        answers = language.pass_all(form, [(kind, text) for (kind, _), text in zip(batch, now)])
        indented = indented or ([text for _, text in answers] if form == "indented" else None)
        wanted = first if form == "compact" else indented
        for (kind, document), before, want, got in zip(batch, now, wanted, answers):
            if got != (True, want):
                findings.add(f"{what}, at {language.name}", kind, document, {"before": (True, before), "wanted": (True, want), language.name: got})
        now = [text for _, text in answers]
    return sum(map(len, first))


def answer(languages: list, batch: list, findings: Findings) -> int:
    """Inputs that are answered with something else: the same bytes, or the same refusal. How many were refused."""
    together = apart(languages, batch)
    for (kind, document), answers in zip(batch, together):
        if len(set(answers.values())) > 1:
            findings.add("answered apart", kind, document, answers)
    return sum(not answers["rust"][0] for answers in together)


def refuse(languages: list, batch: list, how: list, findings: Findings) -> Counter:
    """Broken documents: the same refusal, or the same bytes. How many of each kind of damage were refused."""
    refused: Counter = Counter()
    for (kind, document), broken, answers in zip(batch, how, apart(languages, batch)):
        verdicts = [accepted for accepted, _ in answers.values()]
        refused[broken] += not any(verdicts)
        if len(set(answers.values())) > 1:
            findings.add(f"broken by {broken}", kind, document, answers)
        elif all(verdicts) and broken not in damage.MAY_BE_ONE_STILL:
            findings.add(f"accepted although broken by {broken}", kind, document, answers)
    return refused


def make_broken(chance: Chance, count: int) -> tuple:
    batch, how = [], []
    kinds = ["envelope", "envelope", "envelope", *documents.OTHERS]
    while len(batch) < count:
        kind = chance.of(kinds)
        value = documents.envelope(chance) if kind == "envelope" else documents.OTHERS[kind](chance)
        if not isinstance(value, Object) or not value:
            continue
        broken, text = damage.broken(value, chance)
        if kind != "answer" or is_text(text):
            batch.append((kind, text))
            how.append(broken)
    return batch, how


def is_text(document: bytes) -> bool:
    try:
        document.decode()
    except UnicodeDecodeError:
        return False
    return True


def say(line: str) -> None:
    print(textwrap.fill(line, 116, subsequent_indent="  "), flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("count", type=int, nargs="?", default=10_000, help="pipeline envelopes, and broken documents; half as many others and inputs")
    options.add_argument("seed", nargs="?", default="1", help="any word")
    options.add_argument("--rust", required=True, help="the program `passage`")
    given = options.parse_args()
    languages = [
        Language("rust", [given.rust]),
        Language("python", [sys.executable, "-B", str(HERE / "passage.py")]),
        Language("typescript", ["node", str(HERE / "passage.mjs")]),
    ]
    findings, began = Findings(), time.monotonic()
    say(f"seed {given.seed}")

    chance = Chance(f"{given.seed} envelopes")
    batch = [("envelope", spell(documents.envelope(chance), chance, chance.once(2))) for _ in range(given.count)]
    size = carry(languages, batch, findings, "envelope")
    say(f"{len(batch)} pipeline envelopes, {size} bytes: read apart, then two trips")

    chance = Chance(f"{given.seed} others")
    kinds = [chance.of(list(documents.OTHERS)) for _ in range(given.count // 2)]
    batch = [(kind, spell(documents.OTHERS[kind](chance), chance, chance.once(2))) for kind in kinds]
    size = carry(languages, batch, findings, "other")
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(kinds).items()))
    say(f"{len(batch)} others, {size} bytes: {told}")

    chance = Chance(f"{given.seed} inputs")
    kinds = [chance.of(list(inputs.INPUTS)) for _ in range(given.count // 2)]
    refused_inputs = answer(languages, [(kind, inputs.INPUTS[kind](chance)) for kind in kinds], findings)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(kinds).items()))
    say(f"{len(kinds)} inputs, {refused_inputs} refused: {told}")

    batch, how = make_broken(Chance(f"{given.seed} broken"), given.count)
    refused = refuse(languages, batch, how, findings)
    told = ", ".join(f"{refused[each]} of {count} {each}" for each, count in sorted(Counter(how).items()))
    say(f"{len(batch)} broken documents, {sum(refused.values())} refused: {told}")

    say(f"{findings.count} disagreements, {time.monotonic() - began:.0f} s")
    return 1 if findings.count else 0


if __name__ == "__main__":
    sys.exit(main())
