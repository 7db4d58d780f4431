//! Tests `shell`: the interpreter of a command that is a string.

use crate::told::{each_is_told, loaded, step, steps};
use envoi_flow::{NamedProgram, load_as, programs, warnings};
use envoi_kernel::{
    event::Command,
    flow::{CommandPlan, Flow, InDoubtPolicy, ScriptPlan, ScriptValues, StepKind, Template},
    notify::Address,
};
use std::collections::BTreeMap;

fn plan(flow: &Flow, id: &str) -> CommandPlan {
    let StepKind::Run(plan) = &step(flow, id).kind else { unreachable!("{id} is a command") };
    plan.clone()
}

fn script(interpreter: &[&str], values: Option<ScriptValues>, script: &str) -> CommandPlan {
    CommandPlan::Script(ScriptPlan {
        interpreter: interpreter.iter().map(|word| (*word).to_owned()).collect(),
        values,
        script: Template(script.to_owned()),
    })
}

#[test]
fn a_string_stops_at_the_first_command_that_fails() {
    let flow = loaded(&steps(&["id: a, run: 'cp x y; make', on_in_doubt: { verify: 'a; b' }"]));
    assert_eq!(plan(&flow, "a"), script(&["sh", "-e", "-c"], Some(ScriptValues::Shell), "cp x y; make"));
    let verify = script(&["sh", "-e", "-c"], Some(ScriptValues::Shell), "a; b");
    assert_eq!(step(&flow, "a").on_in_doubt, InDoubtPolicy::Verify(verify));
}

#[test]
fn a_shell_is_a_word_or_a_list_of_the_flow_or_of_a_step() {
    let shell = Some(ScriptValues::Shell);
    for (written, interpreter, values) in [
        ("sh", &["sh", "-e", "-c"][..], shell),
        ("bash", &["bash", "-eo", "pipefail", "-c"], shell),
        ("python", &["python3", "-c"], Some(ScriptValues::Python)),
        ("[/bin/zsh, -c]", &["/bin/zsh", "-c"], shell),
        ("[python3.13, -I, -c]", &["python3.13", "-I", "-c"], Some(ScriptValues::Python)),
        ("[node, -e]", &["node", "-e"], None),
    ] {
        let own = loaded(&steps(&[&format!("id: a, shell: {written}, run: x"), "id: b, run: x"]));
        assert_eq!(plan(&own, "a"), script(interpreter, values, "x"), "{written}");
        assert_eq!(plan(&own, "b"), script(&["sh", "-e", "-c"], shell, "x"), "{written}");
        let of_all = format!(
            "shell: {written}\nnotify: {{ command: x }}\n{}",
            steps(&["id: a, run: x", "id: b, shell: sh, run: x", "id: c, run: [x]"])
        );
        let flow = loaded(&of_all);
        assert_eq!(plan(&flow, "a"), script(interpreter, values, "x"), "{written}");
        assert_eq!(plan(&flow, "b"), script(&["sh", "-e", "-c"], shell, "x"), "{written}");
        assert_eq!(plan(&flow, "c"), CommandPlan::Exec(vec![Template("x".to_owned())]));
        let argv = interpreter.iter().chain(&["x"]).map(|word| (*word).to_owned()).collect();
        assert_eq!(flow.notify[0].to, Address::Command(Command::Exec(argv)), "{written}");
    }
}

#[test]
fn a_flow_of_version_1_keeps_its_meaning() {
    let text = format!("notify: {{ command: 'n; o' }}\n{}", steps(&["id: a, run: 'a; b'"]));
    let flow = load_as(1, "f.yaml", &text, &BTreeMap::new()).unwrap().flow;
    assert_eq!(plan(&flow, "a"), CommandPlan::Shell(Template("a; b".to_owned())));
    assert_eq!(flow.notify[0].to, Address::Command(Command::Shell("n; o".to_owned())));
    assert_eq!((flow.language, warnings(&flow)), (1, Vec::new()));
}

#[test]
fn a_flow_of_a_newer_version_is_refused() {
    let report = load_as(3, "f.yaml", &steps(&["id: a, run: x"]), &BTreeMap::new()).unwrap_err();
    assert!(report.diagnostics[0].message.contains("version 3 of the language"), "{report:?}");
}

#[test]
fn a_shell_that_is_none_is_reported() {
    let of_flow = |shell: &str| format!("shell: {shell}\n{}", steps(&["id: a, run: x"]));
    let of_step = |keys: &str| steps(&[&format!("id: a, {keys}")]);
    each_is_told(vec![
        (of_flow("pyton"), 1, "pyton", "did you mean `python`?"),
        (of_flow("ruby"), 1, "ruby", "`[bash, -e, -c]`"),
        (of_flow("5"), 1, "5", "`shell`: expected"),
        (of_flow("[]"), 1, "[]", "`shell` names no program"),
        (of_flow("['${{ run.id }}']"), 1, "'${{", "`shell` takes no expression"),
        (of_step("shell: bash, run: [x]"), 3, "shell", "no command that is a string"),
        (of_step("shell: bash, ask: x"), 3, "shell", "`shell`"),
        (of_step("shell: python, run: \"print('${{ run.id }}')\""), 3, "${{ run.id", "in a string of Python"),
        (of_step("shell: [node, -e], run: 'log(${{ run.id }})'"), 3, "${{ run.id", "fills nothing into its"),
    ]);
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    for (keys, warned) in [
        ("run: 'set +e; a; b'", Some("after `set +e` the script goes on")),
        ("run: '[[ -f x ]]'", Some("`[[` is syntax of bash, and `sh` runs this script; say `shell: bash`")),
        ("shell: bash, run: '[[ -f x ]]'", None),
        ("shell: [bash, -c], run: 'a; b'", Some("`shell` has no `-e`")),
        ("shell: [bash, -c], run: 'set -e; a; b'", None),
        ("shell: [bash, -euo, pipefail, -c], run: 'a; b'", None),
        ("shell: [bash, -c], run: a", None),
        ("shell: python, run: 'a[[0]]; b'", None),
        ("run: x, on_in_doubt: { verify: 'source y' }", Some("`source` is syntax of bash")),
        (
            "run: x, on_in_doubt: { verify: 'fetch > page; grep -q done page' }",
            Some("write `command || exit 2`"),
        ),
        ("run: x, on_in_doubt: { verify: 'fetch > page || exit 2; grep -q done page' }", None),
        ("run: x, on_in_doubt: { verify: 'grep -q done page' }", None),
        ("run: x, on_in_doubt: { verify: [sh, fetch, page] }", None),
    ] {
        let found = warnings(&loaded(&steps(&[&format!("id: a, {keys}")])));
        assert_eq!(found.len(), usize::from(warned.is_some()), "{keys}: {found:?}");
        assert!(found.concat().contains(warned.unwrap_or_default()), "{keys}: {found:?}");
    }
    let both = warnings(&loaded(&steps(&["id: a, run: 'set +e; [[ -f x ]]; b'"])));
    assert!(
        matches!(&*both, [syntax, goes_on] if syntax.contains("`[[` is syntax of bash") && goes_on.contains("after `set +e`")),
        "{both:?}"
    );
    let told =
        warnings(&loaded(&format!("notify: {{ command: 'source x' }}\n{}", steps(&["id: a, run: x"]))));
    assert!(told.concat().starts_with("`notify`: `source` is syntax of bash"), "{told:?}");
}

#[test]
fn the_programs_that_a_flow_finds_on_the_path_are_known() {
    let found = |keys: &str| {
        let flow = loaded(&steps(&[&format!("id: a, {keys}")]));
        let named = programs(&flow).into_iter();
        named.map(|NamedProgram { place, program }| format!("{place}: {program}")).collect::<Vec<_>>()
    };
    for (keys, expected) in [
        ("run: [make, test]", &["step `a`: make"][..]),
        ("run: make test", &["step `a`: sh", "step `a`: make"]),
        ("shell: bash, run: 'make; test'", &["step `a`: bash"]),
        ("run: [./make]", &[]),
        ("run: ['${{ inputs.x }}'], if: 'true'", &[]),
        ("run: [make], env: { PATH: /x }", &[]),
        ("run: [make], on_in_doubt: { verify: [look] }", &["step `a`: make", "step `a`: look"]),
    ] {
        let keys = keys.replace("inputs.x", "run.id");
        assert_eq!(found(&keys), expected, "{keys}");
    }
}
