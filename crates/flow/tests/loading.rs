//! A flow that is right becomes what it says.

use envoi_contract::routing::Kind;
use envoi_flow::{Colour, Loaded, load};
use envoi_kernel::{
    event::Command,
    flow::{
        CommandPlan, Expression, InDoubtPolicy, Next, OnBlocked, OnExhausted, SecretSource, StepKind,
        Template,
    },
    ids::StepId,
    notify::{Address, Moment, Target, Webhook},
};

const FIX_UNTIL_GREEN: &str = include_str!("flows/fix-until-green.yaml");
const EVERYTHING: &str = include_str!("flows/everything.yaml");

#[expect(clippy::panic, reason = "a flow of these tests that does not load is a failed test")]
fn loaded(text: &str) -> Loaded {
    load("flow.yaml", text).unwrap_or_else(|report| panic!("{}", report.render(Colour::Never)))
}

fn templates(texts: &[&str]) -> Vec<Template> {
    texts.iter().map(|text| Template((*text).to_owned())).collect()
}

#[test]
fn a_loop_until_green_loads_as_it_is_written() {
    let Loaded { flow, language } = loaded(FIX_UNTIL_GREEN);
    assert_eq!((flow.id.as_str(), language, flow.workspace.as_str()), ("fix-until-green", 1, "."));
    assert_eq!(flow.title.as_deref(), Some("Repair until the tests pass"));
    assert_eq!(flow.limits.iterations, Some(6));
    assert_eq!(flow.limits.wall_time_ms, Some(1_800_000));
    assert_eq!(flow.limits.cost.map(|cost| cost.to_string()).as_deref(), Some("5.00"));
    assert_eq!(flow.inputs[0].schema.compact(), r#"{"type":"string"}"#);
    assert_eq!(flow.inputs[0].default.as_ref().map(|value| value.compact()).as_deref(), Some("\"./shop\""));
    let repair = &flow.steps[0];
    let command = CommandPlan::Exec(templates(&["python3", "repair.py", "${{ inputs.package }}"]));
    assert_eq!(repair.kind, StepKind::Run(command));
    assert_eq!(repair.timeout_ms, Some(600_000));
    assert_eq!(
        (repair.retry.attempts, repair.retry.backoff_min_ms, repair.retry.backoff_max_ms),
        (3, 1_000, 30_000)
    );
    assert!(!repair.routing.declared);
    let critic = &flow.steps[1];
    assert!(critic.routing.declared);
    assert_eq!(critic.routing.kind, Kind::Microloop);
    assert_eq!(critic.routing.loop_to, Some(StepId::new("repair").unwrap()));
    assert_eq!(critic.routing.status_from_exit.get(&1).map(String::as_str), Some("UNVERIFIED"));
    assert_eq!(critic.routing.success_values, ["VERIFIED"]);
    assert_eq!(critic.routing.max_iterations, 4);
    assert_eq!(critic.routing.next, Some(Next::Step(StepId::new("report").unwrap())));
    assert_eq!(flow.steps[2].skill.as_deref(), Some("repair-report"));
}

#[test]
fn who_is_told_is_read_from_flows_and_configurations_alike() {
    let notify = "notify:\n  - command: ./tell me\n    on: [question, expiry]\n  - webhook: { url: 'https://h:1/x', token: { file: t }, timeout: 3s }\n";
    let flow = loaded(&format!("flow: f\n{notify}steps:\n  - {{ id: a, run: [x] }}\n")).flow;
    let webhook = Webhook {
        url: "https://h:1/x".to_owned(),
        token: Some(SecretSource::File("t".to_owned())),
        timeout_ms: 3_000,
    };
    let expected = [
        Target {
            to: Address::Command(Command::Shell("./tell me".to_owned())),
            on: vec![Moment::Question, Moment::Expiry],
        },
        Target { to: Address::Webhook(webhook), on: Moment::ALL.to_vec() },
    ];
    assert_eq!(flow.notify, expected);
    assert_eq!(envoi_flow::config::load("config.yaml", notify).unwrap().notify, expected);
    let one = envoi_flow::config::load("config.yaml", "notify: { command: [tell, 7] }").unwrap().notify;
    assert_eq!(one[0].to, Address::Command(Command::Exec(vec!["tell".to_owned(), "7".to_owned()])));
    let short = envoi_flow::config::load("config.yaml", "notify: { webhook: 'HTTP://h' }").unwrap().notify;
    assert!(matches!(&short[0].to, Address::Webhook(Webhook { token: None, timeout_ms: 10_000, .. })));
    for nothing in ["", "# nothing yet\n", "{}"] {
        assert_eq!(
            envoi_flow::config::load("config.yaml", nothing).unwrap(),
            Default::default(),
            "{nothing}"
        );
    }
}

#[test]
fn every_key_that_is_built_loads() {
    let flow = loaded(EVERYTHING).flow;
    assert_eq!(flow.secrets[1].source, SecretSource::File("../token".to_owned()));
    assert_eq!(flow.env, [("PORT".to_owned(), Template("8080".to_owned()))]);
    let triage = &flow.steps[0];
    assert_eq!(
        triage.kind,
        StepKind::Run(CommandPlan::Shell(Template("./triage ${{ inputs.issue }}".to_owned())))
    );
    assert_eq!(triage.cwd, Some(Template("sub/${{ inputs.issue }}".to_owned())));
    assert_eq!(triage.on_in_doubt, InDoubtPolicy::Rerun);
    assert!(triage.envelope);
    assert_eq!(triage.artifacts, ["out/**/*.{json,md}"]);
    assert_eq!(triage.routing.branches.len(), 2);
    assert_eq!(triage.routing.on_exhausted, OnExhausted::Proceed);
    let fix = &flow.steps[1];
    assert_eq!(fix.condition, Some(Expression("steps['triage'].data.n > 2".to_owned())));
    assert_eq!((fix.retry.backoff_min_ms, fix.retry.backoff_max_ms), (5_000, 5_000));
    assert_eq!(fix.routing.next, Some(Next::End));
    assert!(!fix.routing.declared, "`next` alone gives the resolver nothing to do");
    let explain = &flow.steps[2].routing;
    assert_eq!((explain.on_blocked, explain.can_further_iteration_help), (OnBlocked::Fail, false));
    assert_eq!((explain.loop_to.as_ref(), explain.max_iterations), (None, 3));
    assert_eq!(flow.steps[2].condition, Some(Expression("not steps.triage.data.done".to_owned())));
}

#[test]
fn the_digest_is_of_what_is_said_not_of_how() {
    let digest = |text: &str| loaded(text).flow.digest;
    let one = "flow: f\ntitle: T\nsteps:\n  - id: a\n    run: [x, 'y']\n";
    let same = "# comment\nsteps: [{run: [\"x\", y], id: a}]\ntitle: 'T'\nflow: f\n";
    assert_eq!(digest(one), digest(same));
    for other in [
        "flow: f\ntitle: T\nsteps:\n  - id: a\n    run: [x, z]\n",
        "flow: f\ntitle: T\nworkspace: .\nsteps:\n  - id: a\n    run: [x, 'y']\n",
    ] {
        assert_ne!(digest(one), digest(other), "{other}");
    }
    let expected = r#"{"flow":"f","steps":[{"id":"a","run":["x","y"]}],"title":"T"}"#;
    assert_eq!(digest(one), envoi_contract::digest::Digest::of(expected.as_bytes()));
}
