//! `agent`: what an agent program is to do.

use crate::told::{each_is_told, loaded, step, steps};
use envoi_kernel::flow::{CommandPlan, InDoubtPolicy, ProgramPlan, Step, StepKind, Template};

#[expect(clippy::panic, reason = "a step of these tests that is another one is a failed test")]
fn plan(step: &Step) -> &ProgramPlan {
    match &step.kind {
        StepKind::Agent(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn agent(keys: &str) -> String {
    steps(&["id: a, run: x", &format!("id: b, agent: {{ {keys} }}")])
}

#[test]
fn a_program_has_a_prompt_and_what_it_may_do() {
    let flow = loaded(&agent("use: claude, prompt: 'Fix it.'"));
    let template = |text: &str| Template(text.to_owned());
    let expected = ProgramPlan {
        program: "claude".to_owned(),
        prompt: template("Fix it."),
        session: Some("b".to_owned()),
        may: "edit".to_owned(),
        model: None,
        turns: None,
        args: Vec::new(),
        takes_session_id: true,
    };
    assert_eq!(plan(step(&flow, "b")), &expected);
    let flow = loaded(&agent(
        "use: claude, prompt: 'Go on with ${{ steps.a.summary }}', session: work, may: run, model: '${{ run.id }}', turns: 9, \
         args: [--effort, 3]",
    ));
    let expected = ProgramPlan {
        prompt: template("Go on with ${{ steps.a.summary }}"),
        session: Some("work".to_owned()),
        may: "run".to_owned(),
        model: Some(template("${{ run.id }}")),
        turns: Some(9),
        args: vec![template("--effort"), template("3")],
        ..expected
    };
    assert_eq!(plan(step(&flow, "b")), &expected);
    let flow = loaded(&agent("use: codex, prompt: p, session: fresh, may: read"));
    let plan = plan(step(&flow, "b"));
    assert_eq!((plan.session.as_ref(), plan.takes_session_id, plan.may.as_str()), (None, false, "read"));
}

#[test]
fn in_doubt_a_person_is_asked_unless_the_file_says_otherwise() {
    let policy = |keys: &str| {
        let text = steps(&[&format!("id: a, agent: {{ use: claude, prompt: p }}{keys}")]);
        step(&loaded(&text), "a").on_in_doubt.clone()
    };
    assert_eq!(policy(""), InDoubtPolicy::Ask);
    assert_eq!(policy(", on_in_doubt: continue"), InDoubtPolicy::Rerun);
    assert_eq!(policy(", on_in_doubt: fail"), InDoubtPolicy::Fail);
}

#[test]
fn a_shell_beside_an_agent_is_that_of_its_verify() {
    let keys = "shell: bash, on_in_doubt: { verify: 'set -o pipefail; look | grep done' }";
    let text = steps(&[&format!("id: a, agent: {{ use: claude, prompt: p }}, {keys}")]);
    let flow = loaded(&text);
    let InDoubtPolicy::Verify(CommandPlan::Script(verify)) = &step(&flow, "a").on_in_doubt else {
        unreachable!("a string with a shell is a script")
    };
    assert_eq!(verify.interpreter, ["bash", "-eo", "pipefail", "-c"]);
}

#[test]
fn a_program_that_cannot_be_started_is_told() {
    let with = |keys: &str| steps(&[&format!("id: a, agent: {{ use: claude, prompt: p }}, {keys}")]);
    each_is_told(vec![
        (agent("prompt: p"), 4, "agent", "`agent` without a `use`"),
        (agent("use: claude"), 4, "agent", "`agent` without a `prompt`"),
        (agent("use: claude, promt: p"), 4, "promt", "did you mean `prompt`?"),
        (agent("use: claud, prompt: p"), 4, "claud", "did you mean `claude`?"),
        (agent("use: vim, prompt: p"), 4, "vim", "there is no agent program `vim`"),
        (agent("use: claude, prompt: ''"), 4, "''", "is blank"),
        (agent("use: claude, prompt: p, may: all"), 4, "all", "`may`"),
        (agent("use: claude, prompt: p, turns: 0"), 4, "0", "`turns`"),
        (agent("use: codex, prompt: p, turns: 3"), 4, "turns", "`codex` has no bound on its turns"),
        (agent("use: claude, prompt: p, session: Work It"), 4, "Work It", "is not an id"),
        (agent("use: claude, prompt: p, args: -x"), 4, "-x", "`args`: expected a list"),
        (agent("use: claude, prompt: '${{ steps.c.summary }}'"), 4, "steps.c", "there is no step `c`"),
        (with("skill: s"), 3, "skill", "`skill` does nothing in a step with `agent`"),
        (with("envelope: true"), 3, "envelope", "`envelope` does nothing"),
        (with("data: json"), 3, "data", "is described by `outputs`"),
        (with("data: { a: 1 }"), 3, "data", "is described by `outputs`"),
        (with("returns: { a: '${{ steps.a.summary }}' }"), 3, "returns", "is described by `outputs`"),
        (with("inputs: { a: 1 }"), 3, "inputs", "by expressions such as"),
        (with("shell: bash"), 3, "shell", "an agent program is started without a shell"),
        (
            with("shell: bash, on_in_doubt: { verify: [./look] }"),
            3,
            "shell",
            "an agent program is started without a shell",
        ),
        (with("shell: zsh, on_in_doubt: { verify: ./look }"), 3, "zsh", "`shell`"),
        (with("on_in_doubt: rerun"), 3, "rerun", "its session goes on"),
        (steps(&["id: a, run: x, on_in_doubt: continue"]), 3, "continue", "`on_in_doubt`"),
        (steps(&["id: a, run: x, agent: { use: claude, prompt: p }"]), 3, "agent", "`run` or `agent`"),
    ]);
}
