//! A world that wants a run to be long: outcomes and answers of a real run, chosen from a seed.

use envoi_contract::{
    json::{Number, Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    Event, Flow, Input, Run, Status,
    event::{Choice, Course, InterruptRaised, Outcome},
    flow::Overdue,
    ids::{AttemptId, Principal, RunId, StepId},
    input::{Answer, AttemptResult, Slot, Start},
    ledger::Ledger,
};
use std::{collections::BTreeMap, sync::Arc};

/// What a run came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) attempts: BTreeMap<StepId, u64>,
    pub(crate) visits: BTreeMap<StepId, u64>,
    /// By the step that goes back.
    pub(crate) returns: BTreeMap<StepId, u64>,
    pub(crate) time_ms: u64,
    pub(crate) waits_ms: u64,
    /// Attempts that a person had run again after doubt.
    pub(crate) reruns: u64,
    pub(crate) turns: u64,
    pub(crate) ended: bool,
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

/// A small generator of numbers: the same seed, the same run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<T: Copy>(&mut self, sides: &[T]) -> T {
        sides[usize::try_from(self.below(sides.len() as u64)).unwrap()]
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

fn person(name: &str) -> Principal {
    Principal { tenant: "local".to_owned(), actor: name.to_owned() }
}

fn slot() -> Option<Slot> {
    Some(Slot { boot_id: "boot-1".to_owned() })
}

struct World<'f> {
    flow: &'f Arc<Flow>,
    run: Run,
    dice: Dice,
    /// In percent: how often an attempt fails, is in doubt, and goes back.
    fails: u64,
    doubts: u64,
    back: u64,
    now: Timestamp,
    tally: Tally,
}

/// Lives one run of `flow` to its end, or for at most so many turns.
pub(crate) fn live(flow: &Arc<Flow>, seed: u64, most_turns: u64) -> Tally {
    let mut dice = Dice(seed);
    let (fails, doubts) = (dice.pick(&[0, 30, 60, 100]), dice.pick(&[0, 0, 20]));
    let back = dice.pick(&[50, 70, 90, 100]);
    let mut world = World {
        flow,
        run: Run::new(Arc::clone(flow)),
        dice,
        fails,
        doubts,
        back,
        now: Timestamp::from_millis(1_795_219_200_000),
        tally: Tally::default(),
    };
    world.feed(Input::Start(Box::new(Start {
        run: RunId::new("run_0demo").unwrap(),
        inputs: Object::default(),
        source: "/project/flow.yaml".into(),
        shared: false,
        workspace: "/work".to_owned(),
        run_base: "/base".to_owned(),
        language: 1,
        by: person("ada"),
        yes_to: Vec::new(),
        slot: slot(),
    })));
    while world.tally.turns < most_turns && !matches!(world.run.status(), Status::Ended(_)) {
        world.tally.turns += 1;
        world.turn();
    }
    world.tally.ended = matches!(world.run.status(), Status::Ended(_));
    world.tally
}

impl World<'_> {
    fn feed(&mut self, input: Input) -> bool {
        let Ok(records) = self.run.decide(input, self.now) else { return false };
        for record in records {
            self.run.apply(&record).unwrap();
            self.count(&record.event);
        }
        true
    }

    fn count(&mut self, event: &Event) {
        let tally = &mut self.tally;
        match event {
            Event::RunStarted(_) => *tally.visits.entry(self.flow.steps[0].id.clone()).or_default() += 1,
            Event::AttemptStarted(event) => {
                *tally.attempts.entry(event.attempt.visit.step.clone()).or_default() += 1;
            }
            Event::AttemptSettled(event) => tally.time_ms += event.duration_ms,
            Event::Routed(event) => match &event.course {
                Course::Enter(step) => *tally.visits.entry(step.clone()).or_default() += 1,
                Course::LoopBack(step) => {
                    *tally.visits.entry(step.clone()).or_default() += 1;
                    *tally.returns.entry(event.visit.step.clone()).or_default() += 1;
                }
                Course::Round(step) => *tally.visits.entry(step.clone()).or_default() += 1,
                Course::Done(_) | Course::Gathered | Course::Complete | Course::Hold | Course::Stop => {}
            },
            Event::TimerSet(event) => {
                tally.waits_ms += u64::try_from(event.due.as_millis() - self.now.as_millis()).unwrap();
            }
            _ => {}
        }
    }

    fn turn(&mut self) {
        let wants = self.run.wants();
        if let Some(attempt) = wants.attempts.first() {
            let input = self.settles(attempt);
            assert!(self.feed(input));
        } else if let Some((timer, due)) = wants.timers.first() {
            self.now = self.now.max(*due);
            assert!(self.feed(Input::TimerDue { timer: timer.clone(), slot: slot() }));
        } else {
            let raised =
                self.run.interrupts().next().cloned().expect("a run that is not over wants something");
            self.answers(&raised);
        }
    }

    fn settles(&mut self, attempt: &AttemptId) -> Input {
        let step = self.flow.step(&attempt.visit.step).unwrap();
        let duration_ms = step.timeout_ms.unwrap_or(7);
        if self.dice.percent(self.doubts) {
            let ran = Value::Number(Number::parse(&duration_ms.to_string()).unwrap());
            let evidence = Value::Object(Object::from([("ran_ms", ran)]));
            return Input::InDoubt { attempt: attempt.clone(), evidence, slot: slot() };
        }
        let failures = self.tally.attempts[&step.id].min(u64::from(attempt.attempt));
        let last = failures >= u64::from(step.retry.attempts);
        // A failure that is tried again makes a run longer, the last one ends it.
        let code = match self.dice.percent(self.fails) {
            true if !last || self.dice.percent(2) => 2,
            _ if self.dice.percent(self.back) => 1,
            _ => 0,
        };
        let by_code = step.routing.status_from_exit.contains_key(&1);
        let outcome = if code == 2 && self.dice.percent(30) {
            Outcome::TimedOut
        } else {
            Outcome::Exited { code: if code == 1 && !by_code { 0 } else { code } }
        };
        Input::Settled {
            result: Box::new(AttemptResult {
                attempt: attempt.clone(),
                outcome,
                started_at: self.now,
                duration_ms,
                text: self.words(attempt, code == 1, by_code),
                text_blob: None,
                stderr_tail: String::new(),
                report: None,
                report_blob: None,
                files: Vec::new(),
                warnings: Vec::new(),
                misfit: None,
                workspace_digest: None,
            }),
            slot: slot(),
        }
    }

    fn words(&mut self, attempt: &AttemptId, back: bool, by_code: bool) -> String {
        let step = self.flow.step(&attempt.visit.step).unwrap();
        let here = self.flow.position(&step.id).unwrap();
        let status = match (by_code, back) {
            (true, _) => "",
            _ if self.dice.percent(8) => "whatever",
            (_, true) => "Status: UNVERIFIED",
            (_, false) => "Status: VERIFIED",
        };
        let named = &step.routing.branches;
        if named.is_empty() || self.dice.percent(25) {
            // Without a hint a branch asks a person, and so does a hint to nowhere.
            let nowhere = !named.is_empty() && self.dice.percent(40);
            return if nowhere { format!("{status}\nGo to step 'nowhere'") } else { status.to_owned() };
        }
        let wanted: Vec<&StepId> =
            named.iter().filter(|target| (self.flow.position(target).unwrap() <= here) == back).collect();
        let any: Vec<&StepId> = if wanted.is_empty() { named.iter().collect() } else { wanted };
        let target = self.dice.pick(&any);
        format!("{status}\nGo to step '{target}'")
    }

    fn answers(&mut self, raised: &InterruptRaised) {
        let step = self.flow.step(&raised.visit.step).unwrap();
        let here = self.flow.position(&step.id);
        let led_back = |target: &StepId| self.flow.position(target) < here;
        let plan = step.asks();
        let expires_back =
            plan.is_some_and(|plan| matches!(&plan.on_expire, Overdue::Go(target) if led_back(target)));
        let denies_back = plan.is_some_and(|plan| plan.on_deny.as_ref().is_some_and(led_back));
        let go_back = self.dice.percent(self.back);
        if let Some(at) = raised.expires_at
            && (go_back && expires_back || self.dice.percent(10))
        {
            self.now = self.now.max(at);
            assert!(self.feed(Input::Expire { interrupt: raised.interrupt.clone(), slot: slot() }));
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
        for choice in choices.into_iter().filter(|choice| accepted.contains(choice)) {
            let mut answer = Answer::new(raised.interrupt.clone(), choice, person("bob"));
            if choice == Choice::Raise {
                let bound = raised.evidence.get("bound").and_then(Value::as_str).unwrap();
                answer.raise = Some(more(bound));
            }
            if choice == Choice::Respond {
                answer.text = Some("words".to_owned());
            }
            if self.feed(Input::Answer { answer: Box::new(answer), slot: slot() }) {
                self.tally.reruns += u64::from(choice == Choice::Rerun);
                return;
            }
        }
        panic!("no answer is taken: {raised:?}");
    }
}

fn more(bound: &str) -> Ledger {
    match bound {
        "agent_hops" => Ledger { agent_hops: 1, ..Ledger::default() },
        "iterations" => Ledger { iterations: 1, ..Ledger::default() },
        "wall_time" => Ledger { wall_time_ms: 1_000_000, ..Ledger::default() },
        other => panic!("no such bound: {other}"),
    }
}
