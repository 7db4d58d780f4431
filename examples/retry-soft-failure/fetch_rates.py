"""The step `rates`, a skill: asks the service once, and reports whether there was an answer.

It always exits 0: the program did its work. Whether the work had a result is said by the report at `$ENVOI_REPORT`,
which the engine believes more than the exit code.
"""

import json
import os
import sys
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

import upstream

SKILL = "fetch-rates"


def ask(address):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy on the way to this machine
    with direct.open(address, timeout=10) as answer:
        return json.load(answer)


def judge(answer):
    """The members of a report that say how it went: a notice is no answer, whatever its HTTP status was."""
    if "rates" not in answer:
        error = {"code": "UPSTREAM_THROTTLED", "message": answer.get("notice", "no rates")}
        return {"ok": False, "data": None, "error": error}
    return {"ok": True, "data": {"base": answer["base"], "rates": answer["rates"]}}


def make_report(verdict):
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    report = {"ok": verdict["ok"], "generatedAt": now, "skillName": SKILL, "data": verdict["data"]}
    return {**report, "error": verdict["error"]} if "error" in verdict else report


def write(path, report):
    """As a whole or not at all: half a report would be none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def main(path):
    with upstream.service() as address:
        verdict = judge(ask(address))
    write(Path(path), make_report(verdict))
    print("Got the rates." if verdict["ok"] else f"No rates: {verdict['error']['message']}")


if __name__ == "__main__":
    main(os.environ.get("ENVOI_REPORT") or sys.argv[1])
