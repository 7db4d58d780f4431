//! Tests the import of flow files of the swarm dialect: the result, the findings, and the refusals.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as a test expects ends it"
)]

use envoi_flow::{
    Report,
    import::{Carried, Command, DEFAULT_COMMAND, ImportError, Imported, import},
    load,
};
use envoi_kernel::{
    expression::Scope,
    flow::{CommandPlan, Flow, Next, StepKind},
};
use proptest::prelude::*;

/// Each has ten steps, two loops and a branch on a value.
const SOURCES: [(&str, &str, &str, &str); 3] = [
    (
        "release.yaml",
        include_str!("import/release.yaml"),
        include_str!("import/release.flow.yaml"),
        include_str!("import/release.report.txt"),
    ),
    (
        "incident.yaml",
        include_str!("import/incident.yaml"),
        include_str!("import/incident.flow.yaml"),
        include_str!("import/incident.report.txt"),
    ),
    (
        "translate.yaml",
        include_str!("import/translate.yaml"),
        include_str!("import/translate.flow.yaml"),
        include_str!("import/translate.report.txt"),
    ),
];

fn default_command() -> Command {
    Command::parse(DEFAULT_COMMAND).unwrap()
}

fn made(text: &str) -> Imported {
    import("f.yaml", text, &default_command()).unwrap_or_else(|error| panic!("{error}: {}", shown(&error)))
}

fn shown(error: &ImportError) -> String {
    let (ImportError::Source(report) | ImportError::Defect(report)) = error;
    report.render(envoi_flow::Colour::Never)
}

fn flow(imported: &Imported) -> Flow {
    load("made.yaml", &imported.text).unwrap().flow
}

/// Locations and messages of the mistakes.
fn refused(text: &str) -> Vec<(usize, usize, String)> {
    match import("f.yaml", text, &default_command()) {
        Err(ImportError::Source(report)) => places(&report),
        other => panic!("{text}\n{other:?}"),
    }
}

fn places(report: &Report) -> Vec<(usize, usize, String)> {
    let place = |diagnostic| report.place(diagnostic);
    report
        .diagnostics
        .iter()
        .map(|diagnostic| (place(diagnostic).line, place(diagnostic).column, diagnostic.message.clone()))
        .collect()
}

/// The arguments of a step, as its command would get them.
fn arguments(flow: &Flow, id: &str) -> Vec<String> {
    let step = flow.steps.iter().find(|step| step.id.as_str() == id).unwrap();
    match &step.kind {
        StepKind::Run(CommandPlan::Exec(words)) => {
            words.iter().map(|word| Scope::new(&Default::default()).render(&word.0).unwrap()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_of_the_size_of_real_ones_become_flows_and_reports() {
    for (name, source, flow, report) in SOURCES {
        let imported = import(name, source, &default_command()).unwrap();
        assert_eq!(imported.text, flow, "{name}");
        let lines: String = imported.findings.iter().map(|finding| finding.line() + "\n").collect();
        assert_eq!(lines, report, "{name}");
        assert_eq!(load(name, flow).unwrap().flow.steps.len(), imported.steps, "{name}");
    }
}

#[test]
fn routing_leads_where_the_source_led() {
    let flow = flow(&made(SOURCES[0].1));
    let routing = |id: &str| &flow.steps.iter().find(|step| step.id.as_str() == id).unwrap().routing;
    let next = |id: &str| match &routing(id).next {
        Some(Next::Step(step)) => step.as_str().to_owned(),
        Some(Next::End) => "end".to_owned(),
        None => "?".to_owned(),
    };
    let ways = [
        ("collect", "sort"),
        ("review_notes", "package"),
        ("gate", "hold"),
        ("hold", "end"),
        ("publish", "announce"),
        ("announce", "end"),
    ];
    for (step, after) in ways {
        assert_eq!(next(step), after, "{step}");
    }
    let critic = routing("review_notes");
    assert_eq!(critic.loop_to.as_ref().unwrap().as_str(), "write_notes");
    assert_eq!((critic.success_values.as_slice(), critic.max_iterations), (&["VERIFIED".to_owned()][..], 3));
    let branches: Vec<&str> = routing("gate").branches.iter().map(|step| step.as_str()).collect();
    assert_eq!((branches, routing("gate").max_iterations), (vec!["publish", "write_notes", "hold"], 1));
}

#[test]
fn the_text_of_a_step_reaches_its_agent_as_it_was_and_by_one_argument() {
    let role = "say \"x: y\" # no 'comment'\n\n  - ${{ steps.a.summary }} $${{ and }} {prompt} {{ b }} \\ \u{1f980}\t`$HOME`";
    let quoted = serde_json::to_string(role).unwrap();
    let text = format!("key: a\nsteps:\n  - id: a\n    agents: [c]\n    role: {quoted}\n");
    let command = Command::parse("sh agent.sh --as={agent}@{step} {prompt}").unwrap();
    let imported = import("f.yaml", &text, &command).unwrap();
    let arguments = arguments(&flow(&imported), "a");
    assert_eq!(arguments[..3], ["sh", "agent.sh", "--as=c@a"]);
    assert_eq!(arguments.len(), 4);
    assert!(arguments[3].contains(role), "{}", arguments[3]);
}

#[test]
fn the_prompt_asks_for_what_no_step_says_by_itself() {
    let flow = flow(&made(SOURCES[1].1));
    for (step, line) in [
        ("confirm", "- if `doubt` is `0`: Status: DOUBT_0\n"),
        ("confirm", "- if `doubt` is `none`: Status: none\n"),
        ("confirm", "- in every other case: Status: UNVERIFIED\n"),
        ("choose", "- if `remedy kind` is `look again`: Go to step 'look-around'\n"),
        ("choose", "- in every other case: Go to step 'end-worker'"),
        ("end-recorder", "- if `pending_blocking` is `0`: Status: PENDING_BLOCKING_0\n"),
    ] {
        let prompt = arguments(&flow, step).pop().unwrap();
        assert!(prompt.contains(line), "{step} {line}\n{prompt}");
    }
    let inner = arguments(&flow, "end-worker").pop().unwrap();
    assert!(!inner.contains("End your answer"), "only the last agent of a step decides: {inner}");
}

#[test]
fn everything_that_is_not_carried_as_it_is_is_listed_at_its_place() {
    let step = "key: a\nsteps:\n  - id: a\n    role: x\n    agents: [b]\n";
    let two = "key: a\nsteps:\n  - id: a\n    agents: [b]\n    routing: {kind: linear, next: c}\n  - id: c\n    agents: [d]\n";
    let looping = "key: a\nsteps:\n  - id: a\n    agents: [b]\n    routing: {kind: microloop, loop_target: a, loop_success_values: [OK], max_iterations: 1, ";
    let rows: Vec<(String, usize, usize, &str, Option<&str>)> = vec![
        (format!("{step}    timeuot: 3\n"), 6, 5, "`timeuot`", None),
        (format!("{step}titel: x\n"), 6, 1, "`titel`", None),
        (format!("{step}\"a\\n\\e[31m\": x\n"), 6, 1, "`a\\u{a}\\u{1b}[31m`", None),
        (format!("{step}cross_cutting: [p, q]\n"), 6, 1, "`cross_cutting`: p, q", None),
        (format!("{step}charter: {{goal: g}}\n"), 6, 1, "`charter`", Some("a comment")),
        (format!("{step}    routing: {{kind: terminal, next: a}}\n"), 6, 31, "`next`", None),
        (format!("{step}    routing: {{kind: linear, colour: red}}\n"), 6, 29, "`colour`", None),
        (format!("{two}    routing: {{kind: linear}}\n  - id: e\n"), 9, 9, "the step `e`", None),
        (two.replace("id: c", "id: C c").replace("next: c", "next: C c"), 6, 9, "`C c`", Some("`c-c`")),
        (two.replace("[d]", "[d, e]"), 6, 9, "`c` with 2 agents", Some("the steps `c-d`, `c-e`")),
        (
            two.replace("    agents: [d]\n", ""),
            6,
            9,
            "`c` without `agents`",
            Some("a step without a named agent"),
        ),
        (format!("{looping}}}\n"), 5, 21, "the end of an unfinished loop", Some("`on_exhausted: ask`")),
        (
            format!("{looping}loop_condition_field: left}}\n"),
            5,
            116,
            "`loop_condition_field: left`",
            Some("an instruction at the end of the prompt"),
        ),
        (looping.replace("[OK]", "[OK, ok]") + "}\n", 5, 74, "`ok`", Some("`OK`")),
        (looping.replace("[OK]", "[1.5]") + "}\n", 5, 70, "`1.5`", Some("`STATUS_1_5`")),
        (
            looping.replace("max_iterations: 1,", "") + "}\n",
            5,
            21,
            "a loop without `max_iterations`",
            Some("`max_iterations: 5`"),
        ),
        (
            looping.replace("loop_success_values: [OK],", "") + "}\n",
            5,
            21,
            "a loop without `loop_success_values`",
            Some("`success_values: [VERIFIED]`"),
        ),
        (
            looping.replace("loop_target: a,", "") + "}\n",
            5,
            21,
            "a loop without `loop_target`",
            Some("a loop of the step itself"),
        ),
    ];
    for (text, line, column, what, carried) in rows {
        let imported = made(&text);
        let carried = carried.map_or(Carried::No, |carried| Carried::As(carried.to_owned()));
        let found = imported.findings.iter().any(|finding| {
            (finding.place.line, finding.place.column) == (line, column)
                && finding.what == what
                && finding.carried == carried
        });
        assert!(found, "{line}:{column} {what} {carried:?}\n{text}\n{:#?}", imported.findings);
    }
    assert_eq!(made(step).findings, [], "what is carried as it is, is not listed");
    assert_eq!(
        made(&format!("title: null\n{step}    routing: null\n")).findings,
        [],
        "nothing is nothing to carry"
    );
}

#[test]
fn ids_that_fit_are_kept_and_the_others_never_take_one_of_them() {
    let ids = ["B c", "b-c", "End", "end", "b-c-2", "d"];
    let steps: String = ids.iter().map(|id| format!("  - id: {id}\n    agents: [x]\n")).collect();
    let flow = flow(&made(&format!("key: attempts\nsteps:\n{steps}")));
    let made: Vec<&str> = flow.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(made, ["b-c-3", "b-c", "end-2", "end-3", "b-c-2", "d"]);
    assert_eq!(flow.id.as_str(), "attempts-2");
}

#[test]
fn mistakes_without_a_cure_are_reported_together_at_their_places() {
    let text = "key: a\nsteps:\n  - id: a\n    routing: {kind: linear, next: bb}\n  - id: b\n    routing: {kind: microloop, \
                loop_target: x, max_iterations: lots}\n  - id: b\n    routing: {kind: branch, branches: {ok: zz}}\n  - role: x\n";
    let found = refused(text);
    for (line, column, message) in [
        (4, 35, "there is no step `bb`"),
        (6, 45, "there is no step `x`"),
        (6, 64, "`max_iterations`: expected a whole number from 0 to 10000, found the string `lots`"),
        (7, 9, "two steps are called `b`"),
        (8, 44, "there is no step `zz`"),
        (9, 5, "a step without an `id`"),
    ] {
        assert!(found.contains(&(line, column, message.to_owned())), "{line}:{column} {message}\n{found:#?}");
    }
    assert_eq!(found.len(), 6, "{found:#?}");
}

/// Two branches, one of them with two agents, that meet in a critic. The critic goes back to the fork.
const GATE: &str = "key: gate
steps:
  - {id: begin, agents: a}
  - {id: split, agents: a, routing: {kind: fork, fork_targets: [lint, test]STRATEGY}}
  - {id: lint, agents: a, routing: {next: merge}}
  - {id: test, agents: [b, c], routing: {next: merge}}
  - {id: merge, agents: a, routing: {kind: microloop, loop_target: split, loop_success_values: [VERIFIED], next: ship}}
  - {id: ship, agents: a}
";

fn needs(imported: &Imported) -> Vec<(String, Vec<String>, bool)> {
    let flow = envoi_flow::load("made.yaml", &imported.text).unwrap().flow;
    assert!(flow.graph);
    let step = |step: &envoi_kernel::flow::Step| {
        let needs = step.needs.iter().map(ToString::to_string).collect();
        (step.id.to_string(), needs, step.continue_on_error)
    };
    flow.steps.iter().map(step).collect()
}

#[test]
fn the_branches_of_a_fork_run_side_by_side_and_what_follows_needs_all_of_them() {
    for (strategy, goes_on) in [("", false), (", join_strategy: continue_all", true)] {
        let imported = made(&GATE.replace("STRATEGY", strategy));
        let row = |id: &str, needs: &[&str], goes_on: bool| {
            (id.to_owned(), needs.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), goes_on)
        };
        let expected = [
            row("begin", &[], false),
            row("split", &["begin"], false),
            row("lint", &["split"], goes_on),
            row("test-b", &["split"], goes_on),
            row("test-c", &["test-b"], goes_on),
            row("merge", &["lint", "test-c"], false),
            row("ship", &["merge"], false),
        ];
        assert_eq!(needs(&imported), expected, "{}", imported.text);
        let told: Vec<String> = imported.findings.iter().map(envoi_flow::import::Finding::line).collect();
        assert!(
            told.iter().any(|line| line.contains("a fork: carried as steps that need the same step")),
            "{told:?}"
        );
        assert!(!told.iter().any(|line| line.contains("not carried")), "{told:?}");
        let said = told
            .iter()
            .any(|line| line.contains("`join_strategy` with `continue_all`: carried as `continue_on_error`"));
        assert_eq!(said, goes_on, "{told:?}");
    }
}

#[test]
fn a_fork_beside_a_branch_stays_a_row_and_the_report_says_why() {
    let text = GATE.replace("STRATEGY", "").replace(
        "kind: microloop, loop_target: split, loop_success_values: [VERIFIED], next: ship",
        "kind: branch, branches: {again: split, done: ship}, next: ship",
    );
    let imported = made(&text);
    assert!(!envoi_flow::load("made.yaml", &imported.text).unwrap().flow.graph);
    let told: Vec<String> = imported.findings.iter().map(envoi_flow::import::Finding::line).collect();
    assert!(
        told.iter().any(|line| line.contains("a row of steps") && line.contains("the flow also branches")),
        "{told:?}"
    );
}

#[test]
fn what_is_no_flow_of_the_dialect_is_refused() {
    let circle = "key: a\nsteps:\n  - id: a\n    routing: {next: b}\n  - id: b\n    routing: {next: a}\n";
    let forward =
        "key: a\nsteps:\n  - id: a\n    routing: {kind: microloop, loop_target: b, next: b}\n  - id: b\n";
    let fork = "key: a\nsteps:\n  - id: a\n    routing: {kind: fork, fork_targets: [b, c]}\n  - id: b\n    routing: {next: c}\n  - id: c\n";
    let again = "key: a\nsteps:\n  - id: a\n    routing: {kind: branch, branches: {x: b}, next: c}\n  - id: b\n    routing: {next: a}\n  - id: c\n";
    for (text, line, message) in [
        (again, 6, "`b` leads back, and nothing ends that"),
        ("", 1, "is empty"),
        ("- a\n", 1, "expected a mapping"),
        ("flow: a\nsteps: []\n", 1, "it has no `key`"),
        ("key: a\n", 1, "it has no `steps`"),
        ("key: a\nsteps: []\n", 2, "at least one step"),
        ("key: a\nsteps: {}\n", 2, "a list of steps"),
        ("key: a\nkey: b\n", 2, "duplicate key"),
        ("key: a\nsteps: &x [{id: a}]\n", 2, "anchors"),
        ("\u{feff}key: a\n", 1, "it has no `steps`"),
        ("key: a\nsteps: [{id: a, routing: {kind: random}}]\n", 2, "`kind`: expected `linear`"),
        (circle, 6, "`b` leads back, and nothing ends that"),
        (forward, 4, "`loop_target: b` leads forward"),
        (fork, 4, "cannot be imported"),
        ("key: a\nsteps: [{id: a, role: \"x\\0y\"}]\n", 2, "NUL"),
    ] {
        let found = refused(text);
        let told = found.iter().any(|(at, _, told)| *at == line && told.contains(message));
        assert!(told, "{line} {message}\n{text}\n{found:#?}");
    }
    let long = format!("key: a\nsteps: [{{id: a, role: {}}}]\n", "x".repeat(101 * 1024));
    assert!(refused(&long)[0].2.contains("longer than"));
}

/// Checks that any source is either refused, or converted into a flow that can run.
fn no_defect(text: &str) -> Option<Imported> {
    match import("f.yaml", text, &default_command()) {
        Ok(imported) => Some(imported),
        Err(ImportError::Source(report)) => {
            assert!(!report.diagnostics.is_empty());
            None
        }
        Err(error) => panic!("{}\n{text}", shown(&error)),
    }
}

#[test]
fn a_source_that_lacks_a_line_is_imported_or_refused() {
    let mut imported = 0;
    for (_, source, ..) in SOURCES {
        let lines: Vec<&str> = source.lines().collect();
        for gone in 0..lines.len() {
            let kept: Vec<&str> =
                lines.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| *line).collect();
            imported += usize::from(no_defect(&kept.join("\n")).is_some());
            imported += usize::from(no_defect(&lines[..gone].join("\n")).is_some());
        }
    }
    assert!(imported > 100, "{imported}");
}

fn any_step() -> impl Strategy<Value = (usize, usize, usize, usize, usize, String)> {
    (0..7_usize, 0..8_usize, 0..8_usize, 0..8_usize, 0..4_usize, any::<String>())
}

/// A step of a flow with at most eight. The `ids` are chosen so that they collide after conversion.
fn step(
    at: usize,
    (kind, next, back, branch, agents, text): &(usize, usize, usize, usize, usize, String),
) -> String {
    const IDS: [&str; 8] = ["a", "A", "a-2", "end", "b c", "b-c", "7", "true"];
    const AGENTS: [&str; 4] =
        ["", "    agents: x\n", "    agents: [x, x]\n", "    agents: ['2', Y z, end]\n"];
    let text = serde_json::to_string(text).unwrap().replace('\u{7f}', " ");
    let routing = match kind {
        0 => String::new(),
        1 => format!("kind: linear, next: '{}'", IDS[*next]),
        2 => "kind: terminal".to_owned(),
        3 => format!(
            "kind: microloop, loop_target: '{}', next: '{}', loop_success_values: [{text}]",
            IDS[*back], IDS[*next]
        ),
        4 => format!(
            "kind: branch, branches: {{{text}: '{}', x: '{}'}}, next: '{}'",
            IDS[*branch], IDS[*back], IDS[*next]
        ),
        5 => format!("kind: branch, loop_condition_field: {text}, branches: {{'0': '{}'}}", IDS[*branch]),
        _ => format!("kind: fork, fork_targets: ['{}', '{}']", IDS[*next], IDS[*branch]),
    };
    let routing = if routing.is_empty() { routing } else { format!("    routing: {{{routing}}}\n") };
    format!(
        "  - id: '{}'\n{}    role: {text}\n    teaching_notes: {{more: [{text}]}}\n{routing}",
        IDS[at], AGENTS[*agents]
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_source_is_imported_to_a_flow_that_can_run_or_refused(steps in proptest::collection::vec(any_step(), 1..=8)) {
        let steps: String = steps.iter().enumerate().map(|(at, made)| step(at, made)).collect();
        let text = format!("key: k\nsteps:\n{steps}");
        if let Some(imported) = no_defect(&text) {
            prop_assert_eq!(&made(&text), &imported);
        }
    }
}
