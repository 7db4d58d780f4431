//! Output for people: times in their zone, items by their value, lists that fit the terminal.

use crate::{
    stage::{Stage, text},
    terminal::Terminal,
};
use std::path::Path;

/// Five and a half hours ahead of UTC; it needs no database of zones.
const ZONE: (&str, &str) = ("TZ", "XYZ-5:30");

const ONE: &str = "flow: one\nsteps:\n  - id: greet\n    run: echo hello\n";

/// The output of `envoi` there, in that zone.
fn printed(stage: &Stage, arguments: &[&str]) -> String {
    let done = stage.command(arguments).env(ZONE.0, ZONE.1).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Minutes since midnight of `…HH:MM…`, which begins after `before`.
fn minutes(text: &str, before: char) -> u32 {
    let time = text.split_once(before).unwrap().1;
    time[..2].parse::<u32>().unwrap() * 60 + time[3..5].parse::<u32>().unwrap()
}

#[test]
fn people_see_times_in_their_zone_and_programs_in_utc() {
    let stage = Stage::with_flow(ONE);
    stage.expect(0, &["run", "flow.yaml"]);
    let row = &stage.runs()[0];
    let utc = text(&row["started_at"]);
    assert!(utc.ends_with('Z'), "{utc}");
    let json = printed(&stage, &["--json", "runs"]);
    assert!(json.contains(&utc), "{utc} in {json}");
    let table = printed(&stage, &["runs"]);
    let line = table.lines().nth(1).unwrap();
    let cell = line.split("  ").map(str::trim).find(|cell| cell.starts_with("20")).unwrap();
    assert_eq!(minutes(cell, ' '), (minutes(&utc, 'T') + 330) % 1_440, "{cell} for {utc}");
}

#[test]
fn a_question_says_its_times_in_the_zone() {
    let stage =
        Stage::with_flow("flow: f\nsteps:\n  - id: sure\n    ask: { message: 'Sure?', expires_in: 2d }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let id = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    let shown = printed(&stage, &["show", &id]);
    for name in ["asked ", "expires "] {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.contains(" +05:30"), "{line}");
    }
    assert!(shown.contains("expires in 1d 23h") || shown.contains("expires in 2d"), "{shown}");
}

#[test]
fn items_are_shown_by_their_value() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: test\n    for_each: [api, web]\n    continue_on_error: true\n    \
         run: [sh, -c, 'echo $0; test $0 = api', '${{ item }}']\n",
    );
    let run = stage.envoi(&["run", "flow.yaml"]);
    for line in [
        "0.test.1.1         started (api)",
        " (api); api",
        "1.test.1.1         failed after ",
        " (web): TOOL_EXIT_NON_ZERO",
    ] {
        assert!(run.err.contains(line), "{line} in {}", run.err);
    }
    let shown = stage.expect(0, &["show"]).out;
    assert!(shown.contains("0.test.1 api  ") && shown.contains("1.test.1 web  "), "{shown}");
    assert!(shown.contains("1 of 2 items failed: 1 (web)"), "{shown}");
}

#[test]
fn a_step_is_shown_by_its_headline_and_hands_over_its_whole_text() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: test\n    run: printf '..F\\n\\nRan 3 tests in 0.001s\\n\\nFAILED (failures=1)\\n'\n  \
         - id: review\n    run: printf 'I looked.\\n\\n## Two findings\\n\\nThe first.\\n'\n  \
         - id: build\n    run: |\n      echo '# Notes'\n      echo '{\"ok\": true, \"data\": {\"headline\": \"image shop:17\"}}' > \"$ENVOI_REPORT\"\n",
    );
    let run = stage.expect(0, &["run", "flow.yaml"]);
    let shown = stage.expect(0, &["show"]).out;
    for headline in ["FAILED (failures=1)", "Two findings", "image shop:17"] {
        let ends = |text: &str| text.lines().any(|line| line.ends_with(headline));
        assert!(ends(&run.err) && ends(&shown), "{headline}: {}\n{shown}", run.err);
    }
    let handoff = stage.json(&["show", "--handoff", "review"]);
    assert_eq!(text(&handoff["summary"]), "I looked.\n\n## Two findings\n\nThe first.");
}

#[test]
fn the_result_of_a_test_runner_that_writes_to_stderr_is_the_headline() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: green, run: 'python3 -B -m unittest green' }\n  \
         - id: critic\n    run: python3 -B -m unittest red\n    routing: { kind: microloop, success_values: [VERIFIED], \
         status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }, max_iterations: 1, on_exhausted: proceed }\n  \
         - { id: red, run: 'python3 -B -m unittest red' }\n",
    );
    let case = |check: &str| {
        format!(
            "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        print('printed')\n        {check}\n"
        )
    };
    stage.write("green.py", case("self.skipTest('no')"));
    stage.write("red.py", case("self.fail('no')"));
    let run = stage.expect(1, &["run", "flow.yaml"]).err;
    let shown = stage.expect(0, &["show"]).out;
    for (visit, headline) in [
        ("green.1 ", "OK (skipped=1)"),
        ("critic.1 ", "FAILED (failures=1)"),
        ("red.1 ", "TOOL_EXIT_NON_ZERO: FAILED (failures=1)"),
    ] {
        let told = |text: &str| text.lines().any(|line| line.contains(visit) && line.contains(headline));
        assert!(told(&shown), "{headline}: {shown}");
        assert!(visit == "red.1 " || told(&run), "{headline}: {run}");
    }
    assert_eq!(text(&stage.json(&["show", "--handoff", "green"])["summary"]), "printed");
}

#[test]
fn a_failed_step_whose_test_runner_writes_to_stdout_has_its_result_as_its_failure() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: pytest, run: \"echo '== 1 failed, 2 passed in 0.12s =='; echo a warning >&2; exit 1\", continue_on_error: true }\n  \
         - { id: tap, run: \"printf 'ok 1\\\\nnot ok 2\\\\n1..2\\\\n'; exit 1\", continue_on_error: true }\n  \
         - { id: go, run: \"printf 'FAIL\\\\nFAIL\\\\texample.com/shop\\\\t0.002s\\\\nFAIL\\\\n'; exit 1\", continue_on_error: true }\n",
    );
    let run = stage.expect(0, &["run", "flow.yaml"]).err;
    let shown = stage.expect(0, &["show"]).out;
    for (step, result) in [
        ("pytest.1", "1 failed, 2 passed in 0.12s"),
        ("tap.1", "1 ok, 1 not ok"),
        ("go.1", "FAIL example.com/shop 0.002s"),
    ] {
        let failure = format!("TOOL_EXIT_NON_ZERO: {result}");
        let told = |text: &str| text.lines().any(|line| line.contains(step) && line.ends_with(&failure));
        assert!(told(&run) && told(&shown), "{failure}: {run}\n{shown}");
    }
    let handoff = stage.json(&["show", "--handoff", "pytest"]);
    assert_eq!(text(&handoff["error"]), "TOOL_EXIT_NON_ZERO: a warning");
}

#[test]
fn a_loop_that_goes_on_without_success_is_not_shown_as_one_that_succeeded() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: test\n    run: echo no; exit 1\n    routing: { kind: microloop, success_values: [VERIFIED], \
         status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }, max_iterations: 1, on_exhausted: proceed }\n  - { id: ship, run: \"true\" }\n",
    );
    let done = stage.expect(0, &["run", "flow.yaml"]);
    let line = done.err.lines().find(|line| line.contains("test.2 ")).unwrap();
    assert!(line.contains("goes on without success: Max iterations (1) exhausted"), "{line}");
    let shown = printed(&stage, &["show"]);
    let leads = |visit: &str| {
        let row = shown.lines().find(|line| line.contains(visit)).unwrap();
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).nth(4).unwrap().to_owned()
    };
    assert_eq!(
        (leads("test.1 "), leads("test.2 ")),
        ("goes back".to_owned(), "exhausted".to_owned()),
        "{shown}"
    );
}

#[test]
fn lists_fit_a_terminal_of_eighty_columns_and_their_short_ids_name_the_run() {
    let stage = Stage::new();
    stage.write(
        "flow.yaml",
        "flow: a-flow-with-a-rather-long-name\nsteps:\n  - id: a-step-with-a-long-name\n    \
         ask: { message: 'Is this question longer than what is left of a line of eighty columns?' }\n",
    );
    stage.expect(3, &["run", "flow.yaml"]);
    let (text, code, _) = Terminal::start(&stage, &["runs"], 80, &[]).done();
    assert_eq!(code, Some(0), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80) && lines.len() == 2, "{text}");
    let id = lines[1].split(' ').next().unwrap();
    assert_eq!(id.len(), 8, "{text}");
    stage.expect(0, &["show", id]);
    let piped = stage.expect(0, &["runs"]).out;
    assert!(piped.contains(&stage.run_id()), "whole where no person looks: {piped}");
}

#[test]
fn what_is_shown_of_a_run_fits_a_terminal_of_eighty_columns() {
    let stage = Stage::with_flow(
        "flow: a-flow-with-a-rather-long-name\nsteps:\n  - id: a-step-with-quite-a-long-name-for-a-step\n    \
         run: |\n      mkdir -p out/a-folder-with-a-name/and-another-one\n      \
         echo x > out/a-folder-with-a-name/and-another-one/report-of-the-whole-week.txt\n      \
         echo A result of the step that is longer than what is left of a line of eighty columns\n    \
         artifacts: ['out/**']\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    for arguments in [&["show"][..], &["artifacts", "list"], &["why"], &["check", "flow.yaml"]] {
        let (text, code, _) = Terminal::start(&stage, arguments, 80, &[]).done();
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        // Folders and digests are there to be copied: no part of them is left out.
        let is_copied =
            |line: &&str| ["workspace ", "files ", "head "].iter().any(|name| line.starts_with(name));
        let long: Vec<&str> =
            text.lines().filter(|line| line.chars().count() > 80 && !is_copied(line)).collect();
        assert_eq!(long, Vec::<&str>::new(), "{arguments:?}: {text}");
    }
}

#[test]
fn an_inbox_on_a_narrow_terminal_cuts_no_question_no_answer_and_no_time() {
    let question =
        "Publish version 1.2 of the shop to production, with the new prices of winter for all countries?";
    let stage = Stage::with_flow(&format!(
        "flow: f\nsteps:\n  - {{ id: build, run: 'true' }}\n  - id: review\n    ask: {{ message: '{question}', expires_in: 2d }}\n    \
         routing: {{ loop_to: build }}\n"
    ));
    stage.expect(3, &["run", "flow.yaml"]);
    for columns in [60, 80] {
        let (text, code, _) = Terminal::start(&stage, &["inbox"], columns, &[]).done();
        assert_eq!(code, Some(0), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(columns)), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(question) && words.contains("answers: approve, again, deny"), "{text}");
        assert!(words.contains("expires in 1d 23h") || words.contains("expires in 2d"), "{text}");
        stage.expect(0, &["show", words.split(' ').next().unwrap()]);
    }
}

#[test]
fn the_views_of_a_failure_show_the_line_with_the_cause_and_the_hand_off_keeps_all_of_it() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: price\n    shell: python\n    run: |\n      def price():\n          return int('ten')\n      price()\n",
    );
    let run = stage.expect(1, &["run", "flow.yaml"]);
    let cause = "TOOL_EXIT_NON_ZERO: ValueError: invalid literal for int() with base 10: 'ten'";
    let shown = stage.expect(0, &["show"]).out;
    let why = stage.expect(0, &["why"]).out;
    let line = run.err.lines().find(|line| line.contains("failed after")).unwrap();
    assert!(line.ends_with(cause), "{line}");
    let status = shown.lines().find(|line| line.starts_with("status ")).unwrap();
    let visit = shown.lines().find(|line| line.starts_with("price.1 ")).unwrap();
    assert!(status.ends_with(cause) && visit.ends_with(cause), "{shown}");
    assert!(why.starts_with("failed: ") && why.lines().next().unwrap().ends_with(cause), "{why}");
    let handoff = text(&stage.json(&["show", "--handoff", "price"])["error"]);
    assert!(handoff.starts_with("TOOL_EXIT_NON_ZERO: Traceback (most recent call last):\n"), "{handoff}");
}

#[test]
fn the_time_of_a_closed_question_is_local_for_people_and_utc_for_programs() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: sure, ask: 'Sure?' }\n");
    stage.expect(3, &["run", "flow.yaml"]);
    let id = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    stage.expect(0, &["approve", &id]);
    let refused = |arguments: &[&str]| {
        let done = stage.command(arguments).env(ZONE.0, ZONE.1).output().unwrap();
        String::from_utf8(done.stderr).unwrap()
    };
    let people = refused(&["approve", &id]);
    assert!(people.contains("was answered at 20") && people.contains(" +05:30: approve by "), "{people}");
    let programs = refused(&["--json", "approve", &id]);
    assert!(programs.contains("Z: approve by ") && !programs.contains("+05:30"), "{programs}");
}

#[test]
fn why_shows_the_newest_decisions_unless_more_are_wanted() {
    let steps: String = (0..210).map(|n| format!("  - {{ id: s{n}, if: 'false', run: x }}\n")).collect();
    let stage = Stage::with_flow(&format!("flow: f\nsteps:\n{steps}"));
    stage.expect(0, &["run", "flow.yaml"]);
    let all = stage.expect(0, &["why", "--limit", "0"]).out;
    let newest = stage.expect(0, &["why"]).out;
    assert!(all.contains("\ns0.1  ") && !all.contains("earlier"), "{all}");
    assert!(
        newest.contains("… and earlier ones; --limit N shows more") && !newest.contains("\ns0.1  "),
        "{newest}"
    );
    assert!(newest.contains("\ns209.1  "), "{newest}");
    // The last lines of all are shown, also if a page of events is not enough.
    let (_, decisions) = all.split_once("\n\n").unwrap();
    for limit in ["1", "2", "199", "200", "201", "211", "500"] {
        let some = stage.expect(0, &["why", "--limit", limit]).out;
        assert!(decisions.ends_with(&some), "{limit}: {some}");
        assert_eq!(some.lines().count(), decisions.lines().count().min(limit.parse().unwrap()), "{limit}");
    }
    let place = stage.expect(0, &["why", "--step", "s7"]).out;
    assert!(all.contains(&place) && place.starts_with("s7.1  ") && place.lines().count() == 1, "{place}");
    let rows = stage.json(&["--json", "why"]);
    let rows = rows.as_array().unwrap();
    let some = stage.json(&["--json", "why", "--limit", "205"]);
    assert_eq!(some.as_array().unwrap()[..], rows[rows.len() - 205..]);
    let place = stage.json(&["--json", "why", "--step", "s7"]);
    let of_place: Vec<_> = rows.iter().filter(|row| row["event"]["visit"]["step"] == "s7").collect();
    assert!(place.as_array().unwrap().iter().eq(of_place), "{place}");
}

#[test]
fn a_cut_list_is_reported_and_keeps_the_newest() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: look\n    for_each: [a, b, c, d, e]\n    max_parallel: 1\n    run: echo saw $ENVOI_ITEM\n",
    );
    stage.expect(0, &["run", "flow.yaml"]);
    stage.expect(0, &["run", "flow.yaml"]);
    let shown = stage.expect(0, &["show", "--limit", "2"]).out;
    let visits: Vec<&str> = shown.lines().filter(|line| line.contains("look.1 ")).collect();
    assert_eq!(visits.len(), 3, "the two newest, and what they are part of: {shown}");
    assert!(visits[1].contains("3.look.1 d") && visits[2].contains("4.look.1 e"), "{shown}");
    assert!(shown.contains("… and 3 earlier visits; --limit N shows more"), "{shown}");
    let whole = stage.expect(0, &["show", "--limit", "0"]).out;
    assert!(!whole.contains("earlier visits"), "{whole}");
    let rows = |shown: &str| -> Vec<String> {
        shown.lines().filter(|line| line.contains("look.1 ")).map(str::to_owned).collect()
    };
    let all = rows(&whole);
    for limit in 1..=6 {
        let some = rows(&stage.expect(0, &["show", "--limit", &limit.to_string()]).out);
        let newest = &all[all.len() - limit.min(5)..];
        assert_eq!(some, [&all[..1], newest].concat(), "{limit}");
    }
    let all = stage.expect(0, &["show", "--events"]).out;
    let last = stage.expect(0, &["show", "--events", "--limit", "2"]).out;
    assert!(last.lines().count() == 2 && all.ends_with(&last), "{last}");
    let logs = stage.expect(0, &["logs", "--limit", "2"]).out;
    assert_eq!(logs, "3.look.1.1 | saw d\n4.look.1.1 | saw e\n");
    let place = stage.expect(0, &["logs", "--step", "1.look", "--limit", "2"]).out;
    assert_eq!(place, stage.expect(0, &["logs", "--step", "1.look"]).out);
    let all = stage.expect(0, &["why"]).out;
    let last = stage.expect(0, &["why", "--limit", "1"]).out;
    assert!(last.len() < all.len() && all.ends_with(&last) && last.starts_with("succeeded "), "{last}");
    let runs = stage.expect(0, &["runs", "--limit", "1"]);
    assert!(runs.out.lines().count() == 2 && runs.err.contains("older runs are left out"), "{runs:?}");
    assert_eq!(stage.expect(0, &["runs", "--limit", "2"]).err, "", "nothing is left out");
}

#[test]
fn help_shows_commands_documents_and_codes_and_knows_the_nearest_word() {
    let stage = Stage::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/limits.md")).unwrap();
    assert_eq!(stage.expect(0, &["help", "limits"]).out, document, "a pipe gets it as it is");
    let (text, code, _) = Terminal::start(&stage, &["help", "limits"], 60, &[("PAGER", "cat")]).done();
    assert!(
        code == Some(0)
            && text.starts_with("Limits, budgets")
            && text.contains("\r\n=====")
            && !text.contains("](")
            && !text.contains('\x1b'),
        "{text}"
    );
    assert_eq!(stage.expect(0, &["help", "run"]).out, stage.expect(0, &["run", "--help"]).out);
    assert_eq!(
        stage.expect(0, &["help", "token", "create"]).out,
        stage.expect(0, &["token", "create", "--help"]).out
    );
    let plan = stage.expect(0, &["help", "plan"]).out;
    assert!(plan.contains("envoi plan [OPTIONS]") && plan.ends_with("help --document plan\n"), "{plan}");
    let plan = std::fs::read_to_string(root.join("docs/plan.md")).unwrap();
    assert_eq!(stage.expect(0, &["help", "--document", "plan"]).out, plan);
    assert_eq!(
        stage.expect(0, &["help", "tool_timeout"]).out,
        stage.expect(0, &["explain", "TOOL_TIMEOUT"]).out
    );
    // A document that is longer than the terminal goes through the pager; a shorter one, or one without a pager, does not.
    for (pager, topic, is_paged) in [
        ("sed s/^/paged:/", "limits", true),
        ("sed s/^/paged:/", "fork", false),
        ("no-such-pager -x", "limits", false),
    ] {
        let page: &[&str] = if topic == "limits" { &["help", "limits"] } else { &["help", "fork", "who"] };
        let (text, code, _) = Terminal::start(&stage, page, 60, &[("PAGER", pager)]).done();
        assert_eq!((code.is_some(), text.contains("paged:")), (true, is_paged), "{pager} {topic}: {text}");
    }
    let word = stage.expect(2, &["help", "routing"]).err;
    assert!(word.contains("UNKNOWN_TOPIC") && word.contains("`envoi help flow-file routing`"), "{word}");
    stage.expect(0, &["help", "flow-file", "routing"]);
    let key = stage.expect(0, &["help", "flow-file", "pass_env"]).out;
    assert!(
        key.starts_with("## Keys of a flow\n\n| key | meaning |") && key.contains("\n| `pass_env` |"),
        "{key}"
    );
    assert!(!key.contains("| `env_file` | a file with"), "{key}");
    let deeper = stage.expect(0, &["help", "flow-file", "on_in_doubt"]).out;
    assert!(deeper.starts_with("### `on_in_doubt`\n"), "{deeper}");
    let part = stage.expect(0, &["help", "limits", "see"]).out;
    assert!(part.starts_with("## See what a run used\n") && part.matches("\n## ").count() == 0, "{part}");
    let list = stage.expect(0, &["help"]).out;
    for line in ["  run  ", "  quickstart   ", "  flow-file    "] {
        assert!(list.contains(line), "{line:?} in {list}");
    }
    assert!(!list.contains("__attempt"), "{list}");
    for (words, told) in [
        (&["help", "limist"][..], "did you mean `envoi help limits`?"),
        (&["help", "reusme"], "did you mean `envoi help resume`?"),
        (&["help", "TOOL_TIMOUT"], "did you mean `envoi help TOOL_TIMEOUT`?"),
        (&["help", "xyzzyxyzzy"], "`envoi help` lists all commands and documents"),
        (&["help", "limits", "xyzzy"], "its sections: "),
    ] {
        let refused = stage.expect(2, words);
        assert!(
            refused.err.contains("UNKNOWN_TOPIC") && refused.err.contains(told),
            "{words:?}: {}",
            refused.err
        );
    }
}

#[test]
fn the_cause_of_a_failure_is_printed_once_at_its_step() {
    let stage =
        Stage::with_flow("flow: f\nsteps:\n  - id: b\n    run: 'echo the disk is gone >&2; exit 3'\n");
    stage.expect(1, &["run", "flow.yaml"]);
    let out = stage.expect(0, &["why"]).out;
    assert!(out.starts_with("failed: Step `b` failed: TOOL_EXIT_NON_ZERO: the disk is gone\n"), "{out}");
    assert!(out.ends_with("\nfailed (tool_failed_fatally)\n"), "{out}");
    assert_eq!(out.matches("the disk is gone").count(), 2, "{out}");
    let last = stage.expect(0, &["why", "--limit", "1"]).out;
    assert!(last.contains("the disk is gone"), "{last}");
}
