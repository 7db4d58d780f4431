//! A simulated environment that tries to make a run long. The seed determines the outcomes and answers of a real run.
//!
//! Every attempt gets a slot at once and takes all of its time or a little less. The clock advances from one end to
//! the next, so that what takes long in the plan takes long here too.

use envoi_contract::{
    json::{Number, Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Flow, Input, Refusal, Run, Status,
    event::{Choice, Course, InterruptRaised, Outcome},
    flow::{Overdue, Step},
    ids::{AttemptId, Principal, RunId, StepId, TimerId, VisitId},
    input::{Answer, AttemptResult, Slot, Start},
    ledger::Ledger,
    requester::Requester,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The counts of a run. A step of an inner flow is named with its flow, `inner/a`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) attempts: BTreeMap<String, u64>,
    pub(crate) visits: BTreeMap<String, u64>,
    /// By the step that goes back.
    pub(crate) returns: BTreeMap<String, u64>,
    pub(crate) rounds: u64,
    pub(crate) time_ms: u64,
    pub(crate) waits_ms: u64,
    /// The time from start to end, without the time in which the run only waited for people.
    pub(crate) elapsed_ms: u64,
    /// True if all questions were answered at once.
    pub(crate) prompt: bool,
    pub(crate) calls: u64,
    /// Attempts that a person had run again because of doubt.
    pub(crate) reruns: u64,
    pub(crate) turns: u64,
    pub(crate) ended: bool,
    /// Whether the run succeeded.
    pub(crate) succeeded: bool,
}

impl Tally {
    pub(crate) fn all_attempts(&self) -> u64 {
        self.attempts.values().sum()
    }

    pub(crate) fn all_visits(&self) -> u64 {
        self.visits.values().sum()
    }

    pub(crate) fn all_returns(&self) -> u64 {
        self.returns.values().sum()
    }
}

/// A small generator of pseudo-random numbers. The same seed gives the same run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<T: Clone>(&mut self, sides: &[T]) -> T {
        sides[usize::try_from(self.below(sides.len() as u64)).unwrap()].clone()
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

fn person(name: &str) -> Principal {
    Principal { tenant: "local".to_owned(), actor: name.to_owned() }
}

fn slot() -> Option<Slot> {
    Some(Slot::new("boot-1"))
}

const BEGAN_MS: i64 = 1_795_219_200_000;

struct World<'f> {
    flow: &'f Arc<Flow>,
    run: Run,
    dice: Dice,
    /// Percentages: how often an attempt fails, is in doubt, and goes back.
    fails: u64,
    doubts: u64,
    back: u64,
    now: Timestamp,
    /// The end of each attempt that is live or being ended.
    over: BTreeMap<AttemptId, Timestamp>,
    entered: BTreeSet<VisitId>,
    waited_ms: i64,
    tally: Tally,
}

/// Runs `flow` to its end, or for at most `most_turns` turns.
pub(crate) fn live(flow: &Arc<Flow>, seed: u64, most_turns: u64) -> Tally {
    let mut dice = Dice(seed);
    let (fails, doubts) = (dice.pick(&[0, 30, 60, 100]), dice.pick(&[0, 0, 20, 90]));
    let back = dice.pick(&[50, 70, 90, 100]);
    let mut world = World {
        flow,
        run: Run::new(Arc::clone(flow)),
        dice,
        fails,
        doubts,
        back,
        now: Timestamp::from_millis(BEGAN_MS),
        over: BTreeMap::new(),
        entered: BTreeSet::new(),
        waited_ms: 0,
        tally: Tally::default(),
    };
    world.tally.prompt = world.dice.percent(50);
    world.feed(Input::Start(Box::new(Start {
        run: RunId::new("run_0demo").unwrap(),
        inputs: Object::default(),
        source: "/project/flow.yaml".into(),
        shared: false,
        keep_files: false,
        no_cache: false,
        isolated: None,
        workspace: "/work".to_owned(),
        run_base: "/base".to_owned(),
        language: 1,
        by: person("ada"),
        yes_to: Vec::new(),
        trace: None,
        env: envoi_contract::json::Object::new(),
        requester: Requester::default(),
        part: None,
    })));
    while world.tally.turns < most_turns && !matches!(world.run.status(), Status::Ended(_)) {
        world.tally.turns += 1;
        world.turn();
    }
    let status = world.run.status();
    world.tally.ended = matches!(status, Status::Ended(_));
    world.tally.succeeded = status.word() == "succeeded";
    let elapsed = world.now.as_millis() - BEGAN_MS - world.waited_ms;
    world.tally.elapsed_ms = u64::try_from(elapsed).unwrap();
    world.tally
}

impl World<'_> {
    fn feed(&mut self, input: Input) -> bool {
        let records = match self.run.decide(input, slot(), self.now) {
            Ok(records) => records,
            // A refusal is legitimate, except one for a state that does not match its flow.
            Err(refusal @ Refusal::Inconsistent { .. }) => panic!("{refusal}"),
            Err(_) => return false,
        };
        for record in records {
            self.count(&record.event);
            self.run.apply(&record).unwrap();
            self.count_entered();
        }
        true
    }

    /// Counts a visit when it begins. Items are not separate visits.
    fn count_entered(&mut self) {
        // Visits that are ready, live or asked about are in the run's wants.
        let wants = self.run.wants();
        let live = wants.attempts.iter().map(|attempt| attempt.visit.clone());
        for visit in live.chain(wants.ready).map(|visit| visit.whole()) {
            self.count_visit(&visit);
        }
    }

    fn count_visit(&mut self, visit: &VisitId) {
        if self.entered.insert(visit.clone()) {
            *self.tally.visits.entry(self.name(visit)).or_default() += 1;
        }
    }

    fn name(&self, visit: &VisitId) -> String {
        let flow = self.run.flow_of(visit);
        if flow.id == self.flow.id { visit.step.to_string() } else { format!("{}/{}", flow.id, visit.step) }
    }

    fn step(&self, visit: &VisitId) -> Step {
        self.run.step(visit).unwrap().clone()
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted(event) => {
                let name = self.name(&event.attempt.visit);
                *self.tally.attempts.entry(name).or_default() += 1;
                let timeout = self.step(&event.attempt.visit).timeout_ms.unwrap_or(7);
                // Mostly all of its time. The rest gives other attempts a chance to end first.
                let taken = if self.dice.percent(80) { timeout } else { self.dice.below(timeout + 1) };
                self.over.insert(event.attempt.clone(), self.now.saturating_add_ms(taken));
            }
            Event::AttemptSettled(event) => self.tally.time_ms += event.duration_ms,
            Event::Routed(event) => {
                self.count_visit(&event.visit.whole());
                let name = self.name(&event.visit);
                match &event.course {
                    Course::LoopBack(_) => *self.tally.returns.entry(name).or_default() += 1,
                    Course::Round(_) => self.tally.rounds += 1,
                    _ => {}
                }
            }
            Event::TimerSet(event) => {
                self.tally.waits_ms += u64::try_from(event.due.as_millis() - self.now.as_millis()).unwrap();
            }
            _ => {}
        }
    }

    fn turn(&mut self) {
        let wants = self.run.wants();
        if !wants.ready.is_empty() {
            // Every visit gets a slot. A visit that waits for reserved amounts is not ready.
            assert!(self.feed(Input::SlotFree));
            return;
        }
        let attempts = wants.attempts.iter().chain(&wants.ending);
        let next = attempts.map(|attempt| (self.over[attempt], attempt.clone())).min();
        let timer = wants.timers.iter().map(|(timer, due)| (*due, timer.clone())).min();
        let asked: Vec<InterruptRaised> = self.run.interrupts().cloned().collect();
        let idle = next.is_none() && timer.is_none();
        if !asked.is_empty() && (idle || self.tally.prompt || self.dice.percent(40)) {
            let raised = self.dice.pick(&asked);
            self.answers(&raised, idle);
            return;
        }
        match (next, timer) {
            (Some((over, attempt)), timer) if timer.as_ref().is_none_or(|(due, _)| over <= *due) => {
                self.now = self.now.max(over);
                let input = self.settles(&attempt);
                assert!(self.feed(input));
            }
            (_, Some((due, timer))) => self.fires(due, timer),
            _ => panic!("a run that is not over wants something"),
        }
    }

    fn fires(&mut self, due: Timestamp, timer: TimerId) {
        self.now = self.now.max(due);
        assert!(self.feed(Input::TimerDue { timer }));
    }

    fn settles(&mut self, attempt: &AttemptId) -> Input {
        let step = self.step(&attempt.visit);
        let duration_ms = step.timeout_ms.unwrap_or(7);
        self.over.remove(attempt);
        let verifies = self.run.attempt(attempt).is_some_and(|plan| plan.verifies.is_some());
        // A verification in doubt becomes a question, which by itself makes no run longer.
        if self.dice.percent(if verifies { self.doubts / 10 } else { self.doubts }) {
            let ran = Value::Number(Number::parse(&duration_ms.to_string()).unwrap());
            let evidence = Value::Object(Object::from([("ran_ms", ran)]));
            self.tally.calls += self.budget_of(attempt);
            return Input::InDoubt { attempt: attempt.clone(), evidence };
        }
        let failures = u64::from(attempt.attempt);
        let last = failures >= u64::from(step.retry.attempts);
        // A failure that is retried makes a run longer; a final one mostly ends it.
        let code = match self.dice.percent(self.fails) {
            _ if verifies => self.dice.pick(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2]),
            true if !last || self.dice.percent(4) => 2,
            _ if self.dice.percent(self.back) => 1,
            _ => 0,
        };
        let by_code = step.routing.status_from_exit.contains_key(&1);
        let stated = by_code || verifies;
        let outcome = if code == 2 && self.dice.percent(30) {
            Outcome::TimedOut
        } else {
            Outcome::Exited { code: if code == 1 && !stated { 0 } else { code } }
        };
        let calls = self.budget_of(attempt);
        self.tally.calls += calls;
        // A verification that says that the step happened may also say that it failed.
        let well = !(verifies && code == 0 && self.dice.percent(70));
        let report = (!well || calls > 0).then(|| {
            let metrics = format!(r#""metrics":{{"llm_calls":{calls}}}"#);
            format!(r#"{{"ok":{well},"generatedAt":"t","skillName":"s",{metrics}}}"#).into_bytes()
        });
        Input::Settled(Box::new(AttemptResult {
            duration_ms,
            text: self.words(attempt, code == 1, by_code),
            report,
            ..AttemptResult::empty(attempt.clone(), outcome, self.now)
        }))
    }

    /// The number of calls that the attempt may make. It makes all of them.
    fn budget_of(&self, attempt: &AttemptId) -> u64 {
        let reserved = self.run.attempt(attempt).and_then(|plan| plan.reserved);
        reserved.and_then(|budget| budget.llm_calls).unwrap_or(0)
    }

    fn is_back(&self, visit: &VisitId, target: &StepId) -> bool {
        let flow = self.run.flow_of(visit);
        if !flow.graph {
            return flow.position(target).unwrap() <= flow.position(&visit.step).unwrap();
        }
        let mut before = vec![visit.step.clone()];
        let mut at = 0;
        while let Some(step) = before.get(at).cloned() {
            before.extend(flow.step(&step).unwrap().needs.iter().cloned());
            at += 1;
        }
        before.contains(target)
    }

    fn words(&mut self, attempt: &AttemptId, back: bool, by_code: bool) -> String {
        let step = self.step(&attempt.visit);
        let status = match (by_code, back) {
            (true, _) => "",
            _ if self.dice.percent(8) => "whatever",
            (_, true) => "Status: UNVERIFIED",
            (_, false) => "Status: VERIFIED",
        };
        let elsewhere = &step.routing.flow_branches;
        if !elsewhere.is_empty() && self.dice.percent(60) {
            let (flow, target) = self.dice.pick(elsewhere);
            return format!("{status}\nGo to flow '{flow}' step '{target}'");
        }
        let named = &step.routing.branches;
        if named.is_empty() || self.dice.percent(25) {
            // A branch without a hint asks a person, and so does a hint to an unknown step.
            let nowhere = !named.is_empty() && self.dice.percent(40);
            return if nowhere { format!("{status}\nGo to step 'nowhere'") } else { status.to_owned() };
        }
        let wanted = |target: &&StepId| self.is_back(&attempt.visit, target) == back;
        let wanted: Vec<StepId> = named.iter().filter(wanted).cloned().collect();
        let target = self.dice.pick(if wanted.is_empty() { named } else { &wanted });
        format!("{status}\nGo to step '{target}'")
    }

    /// Answers a question. `idle` means that nothing else is in progress, so the question may also be left until it
    /// expires.
    fn answers(&mut self, raised: &InterruptRaised, idle: bool) {
        let step = self.step(&raised.visit);
        let led_back = |target: &StepId| self.is_back(&raised.visit, target);
        let plan = step.asks();
        let expires_back =
            plan.is_some_and(|plan| matches!(&plan.on_expire, Overdue::Go(target) if led_back(target)));
        let denies_back = plan.is_some_and(|plan| plan.on_deny.as_ref().is_some_and(led_back));
        let go_back = self.dice.percent(self.back);
        if let Some(at) = raised.expires_at
            && idle
            && (go_back && expires_back || self.dice.percent(10))
        {
            let waited = at.as_millis() - self.now.as_millis();
            self.waited_ms += waited.max(0);
            self.now = self.now.max(at);
            assert!(self.feed(Input::Expire { interrupt: raised.interrupt.clone() }));
            return;
        }
        let accepted = self.run.accepts(raised);
        let longest = [Choice::Raise, Choice::Rerun, Choice::Again];
        let mut choices: Vec<Choice> = Vec::new();
        if go_back && denies_back {
            choices.push(Choice::Deny);
        }
        if go_back {
            choices.extend(longest);
        }
        choices.extend([Choice::Proceed, Choice::Approve, Choice::Respond, Choice::Fail]);
        if self.dice.percent(5) || self.tally.reruns > 50 {
            choices.insert(0, Choice::Stop);
            choices.insert(0, Choice::Fail);
        }
        choices.extend([Choice::Stop, Choice::Deny]);
        let of_rounds = raised.evidence.get("bound").and_then(Value::as_str) == Some("rounds");
        for choice in choices.into_iter().filter(|choice| accepted.contains(choice)) {
            // More rounds are a person's free decision, which no plan counts.
            if choice == Choice::Raise && of_rounds {
                continue;
            }
            let mut answer = Answer::new(raised.interrupt.clone(), choice, person("bob"));
            if choice == Choice::Raise {
                let bound = raised.evidence.get("bound").and_then(Value::as_str).unwrap();
                answer.raise = Some(more(bound));
            }
            if choice == Choice::Respond {
                answer.text = Some("words".to_owned());
            }
            if self.feed(Input::Answer(Box::new(answer))) {
                self.tally.reruns += u64::from(choice == Choice::Rerun);
                return;
            }
        }
        // It may have expired while others were working.
        let lapsed = Input::Expire { interrupt: raised.interrupt.clone() };
        assert!(self.feed(lapsed), "no answer is taken: {raised:?}");
    }
}

fn more(bound: &str) -> Ledger {
    match bound {
        "agent_hops" => Ledger { agent_hops: 1, ..Ledger::default() },
        "iterations" => Ledger { iterations: 1, ..Ledger::default() },
        "wall_time" => Ledger { wall_time_ms: 1_000_000, ..Ledger::default() },
        "llm_calls" => Ledger { llm_calls: 10, ..Ledger::default() },
        other => panic!("no such bound: {other}"),
    }
}
