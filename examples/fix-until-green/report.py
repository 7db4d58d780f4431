"""The step `report`, a skill: `report.py PACKAGE` says what was changed and why, as `report.html` and as a SkillReport.

Reads `.repair/` beside the package (what was tried and what was kept) and the last hand-off at `$ENVOI_HANDOFF`; counts
only what this run (`$ENVOI_RUN_ID`) did. Everything that comes from a file is escaped. Running it again writes the same
page.
"""

import json
import os
import sys
from datetime import datetime, timezone
from html import escape
from pathlib import Path

from repairer.notebook import read_lines, write

SKILL = "repair-report"
PAGE = Path("report.html")


def main(arguments, environ=os.environ):
    if len(arguments) != 1:
        print("usage: report.py PACKAGE", file=sys.stderr)
        return 2
    try:
        facts = gather(Path(arguments[0]).resolve().parent / ".repair", environ)
        write(PAGE, page(facts))
    except (OSError, ValueError, KeyError) as error:
        message = f"{type(error).__name__}: {error}"
        leave(environ, ok=False, data=None, error={"code": "REPORT_NOT_WRITTEN", "message": message})
        print(f"No report: {error}", file=sys.stderr)
        return 1
    leave(environ, ok=True, data=summary(facts), metrics=metrics(facts))
    print(sentence(facts))
    return 0


def gather(folder, environ):
    """All facts of the page: the changes and the tries of this run, and the last hand-off."""
    run = environ.get("ENVOI_RUN_ID", "")
    tried_path = folder / "tried.json"
    tried = json.loads(tried_path.read_text(encoding="utf-8")) if tried_path.exists() else {}
    return {
        "run": run,
        "flow": environ.get("ENVOI_FLOW", ""),
        "changes": [each for each in read_lines(folder / "changes.jsonl") if each["run"] == run],
        "tried": [each for each in tried.values() if each["run"] == run],
        "handoff": handoff(environ.get("ENVOI_HANDOFF")),
    }


def handoff(path):
    """The last hand-off, or an empty one: the page can be made without."""
    if not path or not Path(path).is_file():
        return {}
    return json.loads(Path(path).read_text(encoding="utf-8"))


def rounds(facts):
    """One row a visit that tried something: `(visit, how many tries, the change it kept or None)`, in order."""
    kept = {change["visit"]: change for change in facts["changes"]}
    tries = {visit: 0 for visit in kept}
    for entry in facts["tried"]:
        tries[entry["visit"]] = tries.get(entry["visit"], 0) + 1
    return [(visit, tries[visit], kept.get(visit)) for visit in sorted(tries)]


def before_and_after(facts):
    """`(failing before, failing after, tests)`, or None if nothing was changed."""
    changes = sorted(facts["changes"], key=lambda change: change["visit"])
    if not changes:
        return None
    return changes[0]["failing_before"], changes[-1]["failing_after"], changes[-1]["tests"]


def summary(facts):
    counts = before_and_after(facts)
    return {
        "verified": loop_ended_well(facts),
        "report": str(PAGE),
        "failing_before": counts[0] if counts else None,
        "failing_after": counts[1] if counts else None,
        "changes": [
            {key: change[key] for key in ("file", "line", "before", "after", "what", "tests_fixed")}
            for change in facts["changes"]
        ],
    }


def metrics(facts):
    return {
        "visits_with_tries": len(rounds(facts)),
        "candidates_tried": len(facts["tried"]),
        "changes": len(facts["changes"]),
        "llm_calls": 0,
    }


def loop_ended_well(facts):
    """Whether the critic let the run go on because its target was reached."""
    signal = facts["handoff"].get("routing_signal") or {}
    went_on = signal.get("decision") == "advance" and not signal.get("needs_human")
    return went_on and facts["handoff"].get("status") == "succeeded"


def sentence(facts):
    counts = before_and_after(facts)
    if counts is None:
        return "Nothing had to be changed."
    changes = len(facts["changes"])
    return (
        f"{changes} change{'' if changes == 1 else 's'}, {len(facts['tried'])} candidates tried; "
        f"failing tests: {counts[0]} before, {counts[1]} after, {counts[2]} in all. See {PAGE}."
    )


def leave(environ, ok, data, metrics=None, error=None):
    """Write the SkillReport where the engine looks for it, if an engine asked for one."""
    path = environ.get("ENVOI_REPORT")
    if not path:
        return
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    report = {"ok": ok, "generatedAt": now, "skillName": SKILL, "data": data}
    if metrics is not None:
        report["metrics"] = metrics
    if error is not None:
        report["error"] = error
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write(Path(path), json.dumps(report, indent=2) + "\n")


# The page. Every value goes through `escape` on its way in.


def page(facts):
    return PAGE_FRAME.format(
        style=STYLE,
        verdict=verdict(facts),
        numbers=numbers(facts),
        visits=visit_rows(facts) or NO_VISITS,
        changes="\n".join(change_card(*each) for each in enumerate(facts["changes"], 1)) or NO_CHANGES,
        run=escape(facts["run"] or "without an engine"),
        flow=escape(facts["flow"] or "by hand"),
        handoff=handoff_rows(facts["handoff"]),
    )


def verdict(facts):
    if loop_ended_well(facts):
        return '<p class="verdict good">All tests pass. The critic has verified the package.</p>'
    return '<p class="verdict open">Not verified by the critic.</p>'


def numbers(facts):
    counts = before_and_after(facts)
    cells = [
        ("failing tests before", counts[0] if counts else "–"),
        ("failing tests after", counts[1] if counts else "–"),
        ("tests", counts[2] if counts else "–"),
        ("changes kept", len(facts["changes"])),
        ("candidates tried", len(facts["tried"])),
    ]
    return "\n".join(f"<div><b>{escape(str(value))}</b><span>{escape(label)}</span></div>" for label, value in cells)


def visit_rows(facts):
    at_first = max((change["failing_before"] for change in facts["changes"]), default=0)
    return "\n".join(visit_row(*each, at_first) for each in rounds(facts))


def visit_row(visit, tries, change, at_first):
    if change is None:
        kept, left = '<span class="faint">nothing kept</span>', ""
    else:
        kept = f"<code>{escape(change['file'])}:{change['line']}</code> {code_words(change['what'])}"
        left = bar(change["failing_after"], change["failing_before"], at_first)
    return f"<tr><td>{escape(str(visit))}</td><td>{tries}</td><td>{kept}</td><td>{left}</td></tr>"


def bar(after, before, at_first):
    """Failing tests as a bar: what was left, and what this visit fixed, out of those that failed at first."""
    fixed, failing = (100 * count / max(at_first, 1) for count in (before - after, after))
    return (
        f'<span class="count">{before} → {after}</span><span class="bar">'
        f'<i class="left" style="width:{failing:.1f}%"></i><i class="fixed" style="width:{fixed:.1f}%"></i></span>'
    )


def change_card(place, change):
    why = change["why"]
    fixed = "".join(f"<li><code>{escape(test)}</code></li>" for test in change["tests_fixed"])
    where = f"{escape(change['file'])}:{change['line']}"
    return f"""<article>
<h3>{place}. {code_words(change["what"])} <small><code>{where}</code>, visit {change["visit"]}</small></h3>
{diff(change)}
<p><b>Why here:</b> <code>{escape(why["failing_test"])}</code> fails and depends on this line;
passing tests that do: {why["passing_tests_on_this_line"]} (suspicion {why["suspicion"]}).
It was candidate {change["tried"]} of that visit.</p>
<details><summary>{tests(len(change["tests_fixed"]))} fixed, none broken</summary><ul>{fixed}</ul></details>
</article>"""


def tests(count):
    return f"{count} test" if count == 1 else f"{count} tests"


def diff(change):
    first = change["line"] - len(change["above"])
    rows = [("", first + place, text) for place, text in enumerate(change["above"])]
    rows += [("-", change["line"], change["before"]), ("+", change["line"], change["after"])]
    rows += [("", change["line"] + place, text) for place, text in enumerate(change["below"], 1)]
    return "<pre>" + "".join(diff_row(*row) for row in rows) + "</pre>"


def diff_row(sign, number, text):
    name = {"-": "out", "+": "in", "": "same"}[sign]
    return f'<span class="{name}"><i>{number:>4} {sign or " "} </i>{escape(text)}\n</span>'


def code_words(text):
    """Text with `words` in back quotes shown as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def handoff_rows(envelope):
    signal = envelope.get("routing_signal") or {}
    rows = [
        ("step", envelope.get("step_id")),
        ("status", envelope.get("status")),
        ("decision", signal.get("decision")),
        ("reason", signal.get("reason")),
        ("confidence", signal.get("confidence")),
        ("finished", envelope.get("timestamp")),
    ]
    return "\n".join(
        f"<tr><th>{escape(label)}</th><td>{escape(str(value))}</td></tr>" for label, value in rows if value is not None
    )


NO_VISITS = '<tr><td colspan="4">The repairer tried nothing.</td></tr>'
NO_CHANGES = "<p>The package is as it was.</p>"

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --faint: #66707f; --paper: #fbfbf9; --card: #fff; --line: #dfe2e6;
  --green: #1a7f43; --green-soft: #e3f4e8; --red: #b3382c; --red-soft: #fbe9e7; --amber: #8a5a00; --amber-soft: #fdf1d8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --faint: #98a2b0; --paper: #15181d; --card: #1c2027;
  --line: #323843; --green: #6fce91; --green-soft: #16331f; --red: #f0938a; --red-soft: #3b1d1a; --amber: #f0c674; --amber-soft: #38290c; } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 58rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif }
h1 { font-size: 1.7rem; margin: 0 0 .75rem } h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem } h3 { font-size: 1rem; margin: 0 0 .75rem }
small, .faint { color: var(--faint); font-weight: normal }
code, pre { font: .86em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace }
.verdict { padding: .6rem .9rem; border-radius: .5rem; font-weight: 600 }
.good { background: var(--green-soft); color: var(--green) } .open { background: var(--amber-soft); color: var(--amber) }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem }
.numbers div, article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem }
.numbers b { display: block; font-size: 1.6rem; line-height: 1.2 } .numbers span { color: var(--faint); font-size: .85rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--faint); font-weight: 500; white-space: nowrap }
.count { display: inline-block; min-width: 4.5rem; font-variant-numeric: tabular-nums }
.bar { display: inline-flex; width: 7rem; height: .55rem; border-radius: 1rem; overflow: hidden; background: var(--line) }
.bar .fixed { background: var(--green) } .bar .left { background: var(--red) }
article { margin-bottom: 1rem } article p { margin: .75rem 0 .25rem }
pre { margin: 0; overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; padding: .4rem 0 }
pre span { display: block; min-width: max-content; padding: 0 .75rem } pre i { color: var(--faint); font-style: normal; user-select: none }
pre .out { background: var(--red-soft); color: var(--red) } pre .in { background: var(--green-soft); color: var(--green) }
details { margin-top: .5rem } summary { cursor: pointer; color: var(--faint) }
"""

PAGE_FRAME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Repair report</title>
<style>{style}</style>
<h1>Repair report</h1>
{verdict}
<section class="numbers">
{numbers}
</section>
<h2>Visits of the repairer</h2>
<table>
<tr><th>visit</th><th>tried</th><th>kept</th><th>failing tests</th></tr>
{visits}
</table>
<h2>Changes</h2>
{changes}
<h2>Where this comes from</h2>
<table>
<tr><th>run</th><td><code>{run}</code></td></tr>
<tr><th>flow</th><td>{flow}</td></tr>
{handoff}
</table>
<p class="faint">The changes were found by search and judged by the package's tests alone. A suite that asks too little lets a
wrong repair pass: read each change before you keep it.</p>
</html>
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
