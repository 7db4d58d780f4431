//! Tests `a2a`: the message to another agent.

use crate::told::{each_is_told, loaded, loaded_with, step, steps};
use envoi_contract::json::Value;
use envoi_kernel::flow::{
    AgentPlan, Expression, InDoubtPolicy, InnerInput, Secret, SecretSource, Step, StepKind, Template,
};

const URL: &str = "url: 'https://agent.test'";

fn agent(keys: &str) -> String {
    steps(&["id: a, run: x", &format!("id: b, a2a: {{ {keys} }}")])
}

#[expect(clippy::panic, reason = "a step of these tests that is another one is a failed test")]
fn plan(step: &Step) -> &AgentPlan {
    match &step.kind {
        StepKind::A2a(plan) => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_may_have_data_a_tenant_and_a_token() {
    let text = agent(
        "url: 'https://${{ run.id }}.test/a2a', message: 'Look at ${{ steps.a.summary }}', tenant: review,
         interface: 'https://${{ run.id }}.test/rpc', data: { n: 1.50, all: '${{ steps.a.data }}', words: 'of ${{ run.id }}' }, token: { env: TOKEN }",
    );
    let flow = loaded(&text);
    let plan = plan(step(&flow, "b"));
    let template = |text: &str| Template(text.to_owned());
    assert_eq!(plan.url, template("https://${{ run.id }}.test/a2a"));
    assert_eq!(plan.message, template("Look at ${{ steps.a.summary }}"));
    assert_eq!(plan.tenant, Some(template("review")));
    assert_eq!(plan.interface, Some(template("https://${{ run.id }}.test/rpc")));
    let data = [
        ("n", InnerInput::Value(Value::parse_str("1.50").unwrap())),
        ("all", InnerInput::Expression(Expression("steps.a.data".to_owned()))),
        ("words", InnerInput::Template(template("of ${{ run.id }}"))),
    ];
    assert_eq!(plan.data, data.map(|(name, value)| (name.to_owned(), value)));
    let (name, source) = ("ENVOI_A2A_TOKEN.f.b".to_owned(), SecretSource::Env("TOKEN".to_owned()));
    assert_eq!(plan.token.as_ref(), Some(&name));
    assert_eq!(flow.secrets, [Secret { name, source }]);
}

#[test]
fn the_next_attempt_finds_out_by_itself_what_became_of_the_last_one() {
    let policy = |keys: &str| {
        let text = steps(&[&format!("id: a, a2a: {{ {URL}, message: m }}{keys}")]);
        step(&loaded(&text), "a").on_in_doubt.clone()
    };
    assert_eq!(policy(""), InDoubtPolicy::Rerun);
    assert_eq!(policy(", on_in_doubt: ask"), InDoubtPolicy::Ask);
    assert_eq!(policy(", on_in_doubt: fail"), InDoubtPolicy::Fail);
}

#[test]
fn a_message_is_sent_again_by_itself_only_where_the_file_says_so() {
    for (keys, resends) in [
        ("", false),
        (", on_in_doubt: ask", false),
        (", on_in_doubt: fail", false),
        (", on_in_doubt: rerun", true),
    ] {
        let flow = loaded(&steps(&[&format!("id: a, a2a: {{ {URL}, message: m }}{keys}")]));
        assert_eq!(plan(step(&flow, "a")).resends, resends, "{keys}");
    }
}

#[test]
fn the_keys_of_a_step_that_runs_hold() {
    let keys = "timeout: 5m, retry: { attempts: 3 }, artifacts: ['a2a/a/**'], budget: { llm_calls: 2 }, continue_on_error: true, \
                outputs: { type: object }, if: 'true', for_each: [1, 2], cwd: x, env: { A: b }, marks: []";
    let flow = loaded(&steps(&[&format!("id: a, a2a: {{ {URL}, message: '${{{{ item }}}}' }}, {keys}")]));
    let step = step(&flow, "a");
    assert_eq!((step.timeout_ms, step.retry.attempts, step.budget.llm_calls), (Some(300_000), 3, Some(2)));
    assert!(step.outputs.is_some() && step.for_each.is_some() && step.continue_on_error);
    let routed = format!(
        "id: c, a2a: {{ {URL}, message: m }}, routing: {{ kind: microloop, success_values: [GOOD], max_iterations: 2 }}"
    );
    assert!(loaded(&steps(&[&routed])).steps[0].routing.declared);
}

#[test]
fn the_tokens_of_inner_flows_belong_to_the_run_and_differ() {
    let inner = "flow: part\nsteps:\n  - { id: b, a2a: { url: 'https://x.test', message: m, token: { file: token } } }\n";
    let outer = "flow: f\nsteps:\n  - { id: a, flow: parts/part.yaml }\n  - { id: b, a2a: { url: 'https://y.test', message: m, token: { env: T } } }\n";
    let flow = loaded_with(outer, &[("parts/part.yaml", inner)]).flow;
    let secret =
        |name: &str, source: SecretSource| Secret { name: format!("ENVOI_A2A_TOKEN.{name}"), source };
    let (env, file) = (SecretSource::Env("T".to_owned()), SecretSource::File("parts/token".to_owned()));
    assert_eq!(flow.secrets, [secret("f.b", env), secret("part.b", file)]);
}

#[test]
fn a_message_that_cannot_be_sent_is_reported() {
    each_is_told(vec![
        (agent("message: m"), 4, "a2a", "`a2a` without a `url`"),
        (agent(URL), 4, "a2a", "`a2a` without a `message`"),
        (agent(&format!("{URL}, mesage: m")), 4, "mesage", "did you mean `message`?"),
        (agent(&format!("{URL}, message: ''")), 4, "''", "is blank"),
        (agent("url: agent.test, message: m"), 4, "agent.test", "begins neither"),
        (agent("url: 'https://', message: m"), 4, "'https://'", "names no host"),
        (agent("url: 'https://me:pw@h', message: m"), 4, "'https://me", "holds a user or a password"),
        (agent("url: 'http://h', message: m, token: { env: T }"), 4, "token", "in clear text"),
        (agent(&format!("{URL}, message: m, interface: agent.test")), 4, "agent.test", "`interface`"),
        (
            agent(&format!("{URL}, message: m, interface: 'http://h', token: {{ env: T }}")),
            4,
            "token",
            "in clear text",
        ),
        (agent(&format!("{URL}, message: m, token: T")), 4, "T }", "expected a mapping"),
        (agent(&format!("{URL}, message: m, token: {{}}")), 4, "token", "`token` has no source"),
        (
            agent(&format!("{URL}, message: '${{{{ steps.c.summary }}}}'")),
            4,
            "steps.c",
            "there is no step `c`",
        ),
        (agent(&format!("{URL}, message: m, data: [1]")), 4, "[1]", "`data`: expected a mapping"),
        (
            agent(&format!("{URL}, message: m, data: {{ a: ['${{{{ run.id }}}}'] }}")),
            4,
            "'${{",
            "member `a` is a value",
        ),
        (steps(&["id: a, a2a: x"]), 3, "x", "expected a mapping"),
        (steps(&[&format!("id: a, run: x, a2a: {{ {URL}, message: m }}")]), 3, "a2a", "`run` or `a2a`"),
        (steps(&[&format!("id: a, a2a: {{ {URL}, message: m }}, skill: s")]), 3, "skill", "runs no command"),
        (
            steps(&[&format!("id: a, a2a: {{ {URL}, message: m }}, envelope: true")]),
            3,
            "envelope",
            "runs no command",
        ),
        (steps(&["id: a, a2: { url: x }"]), 3, "a2:", "did you mean `a2a`?"),
    ]);
}
