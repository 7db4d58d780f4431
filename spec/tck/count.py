"""Prints how the tests of a report (JUnit's XML) went, by binding; ends with 1 if any of them failed, or none ran.

Called with a level and the report.
"""

import collections
import sys
import xml.etree.ElementTree as ET

# By what the names of tests have in them; what is left is about the card, or about none.
BINDINGS = {"grpc": "grpc", "jsonrpc": "jsonrpc", "http_json": "http_json", "httpjson": "http_json", "rest": "http_json"}
WAYS = ("passed", "expected to fail", "skipped", "failed")


def way(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "expected to fail" if skipped.get("type") == "pytest.xfail" else "skipped"


def binding(case):
    where = f"{case.get('classname')} {case.get('name')}".lower()
    return next((name for word, name in BINDINGS.items() if word in where), "card")


level, report = sys.argv[1:]
counts = collections.defaultdict(collections.Counter)
for case in ET.parse(report).iter("testcase"):
    counts[binding(case)][way(case)] += 1
for name in ("jsonrpc", "http_json", "card", "grpc"):
    print(f"{level:6} {name:9} " + ", ".join(f"{counts[name][way]} {way}" for way in WAYS))
ran = sum(count["passed"] for count in counts.values())
sys.exit(1 if ran == 0 or any(count["failed"] for count in counts.values()) else 0)
