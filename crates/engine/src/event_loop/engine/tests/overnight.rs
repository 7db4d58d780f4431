//! A night with one account for three runs: limits, engines that come and go, clocks that are changed. It ends by itself.

use super::*;
use envoi_contract::json::Value;
use envoi_journal::ClosedAccount;
use envoi_kernel::{Event, Status, input::ReportPlace};

const MINUTE: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE;

/// Each attempt works for so long.
const WORK: u64 = 40 * MINUTE;

/// The provider takes so many attempts in each window of five hours.
const WINDOW: u64 = 5 * HOUR_MS;
const PER_WINDOW: usize = 4;

/// 2026-11-21T00:00:00Z.
const EVENING_MS: i64 = 1_795_219_200_000;

const NIGHT: &str = "flow: one\nsteps:\n  - id: a\n    agent: { use: claude, prompt: p }\n  - id: b\n    agent: { use: claude, prompt: p }\n  \
                     - id: c\n    agent: { use: claude, prompt: p }\n  - id: d\n    agent: { use: claude, prompt: p }\n";

/// The provider, by the true time.
#[derive(Default)]
struct Provider {
    taken: BTreeMap<u64, usize>,
    refused: usize,
}

impl Provider {
    /// `None`: it is taken. Else refused, with the stated reset. It is still closed ten minutes after the time that it states,
    /// and every third time it states none.
    fn ask(&mut self, now: u64) -> Option<Option<u64>> {
        let window = now.saturating_sub(10 * MINUTE) / WINDOW;
        let taken = self.taken.entry(window).or_default();
        if *taken < PER_WINDOW {
            *taken += 1;
            return None;
        }
        self.refused += 1;
        Some((!self.refused.is_multiple_of(3)).then_some((window + 1) * WINDOW))
    }
}

/// The world without the engine.
struct Night {
    /// The true time since the evening.
    now: u64,
    /// How far the wall clock is off.
    off: i64,
    provider: Provider,
    journal: BTreeMap<RunId, Vec<Record>>,
    submitted: Rc<RefCell<VecDeque<Commit>>>,
    ensured: Rc<RefCell<VecDeque<Job>>>,
    /// Attempts that work, their ends, and their results.
    working: Vec<(u64, RunId, AttemptResult)>,
    clocks: Clocks,
    /// The monotonic clock when the engine came up.
    up: u64,
}

struct Handles(Doings, Rc<RefCell<VecDeque<Commit>>>, Rc<RefCell<VecDeque<Job>>>);

impl Log for Handles {
    fn submit(&mut self, commit: Commit) {
        self.1.borrow_mut().push_back(commit);
    }

    fn note(&mut self, note: Note) {
        self.0.note(note);
    }

    fn next_seq(&mut self, _: &RunId) -> Result<Seq, envoi_journal::ReadError> {
        Ok(0)
    }
}

impl Runner for Handles {
    fn ensure(&mut self, job: Job) {
        self.2.borrow_mut().push_back(job);
    }

    fn cancel(&mut self, _: &RunId, _: &AttemptId) {}
}

impl Night {
    fn tick(&self) {
        let wall = EVENING_MS + i64::try_from(self.now).unwrap() + self.off;
        self.clocks.set((Timestamp::from_millis(wall), self.now - self.up));
    }

    /// Another engine, which knows what the journal knows.
    fn engine(&mut self) -> Engine {
        self.up = self.now;
        self.tick();
        let doings = Doings { clocks: Rc::clone(&self.clocks), ..Doings::default() };
        let handles = || Handles(doings.clone(), Rc::clone(&self.submitted), Rc::clone(&self.ensured));
        let world = World {
            clock: Box::new(doings.clone()),
            log: Box::new(handles()),
            runner: Box::new(handles()),
            observer: Box::new(doings.clone()),
        };
        let mut engine = Engine::new(world, 2).with_closed(self.closed());
        let flow = Arc::new(envoi_flow::load("flow.yaml", NIGHT).unwrap().flow);
        for records in self.journal.values() {
            engine.handle(adopt(Run::replay(Arc::clone(&flow), records.iter().cloned()).unwrap()));
        }
        engine
    }

    /// As the rows of the journal have it: the newest refusal, or the attempt that tries the account after it.
    fn closed(&self) -> Vec<ClosedAccount> {
        let settled = |run: &RunId, attempt: &AttemptId| {
            let of_it = |record: &&Record| matches!(&record.event, Event::AttemptSettled(settled) if settled.attempt == *attempt);
            self.journal[run].iter().any(|record| of_it(&record))
        };
        let mut newest: Option<(Option<(RunId, AttemptId)>, ClosedAccount)> = None;
        let records =
            self.journal.iter().flat_map(|(run, records)| records.iter().map(move |record| (run, record)));
        for (run, record) in records {
            let row = |account: &str, until, resets_at, refusals, is_tried| ClosedAccount {
                tenant: "local".to_owned(),
                account: account.to_owned(),
                at: record.at,
                until,
                resets_at,
                refusals,
                is_tried,
            };
            let said = match &record.event {
                Event::AttemptSettled(settled) => settled.throttled.as_ref().map(|refused| {
                    (None, row(&refused.account, refused.until, refused.resets_at, refused.refusals, false))
                }),
                Event::AttemptStarted(started) => match started.command.account() {
                    Some((account, refusals @ 1..)) => {
                        let key = (run.clone(), started.attempt.clone());
                        Some((Some(key), row(account, record.at, None, refusals, true)))
                    }
                    _ => None,
                },
                _ => None,
            };
            let of_time = |row: &ClosedAccount| (row.at, row.until);
            newest = match (newest, said) {
                (Some(known), Some(said)) if of_time(&said.1) >= of_time(&known.1) => Some(said),
                (known, said) => known.or(said),
            };
        }
        let untold = newest
            .filter(|(tried_by, _)| tried_by.as_ref().is_none_or(|(run, attempt)| !settled(run, attempt)));
        untold.into_iter().map(|(_, row)| row).collect()
    }

    /// Does what the engine wants, up to where only time helps.
    fn settle(&mut self, engine: &mut Engine) {
        loop {
            let commit = self.submitted.borrow_mut().pop_front();
            if let Some(commit) = commit {
                self.journal.entry(commit.run.clone()).or_default().extend(commit.records);
                engine
                    .handle(Message::Committed { run: commit.run, result: Ok(Receipt { events_bytes: 1 }) });
                continue;
            }
            let job = self.ensured.borrow_mut().pop_front();
            if let Some(job) = job {
                self.start(&job);
                continue;
            }
            let over = self.working.iter().position(|(until, ..)| *until <= self.now);
            let Some(place) = over else { break };
            let (_, run, result) = self.working.remove(place);
            let attempt = result.attempt.clone();
            let settlement = Settlement::Finished { result: Box::new(result), blobs: Vec::new() };
            engine.handle(Message::Settled { run, attempt, settlement });
        }
    }

    fn start(&mut self, job: &Job) {
        let attempt = &job.started.attempt;
        if self.working.iter().any(|(_, run, result)| *run == job.run && result.attempt == *attempt) {
            return;
        }
        let answer = self.provider.ask(self.now);
        let at = Timestamp::from_millis(EVENING_MS);
        let mut result =
            AttemptResult::empty(attempt.clone(), Outcome::Exited { code: i32::from(answer.is_some()) }, at);
        let until = self.now + if answer.is_some() { 2_000 } else { WORK };
        if let Some(stated) = answer {
            let stated = stated.map(|at| at_true(at).to_string());
            let report = format!(
                r#"{{"ok":false,"generatedAt":"{at}","skillName":"agent","error":{{"code":"AGENT_THROTTLED","message":"m"}},"agent":{{"throttled_until":{}}}}}"#,
                Value::from(stated).compact()
            );
            result.report = Some(report.into_bytes());
            result.report_place = ReportPlace { assigned: true, unreadable: None };
        }
        self.working.push((until, job.run.clone(), result));
    }
}

fn at_true(ms: u64) -> Timestamp {
    Timestamp::from_millis(EVENING_MS).saturating_add_ms(ms)
}

/// Events at these times: the engine is killed and another one starts, and the wall clock is changed by this
/// many hours before.
fn lived(mishaps: &[(u64, i64)]) -> (u64, usize, u64) {
    let mut night = Night {
        now: 0,
        off: 0,
        provider: Provider::default(),
        journal: BTreeMap::new(),
        submitted: Rc::default(),
        ensured: Rc::default(),
        working: Vec::new(),
        clocks: Clocks::default(),
        up: 0,
    };
    let mut engine = night.engine();
    for name in ["a", "b", "c"] {
        engine.handle(begin_of(name, NIGHT));
    }
    let mut mishaps = mishaps.iter().peekable();
    loop {
        night.settle(&mut engine);
        let is_over =
            |records: &Vec<Record>| records.iter().any(|record| matches!(record.event, Event::RunEnded(_)));
        if night.journal.len() == 3 && night.journal.values().all(is_over) {
            break;
        }
        let wakes = engine.wakes_in().map(|wait| night.now + u64::try_from(wait.as_millis()).unwrap());
        let works = night.working.iter().map(|(until, ..)| *until).min();
        let mishap = mishaps.peek().map(|(at, _)| *at);
        let next = [wakes, works, mishap].into_iter().flatten().min().expect("something wakes every run");
        night.now = next.max(night.now + 1);
        if let Some((_, hours)) = mishaps.next_if(|(at, _)| *at <= night.now) {
            night.off += hours * 3_600_000;
            // Commits that were submitted and not written are lost.
            night.submitted.borrow_mut().clear();
            night.ensured.borrow_mut().clear();
            engine = night.engine();
        }
        night.tick();
        engine.handle(Message::Wake);
        assert!(night.now < 72 * HOUR_MS, "it does not end");
    }
    let flow = Arc::new(envoi_flow::load("flow.yaml", NIGHT).unwrap().flow);
    let mut hops = 0;
    for records in night.journal.values() {
        let run = Run::replay(Arc::clone(&flow), records.iter().cloned()).unwrap();
        assert_eq!(run.status().word(), "succeeded", "{:?}", Status::clone(&run.status()));
        hops += run.ledger().agent_hops;
    }
    (night.now, night.provider.refused, hops)
}

#[test]
fn a_night_with_limits_restarts_and_changed_clocks_ends_by_itself_in_the_morning() {
    let hours = |hours: u64| hours * HOUR_MS;
    // Twelve attempts, four in a window: two windows are waited for.
    for (row, mishaps, most) in [
        ("quiet", vec![], 13),
        (
            "engines come and go",
            vec![(hours(1), 0), (hours(2), 0), (hours(3), 0), (hours(7), 0), (hours(8), 0)],
            13,
        ),
        ("the clock is set back, and an engine comes up", vec![(hours(3), -6), (hours(8), 0)], 24),
        ("the clock is set forward", vec![(hours(2), 9), (hours(8), 0)], 14),
        ("both", vec![(hours(2), -3), (hours(4), 7), (hours(9), -24)], 40),
    ] {
        let (ended, refused, hops) = lived(&mishaps);
        assert!(ended < hours(most), "{row}: it ended after {} minutes", ended / MINUTE);
        assert!(refused <= 24, "{row}: {refused} refusals");
        assert_eq!(hops, 12, "{row}: what was refused does not count");
    }
}
