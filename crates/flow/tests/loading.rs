//! Tests that a valid flow is read correctly.

use envoi_contract::{envelope::InterruptKind, routing::Kind};
use envoi_flow::{Colour, Loaded, load};
use envoi_kernel::{
    event::Command,
    flow::{
        AskPlan, CommandPlan, Expression, InDoubtPolicy, Next, OnBlocked, OnExhausted, OnReached, Overdue,
        RoutingPlan, ScriptPlan, ScriptValues, SecretSource, StepKind, Template,
    },
    ids::StepId,
    notify::{Address, Moment, Target, Webhook},
};

const FIX_UNTIL_GREEN: &str = include_str!("flows/fix-until-green.yaml");
const EVERYTHING: &str = include_str!("flows/everything.yaml");
const QUESTIONS: &str = include_str!("flows/questions.yaml");

#[expect(clippy::panic, reason = "a flow of these tests that does not load is a failed test")]
fn loaded(text: &str) -> Loaded {
    load("flow.yaml", text).unwrap_or_else(|report| panic!("{}", report.render(Colour::Never)))
}

fn templates(texts: &[&str]) -> Vec<Template> {
    texts.iter().map(|text| Template((*text).to_owned())).collect()
}

#[test]
fn a_loop_until_green_loads_as_it_is_written() {
    let Loaded { flow, language, .. } = loaded(FIX_UNTIL_GREEN);
    assert_eq!((flow.id.as_str(), language, flow.workspace.as_str()), ("fix-until-green", 2, "."));
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
fn targets_are_read_from_flows_and_configurations_alike() {
    let notify = "notify:\n  - command: ./tell me\n    on: [question, expiry]\n  - webhook: { url: 'https://h:1/x', token: { file: t }, timeout: 3s }\n";
    let flow = loaded(&format!("flow: f\n{notify}steps:\n  - {{ id: a, run: [x] }}\n")).flow;
    let webhook = Webhook {
        url: "https://h:1/x".to_owned(),
        token: Some(SecretSource::File("t".to_owned())),
        timeout_ms: 3_000,
    };
    let expected = [
        Target {
            to: Address::Command(Command::Exec(["sh", "-e", "-c", "./tell me"].map(str::to_owned).to_vec())),
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
    // A plain text is one target, and a plain word is one moment.
    let of = |text: &str| envoi_flow::config::load("config.yaml", text).unwrap().notify;
    assert_eq!(of("notify: ./tell me"), of("notify: { command: ./tell me }"));
    assert_eq!(of("notify: https://h/x"), of("notify: { webhook: 'https://h/x' }"));
    assert_eq!(of("notify: { command: x, on: end }"), of("notify: { command: x, on: [end] }"));
    for nothing in ["", "# nothing yet\n", "{}"] {
        assert_eq!(
            envoi_flow::config::load("config.yaml", nothing).unwrap(),
            Default::default(),
            "{nothing}"
        );
    }
}

#[test]
fn a_token_is_sent_only_over_a_private_connection() {
    for url in [
        "https://h/x",
        "HTTPS://h",
        "http://127.0.0.1:8080/x",
        "http://127.9.9.9",
        "http://[::1]:80?x",
        "HTTP://Localhost:1",
    ] {
        let text = format!("notify: {{ webhook: {{ url: '{url}', token: {{ env: T }} }} }}");
        assert_eq!(envoi_flow::config::load("config.yaml", &text).map(|config| config.notify.len()), Ok(1));
    }
}

#[test]
fn every_key_that_is_built_loads() {
    let flow = loaded(EVERYTHING).flow;
    assert_eq!(flow.secrets[1].source, SecretSource::File("../token".to_owned()));
    assert_eq!(flow.env, [("PORT".to_owned(), Template("8080".to_owned()))]);
    let triage = &flow.steps[0];
    let triage_plan = ScriptPlan {
        interpreter: ["bash", "-eo", "pipefail", "-c"].map(str::to_owned).to_vec(),
        values: Some(ScriptValues::Shell),
        script: Template("./triage ${{ inputs.issue }}".to_owned()),
    };
    assert_eq!(triage.kind, StepKind::Run(CommandPlan::Script(triage_plan)));
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

#[expect(clippy::unwrap_used, reason = "the ids of these tests are ids")]
fn step_id(id: &str) -> StepId {
    StepId::new(id).unwrap()
}

#[test]
fn every_key_of_a_question_loads() {
    let flow = loaded(QUESTIONS).flow;
    assert_eq!(flow.limits.on_reached, OnReached::Ask);
    let asks = |id: &str| flow.step(&step_id(id)).unwrap().asks().unwrap().clone();
    let wording = asks("wording");
    assert_eq!(wording.kind, InterruptKind::Clarification);
    assert!(
        wording.message.0.starts_with("## What is missing?\n")
            && wording.message.0.contains("${{ steps.draft")
    );
    let condition = &flow.step(&step_id("wording")).unwrap().condition;
    assert_eq!(condition, &Some(Expression("inputs.audience != 'nobody'".to_owned())));
    let approve = asks("approve");
    assert_eq!(
        approve,
        AskPlan {
            kind: InterruptKind::AgentReview,
            message: Template("Publish the report?".to_owned()),
            schema: None,
            expires_in_ms: Some(172_800_000),
            on_deny: Some(step_id("draft")),
            on_expire: Overdue::Go(step_id("remind")),
            not_by_starter: true,
            quorum: 2,
        }
    );
    let routing = &flow.step(&step_id("approve")).unwrap().routing;
    assert_eq!((routing.loop_to.as_ref(), routing.max_iterations), (Some(&step_id("wording")), 5));
    assert_eq!(routing.next, Some(Next::Step(step_id("where"))));
    assert!(!routing.declared);
    let place = asks("where");
    assert_eq!(
        (place.kind, &place.on_expire, place.on_deny),
        (InterruptKind::Confirmation, &Overdue::Deny, Some(step_id("undo")))
    );
    let fields = place.schema.as_ref().and_then(|schema| schema.get("properties")).unwrap();
    assert_eq!(
        fields.get("copies").map(|field| field.compact()).as_deref(),
        Some(r#"{"type":"integer","minimum":1}"#)
    );
    let after = |id: &str| flow.after(&step_id(id)).map(|step| step.id.as_str());
    assert_eq!((after("where"), after("remind"), after("undo")), (Some("publish"), Some("where"), None));
    assert!(flow.is_last_resort(&step_id("undo")) && !flow.is_last_resort(&step_id("remind")));
}

#[test]
fn a_question_is_a_confirmation_that_never_expires_unless_it_says_otherwise() {
    let ask = |ask: &str| {
        let flow = loaded(&format!("flow: f\nsteps:\n  - id: a\n    ask: {ask}\n")).flow;
        assert_eq!(flow.limits.on_reached, OnReached::Fail);
        (flow.steps[0].asks().unwrap().clone(), flow.steps[0].routing.clone())
    };
    let plain = AskPlan {
        kind: InterruptKind::Confirmation,
        message: Template("Go on?".to_owned()),
        schema: None,
        expires_in_ms: None,
        on_deny: None,
        on_expire: Overdue::Fail,
        not_by_starter: false,
        quorum: 1,
    };
    for short in ["Go on?", "'Go on?'", "{ message: Go on? }"] {
        assert_eq!(ask(short), (plain.clone(), RoutingPlan::default()), "{short}");
    }
    for spoken in [
        "{ message: Go on?, on_deny: fail, kind: confirmation, quorum: 1 }",
        "{ message: Go on?, expires_in: 1h, on_expire: fail }",
    ] {
        let (plan, _) = ask(spoken);
        assert_eq!(AskPlan { expires_in_ms: None, ..plan }, plain, "{spoken}");
    }
    for kind in InterruptKind::ALL {
        assert_eq!(ask(&format!("{{ message: m, kind: {kind} }}")).0.kind, *kind);
    }
}

#[test]
fn the_paths_after_a_denial_are_accepted_where_they_are_declared() {
    let steps = |steps: &str| format!("flow: f\nsteps:\n{steps}");
    let ask = |keys: &str| format!("  - {{ id: ask, ask: {{ message: m, expires_in: 1h, {keys} }} }}\n");
    for flow in [
        // Two targets of a denial and an expiry in a row: neither falls through to the next.
        steps(&format!(
            "{}  - {{ id: go, run: x, routing: {{ next: end }} }}\n  - {{ id: b, run: x }}\n  - {{ id: c, run: x }}\n",
            ask("on_deny: b, on_expire: c")
        )),
        // Intended: the step is part of both paths.
        steps(&format!(
            "{}  - {{ id: go, run: x, routing: {{ next: b }} }}\n  - {{ id: b, run: x }}\n",
            ask("on_deny: b")
        )),
        // Back, and back again.
        steps(&format!(
            "  - {{ id: go, run: x }}\n{}  - {{ id: b, run: x }}\n",
            ask("on_deny: go, on_expire: go")
        )),
        // An edge back is bounded by the given number.
        steps(&format!(
            "  - {{ id: go, run: x }}\n{}",
            ask("on_deny: go").replace(" }\n", ", routing: { max_iterations: 1 } }\n")
        )),
        // A step may have a special word as its name, as long as no denial or expiry has a target.
        steps(&format!("  - {{ id: deny, run: x }}\n  - {{ id: fail, run: x }}\n{}", ask("quorum: 2"))),
        // The target of a denial can read the answer to the question.
        steps(&format!(
            "{}  - {{ id: go, run: x, routing: {{ next: end }} }}\n  - {{ id: b, run: ['${{{{ steps.ask.data.text }}}}'] }}\n",
            ask("on_deny: b")
        )),
    ] {
        assert!(
            load("f.yaml", &flow).is_ok(),
            "{}",
            load("f.yaml", &flow).unwrap_err().render(Colour::Never)
        );
    }
}

#[test]
fn the_digest_depends_on_the_content_and_not_on_its_form() {
    let digest = |text: &str| loaded(text).flow.digest;
    let one = "flow: f\ntitle: T\nsteps:\n  - id: a\n    run: [x, 'y']\n";
    let same = "# comment\nsteps: [{run: [\"x\", y], id: a}]\ntitle: 'T'\nflow: f\n";
    assert_eq!(digest(one), digest(same));
    assert_eq!(digest(one), digest(&format!("\u{feff}{one}")), "as editors on Windows begin a file");
    for other in [
        "flow: f\ntitle: T\nsteps:\n  - id: a\n    run: [x, z]\n",
        "flow: f\ntitle: T\nworkspace: .\nsteps:\n  - id: a\n    run: [x, 'y']\n",
    ] {
        assert_ne!(digest(one), digest(other), "{other}");
    }
    let expected = r#"{"flow":"f","steps":[{"id":"a","run":["x","y"]}],"title":"T"}"#;
    assert_eq!(digest(one), envoi_contract::digest::Digest::of(expected.as_bytes()));
}
