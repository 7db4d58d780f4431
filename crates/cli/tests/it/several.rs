//! The views of a run that does several things at once: lines, tables, logs, decisions, and the picture on a terminal.

use crate::{
    stage::{Stage, wait_until},
    terminal::Terminal,
};

/// A fan, a loser that is given up, a step that is not done, a flow within the flow.
const FLOW: &str = "
flow: several
steps:
  - { id: start, run: 'echo started' }
  - { id: look, needs: [start], for_each: [api, web], max_parallel: 1, run: 'echo $ENVOI_ITEM is fine' }
  - { id: quick, needs: [start], run: 'until [ -e slow-is-there ]; do sleep 0.01; done; echo quick' }
  - { id: slow, needs: [start], run: 'touch slow-is-there; sleep 600' }
  - { id: first, needs: [quick, slow], join: any, run: 'echo first' }
  - { id: never, needs: [start], if: 'false', run: 'echo never' }
  - { id: part, needs: [look, first], flow: part.yaml }
";

const PART: &str = "
flow: part
steps:
  - { id: compile, run: 'echo compiled' }
  - { id: pack, for_each: [deb, rpm], run: 'echo packed $ENVOI_ITEM' }
";

fn done() -> (Stage, String) {
    let stage = Stage::with_flow(FLOW);
    stage.write("part.yaml", PART);
    let told = stage.expect(0, &["run", "flow.yaml", "--jobs", "4"]).err;
    (stage, told)
}

#[test]
fn plain_lines_tell_why_a_step_was_not_done_and_that_a_loser_ended() {
    let (_, told) = done();
    for line in [
        "  look.1             has 2 items, 1 at a time\n",
        "  0.look.1           done in ",
        "  slow.1             given up: step `first` goes on without it\n",
        "  slow.1.1           ended (given up)\n",
        "  never.1            skipped: condition is false\n",
        "  part.1             runs flow part\n",
        "  part.1.pack.1      has 2 items\n",
        "  part.1.0.pack.1.1  started (deb)\n",
    ] {
        assert!(told.contains(line), "{line:?} in {told}");
    }
    assert!(!told.contains("failed"), "{told}");
}

#[test]
fn logs_decisions_and_hand_offs_are_found_by_every_piece_of_an_id_that_has_a_name() {
    let (stage, _) = done();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for (place, expected) in [
        ("look", &["0.look.1.1 | api is fine", "1.look.1.1 | web is fine"][..]),
        ("1.look", &["1.look.1.1 | web is fine"]),
        ("0.look.1.1", &["0.look.1.1 | api is fine"]),
        ("part.1.0.pack", &["part.1.0.pack.1.1 | packed deb"]),
        ("part/compile", &["part.1.compile.1.1 | compiled"]),
        ("part.2", &[]),
        (
            "part",
            &[
                "part.1.0.pack.1.1 | packed deb",
                "part.1.1.pack.1.1 | packed rpm",
                "part.1.compile.1.1 | compiled",
            ],
        ),
    ] {
        for follow in [&[][..], &["--follow"]] {
            let told = stage.expect(0, &[&["logs", "--step", place], follow].concat()).out;
            assert_eq!(sorted(&told), expected, "{place}");
        }
    }
    for (place, expected, other) in [
        ("slow", "Given up: step `first` goes on without it", "look"),
        ("first", "first  goes on without slow", "never"),
        ("1.look", "1.look.1  done: ", "0.look"),
        ("look", "look.1  has 2 items, 1 at a time", "part"),
        ("part.compile", "part.1.compile.1  ", "pack"),
    ] {
        let told = stage.expect(0, &["why", "--step", place]).out;
        assert!(told.contains(expected) && !told.contains(&format!("{other}.1  ")), "{place}: {told}");
    }
    let ended = stage.expect(0, &["why"]).out;
    assert!(ended.contains("slow.1.1  ended: it had been given up") && !ended.contains("failed"), "{ended}");
    for (place, summary) in [
        ("look", "item 0: api is fine\nitem 1: web is fine"),
        ("1.look", "web is fine"),
        ("compile", "compiled"),
        ("part.1.pack", "item 0: packed deb\nitem 1: packed rpm"),
        ("1.pack", "packed rpm"),
        ("part", "item 0: packed deb\nitem 1: packed rpm"),
    ] {
        assert_eq!(stage.json(&["show", "--handoff", place])["summary"], summary, "{place}");
    }
    let none = stage.expect(2, &["show", "--handoff", "9.look"]);
    assert!(none.err.contains("HANDOFF_NOT_FOUND"), "{none:?}");
}

#[test]
fn a_table_of_visits_has_a_whole_before_its_parts() {
    let (stage, _) = done();
    let told = stage.expect(0, &["show"]).out;
    let table = told.split("VISIT ").nth(1).unwrap();
    let names = table.lines().skip(1).take_while(|line| !line.is_empty());
    let names: Vec<String> = names
        .map(|line| {
            line.split("  ").take_while(|word| word.is_empty()).map(|_| "> ").collect::<String>()
                + line.trim_start().split(' ').next().unwrap()
        })
        .collect();
    let place = |name: &str| {
        names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name} in {names:?}"))
    };
    assert_eq!(names.len(), 13, "{names:?}");
    assert_eq!((place("> 0.look.1"), place("> 1.look.1")), (place("look.1") + 1, place("look.1") + 2));
    let part = place("part.1");
    let parts = ["> part.1.compile.1", "> part.1.pack.1", "> > part.1.0.pack.1", "> > part.1.1.pack.1"];
    assert_eq!(names[part + 1..], parts);
}

/// Two items and an inner flow that run until they may end, and two questions.
const OPEN: &str = "
flow: open
title: Look at everything
steps:
  - { id: start, run: 'echo started' }
  - { id: approve, needs: [start], ask: 'Publish it?' }
  - { id: sure, needs: [start], ask: 'Are you sure?' }
  - id: look
    needs: [start]
    for_each: [api, web, app, docs]
    max_parallel: 2
    run: '[ $ENVOI_INDEX = 0 ] || { echo reading $ENVOI_ITEM; until [ -e go ]; do sleep 0.02; done; }; echo fine'
  - { id: part, needs: [start], flow: part.yaml }
  - { id: publish, needs: [look, part, approve, sure], run: 'echo published > did.txt' }
";

fn open_part() -> &'static str {
    "flow: part\nsteps:\n  - { id: compile, run: 'echo compiling; until [ -e go ]; do sleep 0.02; done' }\n  - { id: pack, run: 'echo packed' }\n"
}

#[test]
fn everything_that_runs_is_in_the_picture_and_every_question_is_asked_in_its_turn() {
    for columns in [40, 80, 120] {
        let stage = Stage::with_flow(OPEN);
        stage.write("part.yaml", open_part());
        let terminal = Terminal::start(&stage, &["run", "flow.yaml", "--jobs", "8"], columns, &[]);
        terminal.wait_for_golden(&stage, &format!("several-{columns}.txt"));
        let shown = stage.json(&["--json", "show"]);
        let running: Vec<&str> =
            shown["running"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(running, ["1.look.1.1", "2.look.1.1", "part.1.compile.1.1"]);
        let told = stage.expect(0, &["show"]).out;
        assert!(told.contains("running    1.look.1.1\n           2.look.1.1\n"), "{told}");
        assert!(told.contains("1 of 4 items, 2 running"), "{told}");
        stage.write("go", "");
        let asks = |question: &str| {
            wait_until(question, || {
                let shows = terminal.shows();
                let last = shows.rfind(question).unwrap_or(0);
                let other =
                    ["Publish it?", "Are you sure?"].iter().filter_map(|text| shows.rfind(text)).max();
                shows.trim_end().ends_with("show, later?") && other == Some(last)
            });
        };
        asks("Publish it?");
        terminal.types("approve\n");
        wait_until("a note", || terminal.shows().trim_end().ends_with("note (Enter for none):"));
        terminal.types("\n");
        asks("Are you sure?");
        terminal.types("approve\n");
        wait_until("a note", || terminal.shows().trim_end().ends_with("note (Enter for none):"));
        terminal.types("\n");
        let (text, code, _) = terminal.done();
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(stage.lines("did.txt"), ["published"]);
    }
}
