//! The loop alone, with deliveries in memory. The test decides when a try ends.

use super::*;
use crate::turns::Owner;
use std::sync::{Condvar, Mutex};

/// Longer than any operation here takes.
const AMPLE: Duration = Duration::from_secs(60);

const BOUNDS: Bounds =
    Bounds { name: "loop", try_name: "try", stack_bytes: 256 * 1024, most: 8, most_a_receiver: 8 };

#[derive(Default)]
struct Books {
    due: Vec<u32>,
    begun: Vec<u32>,
    /// Tries that may end.
    let_go: Vec<u32>,
    recorded: Vec<(u32, String)>,
    /// Outcomes that the test has not recorded yet.
    held: Vec<Recorded>,
    holds: bool,
    refuses: bool,
    heeds_flag: bool,
}

#[derive(Clone, Default)]
struct Desk(Arc<(Mutex<Books>, Condvar)>);

impl Desk {
    fn with<T>(&self, change: impl FnOnce(&mut Books) -> T) -> T {
        let value = change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
        value
    }

    fn wait(&self, what: &str, holds: impl Fn(&Books) -> bool) {
        let books = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(books, AMPLE, |books| !holds(books)).unwrap();
        assert!(!waited.1.timed_out(), "still waiting for {what}");
    }

    fn begun(&self, expected: &[u32]) {
        self.wait(&format!("the tries {expected:?}"), |books| books.begun.len() >= expected.len());
        assert_eq!(self.with(|books| books.begun.clone()), expected);
    }

    fn recorded(&self) -> Vec<(u32, String)> {
        self.with(|books| books.recorded.clone())
    }

    fn start(&self) -> DeliveryLoop {
        DeliveryLoop::start(self.clone(), BOUNDS).unwrap()
    }
}

impl Deliveries for Desk {
    type Key = u32;
    type Item = u32;
    type Outcome = String;

    fn key(item: &u32) -> u32 {
        *item
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn take_due(&mut self, _: Timestamp, turns: &mut Turns<u32>) -> Result<Vec<u32>, Unreadable> {
        // Deliveries under way stay due, as in the journal.
        let owner = |item: u32| Owner { tenant: item.to_string(), receiver: None };
        Ok(self.with(|books| {
            books.due.iter().copied().filter(|item| turns.try_begin(*item, &owner(*item))).collect()
        }))
    }

    fn next_after(&mut self, _: Timestamp) -> Result<Option<Timestamp>, Unreadable> {
        Ok(None)
    }

    fn prepare(&mut self, item: &u32) -> Result<Try<String>, String> {
        let (desk, item) = (self.clone(), *item);
        let heeds_flag = self.with(|books| books.heeds_flag);
        let run = move |flag: &AtomicBool| {
            desk.with(|books| books.begun.push(item));
            let flagged = || heeds_flag && flag.load(Ordering::Relaxed);
            let mut books = desk.0.0.lock().unwrap();
            // The flag cannot wake the thread, so it is polled.
            while !books.let_go.contains(&item) && !flagged() {
                books = desk.0.1.wait_timeout(books, Duration::from_millis(2)).unwrap().0;
            }
            if flagged() { "ended".to_owned() } else { "tried".to_owned() }
        };
        Ok(Try { run: Box::new(run), heeds_flag })
    }

    fn unfinished(&mut self, _: &u32, why: Unfinished) -> String {
        format!("{why:?}")
    }

    fn record(&mut self, item: u32, outcome: String, recorded: Recorded) {
        let at_once = self.with(|books| {
            books.recorded.push((item, outcome));
            if books.refuses {
                return Some((recorded, Err(NotRecorded)));
            }
            books.due.retain(|due| *due != item);
            if books.holds {
                books.held.push(recorded);
                return None;
            }
            Some((recorded, Ok(())))
        });
        if let Some((recorded, result)) = at_once {
            recorded(result);
        }
    }
}

fn tried(item: u32) -> (u32, String) {
    (item, "tried".to_owned())
}

#[test]
fn a_delivery_keeps_its_turn_until_its_outcome_is_recorded() {
    let desk = Desk::default();
    desk.with(|books| (books.due, books.let_go, books.holds) = (vec![1], vec![1, 2], true));
    let delivering = desk.start();
    desk.wait("the outcome", |books| books.held.len() == 1);
    // The delivery is due again before the outcome of its first try is recorded.
    desk.with(|books| books.due = vec![1, 2]);
    delivering.waker().wake();
    desk.begun(&[1, 2]);
    desk.wait("both outcomes", |books| books.held.len() == 2);
    let held = desk.with(|books| {
        books.holds = false;
        std::mem::take(&mut books.held)
    });
    held.into_iter().for_each(|recorded| recorded(Ok(())));
    desk.begun(&[1, 2, 1]);
    delivering.close(AMPLE);
    assert_eq!(desk.recorded(), [tried(1), tried(2), tried(1)]);
}

#[test]
fn a_waiting_caller_returns_when_the_work_is_done_or_its_time_is_over() {
    let desk = Desk::default();
    let delivering = desk.start();
    let (tell, told) = mpsc::channel();
    let ask = |patience: Duration| {
        let tell = tell.clone();
        delivering.waker().call_when_done(patience, move || tell.send(()).unwrap());
    };
    ask(AMPLE);
    told.recv_timeout(AMPLE).unwrap();
    desk.with(|books| books.due = vec![1]);
    delivering.waker().wake();
    desk.begun(&[1]);
    ask(Duration::ZERO);
    told.recv_timeout(AMPLE).unwrap();
    ask(AMPLE);
    assert!(told.try_recv().is_err() && desk.recorded().is_empty(), "it is under way");
    desk.with(|books| books.let_go.push(1));
    told.recv_timeout(AMPLE).unwrap();
    assert_eq!(desk.recorded(), [tried(1)]);
    let waker = delivering.waker();
    delivering.close(AMPLE);
    waker.call_when_done(AMPLE, move || tell.send(()).unwrap());
    told.recv_timeout(AMPLE).unwrap();
}

#[test]
fn one_that_is_closed_makes_the_tries_that_are_due_and_waits_for_them() {
    let desk = Desk::default();
    desk.with(|books| books.due = vec![1, 2]);
    let delivering = desk.start();
    let closing = thread::spawn(move || delivering.close(AMPLE));
    desk.wait("both tries", |books| books.begun.len() == 2);
    desk.with(|books| books.let_go = vec![1, 2]);
    closing.join().unwrap();
    let mut recorded = desk.recorded();
    recorded.sort();
    assert_eq!(recorded, [tried(1), tried(2)]);
}

#[test]
fn a_try_that_is_cut_short_has_an_outcome_and_one_that_heeds_the_flag_has_its_own() {
    for (heeds_flag, outcome) in [(false, "CutShort"), (true, "ended")] {
        let desk = Desk::default();
        desk.with(|books| (books.due, books.heeds_flag) = (vec![1], heeds_flag));
        let delivering = desk.start();
        desk.begun(&[1]);
        delivering.close(Duration::ZERO);
        assert_eq!(desk.recorded(), [(1, outcome.to_owned())]);
        desk.with(|books| books.let_go = vec![1]);
    }
}

#[test]
fn a_loop_whose_outcomes_are_not_recorded_tries_nothing_again() {
    let desk = Desk::default();
    desk.with(|books| (books.due, books.let_go, books.refuses) = (vec![1], vec![1], true));
    let delivering = desk.start();
    desk.wait("the outcome", |books| !books.recorded.is_empty());
    delivering.close(AMPLE);
    assert_eq!((desk.recorded(), desk.with(|books| books.begun.clone())), (vec![tried(1)], vec![1]));
}
