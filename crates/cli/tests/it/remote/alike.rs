//! A command prints the same wherever the store is, byte for byte: only the time that has passed may differ.

use super::{Afar, served};
use crate::stage::{Stage, text};
use serde_json::Value;

/// Steps with output, a file that was there before, a file that is new, a loop, an inner flow, a fan; then a question.
const RICH: &str = "
flow: rich
title: Everything at once
inputs: { amount: { type: number, default: 1.00 } }
steps:
  - { id: draft, run: 'echo out; echo err >&2; echo more >> notes.md; echo new > new.md', artifacts: [notes.md, new.md] }
  - { id: look, for_each: [api, web], run: 'echo looks at $ENVOI_ATTEMPT' }
  - { id: inner, flow: inner.yaml }
  - id: approve
    ask:
      message: Publish these notes?
      schema: { type: object, required: [channel], properties: { channel: { enum: [blog, mail] } } }
  - { id: publish, run: 'echo published' }
";

const INNER: &str = "flow: inner\nsteps:\n  - { id: compile, run: echo compiled }\n";

/// Without the time that has passed, by which columns are wider or narrower; a text without any stays as it is.
fn timeless(text: &str) -> String {
    if !text.contains(" ago") {
        return text.to_owned();
    }
    let span = |c: char| c.is_ascii_digit() || " sminhd".contains(c);
    let untimed = |line: &str| {
        let mut parts: Vec<&str> = line.split(" ago").collect();
        let last = parts.pop();
        let spans = parts.into_iter().map(|part| part.trim_end_matches(span));
        let whole = spans.chain(last).collect::<Vec<_>>().join(" ago");
        whole.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().map(untimed).collect()
}

#[test]
fn a_command_that_shows_something_prints_what_it_prints_where_the_store_is() {
    let stage = Stage::new();
    let (_served, afar) = served(&stage);
    stage.write("rich.yaml", RICH);
    stage.write("inner.yaml", INNER);
    stage.write("notes.md", "words\n");
    stage.write("bad.yaml", "flow: bad\nsteps:\n  - { id: a, run: 'echo words; exit 1' }\n");
    stage.expect(1, &["run", "bad.yaml"]);
    let waits = stage.expect(3, &["run", "rich.yaml"]);
    let run = waits.out.split(' ').next().unwrap().to_owned();
    let question = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    compare(&stage, &afar, &run, &question);
    stage.expect(0, &["approve", "--field", "channel=mail"]);
    compare(&stage, &afar, &run, &question);
}

fn compare(stage: &Stage, afar: &Afar<'_>, run: &str, question: &str) {
    let short = &run[run.len() - 8..];
    for arguments in [
        &["runs"][..],
        &["runs", "--limit", "1"],
        &["runs", "--unfinished"],
        &["--json", "runs"],
        &["inbox"],
        &["--json", "inbox"],
        &["inbox", "--all"],
        &["--json", "inbox", "--all"],
        &["inbox", run],
        &["show"],
        &["show", short],
        &["--json", "show", &run[4..]],
        &["show", run, "--envelope"],
        &["show", run, "--events"],
        &["show", run, "--handoff", "draft"],
        &["show", run, "--handoff", "0.look"],
        &["show", run, "--handoff", "inner.1.compile"],
        &["show", run, "--handoff", "nothing"],
        &["show", question],
        &["--json", "show", &question[4..]],
        &["logs"],
        &["logs", run, "--stderr"],
        &["--json", "logs", short],
        &["logs", run, "--step", "look"],
        &["logs", run, "-f"],
        &["why"],
        &["why", run, "--step", "draft"],
        &["--json", "why", run],
        &["show", "run_"],
        &["show", "nothing"],
        &["show", ""],
        &["why", "run_00000000000000000000000000"],
        &["show", "int_00000000000000000000000000"],
    ] {
        let (here, there) = (stage.envoi(arguments), afar.envoi(arguments));
        assert_eq!(there.code, here.code, "{arguments:?}: {there:?}");
        assert_eq!(timeless(&there.out), timeless(&here.out), "{arguments:?}");
        assert_eq!(timeless(&there.err), timeless(&here.err), "{arguments:?}");
        assert!(
            here.code != Some(0)
                || !here.out.is_empty()
                || here.err.contains("nothing waits")
                || arguments.contains(&"--unfinished"),
            "{arguments:?} shows something"
        );
    }
}

/// A run that was started there and one that was started here, by the same steps.
fn twice(flow: &str, arguments: &[&str]) -> [(Option<i32>, String, String); 2] {
    [false, true].map(|is_afar| {
        let stage = Stage::with_flow(flow);
        let done = if is_afar {
            let (_served, afar) = served(&stage);
            afar.envoi(arguments)
        } else {
            stage.envoi(arguments)
        };
        let runs = stage.runs();
        let (run, question) = match runs.first() {
            Some(row) => {
                let run = text(&row["run"]);
                let asked = stage.json(&["--json", "inbox", &run, "--all"]);
                (run, asked[0]["question"].as_str().unwrap_or("no question").to_owned())
            }
            None => ("no run".to_owned(), "no question".to_owned()),
        };
        let plain = |text: &str| {
            let text = text
                .replace(&run, "RUN")
                .replace(&question, "INT")
                .replace(&*stage.path("").to_string_lossy(), "/");
            let digits: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            digits.replace("first", "tester")
        };
        (done.code, plain(&done.out), plain(&done.err))
    })
}

#[test]
fn a_run_at_a_server_is_shown_and_exits_as_at_its_store() {
    let one = |step: &str| format!("flow: one\nsteps:\n  - {{ id: a, {step} }}\n");
    let fails = "flow: one\nlimits: { agent_hops: 1 }\nsteps:\n  - { id: a, run: 'exit 1', retry: { attempts: 3 } }\n";
    for (flow, arguments, code) in [
        (one("run: echo words"), &["run", "flow.yaml"][..], 0),
        (one("run: echo words; exit 3"), &["run", "flow.yaml"], 1),
        (one("ask: 'Publish it?'"), &["run", "flow.yaml"], 3),
        (one("ask: 'Publish it?'"), &["run", "flow.yaml", "--yes-to", "a"], 0),
        (one("run: echo words"), &["run", "flow.yaml", "--yes-to", "b"], 2),
        (one("run: echo words"), &["run", "flow.yaml", "-i", "x=1"], 2),
        (one("run: echo words"), &["run", "flow.yaml", "--copy"], 0),
        (one("runs: echo words"), &["run", "flow.yaml"], 2),
        (one("run: echo words"), &["run", "no-such.yaml"], 2),
        (fails.to_owned(), &["run", "flow.yaml"], 4),
    ] {
        let [here, there] = twice(&flow, arguments);
        assert_eq!(here.0, Some(code), "{arguments:?}: {here:?}");
        assert_eq!(there, here, "{arguments:?} of {flow}");
    }
}

#[test]
fn with_json_the_events_come_as_they_are_shown_and_the_end_after_them() {
    let stage = Stage::with_flow(
        "flow: one\ninputs: { amount: { type: number } }\nsteps:\n  - { id: a, run: ['echo', '${{ inputs.amount }}'] }\n",
    );
    let (_served, afar) = served(&stage);
    let done = afar.expect(0, &["--json", "run", "flow.yaml", "-i", "amount=1.00"]);
    let run = stage.run_id();
    let events = stage.expect(0, &["show", &run, "--events"]).out;
    let end = done.out.strip_prefix(events.as_str()).unwrap_or_else(|| panic!("{}", done.out));
    let end: Value = serde_json::from_str(end).unwrap();
    assert_eq!((&end["result"]["run"], &end["result"]["exit_code"]), (&Value::from(run), &Value::from(0)));
    assert!(events.contains("\"inputs\":{\"amount\":1.00}"), "numbers are as they were given: {events}");
}
