//! Breaks each rule of the language once, and tests the location, the code and the message.

use envoi_flow::{Report, load, load_bytes};

/// A flow with one step, which has these keys.
fn with_step(keys: &str) -> String {
    format!("flow: f\nsteps:\n  - id: a\n    run: [x]\n    {keys}\n")
}

/// A flow with top-level keys (on line 2) before its one step.
fn with_top(keys: &str) -> String {
    format!("flow: f\n{keys}\nsteps:\n  - id: a\n    run: [x]\n")
}

/// Three steps. The second one has this routing.
fn with_routing(routing: &str) -> String {
    format!(
        "flow: f\nsteps:\n  - {{ id: a, run: [x] }}\n  - id: b\n    run: [x]\n    routing: {{ {routing} }}\n  - {{ id: c, run: [x] }}\n"
    )
}

/// Four steps: `first`, `make-it` (a loop back to `first`), `third`, `last`. The expression is in `make-it`.
fn with_expression(expression: &str) -> String {
    format!(
        "flow: f\ninputs: {{ package: {{ type: string }}, dry-run: {{ type: boolean }} }}\nsteps:\n  - {{ id: first, run: [x] }}\n  - id: make-it\n    run: [\"{expression}\"]\n    routing: {{ kind: microloop, loop_to: first, success_values: [OK] }}\n  - {{ id: third, run: [x] }}\n  - {{ id: last, run: [x] }}\n"
    )
}

fn told(report: &Report) -> Vec<(usize, usize, &'static str, String)> {
    let row = |diagnostic: &envoi_flow::Diagnostic| {
        let place = report.place(diagnostic);
        let help = diagnostic.help.clone().unwrap_or_default();
        let expected = diagnostic.expected.clone().unwrap_or_default();
        (
            place.line,
            place.column,
            diagnostic.code.as_str(),
            format!("{} | {expected} | {help}", diagnostic.message),
        )
    };
    report.diagnostics.iter().map(row).collect()
}

type Row = (String, usize, usize, &'static str, &'static str);

/// Checks that every row gives exactly one diagnostic, with its location, code and message.
fn each_is_told(rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for (text, line, column, code, words) in rows {
        match load("f.yaml", &text) {
            Ok(_) => wrong.push(format!("LOADS: {text}")),
            Err(report) => {
                let told = told(&report);
                let fits = matches!(told.as_slice(), [(l, c, k, m)]
                    if (*l, *c, *k) == (line, column, code) && m.contains(words));
                if !fits {
                    wrong.push(format!("{text}\n wanted {line}:{column} {code} {words}\n found {told:#?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

const INVALID: &str = "FLOW_INVALID";
const LATER: &str = "NOT_YET_SUPPORTED";

#[test]
fn a_value_of_the_wrong_form_is_answered_with_the_right_one() {
    each_is_told(vec![
        (with_step("retry: 3"), 5, 12, INVALID, "for example `retry: { attempts: 3 }`"),
        (with_step("retry: [3]"), 5, 12, INVALID, "for example `retry: { attempts: 3 }`"),
        (with_step("routing: end"), 5, 14, INVALID, "for example `routing: { next: end }`"),
        (with_step("budget: 3"), 5, 13, INVALID, "for example `budget: { llm_calls: 5 }`"),
        (with_step("artifacts: { a: b }"), 5, 16, INVALID, "for example `artifacts: [\"out/**\"]`"),
        (
            with_step("on_in_doubt: [a]"),
            5,
            18,
            INVALID,
            "for example `on_in_doubt: { verify: [./was-it-sent] }`",
        ),
        (with_top("limits: 5"), 2, 9, INVALID, "for example `limits: { iterations: 12 }`"),
        (with_top("env: [A]"), 2, 6, INVALID, "for example `env: { MODE: fast }`"),
        (
            with_top("secrets: [TOKEN]"),
            2,
            10,
            INVALID,
            "for example `secrets: { API_KEY: { env: API_KEY } }`",
        ),
        (with_top("secrets: { A: x }"), 2, 15, INVALID, "for example `{ env: x }`"),
        ("flow: f\nsteps: [make]\n".to_owned(), 2, 9, INVALID, "for example `- { id: make, run: make }`"),
        (
            "flow: f\nsteps: [{ id: a, agent: claude }]\n".to_owned(),
            2,
            25,
            INVALID,
            "for example `agent: { use: claude, prompt: \"Fix it\" }`",
        ),
    ]);
}

#[test]
fn mistakes_of_targets_are_reported() {
    each_is_told(vec![
        (with_top("notify: 7"), 2, 9, INVALID, "expected a command, a mapping, or a list of mappings"),
        (with_top("notify: [me]"), 2, 10, INVALID, "expected a mapping"),
        (with_top("notify: https://h:a/"), 2, 9, INVALID, "a port that is no port"),
        (with_top("notify: []"), 2, 9, INVALID, "is empty"),
        (with_top("notify: {}"), 2, 9, INVALID, "neither a `command` nor a `webhook`"),
        (with_top("notify: { comand: x }"), 2, 11, INVALID, "did you mean `command`?"),
        (with_top("notify: { webhok: x }"), 2, 11, INVALID, "did you mean `webhook`?"),
        (
            with_top("notify: { command: x, webhook: 'http://h' }"),
            2,
            23,
            INVALID,
            "a `command` or a `webhook`",
        ),
        (with_top("notify: { command: [] }"), 2, 20, INVALID, "names no program"),
        (with_top("notify: { command: '' }"), 2, 20, INVALID, "is blank"),
        (with_top("notify: { command: {} }"), 2, 20, INVALID, "a string or a list of strings"),
        (with_top("notify: { command: \"${{ inputs.a }}\" }"), 2, 20, INVALID, "takes no expression"),
        (with_top("notify: { command: [x, \"${{ inputs.a }}\"] }"), 2, 24, INVALID, "takes no expression"),
        (
            with_top("notify: { command: x, on: 7 }"),
            2,
            27,
            INVALID,
            "`question`, `expiry` or `end` or a list of them",
        ),
        (with_top("notify: { command: x, on: [] }"), 2, 27, INVALID, "never get a notice"),
        (with_top("notify: { command: x, on: [ends] }"), 2, 28, INVALID, "did you mean `end`?"),
        (with_top("notify: { command: x, on: ends }"), 2, 27, INVALID, "did you mean `end`?"),
        (with_top("notify: { command: x, on: [end, end] }"), 2, 33, INVALID, "stands twice"),
        (with_top("notify: { webhook: example.org }"), 2, 20, INVALID, "begins neither"),
        (with_top("notify: { webhook: 'https://' }"), 2, 20, INVALID, "names no host"),
        (with_top("notify: { webhook: 'https://:80/' }"), 2, 20, INVALID, "names no host"),
        (with_top("notify: { webhook: 'https://h:a/' }"), 2, 20, INVALID, "a port that is no port"),
        (with_top("notify: { webhook: 'https://h/a b' }"), 2, 20, INVALID, "has to be written as `%..`"),
        (with_top("notify: { webhook: 'https://me:pw@h/' }"), 2, 20, INVALID, "`token: { env: NAME }`"),
        (with_top("notify: { webhook: {} }"), 2, 20, INVALID, "without a `url`"),
        (with_top("notify: { webhook: { urll: 'http://h' } }"), 2, 22, INVALID, "did you mean `url`?"),
        (
            with_top("notify: { webhook: { url: 'http://h', token: {} } }"),
            2,
            39,
            INVALID,
            "`token` has no source",
        ),
        (
            with_top("notify: { webhook: { url: 'http://h', token: abc } }"),
            2,
            46,
            INVALID,
            "a secret: expected a mapping",
        ),
        (
            with_top("notify: { webhook: { url: 'http://h', token: { env: T } } }"),
            2,
            39,
            INVALID,
            "`token` would travel in clear text",
        ),
        (
            with_top("notify: { webhook: { url: 'HTTP://127.0.0.1.h:80', token: { env: T } } }"),
            2,
            52,
            INVALID,
            "`token` would travel in clear text",
        ),
        (with_top("notify: { webhook: { url: 'http://h', timeout: 2m } }"), 2, 48, INVALID, "at most 1m"),
        (with_top(&format!("notify: [{}]", "{ command: x }, ".repeat(17))), 2, 9, INVALID, "at most 16"),
    ]);
}

#[test]
fn mistakes_of_a_configuration_are_reported_for_that_file() {
    for (text, line, column, code, words) in [
        ("notfy: { command: x }", 1, 1, "CONFIG_INVALID", "unknown key `notfy` in a configuration"),
        ("# mine\nnotify: { command: [] }", 2, 20, "CONFIG_INVALID", "names no program"),
        (
            "notify: { webhook: { url: 'http://10.0.0.1/h', token: { file: t } } }",
            1,
            48,
            "CONFIG_INVALID",
            "in clear text",
        ),
        ("notify: [", 1, 10, "CONFIG_SYNTAX", ""),
        ("[]", 1, 1, "CONFIG_INVALID", "a configuration: expected a mapping"),
    ] {
        let report = envoi_flow::config::load("config.yaml", text).unwrap_err();
        let told = told(&report);
        let [(l, c, k, m)] = told.as_slice() else { panic!("{text}: {told:?}") };
        assert_eq!((*l, *c, *k), (line, column, code), "{text}: {m}");
        assert!(m.contains(words), "{text}: {m}");
        assert_eq!(
            report.to_string(),
            "`config.yaml` is not a configuration that can be used: 1 problem found"
        );
    }
}

#[test]
fn mistakes_at_the_top_level_are_reported() {
    each_is_told(vec![
        (String::new(), 1, 1, INVALID, "the file is empty"),
        ("- a\n".to_owned(), 1, 1, INVALID, "expected a mapping, found a list"),
        ("flow: f\nstpes: []\n".to_owned(), 2, 1, INVALID, "did you mean `steps`?"),
        ("flow: f\n".to_owned(), 1, 1, INVALID, "`steps` is missing"),
        ("steps:\n  - { id: a, run: x }\n".to_owned(), 1, 1, INVALID, "`flow` is missing"),
        ("flow: f\nsteps: []\n".to_owned(), 2, 8, INVALID, "at least one step"),
        ("flow: f\nsteps: {}\n".to_owned(), 2, 8, INVALID, "expected a list of steps, found a mapping"),
        ("flow: f\nsteps: [x]\n".to_owned(), 2, 9, INVALID, "expected a mapping, found the string `x`"),
        ("flow: My Flow\nsteps: [{ id: a, run: x }]\n".to_owned(), 1, 7, INVALID, "did you mean `my-flow`?"),
        ("flow: attempts\nsteps: [{ id: a, run: x }]\n".to_owned(), 1, 7, INVALID, "cannot name a flow"),
        (
            "flow: answers\nsteps: [{ id: a, run: x }]\n".to_owned(),
            1,
            7,
            INVALID,
            "`answers` cannot name a flow: a run keeps its answers",
        ),
        (
            "flow: 7\nsteps: [{ id: a, run: x }]\n".to_owned(),
            1,
            7,
            INVALID,
            "expected a string, found the number `7`",
        ),
        (with_top("title: 5"), 2, 8, INVALID, "in quotes it is a string: \"5\""),
        (with_top("title: ' '"), 2, 8, INVALID, "`title` is blank"),
        (with_top("title:"), 2, 1, INVALID, "expected a string, found nothing"),
        (with_top("wrkspace: ."), 2, 1, INVALID, "did you mean `workspace`?"),
        (with_top("workspace: /tmp"), 2, 12, INVALID, "relative to the flow file"),
        (with_top("workspace: \"${{ inputs.x }}\""), 2, 12, INVALID, "takes no expression"),
        (with_top("env: [a]"), 2, 6, INVALID, "`env`: expected a mapping"),
        (with_top("env: { A-B: x }"), 2, 8, INVALID, "cannot name a variable"),
        (with_top("env: { ENVOI_RUN_ID: x }"), 2, 8, INVALID, "set by Envoi"),
        (with_top("env: { A: [x] }"), 2, 11, INVALID, "expected a string, found a list"),
        (with_top("env: { A: }"), 2, 8, INVALID, "expected a string, found nothing"),
        (
            with_top("env: { A: \"${{ steps.a.status }}\" }"),
            2,
            16,
            INVALID,
            "`env` of the flow cannot read step `a`",
        ),
    ]);
}

#[test]
fn mistakes_in_limits_and_secrets_are_reported() {
    each_is_told(vec![
        (with_top("limits: 5"), 2, 9, INVALID, "expected a mapping, found the number `5`"),
        (with_top("limits: { iteratons: 5 }"), 2, 11, INVALID, "did you mean `iterations`?"),
        (with_top("limits: { stages: 5 }"), 2, 11, INVALID, "bounded by `max_rounds` in `goals`"),
        (with_top("limits: { iterations: -1 }"), 2, 23, INVALID, "expected a whole number from 0"),
        (with_top("limits: { llm_calls: 1.5 }"), 2, 22, INVALID, "expected a whole number from 0"),
        (with_top("limits: { agent_hops: 9007199254740992 }"), 2, 23, INVALID, "to 9007199254740991"),
        (with_top("limits: { wall_time: 30 }"), 2, 22, INVALID, "a duration has a unit: `30s`"),
        (with_top("limits: { wall_time: 0s }"), 2, 22, INVALID, "expected a duration"),
        (with_top("limits: { cost_usd: $5 }"), 2, 21, INVALID, "dollars such as \"5.00\""),
        (with_top("limits: { on_reached: stop }"), 2, 23, INVALID, "expected `fail` or `ask`"),
        (with_top("limits: { on_reachd: ask }"), 2, 11, INVALID, "did you mean `on_reached`?"),
        (with_top("limits: { cost_usd: -1 }"), 2, 21, INVALID, "dollars such as \"5.00\""),
        (with_top("secrets: { A: x }"), 2, 15, INVALID, "expected a mapping, found the string `x`"),
        (with_top("secrets: { A: {} }"), 2, 12, INVALID, "has no source"),
        (with_top("secrets: { A: { evn: B } }"), 2, 17, INVALID, "did you mean `env`?"),
        (with_top("secrets: { A: { env: B, file: c } }"), 2, 12, INVALID, "two sources"),
        (with_top("secrets: { A: { env: B-C } }"), 2, 22, INVALID, "cannot name a variable"),
        (with_top("secrets: { 1A: { env: B } }"), 2, 12, INVALID, "cannot name a secret"),
        (with_top("secrets: { A: { env: B } }\nenv: { A: x }"), 3, 8, INVALID, "is a secret and a variable"),
    ]);
}

#[test]
fn mistakes_in_the_declaration_of_an_input_are_reported() {
    each_is_told(vec![
        (with_top("inputs: { a: string }"), 2, 14, INVALID, "expected a JSON Schema"),
        (with_top("inputs: { a: { tpye: string } }"), 2, 16, INVALID, "did you mean `type`?"),
        (with_top("inputs: { a: { type: text } }"), 2, 22, INVALID, "the schema of input `a` is not valid"),
        (with_top("inputs: { a: { properties: { b: { minLength: x } } } }"), 2, 46, INVALID, "is not valid"),
        (
            with_top("inputs: { a: { type: integer, default: ten } }"),
            2,
            40,
            INVALID,
            "the default of input `a` does not fit",
        ),
        (
            with_top("inputs: { a: { items: { type: string }, default: [b, 7] } }"),
            2,
            54,
            INVALID,
            "does not fit",
        ),
        (with_top("inputs: { a: { $ref: 'https://example.com/x.json' } }"), 2, 14, INVALID, "is not valid"),
        (with_top("inputs: { 'a b': { type: string } }"), 2, 11, INVALID, "cannot name an input"),
    ]);
}

#[test]
fn mistakes_in_a_step_are_reported() {
    each_is_told(vec![
        (with_step("tiemout: 5s"), 5, 5, INVALID, "did you mean `timeout`?"),
        (with_step("colour: red"), 5, 5, INVALID, "a step has the keys `id`, `run`"),
        (with_step("timeout: 5"), 5, 14, INVALID, "a duration has a unit: `5s`"),
        (with_step("timeout: 5 minutes"), 5, 14, INVALID, "expected a duration"),
        (with_step("on_in_doubt: retry"), 5, 18, INVALID, "expected `ask`, `rerun` or `fail`"),
        (with_step("envelope: yes"), 5, 15, INVALID, "did you mean `true`?"),
        (with_step("skill: 5"), 5, 12, INVALID, "expected a string"),
        (with_step("if:"), 5, 5, INVALID, "expected an expression, found nothing"),
        (with_step("if: '${{ }}'"), 5, 9, INVALID, "`if` is blank"),
        (with_step("if: '${{ run.id }} and ${{ run.id }}'"), 5, 9, INVALID, "`if` is one expression"),
        (with_step("if: run.id ="), 5, 9, INVALID, "does not parse"),
        (with_step("retry: 3"), 5, 12, INVALID, "expected a mapping"),
        (with_step("retry: { backoff: 1s..2s }"), 5, 12, INVALID, "without `attempts`"),
        (with_step("retry: { attempts: 0 }"), 5, 24, INVALID, "from 1 to 100"),
        (with_step("retry: { attempts: 101 }"), 5, 24, INVALID, "from 1 to 100"),
        (with_step("retry: { attempts: 2, backoff: 30s..1s }"), 5, 36, INVALID, "ends before it begins"),
        (
            with_step("retry: { attempts: 2, backoff: fast }"),
            5,
            36,
            INVALID,
            "two durations such as `1s..30s`",
        ),
        (with_step("retry: { tries: 2, attempts: 2 }"), 5, 14, INVALID, "unknown key `tries` in `retry`"),
        (with_step("retry: { max_attempts: 2 }"), 5, 14, INVALID, "did you mean `attempts`?"),
        (with_step("depends_on: [b]"), 5, 5, INVALID, "did you mean `needs`?"),
        (with_step("on_failure: fix"), 5, 5, INVALID, "`routing: { kind: microloop, loop_to: STEP, … }`"),
        (with_step("max_iterations: 5"), 5, 5, INVALID, "write `routing: { kind: …, max_iterations: … }`"),
        (with_step("prompt: x"), 5, 5, INVALID, "write `agent: { use: …, prompt: … }`"),
        (with_step("attempts: 2"), 5, 5, INVALID, "write `retry: { attempts: … }`"),
        (with_top("jobs: {}"), 2, 1, INVALID, "steps stand in the list `steps`"),
        (with_step("routing: { routing_kind: linear }"), 5, 16, INVALID, "did you mean `kind`?"),
        (with_step("routing: { loop_target: a }"), 5, 16, INVALID, "did you mean `loop_to`?"),
        (with_step("cwd: ../x"), 5, 10, INVALID, "stays inside the workspace"),
        (with_step("cwd: /x"), 5, 10, INVALID, "relative to the workspace"),
        (with_step("files: restored"), 5, 12, INVALID, "did you mean `restore`?"),
        (with_step("files: [a.md]"), 5, 12, INVALID, "expected `keep` or `restore`"),
        (with_step("artifacts: out"), 5, 16, INVALID, "expected a list of strings, found the string `out`"),
        (with_step("artifacts: 5"), 5, 16, INVALID, "expected a list of strings, found the number `5`"),
        (with_step("artifacts: [5]"), 5, 17, INVALID, "expected a string"),
        (with_step("artifacts: [/etc/passwd]"), 5, 17, INVALID, "not absolute"),
        (with_step("artifacts: [a, b/../c]"), 5, 20, INVALID, "`..` is refused"),
        (with_step("artifacts: [handoff/x]"), 5, 17, INVALID, "cannot be handed over"),
        (with_step("artifacts: [.git/config]"), 5, 17, INVALID, "cannot be handed over"),
        (with_step("artifacts: [./out/*.md]"), 5, 17, INVALID, "write `out/*.md`"),
        (with_step("artifacts: ['a[']"), 5, 17, INVALID, "is not a glob"),
        (with_step("artifacts: ['a\\b']"), 5, 17, INVALID, "no backslash"),
        (with_step("artifacts: [\"${{ run.id }}\"]"), 5, 17, INVALID, "takes no expression"),
        (with_step("env: { B: \"${{ nope }}\" }"), 5, 20, INVALID, "unknown name `nope`"),
    ]);
}

#[test]
fn mistakes_in_a_workspace_are_reported() {
    each_is_told(vec![
        (with_top("workspace: { isolate: yes }"), 2, 23, INVALID, "expected `tree` or `none`"),
        (with_top("workspace: { keep: 5 }"), 2, 20, INVALID, "`true` or `false`"),
        (with_top("workspace: { keep: { all: [x] } }"), 2, 22, INVALID, "`all`"),
        (with_top("workspace: { keep: { also: x } }"), 2, 28, INVALID, "a list of strings"),
        (with_top("workspace: { keep: { also: [../x] } }"), 2, 29, INVALID, "`..` is refused"),
        (with_top("workspace: { keep: { also: [.git/x] } }"), 2, 29, INVALID, "`.git/`"),
        (with_top("workspace: { keep: { also: ['a[x'] } }"), 2, 29, INVALID, "is not a glob"),
        (
            with_top("workspace: { keep: { also: ['${{ inputs.x }}'] } }"),
            2,
            29,
            INVALID,
            "takes no expression",
        ),
        (with_top("workspace: { isolate: tree, bring: [../x] }"), 2, 37, INVALID, "`..` is refused"),
        (with_top("workspace: { isolate: tree, bring: [.git/config] }"), 2, 37, INVALID, "cannot be brought"),
        (with_top("workspace: { isolate: tree, bring: x }"), 2, 36, INVALID, "a list of paths"),
        (with_top("workspace: { bring: [x] }"), 2, 14, INVALID, "does nothing without a tree"),
        (
            with_top("workspace: { setup: make, isolate: none }"),
            2,
            14,
            INVALID,
            "does nothing without a tree",
        ),
        (with_top("workspace: { isolate: tree, setup: 5 }"), 2, 36, INVALID, "expected a string or a list"),
        (with_top("workspace: { folder: /x }"), 2, 22, INVALID, "relative to the flow file"),
        (with_top("workspace: { foldr: x }"), 2, 14, INVALID, "did you mean `folder`?"),
        (with_top("workspace: { keep: 1 }"), 2, 20, INVALID, "`keep`"),
        (
            "flow: f\nworkspace: { isolate: tree, setup: make }\nsteps:\n  - { id: setup, run: [x] }\n"
                .to_owned(),
            4,
            11,
            INVALID,
            "two steps are called `setup`",
        ),
    ]);
}

#[test]
fn files_that_are_kept_although_they_are_ignored_are_named_in_keep() {
    let flow = |keep: &str| {
        let text = format!("flow: f\nworkspace: {{ keep: {keep} }}\nsteps: [{{ id: a, run: [x] }}]\n");
        let flow = load("f.yaml", &text).unwrap().flow;
        (flow.keep_files, flow.keep_also.join(" "))
    };
    for (keep, expected) in [
        ("true", (true, "")),
        ("false", (false, "")),
        ("{}", (true, "")),
        ("{ also: ['dist/**', out] }", (true, "dist/** out")),
    ] {
        assert_eq!(flow(keep), (expected.0, expected.1.to_owned()), "{keep}");
    }
}

#[test]
fn setup_is_a_step_before_all_others() {
    let flow = |steps: &str| {
        let text = format!(
            "flow: f\nworkspace: {{ isolate: tree, setup: [make, deps], bring: [.env] }}\nsteps:\n{steps}"
        );
        load("f.yaml", &text).unwrap().flow
    };
    let list = flow("  - { id: a, run: [x] }\n  - { id: b, run: \"echo ${{ steps.a.status }}\" }\n");
    let ids: Vec<&str> = list.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["setup", "a", "b"]);
    let isolation = list.isolation.as_ref().unwrap();
    assert_eq!(
        (isolation.setup.as_ref(), isolation.bring.as_slice()),
        (Some(&list.steps[0].id), &[".env".to_owned()][..])
    );
    let graph =
        flow("  - { id: a, run: [x] }\n  - { id: b, run: [x], needs: [a] }\n  - { id: c, run: [x] }\n");
    let needs: Vec<String> =
        graph.steps.iter().map(|step| step.needs.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(needs, ["", "setup", "a", "setup"]);
}

#[test]
fn files_are_set_back_only_where_no_other_step_is_at_work_in_them() {
    let steps = |steps: &str| format!("flow: f\nsteps:\n{steps}");
    let items = "  - { id: a, run: [x], files: restore, for_each: [1, 2] }\n";
    each_is_told(vec![
        (steps(items), 3, 11, INVALID, "`max_parallel: 1`"),
        (
            steps("  - { id: a, model: { use: m, prompt: p }, files: [x] }\n"),
            3,
            44,
            INVALID,
            "stand in `model: { use: …, files: … }`",
        ),
        (steps("  - { id: a, ask: Go on?, files: restore }\n"), 3, 27, INVALID, "`files`"),
    ]);
    let one = "  - { id: a, run: [x], files: restore, for_each: [1, 2], max_parallel: 1 }\n";
    load("f.yaml", &steps(one)).unwrap();
    let inner = steps("  - { id: a, run: [x], files: restore }\n").replace("flow: f", "flow: inner");
    let files = std::collections::BTreeMap::from([("inner.yaml".to_owned(), inner)]);
    let outer = |keys: &str| steps(&format!("  - {{ id: a, flow: ./inner.yaml{keys} }}\n"));
    envoi_flow::load_with("f.yaml", &outer(""), &files).unwrap();
    let report = envoi_flow::load_with("f.yaml", &outer(", for_each: [1, 2]"), &files).unwrap_err();
    assert!(told(&report)[0].3.contains("flow `inner` has `files: restore`"), "{:?}", told(&report));
}

#[test]
fn items_work_apart_only_where_there_are_items_and_no_other_step_is_at_work() {
    let steps = |steps: &str| format!("flow: f\nsteps:\n{steps}");
    let model = "  - { id: a, model: { use: m, prompt: p }, isolate: true, for_each: [1] }\n";
    each_is_told(vec![
        (steps("  - { id: a, run: [x], isolate: true }\n"), 3, 24, INVALID, "without `for_each`"),
        (
            steps("  - { id: a, run: [x], for_each: [1], on_conflict: ours }\n"),
            3,
            39,
            INVALID,
            "without `isolate`",
        ),
        (
            steps("  - { id: a, run: [x], for_each: [1], isolate: true, on_conflict: mine }\n"),
            3,
            67,
            INVALID,
            "`fail`",
        ),
        (steps("  - { id: a, run: [x], if_no_artifacts: fail }\n"), 3, 24, INVALID, "without `artifacts`"),
        (
            steps("  - { id: a, run: [x], artifacts: [o], if_no_artifacts: never }\n"),
            3,
            57,
            INVALID,
            "`ignore`",
        ),
        (steps("  - { id: a, ask: Go on?, if_no_artifacts: warn }\n"), 3, 27, INVALID, "`if_no_artifacts`"),
        (steps(model), 3, 44, INVALID, "`isolate`"),
        (steps("  - { id: a, ask: Go on?, isolate: true }\n"), 3, 27, INVALID, "`isolate`"),
    ]);
    let apart =
        "  - { id: a, run: [x], files: restore, isolate: true, for_each: [1, 2], on_conflict: theirs }\n";
    let read = load("f.yaml", &steps(apart)).unwrap();
    let said = envoi_flow::warnings(&read.flow).concat();
    assert!(said.contains("`isolate: true`: a run needs a tree of its own"), "{said}");
}

#[test]
fn in_a_graph_files_are_set_back_and_merged_only_where_every_other_step_waits() {
    let flow = |key: &str, others: &str| {
        format!(
            "flow: f\nsteps:\n  - {{ id: a, run: [x] }}\n  - {{ id: b, run: [x], needs: [a], {key} }}\n{others}"
        )
    };
    let keys = ["files: restore", "isolate: true, for_each: [1, 2]"];
    let fits = [
        "  - { id: c, run: [x], needs: [b] }\n  - { id: d, run: [x], needs: [b] }\n  - { id: e, run: [x], needs: [c, d] }\n",
        "  - { id: c, run: [x], needs: [b], if: always() }\n",
        "  - { id: c, ask: Go on? }\n",
    ];
    let wrong = [
        ("  - { id: c, run: [x], needs: [a] }\n", "other steps may be at work"),
        ("  - { id: c, run: [x] }\n", "other steps may be at work"),
        (
            "  - { id: c, ask: Go on?, needs: [a] }\n  - { id: d, run: [x], needs: [c] }\n",
            "one of the two has to wait",
        ),
        // An answer that leads back ends the work that is in progress there.
        ("  - { id: c, ask: Go on?, needs: [a], routing: { loop_to: a } }\n", "other steps may be at work"),
        ("  - { id: c, ask: { message: Go on?, on_deny: a }, needs: [a] }\n", "other steps may be at work"),
        ("  - { id: c, run: [x], needs: [b], join: settled }\n", "`join: all`"),
        ("  - { id: c, ask: Go on? }\n  - { id: d, run: [x], needs: [b, c], join: any }\n", "`join: all`"),
    ];
    for key in keys {
        for others in fits {
            load("f.yaml", &flow(key, others)).unwrap();
        }
        each_is_told(wrong.map(|(others, part)| (flow(key, others), 4, 11, INVALID, part)).to_vec());
    }
    // If a step cannot be read, nothing is reported about parallel steps.
    let report = load("f.yaml", &flow(keys[0], "  - { id: c, run: 5 }\n")).unwrap_err();
    assert_eq!(told(&report).len(), 1);
    let inner = "flow: inner\nsteps:\n  - { id: a, run: [x], files: restore }\n".to_owned();
    let files = std::collections::BTreeMap::from([("inner.yaml".to_owned(), inner)]);
    let outer = |needs: &str| {
        format!(
            "flow: f\nsteps:\n  - {{ id: a, flow: ./inner.yaml }}\n  - {{ id: b, run: [x]{needs} }}\n  - {{ id: c, run: [x], needs: [a, b] }}\n"
        )
    };
    envoi_flow::load_with("f.yaml", &outer(", needs: [a]"), &files).unwrap();
    let report = envoi_flow::load_with("f.yaml", &outer(""), &files).unwrap_err();
    assert!(told(&report)[0].3.contains("flow `inner` has `files: restore`"), "{:?}", told(&report));
}

#[test]
fn a_step_has_an_id_of_its_own_and_does_one_thing() {
    let steps = |steps: &str| format!("flow: f\nsteps:\n{steps}");
    each_is_told(vec![
        (steps("  - run: [x]\n"), 3, 5, INVALID, "a step without an `id`"),
        (steps("  - id: A\n    run: [x]\n"), 3, 9, INVALID, "did you mean `a`?"),
        (steps("  - id: 1a\n    run: [x]\n"), 3, 9, INVALID, "`1a` is not an id"),
        (steps("  - id: end\n    run: [x]\n"), 3, 9, INVALID, "`end` cannot name a step"),
        (
            steps("  - { id: a, run: [x] }\n  - { id: b, run: [x] }\n  - { id: a, run: [x] }\n"),
            5,
            11,
            INVALID,
            "two steps are called `a`",
        ),
        (steps("  - id: a\n"), 3, 9, INVALID, "it has no `run`"),
        (steps("  - id: a\n    rnu: [x]\n"), 4, 5, INVALID, "did you mean `run`?"),
        (steps("  - id: a\n    flow: other.yaml\n"), 4, 11, INVALID, "`other.yaml` cannot be read"),
        (steps("  - id: a\n    http: {}\n"), 4, 5, LATER, "`http` in a step"),
        (
            steps("  - id: a\n    run: 5\n"),
            4,
            10,
            INVALID,
            "expected a string or a list of strings, found the number `5`",
        ),
        (
            steps("  - id: a\n    run: {}\n"),
            4,
            10,
            INVALID,
            "expected a string or a list of strings, found a mapping",
        ),
        (steps("  - id: a\n    run: []\n"), 4, 10, INVALID, "`run` names no program"),
        (steps("  - id: a\n    run: ['']\n"), 4, 11, INVALID, "`run` names no program"),
        (steps("  - id: a\n    run: ' '\n"), 4, 10, INVALID, "`run` is blank"),
        (steps("  - id: a\n    run: [x, [y]]\n"), 4, 14, INVALID, "expected a string, found a list"),
        (steps("  - id: a\n    run: [x, \"\\0\"]\n"), 4, 14, INVALID, "NUL"),
    ]);
}

#[test]
fn two_actions_are_one_mistake_and_what_is_not_built_is_another() {
    let report = load("f.yaml", &with_step("http: {}")).unwrap_err();
    let told = told(&report);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|row| row.2 == LATER) && told.iter().any(|row| row.3.contains("does one thing")));
}

/// A step `go`, a question `ask` with these keys after its message, and a step `last`.
fn with_question(keys: &str) -> String {
    format!(
        "flow: f\nsteps:\n  - {{ id: go, run: [x] }}\n  - id: ask\n    ask: {{ message: m, {keys} }}\n  - {{ id: last, run: [x] }}\n"
    )
}

/// Like [`with_question`], with a key beside the question.
fn beside_a_question(keys: &str) -> String {
    format!(
        "flow: f\nsteps:\n  - {{ id: go, run: [x] }}\n  - id: ask\n    ask: m\n    {keys}\n  - {{ id: last, run: [x] }}\n"
    )
}

#[test]
fn mistakes_in_a_question_are_reported() {
    let asks = |ask: &str| format!("flow: f\nsteps:\n  - id: ask\n    ask: {ask}\n");
    each_is_told(vec![
        (
            asks("5"),
            4,
            10,
            INVALID,
            "expected a question: its text, or a mapping with `message`, found the number",
        ),
        (
            asks("[m]"),
            4,
            10,
            INVALID,
            "expected a question: its text, or a mapping with `message`, found a list",
        ),
        (
            asks(""),
            4,
            5,
            INVALID,
            "expected a question: its text, or a mapping with `message`, found nothing",
        ),
        (asks("' '"), 4, 10, INVALID, "`ask` is blank"),
        (asks("m ${{ inputs.x }}"), 4, 16, INVALID, "there is no input `x`"),
        (asks("m ${{ steps.ask.data }}"), 4, 16, INVALID, "reads its own result"),
        (asks("{}"), 4, 10, INVALID, "a question without a `message`"),
        (asks("{ question: m }"), 4, 12, INVALID, "did you mean `message`?"),
        (beside_a_question("expires_in: 1h"), 6, 5, INVALID, "write `ask: { message: …, expires_in: … }`"),
        (asks("{ mesage: m }"), 4, 12, INVALID, "did you mean `message`?"),
        (asks("{ message: 5 }"), 4, 21, INVALID, "`message`: expected a string"),
        (asks("{ message: '' }"), 4, 21, INVALID, "`message` is blank"),
        (asks("{ message: \"a\\0\" }"), 4, 21, INVALID, "NUL"),
        (asks("{ message: 'a ${{ inputs.x }}' }"), 4, 28, INVALID, "there is no input `x`"),
        (asks("m\n    run: [x]"), 5, 5, INVALID, "a step does one thing: `ask` or `run`"),
        ("flow: f\nsteps:\n  - id: ask\n    aks: m\n".to_owned(), 4, 5, INVALID, "did you mean `ask`?"),
        (with_question("knd: checkpoint"), 5, 24, INVALID, "did you mean `kind`?"),
        (with_question("kind: approval"), 5, 30, INVALID, "expected `clarification`, `confirmation`"),
        (with_question("kind: confimation"), 5, 30, INVALID, "did you mean `confirmation`?"),
        (with_question("choices: [a]"), 5, 24, INVALID, "`ask` has the keys `kind`, `message`"),
        (with_question("expires_in: 5"), 5, 36, INVALID, "a duration has a unit: `5s`"),
        (with_question("expires_in: 0s"), 5, 36, INVALID, "expected a duration"),
        (with_question("not_by: me"), 5, 32, INVALID, "expected `starter`"),
        (with_question("quorum: 0"), 5, 32, INVALID, "from 1 to 100"),
        (with_question("quorum: 101"), 5, 32, INVALID, "from 1 to 100"),
        (with_question("quorum: two"), 5, 32, INVALID, "from 1 to 100"),
        (with_question("quorum: 2, kind: clarification"), 5, 32, INVALID, "cannot give one clarification"),
        (with_question("quorum: 2, schema: { type: object }"), 5, 32, INVALID, "cannot give one form"),
        (with_question("on_expire: deny"), 5, 24, INVALID, "the question never expires"),
        (with_question("on_expire: deny, expire_in: 5s"), 5, 41, INVALID, "did you mean `expires_in`?"),
    ]);
}

#[test]
fn a_field_that_a_schema_does_not_have_is_reported_before_a_run() {
    let flow = |schema: &str, path: &str| {
        format!(
            "flow: f\nsteps:\n  - id: build\n    run: [x]\n    outputs: {schema}\n  - id: late\n    run: [y, '${{{{ {path} }}}}']\n"
        )
    };
    let closed = "{ type: object, additionalProperties: false, properties: { image: { type: object, properties: { tag: { type: string } } }, by-hand: {} } }";
    let wrong = |path: &str, words: &'static str| (flow(closed, path), 7, 19, INVALID, words);
    each_is_told(vec![
        wrong(
            "steps.build.data.imgae",
            "the data of step `build` has no `imgae`: its schema allows no other fields |  | did you mean `image`?",
        ),
        wrong(
            "steps.build.data.other.tag",
            "has no `other`: its schema allows no other fields |  | it has `image` or `by-hand`",
        ),
        wrong("steps.build.data.by", "a field with a hyphen is written `['by-hand']`"),
    ]);
    let open = closed.replace("additionalProperties: false, ", "");
    let composed = closed.replace("type: object, additional", "type: object, allOf: [{}], additional");
    for (schema, path) in [
        (closed, "steps.build.data.image.tag"),
        (closed, "steps.build.data.image.tga"),
        (closed, "steps.build.data[\"by-hand\"]"),
        (closed, "steps.build.data.imgae | default(0)"),
        (closed, "steps.build.data.keys()"),
        (&open, "steps.build.data.imgae"),
        (&composed, "steps.build.data.imgae"),
    ] {
        load("f.yaml", &flow(schema, path)).unwrap_or_else(|report| panic!("{path}: {report:?}"));
    }
}

#[test]
fn mistakes_in_a_form_are_reported() {
    each_is_told(vec![
        (with_question("schema: object"), 5, 32, INVALID, "expected a JSON Schema of an object"),
        (with_question("schema: {}"), 5, 32, INVALID, "is not that of an object"),
        (with_question("schema: { type: string }"), 5, 40, INVALID, "is not that of an object"),
        (with_question("schema: { type: [object] }"), 5, 40, INVALID, "is not that of an object"),
        (with_question("schema: { tpye: object }"), 5, 34, INVALID, "did you mean `type`?"),
        (
            with_question(
                "schema: { type: object, additionalProperties: false, required: [zz], properties: { zt: { type: string } } }",
            ),
            4,
            9,
            INVALID,
            "it requires the field `zz`, does not have it, and",
        ),
        (
            with_question("schema: { type: object, additionalProperties: false, required: [a] }"),
            4,
            9,
            INVALID,
            "it requires the field `a`, does not have it, and",
        ),
        (
            with_question("schema: { type: object, required: a }"),
            5,
            58,
            INVALID,
            "the schema of the form is not valid",
        ),
        (
            with_question("schema: { type: object, properties: { a: { type: text } } }"),
            5,
            73,
            INVALID,
            "the schema of the form is not valid",
        ),
        (
            with_question("schema: { type: object, properties: { a: { tpye: string } } }"),
            5,
            67,
            INVALID,
            "did you mean `type`?",
        ),
        (
            with_question("schema: { type: object, properties: { a: { type: integer, default: x } } }"),
            5,
            91,
            INVALID,
            "the default of field `a` does not fit",
        ),
        (
            with_question(
                "schema: { $defs: { n: { type: integer } }, type: object, properties: { a: { $ref: '#/$defs/n', default: x } } }",
            ),
            5,
            128,
            INVALID,
            "the default of field `a` does not fit",
        ),
    ]);
}

#[test]
fn keys_that_do_nothing_beside_a_question_are_reported() {
    let rows: [(&str, &str); 8] = [
        ("skill: x", "with `schema` in `ask`"),
        ("env: { A: b }", "`env` does nothing in a step that asks: it runs no command"),
        ("cwd: x", "has `id`, `ask`, `if`, `needs`"),
        ("timeout: 5s", "with `expires_in` in `ask`"),
        ("retry: { attempts: 2 }", "where the answer `again` leads"),
        ("artifacts: [x]", "handed over without being named"),
        ("on_in_doubt: rerun", "it runs no command"),
        ("envelope: true", "it runs no command"),
    ];
    each_is_told(rows.iter().map(|(key, words)| (beside_a_question(key), 6, 5, INVALID, *words)).collect());
    for key in [
        "kind: linear",
        "success_values: [A]",
        "status_from_exit: { 0: A }",
        "can_further_iteration_help: false",
        "branches: [go]",
        "on_exhausted: fail",
        "on_blocked: fail",
    ] {
        let text = beside_a_question(&format!("routing: {{ {key} }}"));
        each_is_told(vec![(text, 6, 16, INVALID, "does nothing in a step that asks: the answer decides")]);
    }
    each_is_told(vec![
        (beside_a_question("routing: { nxt: end }"), 6, 16, INVALID, "did you mean `next`?"),
        (beside_a_question("if: steps.last.data"), 6, 9, INVALID, "step `last` runs later"),
    ]);
}

#[test]
fn answers_that_lead_nowhere_are_reported() {
    let renamed = |id: &str, ask: &str| {
        with_question(&format!("expires_in: 1s, {ask}")).replace("id: go", &format!("id: {id}"))
    };
    each_is_told(vec![
        (with_question("on_deny: lats"), 5, 33, INVALID, "there is no step `lats` |  | did you mean `last`?"),
        (with_question("on_deny: fial"), 5, 33, INVALID, "did you mean `fail`?"),
        (with_question("on_deny: deny"), 5, 33, INVALID, "there is no step `deny`"),
        (with_question("on_deny: end"), 5, 33, INVALID, "`on_deny` cannot lead to `end`"),
        (with_question("on_deny: ask"), 5, 33, INVALID, "`on_deny: ask` leads to the question itself"),
        (with_question("on_deny: [go]"), 5, 33, INVALID, "`on_deny`: expected a string"),
        (with_question("expires_in: 1s, on_expire: dney"), 5, 51, INVALID, "did you mean `deny`?"),
        (with_question("expires_in: 1s, on_expire: ask"), 5, 51, INVALID, "leads to the question itself"),
        (
            renamed("fail", "on_deny: fail"),
            5,
            49,
            INVALID,
            "`on_deny: fail` is a word of the language, and the name",
        ),
        (renamed("deny", "on_deny: deny"), 5, 49, INVALID, "a denial cannot lead to one called `deny`"),
        (renamed("fail", "on_expire: fail"), 5, 51, INVALID, "an expiry cannot lead to one called `fail`"),
        (renamed("deny", "on_expire: deny"), 5, 51, INVALID, "`on_expire: deny` is a word of the language"),
        (beside_a_question("routing: { loop_to: g }"), 6, 25, INVALID, "did you mean `go`?"),
        (beside_a_question("routing: { loop_to: ask }"), 6, 25, INVALID, "leads to the question itself"),
        (beside_a_question("routing: { loop_to: last }"), 6, 25, INVALID, "| an earlier step |"),
        (
            beside_a_question("routing: { next: go }"),
            6,
            22,
            INVALID,
            "where the answer `again` leads back to",
        ),
        (beside_a_question("routing: { next: ask }"), 6, 22, INVALID, "leads back, and nothing bounds it"),
        (beside_a_question("routing: { next: end }"), 7, 11, INVALID, "step `last` is never reached"),
        // It may have been meant to lead back.
        (
            beside_a_question("routing: { max_iterations: 2 }")
                .replace("ask: m", "ask: { message: m, on_deny: g }"),
            5,
            33,
            INVALID,
            "did you mean `go`?",
        ),
        (beside_a_question("routing: { max_iterations: 2 }"), 6, 16, INVALID, "no answer leads back"),
        (
            beside_a_question("routing: { next: go-on, max_iterations: 2 }")
                .replace("ask: m", "ask: { message: m, on_deny: last }")
                .replace(
                    "  - { id: last",
                    "  - { id: go-on, run: [x], routing: { next: end } }\n  - { id: last",
                ),
            6,
            29,
            INVALID,
            "no answer leads back",
        ),
        (
            beside_a_question("routing: { loop_to: go, max_iterations: 10001 }"),
            6,
            45,
            INVALID,
            "from 0 to 10000",
        ),
        (
            with_expression("${{ steps.first.report }}").replace("id: first, run: [x]", "id: first, ask: m"),
            6,
            16,
            INVALID,
            "an answer leaves no report",
        ),
    ]);
}

/// A question, `publish` after it, and `undo`, which is the target of a denial. The arguments are the other keys of
/// each.
fn with_undo(ask: &str, publish: &str, undo: &str) -> String {
    format!(
        "flow: f\nsteps:\n  - id: approve\n    ask: {{ message: m, on_deny: undo }}{ask}\n  - {{ id: publish, run: [x]{publish} }}\n  - {{ id: undo, run: [x]{undo} }}\n"
    )
}

#[test]
fn a_step_that_a_denial_leads_to_is_not_come_to_by_accident() {
    let next = |to: &str| format!(", routing: {{ next: {to} }}");
    for right in [
        with_undo("", &next("end"), ""),
        with_undo("", &next("undo"), ""),
        with_undo("", &next("end"), &next("end")),
    ] {
        assert!(load("f.yaml", &right).is_ok(), "{right}");
    }
    each_is_told(vec![
        (
            with_undo("", "", ""),
            5,
            11,
            INVALID,
            "`undo` follows `publish`, and is also where a denial of `approve` leads |  | say which at `publish`: `routing: { next: end }`, or `next: undo` if that is meant",
        ),
        // Its own `next` does not matter.
        (with_undo("", "", &next("end")), 5, 11, INVALID, "`undo` follows `publish`"),
        (
            with_undo("", "", "").replace("on_deny", "expires_in: 1s, on_expire"),
            5,
            11,
            INVALID,
            "is also where an expiry of `approve` leads",
        ),
        // The previous step in the list is the question.
        (
            with_question("on_deny: last"),
            4,
            9,
            INVALID,
            "`last` follows `ask`, so that a yes leads there as a denial does",
        ),
        // The target of a denial is the last step of that path, unless it has a `next`.
        (
            format!("{}  - {{ id: mail, run: [x] }}\n", with_undo("", &next("end"), "")),
            7,
            11,
            INVALID,
            "step `mail` is never reached |  | say where it goes on: `routing: { next: mail }` at `undo`",
        ),
        // An unreadable `next` does not count as a missing one.
        (with_undo("", &next("7"), ""), 5, 47, INVALID, "`next`: expected a string"),
        // A step on the path of one answer cannot be read on the path of the other.
        (
            with_undo("", &next("end"), "")
                .replace("id: undo, run: [x]", "id: undo, run: ['${{ steps.publish.data }}']"),
            6,
            28,
            INVALID,
            "step `publish` runs later: nothing leads from it to here",
        ),
    ]);
}

#[test]
fn a_question_that_cannot_be_read_is_the_only_mistake() {
    // `undo` would be unreachable if nothing were known to lead there.
    let text = with_undo("", ", routing: { next: end }", "");
    each_is_told(vec![
        (text.replace("on_deny", "on_dney"), 4, 24, INVALID, "did you mean `on_deny`?"),
        (text.replace("on_deny: undo", "on_deny: 5"), 4, 33, INVALID, "expected a string"),
        (text.replace("ask: { message: m, on_deny: undo }", "ask: 5"), 4, 10, INVALID, "expected a question"),
    ]);
}

#[test]
fn no_mistake_of_a_question_hides_another_one() {
    let text = "flow: f
steps:
  - id: a
    ask:
      message: ''
      kind: confrmation
      schema:
        type: object
        required: channel
        properties:
          x: { type: strin }
          y: { type: integer, default: z, minimun: 2 }
      expires_in: 5
      on_deny: nowhere
      on_expire: elsewhere
      not_by: me
      quorum: 0
      foo: bar
  - id: b
    run: [x]
";
    let report = load("f.yaml", text).unwrap_err();
    let found: Vec<String> = told(&report)
        .into_iter()
        .map(|(line, column, _, words)| format!("{line}:{column} {words}"))
        .collect();
    let wanted = [
        "5:16 `message` is blank",
        "6:13 `kind`: expected",
        "9:19 the schema of the form is not valid: \"channel\"",
        "11:22 the schema of the form is not valid: \"strin\"",
        "12:40 the default of field `y` does not fit",
        "12:43 `minimun` is no keyword",
        "13:19 `expires_in`: expected",
        "14:16 there is no step `nowhere`",
        "15:18 there is no step `elsewhere`",
        "16:15 `not_by`: expected",
        "17:15 `quorum`: expected",
        "18:7 unknown key `foo`",
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{wanted}: {found}");
    }
}

#[test]
fn mistakes_in_routing_are_reported() {
    each_is_told(vec![
        (with_routing("knd: linear"), 6, 16, INVALID, "did you mean `kind`?"),
        (with_routing("kind: loop"), 6, 22, INVALID, "expected `linear`, `microloop` or `branch`"),
        (with_routing("kind: microloop"), 6, 22, INVALID, "without `success_values`"),
        (with_routing("kind: branch"), 6, 22, INVALID, "without `branches`"),
        (
            with_routing("kind: branch, branches: [c], success_values: [A]"),
            6,
            45,
            INVALID,
            "does nothing in a branch",
        ),
        (with_routing("branches: []"), 6, 26, INVALID, "names no step"),
        (with_routing("branches: [a, a]"), 6, 30, INVALID, "named twice"),
        (with_routing("branches: [d]"), 6, 27, INVALID, "there is no step `d`"),
        (with_routing("branches: [end]"), 6, 27, INVALID, "cannot lead to `end`"),
        (with_routing("next: cc"), 6, 22, INVALID, "did you mean `c`?"),
        (with_routing("next: ned"), 6, 22, INVALID, "did you mean `end`?"),
        (with_routing("next: a"), 6, 22, INVALID, "leads back, and nothing bounds it"),
        (with_routing("next: b"), 6, 22, INVALID, "leads back, and nothing bounds it"),
        (with_routing("next: 7"), 6, 22, INVALID, "expected a string"),
        (with_routing("next: end"), 7, 11, INVALID, "step `c` is never reached"),
        (with_routing("success_values: [A], loop_to: c"), 6, 46, INVALID, "leads forward"),
        (with_routing("success_values: [A], loop_to: d"), 6, 46, INVALID, "there is no step `d`"),
        (with_routing("loop_to: a"), 6, 16, INVALID, "`loop_to` does nothing without a loop"),
        (
            with_routing("success_values: A"),
            6,
            32,
            INVALID,
            "expected a list of strings, found the string `A`",
        ),
        (with_routing("success_values: []"), 6, 32, INVALID, "names no status"),
        (
            with_routing("success_values: [true]"),
            6,
            33,
            INVALID,
            "expected a string, found the boolean `true`",
        ),
        (with_routing("success_values: [all good]"), 6, 33, INVALID, "it is not one word"),
        (with_routing("status_from_exit: [A]"), 6, 34, INVALID, "expected a mapping"),
        (with_routing("status_from_exit: {}"), 6, 34, INVALID, "names no exit code"),
        (with_routing("status_from_exit: { x: A }"), 6, 36, INVALID, "`x` is not an exit code"),
        (with_routing("status_from_exit: { 256: A }"), 6, 36, INVALID, "from 0 to 255"),
        (with_routing("status_from_exit: { 0: 1A }"), 6, 39, INVALID, "it is not one word"),
        (with_routing("success_values: [A], max_iterations: 10001"), 6, 53, INVALID, "from 0 to 10000"),
        (
            with_routing("success_values: [A], can_further_iteration_help: no"),
            6,
            65,
            INVALID,
            "did you mean `false`?",
        ),
        (
            with_routing("success_values: [A], on_exhausted: stop"),
            6,
            51,
            INVALID,
            "expected `ask`, `fail` or `proceed`",
        ),
        (
            with_routing("success_values: [A], on_blocked: proceed"),
            6,
            49,
            INVALID,
            "expected `ask` or `fail`",
        ),
    ]);
}

#[test]
fn an_unreachable_step_is_reported_once_without_those_behind_it() {
    let steps: String = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|id| {
            format!(
                "  - {{ id: {id}, run: [x]{} }}\n",
                if *id == "a" { ", routing: { next: e }" } else { "" }
            )
        })
        .collect();
    each_is_told(vec![(format!("flow: f\nsteps:\n{steps}"), 4, 11, INVALID, "step `b` is never reached")]);
}

#[test]
fn names_that_an_expression_cannot_see_are_reported_at_their_place() {
    let column = 16;
    each_is_told(vec![
        (with_expression("${{ inputs.pakage }}"), 6, column, INVALID, "did you mean `package`?"),
        (with_expression("a ${{ inputs.x }} b"), 6, column + 2, INVALID, "there is no input `x`"),
        (with_expression("${{ inputs['pakage'] }}"), 6, column, INVALID, "did you mean `package`?"),
        (with_expression("${{ inputs.dry-run }}"), 6, column, INVALID, "write `inputs['dry-run']`"),
        (with_expression("${{ steps.frist.status }}"), 6, column, INVALID, "did you mean `first`?"),
        (with_expression("${{ steps.make-it.status }}"), 6, column, INVALID, "write `steps['make-it']`"),
        (with_expression("${{ steps.first.sumary }}"), 6, column, INVALID, "did you mean `summary`?"),
        (with_expression("${{ steps.third.status }}"), 6, column, INVALID, "step `third` runs later"),
        (with_expression("${{ run.attempt }}"), 6, column, INVALID, "a run has no `attempt`"),
        (with_expression("${{ input.package }}"), 6, column, INVALID, "did you mean `inputs`?"),
        (
            with_expression("${{ secrets.KEY }}"),
            6,
            column,
            INVALID,
            "from the environment variable of that name",
        ),
        (with_expression("${{ success() }}"), 6, column, INVALID, "`success()`"),
        (
            with_expression("${{ failure() or always() and 1 }}").replace("failure() or ", ""),
            6,
            column,
            INVALID,
            "`always()` stands in `if` alone",
        ),
        (
            with_expression("${{ inputs.package | shout }}"),
            6,
            column + 17,
            INVALID,
            "there is no filter `shout`",
        ),
        (
            with_expression("${{ [1] | batch(1000000000, 0) }}"),
            6,
            column + 6,
            INVALID,
            "there is no filter `batch`",
        ),
        (with_expression("${{ inputs.package | uper }}"), 6, column + 17, INVALID, "did you mean `upper`?"),
        (with_expression("${{ dict(a=1) }}"), 6, column, INVALID, "unknown name `dict`"),
        (
            with_expression("${{ inputs.package is nice }}"),
            6,
            column + 18,
            INVALID,
            "there is no test `nice`",
        ),
        (with_expression("${{ inputs.package"), 6, 12, INVALID, "has no `}}`"),
        (with_expression("${{ }}"), 6, 11, INVALID, "does not parse"),
        (with_expression("a ${{ inputs.package + }} b"), 6, column + 2, INVALID, "does not parse"),
        (
            with_expression("${{ inputs.package }} ${{ inputs.package inputs.pakage }}"),
            6,
            column + 22,
            INVALID,
            "does not parse",
        ),
        (with_expression(&format!("${{{{ {}1 }}}}", "1+".repeat(600))), 6, 15, INVALID, "at most 1024 bytes"),
        (with_step("if: steps.a.status == 'failed'"), 5, 9, INVALID, "reads its own result"),
        (with_step("if: steps.b.data"), 5, 9, INVALID, "there is no step `b`"),
    ]);
}

#[test]
fn names_that_an_expression_can_see_are_no_mistake() {
    for expression in [
        "${{ inputs.package }} ${{ inputs['dry-run'] }} ${{ inputs }}",
        "${{ steps.first.data.deep.er[0] }} ${{ steps['make-it'].status | default('none') }}",
        "${{ run.id }} ${{ run.flow }} ${{ run.workspace }}",
        "${% inputs.nope %} ${# inputs.nope #} {{ inputs.nope }} $HOME ${HOME} $(inputs.nope)",
        "${{ 'inputs.nope }}' }} ${{ range(3) | length }} ${{ {'a': [inputs.package]} }}",
        "${{ inputs.package | upper | default('y') }}",
        "${{ steps.first.data.x if steps.first.data.x is defined else 'none' }}",
    ] {
        let loaded = load("f.yaml", &with_expression(expression));
        assert!(loaded.is_ok(), "{expression}: {:?}", loaded.map_err(|report| told(&report)));
    }
}

#[test]
fn text_that_is_not_a_file_of_ours_is_reported() {
    let long = format!("flow: f\n# {}\n", "x".repeat(1024 * 1024));
    each_is_told(vec![
        ("flow: [\n".to_owned(), 2, 1, "FLOW_SYNTAX", "not valid YAML"),
        // A byte order mark has no column, and only the first one is ignored.
        ("\u{feff}flow: [\n".to_owned(), 2, 1, "FLOW_SYNTAX", "not valid YAML"),
        ("\u{feff}flow: f\nsteps: []\n".to_owned(), 2, 8, INVALID, "at least one step"),
        ("\u{feff}steps: [{ id: a, run: [x] }]\nflow: 5\n".to_owned(), 2, 7, INVALID, "found the number `5`"),
        ("\u{feff}flow: 5\nsteps: [{ id: a, run: [x] }]\n".to_owned(), 1, 7, INVALID, "found the number `5`"),
        ("flow: f\n\u{feff}steps: [{ id: a, run: [x] }]\n".to_owned(), 2, 1, "FLOW_SYNTAX", "not valid YAML"),
        (long, 1, 1, "FLOW_SYNTAX", "at most 1048576 bytes"),
    ]);
    let report = load_bytes("f.yaml", b"flow: f\ntitle: \xff\n").unwrap_err();
    assert_eq!(told(&report)[0].0..=told(&report)[0].1, 2..=8);
}

#[test]
fn an_expression_that_a_shell_would_not_fill_in_is_reported() {
    each_is_told(vec![(
        "flow: f\nsteps:\n  - id: a\n    run: echo '${{ run.id }}'\n".to_owned(),
        4,
        16,
        INVALID,
        "stands in single quotes",
    )]);
}

const SEVEN: &str = "\
flow: Fix It
inputs:
  package: { type: string, default: 5 }
limits: { iteratons: 6 }
steps:
  - id: repair
    run: [\"python3\", \"repair.py\", \"${{ inputs.pakage }}\"]
    timeout: 10
  - id: critic
    run: [\"true\"]
    needs: [repar]
    routing: { kind: microloop, loop_to: repiar, success_values: [VERIFIED] }
";

#[test]
fn seven_mistakes_are_reported_at_once_each_at_its_place() {
    let report = load("f.yaml", SEVEN).unwrap_err();
    let places: Vec<_> =
        told(&report).into_iter().map(|(line, column, code, _)| (line, column, code)).collect();
    assert_eq!(
        places,
        [
            (1, 7, INVALID),
            (3, 37, INVALID),
            (4, 11, INVALID),
            (7, 40, INVALID),
            (8, 14, INVALID),
            (11, 13, INVALID),
            (12, 42, INVALID),
        ]
    );
}

/// A flow that keeps its files, with one step.
fn caching(keys: &str) -> String {
    format!("flow: f\nworkspace: {{ keep: true }}\nsteps:\n  - id: a\n    run: [x]\n    {keys}\n")
}

#[test]
fn a_cache_has_files_and_names_what_there_is() {
    each_is_told(vec![
        (with_step("cache: true"), 3, 9, INVALID, "step `a` has `cache`, and no files are kept"),
        (caching("cache: yes"), 6, 12, INVALID, "`true`, `false` or a mapping"),
        (caching("cache: { input: [a] }"), 6, 14, INVALID, "`inputs`"),
        (caching("cache: { inputs: [../a] }"), 6, 23, INVALID, "a file of `inputs`"),
        (caching("cache: { inputs: [] }"), 6, 22, INVALID, "names no file"),
        (caching("cache: { for: 400d }"), 6, 19, INVALID, "366 days"),
        (caching("cache: { for: 3 }"), 6, 19, INVALID, "a duration has a unit"),
        (
            caching("cache: { env: [CC] }"),
            4,
            9,
            INVALID,
            "`cache` names variable `CC`, which no command gets",
        ),
        (caching("cache: true\n    envelope: true"), 7, 5, INVALID, "`envelope` in a step with `cache`"),
        (
            caching("cache: true\n    budget: { llm_calls: 1 }"),
            7,
            5,
            INVALID,
            "`budget` in a step with `cache`",
        ),
    ]);
    let kind = |action: &str| {
        format!("flow: f\nworkspace: {{ keep: true }}\nsteps:\n  - id: a\n    {action}\n    cache: true\n")
    };
    for action in ["ask: Go?", "agent: { use: claude, prompt: p }", "model: { use: m, prompt: p }"] {
        let report = load("f.yaml", &kind(action)).unwrap_err();
        assert!(
            told(&report).iter().any(|(line, .., words)| *line == 6 && words.contains("`cache`")),
            "{action}"
        );
    }
    let plan = |keys: &str| {
        let flow = load("f.yaml", &caching(keys))
            .unwrap_or_else(|report| panic!("{keys}: {:?}", told(&report)))
            .flow;
        flow.steps[0].cache.as_deref().cloned()
    };
    assert_eq!(plan("cache: false"), None);
    assert_eq!(plan("cache: true"), Some(envoi_kernel::flow::CachePlan::default()));
    let found = plan("cache: { inputs: [\"src/**\"], env: [HOME, LC_ALL], for: 2h }").unwrap();
    assert_eq!((found.inputs.unwrap(), found.max_age_ms), (vec!["src/**".to_owned()], 7_200_000));
}
