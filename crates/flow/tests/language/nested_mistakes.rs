//! Tests mistakes in inner flows.

use crate::told::{files, steps, told};
use envoi_flow::{Colour, Report, load_with};

const INNER: &str = "\
flow: inner
inputs: { must: { type: integer }, may: { type: string, default: x } }
steps:
  - { id: one, run: x }
  - { id: two, ask: Go on? }
";

#[expect(clippy::panic, reason = "a flow of these tests that loads is a failed test")]
fn report(root: &str, others: &[(&str, &str)]) -> Report {
    match load_with("in/flow.yaml", root, &files(others)) {
        Ok(_) => panic!("LOADS: {root}"),
        Err(report) => report,
    }
}

/// Three steps. `b` runs a flow and is on line 4.
fn part(keys: &str) -> String {
    steps(&[
        "id: a, run: x",
        &format!("id: b, flow: inner.yaml, {keys}"),
        "id: c, run: '${{ steps.b.data }}'",
    ])
}

#[test]
fn inputs_and_outputs_that_do_not_fit_are_reported_at_their_place() {
    let given = "inputs: { must: 1 }";
    for (keys, at, words) in [
        ("if: true", "flow: inner", "flow `inner` needs the input `must`"),
        ("inputs: { must: 1, mya: y }", "mya", "did you mean `may`?"),
        ("inputs: { must: one }", "one }", "input `must` of flow `inner` does not fit"),
        ("inputs: { must: 1, may: 7 }", "7 }", "input `may` of flow `inner` does not fit"),
        ("inputs: { must: '${{ steps.z }}' }", "steps.z", "there is no step `z`"),
        ("inputs: { must: '${{ steps.c }}' }", "steps.c", "runs later"),
        ("inputs: { must: ['${{ steps.a }}'] }", "'${{", "make one expression of the whole"),
        ("inputs: [must]", "[must]", "`inputs`: expected a mapping"),
        ("returns: { x: '${{ steps.three.data }}' }", "steps.three", "there is no step `three`"),
        ("returns: { x: '${{ steps.a.data }}' }", "steps.a", "there is no step `a`"),
        ("returns: { x: '${{ steps.two.report }}' }", "steps.two.report", "an answer leaves no report"),
        ("returns: { x: '${{ inputs.mst }}' }", "inputs.mst", "did you mean `must`?"),
        ("returns: { x: '${{ item }}' }, for_each: [1]", "item", "unknown name `item`"),
        ("returns: { x: steps.one.data }", "steps.one", "expected one expression"),
        ("returns: { x: 'a ${{ steps.one.data }}' }", "'a", "expected one expression"),
        ("returns: { type: object }", "object", "expressions over the steps of that flow"),
        ("outputs: { x: '${{ steps.one.data }}' }", "outputs", "write `returns` in place of `outputs`"),
        ("data: json", "data", "does nothing in a step that runs a flow"),
        ("returns: { 'a b': '${{ steps.one.data }}' }", "'a b'", "cannot name a value of `returns`"),
        ("timeout: 1s", "timeout", "does nothing in a step that runs a flow"),
        ("env: { A: b }", "env", "`env` stands at the steps of that flow"),
        ("budget: { llm_calls: 1 }", "budget", "it runs no command"),
        ("on_in_doubt: rerun", "on_in_doubt", "it runs no command"),
        ("run: x", "run", "a step does one thing: `flow` or `run`"),
        ("ask: m", "ask", "a step does one thing: `flow` or `ask`"),
        ("routing: { kind: microloop, success_values: [OK] }", "kind", "no text to be read"),
        ("routing: { loop_to: a }", "loop_to", "no text to be read"),
    ] {
        let keys = if keys.starts_with("if") || keys.contains("inputs:") {
            keys.to_owned()
        } else {
            format!("{given}, {keys}")
        };
        let told = told(&report(&part(&keys), &[("inner.yaml", INNER)]));
        let first = told
            .first()
            .filter(|(line, found, said)| *line == 4 && found.starts_with(at) && said.contains(words));
        assert!(first.is_some(), "{keys}: {told:#?}");
        assert!(
            told.len() == 1 || keys.contains("routing") || keys.contains("run") || keys.contains("ask"),
            "{told:#?}"
        );
    }
    let reads = part(given).replace("steps.b.data", "steps.b.report");
    let reads = told(&report(&reads, &[("inner.yaml", INNER)]));
    assert!(reads[0].2.contains("step `b` runs a flow, which leaves no report"), "{reads:?}");
    let run = told(&report(&steps(&["id: a, run: x, inputs: { b: 1 }"]), &[]));
    assert!(run[0].2.contains("`inputs` does nothing in a step that runs a command"), "{run:?}");
    let run = told(&report(&steps(&["id: a, run: x, skill: s, outputs: { b: '${{ steps.a.data }}' }"]), &[]));
    assert!(run.len() == 1 && run[0].2.contains("beside `run` is a JSON Schema"), "{run:?}");
}

#[test]
fn paths_that_lead_out_or_nowhere_are_reported() {
    for (path, words) in [
        ("gone.yaml", "`gone.yaml` cannot be read: it is not among"),
        ("/etc/flow.yaml", "is an absolute path"),
        ("../x.yaml", "leads out of this file's folder"),
        ("a/../x.yaml", "leads out of this file's folder"),
        ("a//x.yaml", "is no path of a flow file"),
        ("a/./x.yaml", "is no path of a flow file"),
        ("'a\\x.yaml'", "is no path of a flow file"),
        ("'${{ inputs.x }}'", "is a template"),
        ("''", "is blank"),
        ("7", "expected a string"),
    ] {
        let told = told(&report(&steps(&[&format!("id: a, flow: {path}")]), &[]));
        assert!(matches!(told.as_slice(), [(3, _, said)] if said.contains(words)), "{path}: {told:#?}");
    }
}

#[test]
fn mistakes_in_a_named_file_are_reported_for_that_file() {
    let inner = "flow: inner\nsteps:\n  - { id: one, rnu: x }\n";
    let both = report(
        &steps(&["id: a, flow: parts/inner.yaml", "id: b, run: x, tiemout: 1s"]),
        &[("parts/inner.yaml", inner)],
    );
    assert_eq!(told(&both).len(), 1);
    assert_eq!(both.others.len(), 1);
    assert_eq!(both.others[0].file, "in/parts/inner.yaml");
    assert_eq!(both.to_string(), "`in/flow.yaml` is not a flow that can run: 2 problems found");
    let alone = report(
        &steps(&["id: a, flow: parts/inner.yaml", "id: b, flow: parts/inner.yaml"]),
        &[("parts/inner.yaml", inner)],
    );
    assert!(alone.diagnostics.is_empty(), "{alone:?}");
    let text = alone.render(Colour::Never);
    assert!(text.contains("--> in/parts/inner.yaml:3:16") && text.contains("did you mean `run`?"), "{text}");
    assert_eq!(text.matches("rnu: x }").count(), 1, "{text}");
    assert!(!text.contains("in/flow.yaml"), "{text}");
    let located = both.located();
    let is_at = |file: &str, line: usize| located.iter().any(|at| at.file == file && at.start.line == line);
    assert!(is_at("in/flow.yaml", 4) && is_at("in/parts/inner.yaml", 3), "{located:?}");
    let syntax = report(&steps(&["id: a, flow: b.yaml"]), &[("b.yaml", "flow: [")]);
    assert_eq!(syntax.others[0].diagnostics[0].code.as_str(), "FLOW_SYNTAX");
    let empty = report(&steps(&["id: a, flow: b.yaml"]), &[("b.yaml", "")]);
    assert!(empty.others[0].diagnostics[0].message.contains("the file is empty"));
    let by_flows =
        report("flow: f\nflows: [b.yaml]\nsteps: [{ id: a, run: x }]\n", &[("b.yaml", "flow: b\n")]);
    assert!(by_flows.diagnostics.is_empty() && by_flows.others.len() == 1);
}

/// A flow with this id that names another flow.
fn naming(id: &str, path: &str) -> String {
    format!("flow: {id}\nsteps:\n  - {{ id: a, flow: {path} }}\n")
}

#[test]
fn a_flow_that_contains_itself_is_reported_with_its_circle() {
    let own = report(&naming("a", "flow.yaml"), &[("flow.yaml", &naming("a", "flow.yaml"))]);
    assert!(told(&own)[0].2.contains("a part of itself: `flow.yaml -> flow.yaml`"), "{own:?}");
    let two = [("b.yaml", naming("b", "./c.yaml")), ("c.yaml", naming("c", "b.yaml"))];
    let two: Vec<(&str, &str)> = two.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let circle = report(&naming("a", "b.yaml"), &two);
    let [inner] = circle.others.as_slice() else { panic!("{circle:?}") };
    assert_eq!(inner.file, "in/c.yaml");
    assert!(told(inner)[0].2.contains("`flow.yaml -> b.yaml -> c.yaml -> b.yaml`"), "{inner:?}");
    // The name for messages does not matter: the text is that of the flow itself.
    let text = naming("a", "b.yaml");
    let renamed = load_with("<stdin>", &text, &files(&[("b.yaml", &text)])).unwrap_err();
    assert!(told(&renamed)[0].2.contains("a part of itself: `<stdin> -> b.yaml`"), "{renamed:?}");
}

#[test]
fn flows_are_nested_three_deep_and_no_deeper() {
    let leaf = "flow: d\nsteps: [{ id: a, run: x }]\n";
    let (b, c) = (naming("b", "c.yaml"), naming("c", "d.yaml"));
    assert!(load_with("f.yaml", &naming("a", "c.yaml"), &files(&[("c.yaml", &c), ("d.yaml", leaf)])).is_ok());
    let others = [("b.yaml", b.as_str()), ("c.yaml", c.as_str()), ("d.yaml", leaf)];
    let deep = report(&naming("a", "b.yaml"), &others);
    assert!(
        told(&deep.others[0])[0].2.contains("at most 3 deep: `flow.yaml -> b.yaml -> c.yaml -> d.yaml`"),
        "{deep:?}"
    );
    // Even if the deeper flows were already loaded on another path.
    let known = format!("{}  - {{ id: b, flow: b.yaml }}\n", naming("a", "c.yaml"));
    let known = report(&known, &others);
    assert!(told(&known.others[0])[0].2.contains("`flow.yaml -> b.yaml -> c.yaml`"), "{known:?}");
}

#[test]
fn the_settings_of_a_whole_run_are_those_of_its_outermost_flow() {
    for (key, words) in [
        ("limits: { iterations: 1 }", "the run has the bounds of its outermost flow"),
        ("notify: { command: x }", "the outermost flow names the recipients"),
        ("workspace: .", "in the folder of its outermost flow"),
        ("goals: { list: [a], from: a, to: a }", "only the outermost flow has rounds"),
    ] {
        let inner = format!("flow: b\n{key}\nsteps: [{{ id: a, run: x }}]\n");
        assert!(envoi_flow::load("b.yaml", &inner).is_ok(), "it can be run by itself");
        let report = report(&naming("a", "b.yaml"), &[("b.yaml", &inner)]);
        let told = told(&report.others[0]);
        assert!(
            matches!(told.as_slice(), [(2, at, said)] if key.starts_with(&at[..5]) && said.contains(words)),
            "{told:?}"
        );
    }
}

#[test]
fn one_id_is_one_flow_and_one_secret_has_one_source() {
    let flow = |id: &str, command: &str| format!("flow: {id}\nsteps: [{{ id: a, run: {command} }}]\n");
    let two = steps(&["id: a, flow: b.yaml", "id: b, flow: c.yaml"]);
    let same = report(&two, &[("b.yaml", &flow("x", "y")), ("c.yaml", &flow("x", "z"))]);
    assert_eq!(same.others[0].file, "in/c.yaml");
    assert!(told(&same.others[0])[0].2.contains("`x` is also the id of the flow in `b.yaml`"), "{same:?}");
    assert!(
        load_with("f", &two, &files(&[("b.yaml", &flow("x", "y")), ("c.yaml", &flow("x", "y"))])).is_ok()
    );
    let roots = report(&two, &[("b.yaml", &flow("f", "y")), ("c.yaml", &flow("x", "z"))]);
    assert!(told(&roots.others[0])[0].2.contains("the id of the flow in `flow.yaml`"), "{roots:?}");
    // Copies of a file that name different files are different flows.
    let copies = steps(&["id: a, flow: p/b.yaml", "id: b, flow: q/b.yaml"]);
    let b = naming("b", "./c.yaml");
    let copies = report(
        &copies,
        &[("p/b.yaml", &b), ("q/b.yaml", &b), ("p/c.yaml", &flow("x", "y")), ("q/c.yaml", &flow("z", "y"))],
    );
    assert!(told(&copies)[0].2.contains("two files of flow `b`"), "{copies:?}");
    let secret =
        |source: &str| format!("flow: b\nsecrets: {{ A: {{ {source} }} }}\nsteps: [{{ id: a, run: x }}]\n");
    let root = format!("flow: r\nsecrets: {{ A: {{ env: B }} }}\n{}", &steps(&["id: a, flow: b.yaml"])[8..]);
    let differ = report(&root, &[("b.yaml", &secret("env: C"))]);
    assert!(
        matches!(told(&differ).as_slice(), [(2, at, said)] if at.starts_with("A:") && said.contains("another source in `b.yaml`")),
        "{differ:?}"
    );
}

#[test]
fn a_secret_of_one_flow_is_no_variable_of_another() {
    let secret = "flow: b\nsecrets: { A: { env: B } }\nsteps: [{ id: a, run: x }]\n";
    let root = "flow: r\nsteps:\n  - { id: a, flow: b.yaml }\n  - { id: b, run: x, env: { A: y } }\n";
    let own = told(&report(root, &[("b.yaml", secret)]));
    assert!(
        matches!(own.as_slice(), [(_, _, said)] if said.contains("`A` is a secret of the run, and a variable of `env` in this file")),
        "{own:?}"
    );
    let root = "flow: r\nsecrets: { A: { env: B } }\nsteps: [{ id: a, flow: b.yaml }]\n";
    let inner = "flow: b\nenv: { A: y }\nsteps: [{ id: a, run: x, env: { A: z } }]\n";
    let theirs = told(&report(root, &[("b.yaml", inner)]));
    assert!(matches!(theirs.as_slice(), [(_, _, said)] if said.contains("`env` in `b.yaml`")), "{theirs:?}");
}
