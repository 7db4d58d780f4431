//! Random graphs whose steps work in trees of their own, and random fates of their attempts: one merge at a time, in the order of the flow,
//! each result once, and nothing begins before what it needs is merged.

use crate::{
    driver::{Driver, doubtful, exited, person, reported, settled},
    flows::{With as _, graph, step, step_id},
    properties::cases,
    rules,
    set_back::isolated,
};
use envoi_contract::{digest::Digest, handoff::Status, json::Value};
use envoi_kernel::{
    Event, Flow, Input, Record, Refusal,
    event::{About, Choice, Command, Course, Done, InterruptRaised, Outcome, Snapshot},
    flow::{Expression, ForEach, InDoubtPolicy, Join, OnConflict, Step},
    ids::{AttemptId, StepId, VisitId},
    input::{Answer, AttemptResult},
};
use proptest::{prelude::*, sample::select};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const MOST_STEPS: usize = 6;
const MOST_TURNS: usize = 2_000;

/// What a step is made of. What stands beside it in time works apart, as `check` demands: here all but the steps of one stage do.
#[derive(Debug, Clone)]
struct Plan {
    needs: u8,
    is_list: bool,
    on_conflict: OnConflict,
    policy: InDoubtPolicy,
    tries: u32,
    settled: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let on_conflict = select(vec![OnConflict::Ask, OnConflict::Again, OnConflict::Fail, OnConflict::Theirs]);
    let policy = select(vec![InDoubtPolicy::Ask, InDoubtPolicy::Rerun, InDoubtPolicy::Fail]);
    (any::<u8>(), prop::bool::weighted(0.2), on_conflict, policy, 1_u32..3, prop::bool::weighted(0.3))
        .prop_map(|(needs, is_list, on_conflict, policy, tries, settled)| Plan {
            needs,
            is_list,
            on_conflict,
            policy,
            tries,
            settled,
        })
}

/// The steps stand in the file in this order or in the other one. `last` needs all of them and works in the run's tree.
fn graphs() -> impl Strategy<Value = Arc<Flow>> {
    (prop::collection::vec(plan(), 2..=MOST_STEPS), any::<bool>()).prop_map(|(plans, reverse)| {
        let name = |place: usize| format!("s{place}");
        let of = |(place, plan): (usize, &Plan)| {
            step(&name(place)).with(|step| {
                let needs =
                    (0..place).filter(|other| plan.needs & (1 << other) != 0 && plan.needs & 0x80 != 0);
                step.needs = needs.map(|other| step_id(&name(other))).collect();
                step.join = if plan.settled && !step.needs.is_empty() { Join::Settled } else { Join::All };
                (step.isolate, step.on_conflict) = (true, plan.on_conflict);
                (step.on_in_doubt, step.retry.attempts) = (plan.policy.clone(), plan.tries);
                step.for_each = plan
                    .is_list
                    .then(|| ForEach { items: Expression("[1, 2, 3]".to_owned()), max_parallel: Some(2) });
            })
        };
        let mut steps: Vec<Step> = plans.iter().enumerate().map(of).collect();
        let all = (0..plans.len()).map(|place| step_id(&name(place))).collect();
        steps.push(step("last").with(|step| step.needs = all));
        if reverse {
            steps.reverse();
        }
        graph(steps)
    })
}

/// Each attempt leaves files of its own.
fn settles(id: &AttemptId, fate: u8, driver: &Driver, nth: usize, is_cancelled: bool) -> Input {
    let merge = match &driver.run.attempt(id).unwrap().command {
        Command::Merge(call) => Some(call.clone()),
        _ => None,
    };
    let text = id.to_string();
    let with_files = |result: AttemptResult| {
        let of = |word: String| Some(Snapshot { digest: Digest::of(word.as_bytes()), moving: false });
        let workspace_before = of(format!("before {nth}"));
        settled(AttemptResult { workspace_before, workspace_after: of(format!("after {nth}")), ..result })
    };
    match (fate % 12, merge) {
        (0 | 1, None) => with_files(exited(&text, 3)),
        (2, None) | (2 | 3, Some(_)) => {
            let Input::InDoubt { attempt, evidence } = doubtful(&text, 1) else { unreachable!() };
            let mut members = evidence.as_object().unwrap().clone();
            let before = Digest::of(b"before it").to_string();
            members.insert("workspace_before".to_owned(), before.as_str().into());
            Input::InDoubt { attempt, evidence: Value::Object(members) }
        }
        (0 | 1, Some(call)) if call.on_conflict.puts_off() => {
            let last = call.items.last().unwrap().item;
            let data = format!(r#""ok":true,"data":{{"in_conflict":[{last}],"conflicts":[]}}"#);
            with_files(reported(&text, &data))
        }
        (0, Some(_)) => with_files(exited(&text, 1)),
        (4..=7, _) if is_cancelled => {
            settled(AttemptResult { outcome: Outcome::Cancelled, ..exited(&text, 0) })
        }
        _ => with_files(exited(&text, 0)),
    }
}

fn question(driver: &Driver) -> Option<InterruptRaised> {
    driver.run.interrupts().next().cloned()
}

/// Serves whatever the run wants, in an order that the fates say, until it is over.
fn live(flow: &Arc<Flow>, fates: &[u8]) -> Driver {
    let mut driver = isolated(flow);
    let (mut reopened, mut is_cancelled) = (0, false);
    for (nth, fate) in fates.iter().cycle().enumerate().take(MOST_TURNS) {
        let wants = driver.run.wants();
        let pick = |many: usize| usize::from(*fate) % many;
        if fate % 16 == 15 {
            driver.restart();
        }
        if fate % 64 == 63 && nth % 7 == 0 && !wants.is_empty() {
            is_cancelled |= driver.feed(Input::Cancel { by: person("bob") }).is_ok();
        }
        let wants = if wants.is_empty() { wants } else { driver.run.wants() };
        let told: Vec<&AttemptId> = wants.attempts.iter().chain(&wants.ending).collect();
        if !wants.ready.is_empty() && (told.is_empty() || fate % 3 != 0) {
            driver.ok(Input::SlotFree);
        } else if !told.is_empty() {
            let id = told[pick(told.len())].clone();
            // Without a slot, or with one.
            let slot = crate::driver::slot().filter(|_| fate % 2 == 0);
            driver.feed_with(settles(&id, fate / 2, &driver, nth, is_cancelled), slot).unwrap();
        } else if let Some((timer, due)) = wants.timers.first() {
            driver.now = driver.now.max(*due);
            driver.ok(Input::TimerDue { timer: timer.clone() });
        } else if let Some(raised) = question(&driver) {
            let choice = match (raised.about, fate % 4) {
                (About::Conflict, 0) => Choice::Proceed,
                (About::Conflict, 1) => Choice::Stop,
                (About::Conflict, _) => Choice::Again,
                (_, 0) => Choice::Fail,
                _ => Choice::Rerun,
            };
            let answer = |choice| Answer::new(raised.interrupt.clone(), choice, person("zed"));
            match driver.feed(Input::Answer(Box::new(answer(choice)))) {
                Err(Refusal::PastBound { .. }) => {
                    driver.ok(Input::Answer(Box::new(answer(Choice::Proceed))));
                }
                said => drop(said.unwrap()),
            }
        } else if reopened < 3 {
            (reopened, is_cancelled) = (reopened + 1, false);
            let by = person("bob");
            let reopen = Input::Reopen { by, why: None, request: None, elsewhere: Default::default() };
            if driver.feed(reopen).is_err() {
                return driver;
            }
        } else {
            return driver;
        }
    }
    panic!("it goes on after {MOST_TURNS} turns: {:?}", driver.run.wants())
}

/// What the records alone tell.
#[derive(Default)]
struct Watch {
    /// Live attempts: whether each merges, and whether it works in the run's tree.
    live: BTreeMap<AttemptId, (bool, bool)>,
    /// The visit of a merge that was cut off and is to be done again before anything else begins.
    cut_off: Option<VisitId>,
    /// Steps that have been entered and have no hand-off yet.
    open: BTreeSet<StepId>,
    /// Steps of which a person decides.
    held: BTreeSet<StepId>,
    /// What succeeded items have left, and is not in the run's tree yet.
    waiting: BTreeMap<(StepId, u64), Digest>,
    /// What the last merge has not brought in.
    put_off: BTreeSet<(StepId, u64)>,
    /// What merges have brought into the run's tree.
    merged: BTreeSet<Digest>,
    /// What the live merge is to bring.
    brings: Vec<(u64, Digest)>,
    left: BTreeMap<AttemptId, Digest>,
    told: Vec<String>,
}

/// What has happened is shown where a rule is broken.
impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.told.join("\n"));
        }
    }
}

impl Watch {
    fn take(&mut self, flow: &Flow, record: &Record) {
        self.told.push(crate::story::event(&record.event));
        match &record.event {
            Event::StepEntered(event) => drop(self.open.insert(event.step.clone())),
            Event::AttemptStarted(event) => {
                let step = &event.attempt.visit.step;
                let begun = &event.attempt;
                assert!(!self.live.values().any(|(merges, _)| *merges), "{begun} begins beside a merge");
                if let Some(cut_off) = self.cut_off.take() {
                    assert_eq!(cut_off, begun.visit, "a merge that was cut off is done again first");
                    assert!(event.set_back.is_some(), "{begun} begins with what the first one began with");
                }
                if let Some(item) = begun.visit.item() {
                    let key = (step.clone(), item);
                    let waited = self.waiting.remove(&key).is_some();
                    assert!(!waited || self.put_off.remove(&key), "{begun} repeats what is done");
                }
                for need in &flow.step(step).unwrap().needs {
                    let is_over = !self.open.contains(need) && !self.held.contains(need);
                    assert!(is_over, "{begun} begins, and `{need}` is not merged");
                }
                if let Command::Merge(call) = &event.command {
                    assert_eq!(event.tree, None);
                    assert!(!self.live.values().any(|(_, in_runs)| *in_runs), "{begun} merges beside others");
                    if event.set_back.is_none() {
                        let before = flow.steps.iter().take_while(|other| other.id != *step);
                        let before: Vec<_> = before.filter(|other| self.open.contains(&other.id)).collect();
                        assert!(before.is_empty(), "{begun} is merged before {:?}", before[0].id);
                    }
                    self.brings = call.items.iter().map(|item| (item.item, item.theirs)).collect();
                    let waiting: Vec<(u64, Digest)> = self
                        .waiting
                        .iter()
                        .filter(|((other, _), _)| other == step)
                        .map(|((_, item), left)| (*item, *left))
                        .collect();
                    assert_eq!(self.brings, waiting, "{begun} brings all that waits");
                }
                let merges = matches!(event.command, Command::Merge(_));
                self.live.insert(begun.clone(), (merges, event.tree.is_none()));
            }
            Event::AttemptSettled(event) if !event.late => {
                let (merges, _) = self.live.remove(&event.attempt).unwrap();
                let visit = &event.attempt.visit;
                if merges && matches!(event.outcome, Outcome::InDoubt { .. }) {
                    self.cut_off = Some(visit.clone());
                } else if merges && event.ok {
                    let put_off = event.data.get("in_conflict").and_then(Value::as_array).unwrap_or_default();
                    let put_off: Vec<u64> = put_off.iter().filter_map(Value::as_u53).collect();
                    for (item, left) in std::mem::take(&mut self.brings) {
                        if !put_off.contains(&item) {
                            assert!(self.merged.insert(left), "merged twice");
                            self.waiting.remove(&(visit.step.clone(), item));
                        }
                        self.put_off.extend(put_off.iter().map(|item| (visit.step.clone(), *item)));
                    }
                } else {
                    self.left.extend(event.workspace_digest.map(|left| (event.attempt.clone(), left)));
                }
            }
            Event::HandoffWritten(event) => {
                let (visit, status) = (&event.visit, event.handoff.status);
                if self.cut_off.as_ref() == Some(visit) {
                    self.cut_off = None;
                }
                match visit.item() {
                    Some(item) if status == Status::Succeeded => {
                        let last = self.left.iter().rfind(|(attempt, _)| attempt.visit == *visit);
                        self.waiting.insert((visit.step.clone(), item), *last.unwrap().1);
                    }
                    Some(_) => {}
                    None => {
                        self.open.remove(&visit.step);
                        let waits = self.waiting.keys().any(|(step, _)| *step == visit.step);
                        assert!(status != Status::Succeeded || !waits, "{visit} is over, and not merged");
                        // A step that is given up or has failed goes on without its files; a resumed run merges them.
                    }
                }
            }
            Event::Routed(event) if event.visit.item().is_none() => {
                self.held.remove(&event.visit.step);
                match &event.course {
                    Course::LoopBack(step) => drop(self.open.insert(step.clone())),
                    Course::Hold => drop(self.held.insert(event.visit.step.clone())),
                    Course::Done(Done::Passed) => {
                        self.waiting.retain(|(other, _), _| *other != event.visit.step)
                    }
                    _ => {}
                }
            }
            Event::RunEnded(_) => {
                assert!(self.live.is_empty());
                self.open.clear();
                self.held.clear();
                self.cut_off = None;
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn merges_are_serialised_in_the_order_of_the_flow_and_no_result_is_lost_or_merged_twice(
        (flow, fates) in (graphs(), prop::collection::vec(any::<u8>(), 8..120))
    ) {
        let driver = live(&flow, &fates);
        let mut watch = Watch::default();
        rules::check(&flow, &driver.records);
        for record in &driver.records {
            watch.take(&flow, record);
        }
        let mut driver = driver;
        driver.restart();
    }
}

#[test]
fn random_branches_reach_merges_doubt_and_conflicts() {
    use proptest::{
        strategy::ValueTree as _,
        test_runner::{RngAlgorithm, TestRng, TestRunner},
    };
    let mut runner = TestRunner::new_with_rng(cases(1), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (mut merges, mut conflicts, mut again, mut ended) = (0, 0, 0, 0);
    for _ in 0..60 {
        let tree = (graphs(), prop::collection::vec(any::<u8>(), 8..120)).new_tree(&mut runner).unwrap();
        let (flow, fates) = tree.current();
        let driver = live(&flow, &fates);
        for record in &driver.records {
            match &record.event {
                Event::AttemptStarted(event) if event.merges() => {
                    merges += 1;
                    again += usize::from(event.set_back.is_some());
                }
                Event::InterruptRaised(raised) => conflicts += usize::from(raised.about == About::Conflict),
                Event::RunEnded(end) => ended += usize::from(end.terminal_reason.word() == "completed"),
                _ => {}
            }
        }
    }
    assert!(merges > 100 && conflicts > 5 && again > 5 && ended > 5, "{merges} {conflicts} {again} {ended}");
}
