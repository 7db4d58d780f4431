//! The account of an agent program is closed for a while: steps wait for it, durably, and as long as their flow allows.

use crate::{
    corrected::{correction, version},
    driver::{BEGINNING_MS, Driver, exited, person, reported, settled},
    flows::{With as _, flow, graph, step},
    programs::{call, program, session},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Flow, Input, Record, Refusal,
    event::{About, Choice, Event},
    flow::{
        AfterWait, Expression, Fallback, ForEach, OnReached, OnThrottled, ProgramPlan, Secret, SecretSource,
        Step, StepKind, Template,
    },
    input::{Answer, AttemptResult, Slot},
    ledger::Ledger,
    throttle::{AccountWait, FIRST_PROBE_MS, MARGIN_MS, Standing, Standings, Throttled},
};
use std::sync::Arc;

const HOUR: u64 = 3_600_000;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(BEGINNING_MS).saturating_add_ms(ms)
}

/// A step with this policy.
fn bounded(name: &str, wait_ms: u64, then: AfterWait) -> Step {
    program(name, Some(name)).with(|step| match &mut step.kind {
        StepKind::Agent(plan) => plan.on_throttled = OnThrottled { wait_ms, then: then.clone() },
        _ => panic!("no program"),
    })
}

fn codex() -> AfterWait {
    AfterWait::Use(Box::new(Fallback {
        name: "codex".to_owned(),
        account: "codex".to_owned(),
        model: None,
        args: Vec::new(),
        takes_session_id: false,
        login_variables: &["KEY", "PATH"],
    }))
}

/// The provider refuses, and states the time of the reset.
fn refused(id: &str, until: Option<Timestamp>) -> Input {
    let until = until.map(|at| format!(r#""throttled_until":"{at}","#)).unwrap_or_default();
    let members = format!(
        r#""ok":false,"error":{{"code":"AGENT_THROTTLED","message":"limit"}},"agent":{{{until}"program":"claude"}}"#
    );
    settled(AttemptResult { outcome: exited(id, 1).outcome, ..reported(id, &members) })
}

/// The last throttle that was decided.
fn throttled(driver: &Driver) -> Throttled {
    let of = |record: &Record| match &record.event {
        Event::AttemptSettled(settled) => settled.throttled.clone(),
        _ => None,
    };
    driver.records.iter().rev().find_map(of).unwrap()
}

/// When the only visit that waits is tried again.
fn due(driver: &Driver) -> Timestamp {
    let (_, _, due) = driver.run.account_waits().next().unwrap();
    due
}

fn closed(account: &str, until: Timestamp) -> Option<Slot> {
    let standing = Standing { until, resets_at: Some(until), refusals: 2, is_tried: false };
    let accounts: Standings = [(account.to_owned(), standing)].into();
    Some(Slot { accounts: Arc::new(accounts), ..Slot::new("boot-1") })
}

#[test]
fn a_refusal_without_a_time_takes_the_one_that_the_account_is_known_to_be_closed_until() {
    let past = Some(at(0));
    for (says, known, expected) in [
        (None, closed("claude", at(5 * HOUR)), at(5 * HOUR + MARGIN_MS)),
        (past, closed("claude", at(5 * HOUR)), at(5 * HOUR + MARGIN_MS)),
        // The time in the refusal itself counts.
        (Some(at(HOUR)), closed("claude", at(5 * HOUR)), at(HOUR + MARGIN_MS)),
        // Another account, or a time that has passed: nothing is known.
        (None, closed("codex", at(5 * HOUR)), at(FIRST_PROBE_MS)),
        (None, closed("claude", at(0)), at(FIRST_PROBE_MS)),
    ] {
        let mut driver = Driver::started(&flow([program("a", Some("a"))]));
        driver.feed_with(refused("a.1.1", says), known.clone()).unwrap();
        assert_eq!(throttled(&driver).until, expected, "{says:?} {known:?}");
    }
}

#[test]
fn a_refused_attempt_uses_up_nothing_and_waits_until_the_reset() {
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    let (id, _) = session(&driver, "a.1.1");
    let mut used = driver.run.ledger().agent_hops;
    assert_eq!(used, 1);
    for (number, resets_ms) in [(1, 5 * HOUR), (2, 10 * HOUR), (3, 15 * HOUR)] {
        let attempt = format!("a.1.{number}");
        driver.ok(refused(&attempt, Some(at(resets_ms))));
        assert_eq!(driver.run.ledger().agent_hops, 0, "the hop is given back");
        assert_eq!(driver.run.ledger_by_step()["a"].agent_hops, 0);
        assert_eq!(due(&driver), at(resets_ms + MARGIN_MS), "a refusal after the reset is a new wait");
        driver.restart();
        assert_eq!(due(&driver), at(resets_ms + MARGIN_MS), "after a crash the same time holds");
        driver.timer_due();
        let next = call(&driver, &format!("a.1.{}", number + 1));
        assert_eq!((next.session.clone(), next.resumes, next.was_throttled), (id.clone(), true, true));
        assert_eq!(next.failure, None, "a limit says nothing about the work");
        used = driver.run.ledger().agent_hops;
    }
    assert_eq!(used, 1);
    driver.exit("a.1.4", 0);
    assert_eq!(driver.run.status().word(), "succeeded");
}

/// A flow with a step `a`, after this has been done to it.
fn changed(change: impl Fn(&mut Flow)) -> Arc<Flow> {
    let mut changed = (*flow([bounded("a", 0, AfterWait::Fail)])).clone();
    change(&mut changed);
    Arc::new(changed)
}

fn variable(name: &str, value: &str) -> Vec<(String, Template)> {
    vec![(name.to_owned(), Template(value.to_owned()))]
}

#[test]
fn a_limit_of_a_login_that_the_flow_brings_closes_no_other_account_and_is_closed_by_none() {
    let secret =
        |name: &str| vec![Secret { name: name.to_owned(), source: SecretSource::Env("MINE".to_owned()) }];
    let own = "claude of flow demo";
    let rows: [(Arc<Flow>, &str); 9] = [
        (changed(|_| {}), "claude"),
        (changed(|flow| flow.env = variable("LANG", "C")), "claude"),
        (changed(|flow| flow.secrets = secret("TOKEN")), "claude"),
        (changed(|flow| flow.secrets = secret("KEY")), own),
        (changed(|flow| flow.env = variable("KEY", "k")), own),
        // Another program may be there.
        (changed(|flow| flow.env = variable("PATH", "/evil:/usr/bin")), own),
        // The contents of such a file are read outside of the kernel.
        (changed(|flow| flow.env_files = vec![".env".to_owned()]), own),
        (changed(|flow| flow.steps[0].env = variable("KEY", "k")), "claude of step a in flow demo"),
        // Another run may get another login.
        (changed(|flow| flow.env = variable("PATH", "${{ '/opt' }}:/usr/bin")), "claude of run run_0demo"),
    ];
    for (flow, account) in rows {
        let mut driver = Driver::started(&flow);
        driver.ok(refused("a.1.1", Some(at(HOUR))));
        assert_eq!(throttled(&driver).account, account);
        for name in ["claude", account, "claude of flow other"] {
            let mut driver = Driver::new(&flow);
            let start = driver.start();
            driver.feed_with(start, closed(name, at(HOUR))).unwrap();
            assert_eq!(driver.run.status().word() == "failed", name == account, "{account} beside {name}");
        }
        // A person who knows more opens that very account.
        driver.feed_with(try_now(), closed(account, at(HOUR))).unwrap();
        assert_eq!(tried(&driver), [[account]]);
    }
}

#[test]
fn without_a_time_the_account_is_probed_and_each_probe_waits_longer() {
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    driver.ok(refused("a.1.1", None));
    assert_eq!(due(&driver), at(FIRST_PROBE_MS));
    driver.timer_due();
    // The engine knows of the refusal before.
    assert_eq!(call(&driver, "a.1.2").refusals, 0, "a slot without it");
    let past = Some(at(0));
    driver.ok(refused("a.1.2", past));
    assert_eq!(
        (throttled(&driver).resets_at, throttled(&driver).refusals),
        (None, 1),
        "a time that has passed"
    );
    let (timer, when) = driver.run.wants().timers[0].clone();
    driver.now = when;
    driver.feed_with(Input::TimerDue { timer }, closed("claude", when)).unwrap();
    assert_eq!(call(&driver, "a.1.3").refusals, 2);
    driver.ok(refused("a.1.3", None));
    assert_eq!(throttled(&driver).until, when.saturating_add_ms(4 * FIRST_PROBE_MS));
}

#[test]
fn a_step_whose_account_is_closed_is_not_started_in_this_run_or_another() {
    let three = program("a", None).with(|step| {
        step.for_each = Some(ForEach { items: Expression("[1, 2, 3]".to_owned()), max_parallel: None });
    });
    let mut driver = Driver::new(&graph([three]));
    let start = driver.start();
    driver.feed_with(start, closed("claude", at(HOUR))).unwrap();
    assert_eq!(driver.run.account_waits().count(), 3, "not one of them begins");
    assert!(driver.run.wants().attempts.is_empty() && driver.run.wants().ready.is_empty());
    // In the run itself, the refusal of one keeps the others back.
    let mut driver = Driver::started(&flow([program("a", None).with(|step| {
        step.for_each = Some(ForEach { items: Expression("[1, 2, 3]".to_owned()), max_parallel: Some(2) });
    })]));
    driver.ok(Input::SlotFree);
    driver.ok(refused("0.a.1.1", Some(at(HOUR))));
    assert_eq!(driver.run.wants().attempts.len(), 1, "the third one does not begin in its place");
    assert_eq!(driver.run.account_waits().count(), 1);
}

#[test]
fn the_flow_bounds_the_wait_and_says_what_follows() {
    let day = 24 * HOUR;
    for (wait_ms, then, resets_ms, expected) in [
        (day, AfterWait::Fail, Some(23 * HOUR), "waits"),
        (day, AfterWait::Fail, Some(25 * HOUR), "failed"),
        (0, AfterWait::Fail, None, "failed"),
        (0, AfterWait::Ask, Some(HOUR), "asks"),
        (0, codex(), Some(HOUR), "codex"),
        (12 * HOUR, codex(), Some(11 * HOUR), "waits"),
        (12 * HOUR, codex(), Some(13 * HOUR), "codex"),
        (60_000, AfterWait::Fail, None, "waits"),
    ] {
        let case = format!("{wait_ms} {then:?} {resets_ms:?}");
        // Refused itself, or held back by the refusal of another run.
        for other_run in [false, true] {
            let mut driver = Driver::new(&flow([bounded("a", wait_ms, then.clone())]));
            let start = driver.start();
            let until = resets_ms.map(at);
            if other_run {
                let until = until.unwrap_or(at(FIRST_PROBE_MS));
                let standing = Standing { until, resets_at: resets_ms.map(at), refusals: 1, is_tried: false };
                let accounts: Standings = [("claude".to_owned(), standing)].into();
                let slot = Slot { accounts: Arc::new(accounts), ..Slot::new("boot-1") };
                driver.feed_with(start, Some(slot)).unwrap();
            } else {
                driver.feed(start).unwrap();
                driver.ok(refused("a.1.1", until));
            }
            let attempts = driver.run.wants().attempts;
            let found = match (driver.run.status().word(), driver.run.interrupts().next()) {
                (_, Some(raised)) if raised.about == About::Throttled => "asks",
                ("running", None) if attempts.is_empty() => "waits",
                ("running", None) => &call(&driver, &attempts[0].to_string()).program,
                (word, _) => word,
            };
            assert_eq!(found, expected, "{case} {other_run}");
            driver.restart();
        }
    }
}

/// A flow whose run may wait so long.
fn waiting(step: Step, waiting_ms: u64, on_reached: OnReached) -> Arc<Flow> {
    let mut limited = (*flow([step])).clone();
    limited.limits.waiting_ms = Some(waiting_ms);
    limited.limits.on_reached = on_reached;
    Arc::new(limited)
}

/// All attempts that are live are refused until then.
fn refuse_all(driver: &mut Driver, until: Timestamp) {
    let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    for attempt in live {
        driver.ok(refused(&attempt, Some(until)));
    }
}

/// The errors of all hand-offs.
fn failure(driver: &Driver) -> String {
    let of = |record: &Record| match &record.event {
        Event::HandoffWritten(written) => written.handoff.error.clone(),
        _ => None,
    };
    driver.records.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_run_bounds_what_its_waits_for_accounts_take_together() {
    let mut driver = Driver::started(&waiting(program("a", Some("a")), 6 * HOUR, OnReached::Fail));
    driver.ok(refused("a.1.1", Some(at(5 * HOUR))));
    assert_eq!(due(&driver), at(5 * HOUR + MARGIN_MS));
    driver.restart();
    driver.timer_due();
    driver.restart();
    driver.ok(refused("a.1.2", Some(at(7 * HOUR))));
    assert_eq!(driver.run.status().word(), "failed");
    let said = "limit; the run has waited 5h 1m for accounts, and may wait 6h (`limits.waiting`)";
    assert!(failure(&driver).contains(said), "{}", failure(&driver));
    // Held back by the refusal of another run, it fails without an attempt.
    let mut driver = Driver::new(&waiting(program("a", Some("a")), HOUR, OnReached::Fail));
    let start = driver.start();
    driver.feed_with(start, closed("claude", at(2 * HOUR))).unwrap();
    assert!(failure(&driver).contains("the run has waited 0s for accounts, and may wait 1h"));
    // The step's own limit holds if it is shorter.
    let mut driver =
        Driver::started(&waiting(bounded("a", HOUR, AfterWait::Fail), 6 * HOUR, OnReached::Fail));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    assert!(!failure(&driver).contains("limits.waiting"), "{}", failure(&driver));
}

#[test]
fn waits_at_the_same_time_count_once_for_the_run() {
    let items = program("a", None).with(|step| {
        step.for_each = Some(ForEach { items: Expression("[1, 2]".to_owned()), max_parallel: None });
    });
    let mut driver = Driver::started(&waiting(items, 6 * HOUR, OnReached::Fail));
    driver.ok(Input::SlotFree);
    for resets_ms in [5 * HOUR, 5 * HOUR + 50 * 60_000] {
        assert_eq!(driver.run.wants().attempts.len(), 2);
        refuse_all(&mut driver, at(resets_ms));
        assert_eq!(driver.run.account_waits().count(), 2, "{resets_ms}");
        driver.restart();
        while driver.run.account_waits().count() > 0 {
            driver.timer_due();
        }
    }
    refuse_all(&mut driver, at(7 * HOUR));
    assert_eq!(driver.run.status().word(), "failed");
    assert!(failure(&driver).contains("waited 5h 51m"), "{}", failure(&driver));
}

#[test]
fn at_the_limit_of_the_run_the_other_program_goes_on_or_a_person_decides() {
    let mut driver = Driver::started(&waiting(bounded("a", 24 * HOUR, codex()), HOUR, OnReached::Ask));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    assert_eq!(call(&driver, "a.1.2").program, "codex");
    let mut driver = Driver::started(&waiting(program("a", Some("a")), HOUR, OnReached::Ask));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    let raised = driver.question();
    assert_eq!(raised.about, About::Throttled);
    assert!(raised.question.contains("(`limits.waiting`). Wait for it, or fail?"), "{}", raised.question);
    let answer = driver.answer(Choice::Rerun, "ada");
    driver.feed_with(Input::Answer(Box::new(answer)), closed("claude", at(2 * HOUR))).unwrap();
    assert_eq!(due(&driver), at(2 * HOUR), "who decides to wait has decided about the limit");
    // Without a stated time the last try is made at the limit.
    let mut driver = Driver::started(&waiting(program("a", Some("a")), 7 * 60_000, OnReached::Fail));
    driver.ok(refused("a.1.1", None)).timer_due();
    driver.ok(refused("a.1.2", None));
    assert_eq!(due(&driver), at(7 * 60_000));
    driver.timer_due();
    driver.ok(refused("a.1.3", None));
    assert_eq!(driver.run.status().word(), "failed");
}

#[test]
fn who_decides_to_wait_for_the_account_of_the_other_program_is_not_asked_again() {
    for own_ms in [5 * HOUR, 30 * HOUR] {
        let mut driver = Driver::new(&waiting(bounded("a", 24 * HOUR, codex()), 10 * 60_000, OnReached::Ask));
        let accounts = || {
            let [mut slot, other] =
                [closed("claude", at(own_ms)), closed("codex", at(HOUR / 2))].map(Option::unwrap);
            Arc::make_mut(&mut slot.accounts)
                .extend(other.accounts.iter().map(|(name, of)| (name.clone(), of.clone())));
            Some(slot)
        };
        let start = driver.start();
        driver.feed_with(start, accounts()).unwrap();
        let asked = driver.question().question.clone();
        assert!(asked.contains("the account `codex` is closed"), "{own_ms}: {asked}");
        let answer = driver.answer(Choice::Rerun, "ada");
        driver.feed_with(Input::Answer(Box::new(answer)), accounts()).unwrap();
        assert_eq!((driver.run.interrupts().count(), due(&driver)), (0, at(HOUR / 2)), "{own_ms}");
        driver.timer_due();
        assert_eq!(driver.run.wants().attempts.len(), 1, "{own_ms}");
    }
}

#[test]
fn without_a_time_the_last_try_is_made_at_the_bound() {
    let mut driver = Driver::started(&flow([bounded("a", 7 * 60_000, AfterWait::Fail)]));
    driver.ok(refused("a.1.1", None));
    assert_eq!(due(&driver), at(FIRST_PROBE_MS));
    driver.timer_due();
    driver.ok(refused("a.1.2", None));
    assert_eq!(due(&driver), at(7 * 60_000));
    driver.timer_due();
    driver.ok(refused("a.1.3", None));
    assert_eq!(driver.run.status().word(), "failed");
}

#[test]
fn the_other_program_has_a_session_of_its_own_keeps_the_step_and_waits_a_day_at_most() {
    let mut driver = Driver::started(&flow([bounded("a", 0, codex())]));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    assert_eq!(throttled(&driver).instead.as_deref(), Some("codex"));
    let next = call(&driver, "a.1.2").clone();
    assert_eq!((next.program.as_str(), next.account.as_deref()), ("codex", Some("codex")));
    assert!(next.instead && !next.resumes && !next.was_throttled && next.session.is_none());
    assert_eq!(next.session_key.as_deref(), Some("a@codex"));
    driver.restart();
    driver.ok(refused("a.1.2", Some(at(3 * HOUR)))).timer_due();
    assert_eq!(call(&driver, "a.1.3").program, "codex");
    driver.ok(refused("a.1.3", Some(at(30 * HOUR))));
    assert_eq!(driver.run.status().word(), "failed");
}

#[test]
fn another_account_of_the_same_program_has_sessions_of_its_own_and_is_not_closed() {
    let mut spare = codex();
    if let AfterWait::Use(other) = &mut spare {
        (other.name, other.account) = ("claude".to_owned(), ProgramPlan::account_of("claude", Some("spare")));
        other.takes_session_id = true;
    }
    let mut driver = Driver::started(&flow([bounded("a", 0, spare)]));
    let first = call(&driver, "a.1.1").clone();
    assert_eq!((first.account.as_deref(), first.session_key.as_deref()), (Some("claude"), Some("a@claude")));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    let next = call(&driver, "a.1.2").clone();
    assert_eq!((next.program.as_str(), next.account.as_deref()), ("claude", Some("claude/spare")));
    assert_eq!(next.session_key.as_deref(), Some("a@claude/spare"));
    assert!(next.instead && !next.resumes && next.session.is_some() && next.session != first.session);
    driver.restart();
    driver.ok(refused("a.1.2", Some(at(3 * HOUR))));
    assert_eq!(throttled(&driver).account, "claude/spare");
    assert_eq!(driver.run.account_waits().count(), 1);
    assert_eq!(ProgramPlan::name_of("claude/spare"), Some("spare"));
    assert_eq!(ProgramPlan::name_of("claude"), None);
}

#[test]
fn a_person_who_decides_to_wait_is_asked_again_only_after_a_day() {
    let mut driver = Driver::started(&flow([bounded("a", 0, AfterWait::Ask)]));
    driver.ok(refused("a.1.1", Some(at(HOUR))));
    let answer = driver.answer(Choice::Rerun, "ada");
    let slot = closed("claude", at(HOUR));
    driver.feed_with(Input::Answer(Box::new(answer)), slot).unwrap();
    assert_eq!((driver.run.interrupts().count(), due(&driver)), (0, at(HOUR)));
    driver.timer_due();
    driver.ok(refused("a.1.2", Some(at(50 * HOUR))));
    let raised = driver.run.interrupts().next().unwrap();
    assert_eq!(raised.about, About::Throttled);
    assert!(raised.question.contains("Wait for it, or fail?"), "{}", raised.question);
    let answer = driver.answer(Choice::Fail, "ada");
    driver.say(answer).unwrap();
    assert_eq!(driver.run.status().word(), "failed");
}

#[test]
fn a_person_may_have_it_tried_before_its_time() {
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    let early = try_now;
    assert_eq!(driver.feed(early()), Err(Refusal::NoAccountAwaited));
    driver.ok(refused("a.1.1", Some(at(HOUR))));
    driver.feed_with(early(), closed("claude", at(HOUR))).unwrap();
    assert_eq!(driver.run.wants().attempts.len(), 1);
    assert!(driver.run.wants().timers.is_empty());
    driver.ok(refused("a.1.2", Some(at(HOUR))));
    assert_eq!(due(&driver), at(HOUR + MARGIN_MS));
    // A step that waits for another try waits for no account.
    let mut driver = Driver::started(&flow([program("a", Some("a")).with(|step| step.retry.attempts = 2)]));
    driver.exit("a.1.1", 1);
    assert_eq!(driver.feed(early()), Err(Refusal::NoAccountAwaited));
}

fn try_now() -> Input {
    Input::TryNow { by: person("ada"), why: None, request: None, elsewhere: Default::default() }
}

/// Accounts that were tried before their time, in order.
fn tried(driver: &Driver) -> Vec<Vec<String>> {
    let of = |record: &Record| match &record.event {
        Event::AccountsTried(tried) => Some(tried.accounts.clone()),
        _ => None,
    };
    driver.records.iter().filter_map(of).collect()
}

#[test]
fn a_run_that_failed_at_a_closed_account_is_reopened_and_tries_it_before_its_time() {
    let far = || closed("claude", at(100 * HOUR));
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    driver.ok(refused("a.1.1", Some(at(100 * HOUR))));
    assert_eq!(driver.run.status().word(), "failed");
    // Without that word it fails again, and nothing is started.
    let reopen =
        || Input::Reopen { by: person("ada"), why: None, request: None, elsewhere: Default::default() };
    driver.feed_with(reopen(), far()).unwrap();
    assert_eq!((driver.run.status().word(), tried(&driver).len()), ("failed", 0));
    driver.feed_with(try_now(), far()).unwrap();
    assert_eq!(driver.run.wants().attempts.len(), 1);
    assert_eq!(tried(&driver), [["claude"]]);
    driver.restart();
    let live = driver.run.wants().attempts[0].to_string();
    driver.ok(refused(&live, Some(at(100 * HOUR))));
    assert_eq!(driver.run.status().word(), "failed", "refused once more");
    // All places are taken: the account is open when there is one.
    driver.feed_with(try_now(), None).unwrap();
    assert_eq!((tried(&driver).len(), driver.run.status().word()), (2, "running"));
    driver.ok(Input::SlotFree);
    let live = driver.run.wants().attempts[0].to_string();
    driver.exit(&live, 0);
    assert_eq!(driver.feed(try_now()), Err(Refusal::Over { status: "succeeded" }));
    // A run whose accounts are open is reopened.
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    driver.exit("a.1.1", 1).ok(try_now());
    assert_eq!((tried(&driver).len(), driver.run.wants().attempts.len()), (0, 1));
}

#[test]
fn a_question_whether_to_wait_is_answered_by_a_try() {
    let mut driver = Driver::started(&flow([bounded("a", 0, AfterWait::Ask)]));
    driver.ok(refused("a.1.1", Some(at(HOUR))));
    assert_eq!(driver.question().about, About::Throttled);
    let request = Some("req_1".to_owned());
    let by_request = Input::TryNow { by: person("ada"), why: None, request, elsewhere: Default::default() };
    driver.feed_with(by_request, closed("claude", at(HOUR))).unwrap();
    let found: Vec<_> = driver.records.iter().filter_map(|record| record.event.request()).collect();
    assert_eq!(found, ["req_1", "req_1"], "the accounts that were tried, and the answer");
    assert_eq!((driver.run.interrupts().count(), driver.run.wants().attempts.len()), (0, 1));
    assert_eq!((tried(&driver), driver.answered(0).choice), (vec![vec!["claude".to_owned()]], Choice::Rerun));
    driver.restart();
}

#[test]
fn the_first_attempt_after_a_reset_goes_alone_and_its_end_lets_the_others_begin() {
    let tried = |until: u64| {
        let standing = Standing { until: at(until), resets_at: None, refusals: 1, is_tried: true };
        let accounts: Standings = [("claude".to_owned(), standing)].into();
        Some(Slot { accounts: Arc::new(accounts), ..Slot::new("boot-1") })
    };
    // A flow that does not wait for limits waits for this one.
    let mut driver = Driver::new(&flow([bounded("a", 0, AfterWait::Fail)]));
    let start = driver.start();
    driver.feed_with(start, tried(60_000)).unwrap();
    assert_eq!(due(&driver), at(60_000));
    let mut driver = Driver::started(&flow([program("a", None), program("b", None)]));
    driver.feed_with(settled(exited("a.1.1", 0)), tried(60_000)).unwrap();
    assert_eq!(driver.run.wants().attempts.len(), 1, "the next step does not wait for its own run");
    assert_eq!(driver.run.account_waits().count(), 0);
}

#[test]
fn a_step_that_waits_for_its_account_waits_as_long_under_a_corrected_flow() {
    let old = flow([program("a", Some("a")), program("b", Some("b"))]);
    let fixed = version("fixed", &flow([program("a", Some("a")), program("b", Some("b")).tries(2)]));
    for is_refused_itself in [true, false] {
        let mut driver = Driver::new(&old);
        let start = driver.start();
        if is_refused_itself {
            driver.feed(start).unwrap();
            driver.ok(refused("a.1.1", Some(at(HOUR))));
        } else {
            driver.feed_with(start, closed("claude", at(HOUR))).unwrap();
        }
        let waits = |driver: &Driver| -> Vec<(String, AccountWait, Timestamp)> {
            let waits = driver.run.account_waits();
            waits.map(|(visit, wait, due)| (visit.to_string(), wait.clone(), due)).collect()
        };
        let before = waits(&driver);
        assert_eq!(before.len(), 1);
        driver.run.learn(Arc::clone(&fixed));
        driver.feed_with(correction(&fixed, None), closed("claude", at(HOUR))).unwrap();
        driver.restart();
        assert_eq!(driver.run.flow().digest, fixed.digest);
        assert_eq!(waits(&driver), before, "the same account, until the same time");
        assert!(driver.run.wants().attempts.is_empty(), "nothing begins");
        driver.timer_due();
        assert_eq!(driver.run.wants().attempts.len(), 1, "it is tried when the account opens");
    }
}

#[test]
fn a_run_that_is_cancelled_while_it_waits_is_over() {
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    driver.ok(refused("a.1.1", Some(at(HOUR))));
    driver.ok(Input::Cancel { by: person("ada") });
    assert_eq!(driver.run.status().word(), "cancelled");
    assert_eq!(driver.run.account_waits().count(), 0);
}

/// A person raises `limits.waiting` by so much.
fn raise(more_ms: u64) -> Input {
    let more = Ledger { waiting_ms: more_ms, ..Ledger::default() };
    let elsewhere = envoi_kernel::family::Share::default();
    Input::Raise { more, by: person("ada"), why: None, request: None, elsewhere }
}

#[test]
fn a_higher_limit_of_waiting_answers_the_question_about_it_and_holds_from_then_on() {
    let asked = || {
        let mut driver = Driver::started(&waiting(program("a", Some("a")), HOUR, OnReached::Ask));
        driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
        driver.restart();
        driver
    };
    let mut driver = asked();
    let choices = driver.run.accepts(driver.question());
    assert_eq!(choices, [Choice::Rerun, Choice::Raise, Choice::Fail]);
    // Not enough: it is asked again, with what is true now.
    driver.feed_with(raise(HOUR / 2), closed("claude", at(2 * HOUR))).unwrap();
    let asked_again = driver.question().question.clone();
    assert!(asked_again.contains("may wait 1h 30m (`limits.waiting`)"), "{asked_again}");
    assert_eq!(driver.run.limits().waiting_ms, Some(HOUR * 3 / 2));
    driver.feed_with(raise(HOUR), closed("claude", at(2 * HOUR))).unwrap();
    assert_eq!((driver.run.interrupts().count(), due(&driver)), (0, at(2 * HOUR)));
    driver.restart();
    driver.timer_due();
    assert_eq!(driver.run.waited_ms(at(9 * HOUR)), 2 * HOUR);
    // The higher limit holds: a person who raised it has not decided to wait as long as it takes.
    driver.ok(refused("a.1.2", Some(at(4 * HOUR))));
    assert!(driver.question().question.contains("waited 2h for accounts, and may wait 2h 30m"));
    // As an answer, with the amount.
    let mut driver = asked();
    let more = Some(Ledger { waiting_ms: HOUR, ..Ledger::default() });
    let answer = Answer { raise: more, ..driver.answer(Choice::Raise, "ada") };
    driver.feed_with(Input::Answer(Box::new(answer)), closed("claude", at(2 * HOUR))).unwrap();
    assert_eq!(due(&driver), at(2 * HOUR));
    // Another bound is none that this question is about.
    let mut driver = asked();
    let more = Some(Ledger { agent_hops: 1, ..Ledger::default() });
    let answer = Answer { raise: more, ..driver.answer(Choice::Raise, "ada") };
    let refused = driver.feed(Input::Answer(Box::new(answer))).unwrap_err();
    assert!(refused.to_string().contains("by how much `waiting` is raised"), "{refused}");
}

#[test]
fn all_that_ask_because_of_the_limit_of_waiting_go_on_when_it_is_raised() {
    let items = program("a", None).with(|step| {
        step.for_each = Some(ForEach { items: Expression("[1, 2]".to_owned()), max_parallel: None });
    });
    let mut driver = Driver::started(&waiting(items, HOUR, OnReached::Ask));
    driver.ok(Input::SlotFree);
    refuse_all(&mut driver, at(2 * HOUR));
    assert_eq!(driver.run.interrupts().count(), 2);
    driver.feed_with(raise(2 * HOUR), closed("claude", at(2 * HOUR))).unwrap();
    assert_eq!((driver.run.interrupts().count(), driver.run.account_waits().count()), (0, 2));
    assert_eq!(driver.run.limits().waiting_ms, Some(3 * HOUR), "raised once");
}

#[test]
fn a_run_that_failed_at_the_limit_of_waiting_goes_on_when_it_is_raised() {
    let mut driver = Driver::started(&waiting(program("a", Some("a")), HOUR, OnReached::Fail));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    assert_eq!(driver.run.status().word(), "failed");
    driver.restart();
    driver.feed_with(raise(HOUR), closed("claude", at(2 * HOUR))).unwrap();
    assert_eq!((driver.run.status().word(), due(&driver)), ("running", at(2 * HOUR)));
    driver.restart();
    // A run that failed for another reason keeps the limit for when it is reopened.
    let mut driver = Driver::started(&waiting(program("a", Some("a")), HOUR, OnReached::Fail));
    driver.exit("a.1.1", 1);
    driver.ok(raise(HOUR));
    assert_eq!((driver.run.status().word(), driver.run.limits().waiting_ms), ("failed", Some(2 * HOUR)));
    // The run went on past the step that the limit had failed, and another one ended it: that one is not run again.
    let passed_over = program("a", Some("a")).with(|step| step.continue_on_error = true);
    let mut two = (*waiting(passed_over, HOUR, OnReached::Fail)).clone();
    two.steps.push(step("b"));
    let mut driver = Driver::started(&Arc::new(two));
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    driver.exit("b.1.1", 1);
    driver.ok(raise(HOUR));
    assert_eq!((driver.run.status().word(), driver.run.limits().waiting_ms), ("failed", Some(2 * HOUR)));
    // A flow without the limit has nothing to raise.
    let refused = Driver::started(&flow([program("a", Some("a"))])).feed(raise(HOUR)).unwrap_err();
    assert!(refused.to_string().contains("`waiting` has no limit in this flow"), "{refused}");
}

#[test]
fn a_corrected_flow_with_another_limit_of_waiting_decides_the_open_question() {
    let old = waiting(program("a", Some("a")), HOUR, OnReached::Ask);
    for (name, waiting_ms, expected) in
        [("higher", Some(3 * HOUR), "waits"), ("none", None, "waits"), ("low", Some(HOUR / 2), "asks")]
    {
        let mut changed = (*old).clone();
        changed.limits.waiting_ms = waiting_ms;
        let changed = version(name, &Arc::new(changed));
        let mut driver = Driver::started(&old);
        driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
        let first = driver.question().interrupt.clone();
        driver.run.learn(Arc::clone(&changed));
        driver.feed_with(correction(&changed, None), closed("claude", at(2 * HOUR))).unwrap();
        let found = if driver.run.interrupts().count() == 0 { "waits" } else { "asks" };
        assert_eq!(found, expected, "{name}");
        match expected {
            "waits" => assert_eq!(due(&driver), at(2 * HOUR), "{name}"),
            _ => assert_ne!(driver.question().interrupt, first, "{name}"),
        }
        driver.restart();
    }
    // A question that is not about the limit stays as it is.
    let old = waiting(bounded("a", 0, AfterWait::Ask), HOUR, OnReached::Ask);
    let mut changed = (*old).clone();
    changed.limits.waiting_ms = Some(9 * HOUR);
    let changed = version("other", &Arc::new(changed));
    let mut driver = Driver::started(&old);
    driver.ok(refused("a.1.1", Some(at(2 * HOUR))));
    let first = driver.question().interrupt.clone();
    driver.run.learn(Arc::clone(&changed));
    driver.feed_with(correction(&changed, None), closed("claude", at(2 * HOUR))).unwrap();
    assert_eq!(driver.question().interrupt, first);
}

#[test]
fn a_wait_that_nobody_has_stated_the_end_of_ends_with_a_try_also_while_the_account_is_closed() {
    let flows = [
        flow([bounded("a", 7 * 60_000, AfterWait::Fail)]),
        flow([bounded("a", 7 * 60_000, AfterWait::Ask)]),
        flow([bounded("a", 7 * 60_000, codex())]),
        waiting(program("a", Some("a")), 7 * 60_000, OnReached::Fail),
    ];
    for (place, flow) in flows.iter().enumerate() {
        // Whether the last try is refused, and whether it becomes known meanwhile when the account opens.
        for stated in [false, true] {
            let mut driver = Driver::started(flow);
            driver.ok(refused("a.1.1", None)).timer_due();
            driver.ok(refused("a.1.2", None));
            assert_eq!(due(&driver), at(7 * 60_000), "{place}");
            driver.restart();
            let mut slot = closed("claude", at(15 * 60_000));
            let standing = Arc::make_mut(&mut slot.as_mut().unwrap().accounts).get_mut("claude").unwrap();
            standing.resets_at = stated.then_some(at(14 * 60_000));
            let (timer, due) = driver.timer();
            driver.now = due;
            driver.feed_with(Input::TimerDue { timer }, slot).unwrap();
            let begun: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
            let other = place == 2 && stated;
            assert_eq!(begun == ["a.1.3"], !stated || other, "{place} {stated}");
            if !begun.is_empty() {
                let expected = if other { "codex" } else { "claude" };
                assert_eq!(call(&driver, "a.1.3").program, expected, "{place}");
            }
            if !stated {
                driver.restart();
                driver.ok(refused("a.1.3", None));
                let live = driver.run.wants().attempts.len();
                assert_eq!(live, usize::from(place == 2), "{place}: the last try is one try");
            }
        }
    }
}

#[test]
fn of_several_steps_at_the_end_of_their_wait_one_tries_and_the_others_take_what_it_comes_to() {
    let standing = |until: u64, is_tried: bool| {
        let standing = Standing { until: at(until), resets_at: None, refusals: 2, is_tried };
        let accounts: Standings = [("claude".to_owned(), standing)].into();
        Some(Slot { accounts: Arc::new(accounts), ..Slot::new("boot-1") })
    };
    const MINUTE: u64 = 60_000;
    for refused_again in [true, false] {
        // Its wait is over while another step makes the last try.
        let mut driver = Driver::started(&flow([bounded("a", 7 * MINUTE, AfterWait::Fail)]));
        driver.ok(refused("a.1.1", None)).timer_due();
        driver.ok(refused("a.1.2", None));
        let fire = |driver: &mut Driver, slot: Option<Slot>| {
            let (timer, due) = driver.timer();
            driver.now = due;
            driver.feed_with(Input::TimerDue { timer }, slot).unwrap();
        };
        fire(&mut driver, standing(8 * MINUTE, true));
        assert_eq!(driver.run.wants().attempts, []);
        assert_eq!(due(&driver), at(8 * MINUTE));
        driver.restart();
        let after = if refused_again { standing(20 * MINUTE, false) } else { Some(Slot::new("boot-1")) };
        fire(&mut driver, after);
        let attempts = driver.run.wants().attempts.len();
        assert_eq!(attempts, usize::from(!refused_again), "its own try would be refused, too");
        assert_eq!(driver.run.status().word() == "failed", refused_again);
    }
}
