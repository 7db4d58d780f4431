//! Tests `agent`: the task of an agent program.

use crate::told::{each_is_told, loaded, step, steps};
use envoi_kernel::flow::{
    AfterWait, AskCalls, CommandPlan, Fallback, InDoubtPolicy, OnThrottled, ProgramPlan, Step, StepKind,
    Template,
};

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
        account: "claude".to_owned(),
        by_bridge: false,
        on_throttled: OnThrottled::default(),
        prompt: template("Fix it."),
        session: Some("b".to_owned()),
        may: "edit".to_owned(),
        model: None,
        turns: None,
        ask: AskCalls::default(),
        idle_ms: 15 * 60_000,
        denials: 0,
        args: Vec::new(),
        takes_session_id: true,
        login_variables: envoi_preset::Preset::Claude.login_variables(),
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
    let flow = loaded(&agent("use: codex, account: work, prompt: p, session: fresh, may: read"));
    assert_eq!(plan(step(&flow, "b")).account, "codex/work");
    let short = loaded(&agent("use: codex/work, prompt: p, session: fresh, may: read"));
    assert_eq!(plan(step(&short, "b")), plan(step(&flow, "b")));
    let plan = plan(step(&flow, "b"));
    assert_eq!((plan.session.as_ref(), plan.takes_session_id, plan.may.as_str()), (None, false, "read"));
}

#[test]
fn another_account_of_the_same_program_can_go_on() {
    let step_with = |account: &str, policy: &str| {
        steps(&[&format!("id: a, agent: {{ use: claude{account}, prompt: p }}, on_throttled: {policy}")])
    };
    for (account, policy, expected) in [
        ("", "{ use: claude, account: spare }", "claude/spare"),
        (", account: work", "{ wait: 1h, then: { use: claude, account: spare } }", "claude/spare"),
        ("/work", "{ use: claude/spare }", "claude/spare"),
        ("/work", "{ use: claude }", "claude"),
        (", account: work", "{ use: claude }", "claude"),
        (", account: work", "{ use: codex, account: work }", "codex/work"),
    ] {
        let flow = loaded(&step_with(account, policy));
        match &plan(step(&flow, "a")).on_throttled.then {
            AfterWait::Use(other) => assert_eq!(other.account, expected, "{policy}"),
            then => assert_eq!(then, &AfterWait::Ask, "{policy} names an account"),
        }
    }
    each_is_told(vec![
        (step_with("", "{ use: claude }"), 3, "use", "goes on with the account that is closed"),
        (
            step_with(", account: work", "{ use: claude, account: work }"),
            3,
            "use",
            "goes on with the account that is closed",
        ),
        (step_with("/work", "{ use: claude/work }"), 3, "use", "goes on with the account that is closed"),
        (step_with("", "{ account: work }"), 3, "account", "`account` without `use`"),
        (step_with(", account: Work", "wait"), 3, "Work", "is not an id"),
        (step_with("", "{ use: codex, account: 7x }"), 3, "7x", "is not an id"),
        (
            steps(&["id: a, model: { use: small, prompt: p }, on_throttled: { use: other, account: x }"]),
            3,
            "account",
            "`account` is for an agent program",
        ),
    ]);
}

#[test]
fn through_the_bridge_the_account_is_that_of_a_model_of_the_configuration() {
    let flow = loaded(&agent("use: claude, bridge: true, model: small, prompt: p"));
    let found = plan(step(&flow, "b"));
    assert_eq!((found.by_bridge, found.account.as_str()), (true, "model small"));
    let flow = loaded(&agent("use: claude, bridge: false, account: work, prompt: p"));
    let found = plan(step(&flow, "b"));
    assert_eq!((found.by_bridge, found.account.as_str()), (false, "claude/work"));
    let then = |then: &str| {
        steps(&[&format!(
            "id: a, agent: {{ use: claude, bridge: true, model: small, prompt: p }}, on_throttled: {then}"
        )])
    };
    let flow = loaded(&then("{ use: codex, model: large }"));
    let then_used = &plan(step(&flow, "a")).on_throttled.then;
    let is_large =
        |other: &Fallback| (other.name.as_str(), other.account.as_str()) == ("codex", "model large");
    assert!(matches!(then_used, AfterWait::Use(other) if is_large(other)), "{then_used:?}");
    let closed = "goes on with the account that is closed";
    each_is_told(vec![
        (agent("use: claude, bridge: true, prompt: p"), 4, "bridge", "`bridge: true` without a `model`"),
        (agent("use: claude, bridge: yes, model: m, prompt: p"), 4, "yes", "expected"),
        (
            agent("use: claude, bridge: true, model: m, account: work, prompt: p"),
            4,
            "account",
            "with the keys of the configuration",
        ),
        (
            agent("use: claude, bridge: true, model: '${{ run.id }}', prompt: p"),
            4,
            "'${{ run.id }}'",
            "nothing is filled in",
        ),
        (then("{ use: codex, model: small }"), 3, "use", closed),
        (then("{ use: codex }"), 3, "use", "has no `model`"),
        (then("{ use: gemini, model: large }"), 3, "use", "a protocol that the bridge does not have"),
        (then("{ use: codex, model: large, account: work }"), 3, "account", "goes through the bridge, too"),
    ]);
}

#[test]
fn a_step_says_how_many_calls_may_be_refused() {
    let with =
        |denials: &str| steps(&[&format!("id: a, agent: {{ use: claude, prompt: p }}, denials: {denials}")]);
    for most in [0, 3, 10_000] {
        assert_eq!(plan(step(&loaded(&with(&most.to_string())), "a")).denials, most);
    }
    each_is_told(vec![
        (with("-1"), 3, "-1", "`denials`"),
        (with("10001"), 3, "10001", "`denials`"),
        (with("any"), 3, "any", "`denials`"),
        (with("1.5"), 3, "1.5", "`denials`"),
        (steps(&["id: a, run: x, denials: 1"]), 3, "denials", "does nothing in a step without `agent`"),
        (
            steps(&["id: a, a2a: { url: 'http://x', message: m }, denials: 1"]),
            3,
            "denials",
            "does nothing in a step without `agent`",
        ),
        (steps(&["id: a, ask: Go?, denials: 1"]), 3, "denials", "`denials`"),
    ]);
}

#[test]
fn calls_of_tools_are_asked_as_the_file_says() {
    let asks =
        |keys: &str| plan(step(&loaded(&agent(&format!("use: claude, prompt: p{keys}"))), "b")).ask.clone();
    assert_eq!(asks(""), AskCalls::default());
    let calls = vec!["Bash(git push *)".to_owned(), "AskUserQuestion".to_owned()];
    let list = ", ask: ['Bash(git push *)', AskUserQuestion]";
    assert_eq!(asks(list), AskCalls { calls: calls.clone(), ..AskCalls::default() });
    let hour = Some(3_600_000);
    assert_eq!(
        asks(&format!("{list}, expires_in: 1h")),
        AskCalls { calls: calls.clone(), expires_in_ms: hour, denies_when_expired: false }
    );
    assert_eq!(
        asks(&format!("{list}, expires_in: 1h, on_expire: deny")),
        AskCalls { calls, expires_in_ms: hour, denies_when_expired: true }
    );
}

#[test]
fn an_impossible_question_is_reported() {
    let with = |keys: &str| agent(&format!("use: claude, prompt: p, {keys}"));
    each_is_told(vec![
        (agent("use: codex, prompt: p, ask: [Bash]"), 4, "ask", "`codex` has no way to ask"),
        (agent("use: opencode, prompt: p, ask: [Bash]"), 4, "ask", "`opencode` has no way to ask"),
        (agent("use: gemini, prompt: p, ask: [Bash]"), 4, "ask", "`gemini` has no way to ask"),
        (with("ask: [Bash], session: fresh"), 4, "ask", "continues the session that was stopped"),
        (with("ask: []"), 4, "[]", "a list of calls of tools"),
        (with("ask: Bash"), 4, "Bash", "a list of calls of tools"),
        (with("ask: ['Bash(']"), 4, "'Bash('", "names no call of a tool"),
        (with("ask: [Bash], args: [--bare]"), 4, "--bare", "it takes the questions away"),
        (with("ask: [Bash], args: ['--settings=x']"), 4, "'--settings=x'", "it takes the questions away"),
        (with("ask: [Bash], on_expire: deny"), 4, "on_expire", "the question never expires"),
        (with("expires_in: 1h"), 4, "expires_in", "`expires_in` without `ask`"),
        (
            steps(&["id: a, agent: { use: claude, prompt: p, ask: [Bash] }, on_throttled: { use: codex }"]),
            3,
            "ask",
            "only with the step's own program",
        ),
    ]);
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
fn a_limit_is_waited_for_a_day_unless_the_file_says_otherwise() {
    let policy = |keys: &str| {
        let text = steps(&[&format!("id: a, agent: {{ use: claude, prompt: p }}{keys}")]);
        plan(step(&loaded(&text), "a")).on_throttled.clone()
    };
    let hour = 3_600_000;
    let other = |model: Option<&str>| {
        AfterWait::Use(Box::new(Fallback {
            name: "codex".to_owned(),
            account: "codex".to_owned(),
            model: model.map(|model| Template(model.to_owned())),
            args: Vec::new(),
            takes_session_id: false,
            login_variables: envoi_preset::Preset::Codex.login_variables(),
        }))
    };
    for (keys, wait_ms, then) in [
        ("", 24 * hour, AfterWait::Fail),
        (", on_throttled: wait", 24 * hour, AfterWait::Fail),
        (", on_throttled: fail", 0, AfterWait::Fail),
        (", on_throttled: ask", 0, AfterWait::Ask),
        (", on_throttled: { wait: 90m }", 90 * 60_000, AfterWait::Fail),
        (", on_throttled: { then: ask }", 24 * hour, AfterWait::Ask),
        (", on_throttled: { use: codex }", 0, other(None)),
        (", on_throttled: { wait: 12h, then: { use: codex, model: m } }", 12 * hour, other(Some("m"))),
    ] {
        assert_eq!(policy(keys), OnThrottled { wait_ms, then }, "{keys}");
    }
}

#[test]
fn a_run_may_bound_how_long_it_waits_for_accounts() {
    let limited = |waiting: &str| {
        let text = agent("use: claude, prompt: p");
        format!("limits: {{ waiting: {waiting} }}\n{text}")
    };
    assert_eq!(loaded(&limited("6h")).limits.waiting_ms, Some(6 * 3_600_000));
    assert_eq!(loaded(&agent("use: claude, prompt: p")).limits.waiting_ms, None);
    each_is_told(vec![(limited("soon"), 1, "soon", "`waiting`")]);
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
fn a_program_that_cannot_be_started_is_reported() {
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
        (agent("use: claude/Work It, prompt: p"), 4, "claude/Work It", "is not an id"),
        (agent("use: vim/work, prompt: p"), 4, "vim/work", "no agent program `vim`"),
        (agent("use: claude/work, account: spare, prompt: p"), 4, "account", "beside an account in `use`"),
        (agent("use: claude/work, bridge: true, model: m, prompt: p"), 4, "use", "beside `bridge: true`"),
        (agent("use: opencode, prompt: p, turns: 3"), 4, "turns", "`opencode` has no bound on its turns"),
        (agent("use: gemini, prompt: p, turns: 3"), 4, "turns", "`gemini` has no bound on its turns"),
        (
            agent("use: gemini, prompt: p, bridge: true, model: m"),
            4,
            "bridge",
            "a protocol that the bridge does not have",
        ),
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
        (with("on_throttled: later"), 3, "later", "`on_throttled`"),
        (with("on_throttled: { wait: soon }"), 3, "soon", "`wait`"),
        (with("on_throttled: { use: claude }"), 3, "use", "goes on with the account that is closed"),
        (with("on_throttled: { use: codex, wait: 1h }"), 3, "wait", "goes on at once"),
        (with("on_throttled: { wait: 1h, model: m }"), 3, "model", "`model` without `use`"),
        (with("on_throttled: { wait: 1h, then: { use: vim } }"), 3, "vim", "there is no agent program `vim`"),
        (with("on_throttled: { wait: 1h, then: wait }"), 3, "wait }", "`then`"),
        (steps(&["id: a, run: x, on_throttled: wait"]), 3, "on_throttled", "in a step without `agent`"),
        (with("on_in_doubt: rerun"), 3, "rerun", "its session goes on"),
        (steps(&["id: a, run: x, on_in_doubt: continue"]), 3, "continue", "`on_in_doubt`"),
        (steps(&["id: a, run: x, agent: { use: claude, prompt: p }"]), 3, "agent", "`run` or `agent`"),
    ]);
}
