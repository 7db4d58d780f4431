//! The dispatcher with a real store and receivers on loopback.

#[path = "../../../../notify/tests/notify/receiver.rs"]
#[allow(dead_code, reason = "the tests of `notify` need more of it")]
mod receiver;

use super::*;
use crate::{
    auth::{
        scope::{Scope, Scopes},
        token::{NewToken, create},
    },
    push::event_source::SourceError,
};
use envoi_journal::{
    Layout, Writer,
    conformance::{commit, ended, run, started, timer_fired, timer_set},
};
use envoi_kernel::{Event, Record, ids::RunId};
use receiver::{Answer, OK, Receiver, Request};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicI64, Ordering},
    thread,
};

/// Longer than any operation here takes.
const AMPLE: Duration = Duration::from_secs(60);

fn bodies(receiver: &Receiver, count: usize) -> Vec<String> {
    (0..count).map(|_| receiver.next().body).collect()
}

/// A notification for each event, except for timers that fire; two for timers that are set.
struct Events(Arc<Store>);

struct Reading {
    reader: Reader,
    run: RunId,
    next: Seq,
    /// The position at which it was opened.
    from: Seq,
    waiting: VecDeque<Notification>,
    is_over: bool,
}

impl EventSources for Events {
    fn open(&self, push: &PushRow) -> Result<Box<dyn EventSource>, SourceError> {
        let reader = self.0.reader()?;
        reader.run(&push.run)?;
        let run = push.run.clone();
        let from = push.next_seq;
        Ok(Box::new(Reading { reader, run, next: 0, from, waiting: VecDeque::new(), is_over: false }))
    }
}

impl EventSource for Reading {
    fn next(&mut self) -> Result<Option<Notification>, SourceError> {
        if self.waiting.is_empty() {
            let records = self.reader.records(&self.run, self.next, None)?;
            for record in records {
                self.next = record.seq + 1;
                self.is_over = matches!(record.event, Event::RunEnded(_));
                self.waiting.extend(items(&record).into_iter().filter(|_| record.seq >= self.from));
            }
        }
        Ok(self.waiting.front().cloned())
    }

    fn delivered(&mut self) {
        self.waiting.pop_front();
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

fn items(record: &Record) -> Vec<Notification> {
    let name = record.event.name();
    let bodies = match &record.event {
        Event::TimerFired(_) => Vec::new(),
        Event::TimerSet(_) => vec![format!("{name}.1"), name.to_owned()],
        _ => vec![name.to_owned()],
    };
    let count = bodies.len();
    let item = |(at, body): (usize, String)| Notification {
        place: if at + 1 == count { record.seq.to_string() } else { format!("{}.{}", record.seq, at + 1) },
        next_seq: if at + 1 == count { record.seq + 1 } else { record.seq },
        media_type: "application/a2a+json",
        body: body.into_bytes(),
    };
    bodies.into_iter().enumerate().map(item).collect()
}

/// A store, its engine's writer, and a client.
struct Stage {
    _folder: tempfile::TempDir,
    store: Arc<Store>,
    writer: Writer,
    client: String,
    reader: Reader,
}

/// Allows this machine by its address, also without TLS.
fn egress() -> EgressPolicy {
    EgressPolicy::new(&["127.0.0.1".to_owned()], Vec::new())
}

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(Layout::new(folder.path().join("store"))).unwrap());
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        let wish = NewToken {
            name: "ann".to_owned(),
            tenant: "north".to_owned(),
            scopes: Scopes::new([Scope::Run]),
            expires_at: None,
        };
        create(&store, &wish, envoi_engine::now()).unwrap();
        let reader = store.reader().unwrap();
        let client = reader.tokens().unwrap().remove(0).id;
        Self { _folder: folder, store, writer, client, reader }
    }

    fn tenant_of(&self, row: &PushRow) -> Option<String> {
        self.reader.tenant_of(&row.run).unwrap()
    }

    fn dispatcher(&self) -> (Dispatcher, Arc<Scheduler>) {
        self.dispatcher_with(egress())
    }

    fn dispatcher_with(&self, egress: EgressPolicy) -> (Dispatcher, Arc<Scheduler>) {
        self.dispatcher_by(egress, SteadyClock::new(Timestamp::default()))
    }

    fn dispatcher_by(&self, egress: EgressPolicy, clock: SteadyClock) -> (Dispatcher, Arc<Scheduler>) {
        let scheduler = Arc::new(Scheduler::default());
        let parts = Parts {
            store: Arc::clone(&self.store),
            scheduler: Arc::clone(&scheduler),
            sources: Box::new(Events(Arc::clone(&self.store))),
            egress,
            clock,
            log: |line| LOGGED.lock().unwrap().push(line.to_owned()),
        };
        (Dispatcher::start(parts).unwrap(), scheduler)
    }

    fn push(&self, run: &str, url: &str) -> PushRow {
        let row = PushRow {
            run: self::run(run).unwrap(),
            id: "p".to_owned(),
            url: url.to_owned(),
            token: Some("t0ken".to_owned()),
            scheme: Some("Bearer".to_owned()),
            credentials: Some("s3cret".to_owned()),
            client: self.client.clone(),
            version: "1.0".to_owned(),
            base: String::new(),
            next_seq: 0,
            tries: 0,
            due_at: Timestamp::from_millis(0),
            state: PushState::Active,
            note: None,
            at: envoi_engine::now(),
        };
        self.store.keep_push(&row).unwrap();
        row
    }

    fn row(&self, run: &str) -> PushRow {
        self.reader.push(&self::run(run).unwrap(), "p").unwrap().unwrap()
    }

    fn commit<const N: usize>(&self, run: &str, from: Seq, events: [Event; N]) {
        self.writer.commit(commit(&self::run(run).unwrap(), from, events)).unwrap();
    }

    fn begun(&self, run: &str) {
        self.commit(run, 0, [started(&self::run(run).unwrap()).unwrap()]);
    }

    fn wait(&self, run: &str, what: &str, holds: impl Fn(&PushRow) -> bool) -> PushRow {
        let until = Instant::now() + AMPLE;
        loop {
            let row = self.row(run);
            if holds(&row) {
                return row;
            }
            assert!(Instant::now() < until, "still waiting for {what}: {row:?}");
            thread::park_timeout(Duration::from_millis(2));
        }
    }
}

fn stop(dispatcher: Dispatcher) {
    dispatcher.close();
    dispatcher.wait(Instant::now() + AMPLE);
}

#[test]
fn changes_are_sent_once_in_order_in_the_form_that_the_receiver_wants() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    stage.begun("a");
    stage.push("a", &receiver.url);
    let (dispatcher, scheduler) = stage.dispatcher();
    let first = receiver.next();
    assert_eq!(first.body, "run_started");
    assert_eq!(first.header("content-type"), Some("application/a2a+json"));
    assert_eq!(first.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(first.header("x-a2a-notification-token"), Some("t0ken"));
    assert_eq!(first.header("idempotency-key"), Some("run_a:0"));
    stage.wait("a", "the mark", |row| row.next_seq == 1);
    stage.commit("a", 1, [timer_set("t").unwrap(), timer_fired("t").unwrap()]);
    scheduler.committed(&run("a").unwrap(), envoi_engine::now());
    assert_eq!(bodies(&receiver, 2), ["timer_set.1", "timer_set"]);
    stage.commit("a", 3, [ended()]);
    scheduler.committed(&run("a").unwrap(), envoi_engine::now());
    assert_eq!(bodies(&receiver, 1), ["run_ended"]);
    let row = stage.wait("a", "its end", |row| row.state == PushState::Done);
    assert_eq!((row.next_seq, row.tries, row.note), (4, 0, None));
    stop(dispatcher);
    assert!(receiver.is_quiet());
}

#[test]
fn a_failing_receiver_gets_the_same_message_again_before_any_later_one() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK, Answer::Says("500 Oops", ""), OK]);
    stage.begun("a");
    stage.commit("a", 1, [timer_set("t").unwrap(), ended()]);
    stage.push("a", &receiver.url);
    let (dispatcher, _) = stage.dispatcher();
    let requests: Vec<Request> = (0..5).map(|_| receiver.next()).collect();
    let bodies: Vec<&str> = requests.iter().map(|request| request.body.as_str()).collect();
    assert_eq!(bodies, ["run_started", "timer_set.1", "timer_set.1", "timer_set", "run_ended"]);
    assert_eq!(requests[1].header("idempotency-key"), requests[2].header("idempotency-key"));
    assert_ne!(requests[2].header("idempotency-key"), requests[3].header("idempotency-key"));
    stage.wait("a", "its end", |row| row.state == PushState::Done);
    stop(dispatcher);
}

/// A clock that shows the value of `wall`.
fn clock_of(wall: &Arc<AtomicI64>) -> SteadyClock {
    let shown = Arc::clone(wall);
    let wall = move || Timestamp::from_millis(shown.load(Ordering::Relaxed));
    SteadyClock::over(wall, Timestamp::default())
}

const HOUR_MS: i64 = 3_600_000;

#[test]
fn a_clock_that_is_set_back_by_an_hour_does_not_hold_up_the_next_try() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[Answer::Says("500 Oops", ""), OK]);
    stage.begun("a");
    stage.push("a", &receiver.url);
    // On another day, so that the use of another clock would be noticed.
    let start = envoi_engine::now().as_millis() + 24 * HOUR_MS;
    let wall = Arc::new(AtomicI64::new(start));
    let (dispatcher, _) = stage.dispatcher_by(egress(), clock_of(&wall));
    let tried = stage.wait("a", "the first try", |row| row.tries == 1);
    assert!((start + 1_000..start + HOUR_MS).contains(&tried.due_at.as_millis()), "{tried:?}");
    wall.fetch_sub(HOUR_MS, Ordering::Relaxed);
    assert_eq!(bodies(&receiver, 2), ["run_started", "run_started"]);
    stage.wait("a", "the mark", |row| row.next_seq == 1);
    stop(dispatcher);
}

#[test]
fn a_courier_that_comes_up_after_the_clock_was_set_back_waits_no_longer_than_any_wait_is() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    stage.begun("a");
    let now = envoi_engine::now();
    let row = stage.push("a", &receiver.url);
    stage
        .store
        .mark_push(&PushRow { tries: 1, due_at: after(now, Duration::from_secs(3_600)), ..row })
        .unwrap();
    let wall = Arc::new(AtomicI64::new(now.as_millis()));
    let (dispatcher, _) = stage.dispatcher_by(egress(), clock_of(&wall));
    // After the longest wait, which is less than an hour.
    wall.store(after(now, retry::LONGEST).as_millis(), Ordering::Relaxed);
    dispatcher.delivering.waker().wake();
    assert_eq!(bodies(&receiver, 1), ["run_started"]);
    stop(dispatcher);
}

#[test]
fn the_next_courier_goes_on_where_it_was_marked_and_with_what_was_under_way() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK, OK, Answer::Hangs, OK]);
    stage.begun("a");
    stage.commit("a", 1, [timer_set("t").unwrap(), ended()]);
    stage.push("a", &receiver.url);
    let (dispatcher, _) = stage.dispatcher();
    assert_eq!(bodies(&receiver, 3), ["run_started", "timer_set.1", "timer_set"]);
    // A post under way is not waited for: it may or may not have arrived.
    dispatcher.close();
    dispatcher.wait(Instant::now());
    assert_eq!(stage.row("a").next_seq, 1);
    let (dispatcher, _) = stage.dispatcher();
    assert_eq!(bodies(&receiver, 3), ["timer_set.1", "timer_set", "run_ended"]);
    stage.wait("a", "its end", |row| row.state == PushState::Done);
    stop(dispatcher);
    let (dispatcher, _) = stage.dispatcher();
    stop(dispatcher);
    assert!(receiver.is_quiet(), "what is done is not sent again");
}

#[test]
fn a_configuration_counts_for_the_tenant_of_its_run_and_for_its_receiver() {
    let stage = Stage::new();
    stage.begun("a");
    let owner = |run: &str, url: &str| {
        let row = stage.push(run, url);
        owner_of(stage.tenant_of(&row), &egress(), &row)
    };
    let of = |tenant: &str, receiver: &str| Owner { tenant: tenant.into(), receiver: Some(receiver.into()) };
    assert_eq!(owner("a", "https://Hooks.example/a"), of("local", "hooks.example:443"));
    assert_eq!(owner("lost", "http://10.0.0.1/"), of("run_lost", "http://10.0.0.1/"));
}

#[test]
fn what_was_kept_for_a_run_that_has_not_begun_waits_for_the_message_that_begins_it() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    let kept = stage.push("0", &receiver.url);
    stage.begun("a");
    stage.push("a", &receiver.url);
    let (dispatcher, _) = stage.dispatcher();
    // The turn of run `0` would be the first one.
    assert_eq!(bodies(&receiver, 1), ["run_started"]);
    stop(dispatcher);
    assert_eq!(stage.row("0"), kept);
    stage.begun("0");
    let (dispatcher, _) = stage.dispatcher();
    assert_eq!(receiver.next().header("idempotency-key"), Some("run_0:0"));
    stop(dispatcher);
}

#[test]
fn a_hanging_receiver_delays_no_other() {
    let stage = Stage::new();
    let slow = Receiver::new(&[Answer::Hangs]);
    let fast = Receiver::new(&[OK]);
    for name in 0..2 * MOST_TURNS {
        let name = format!("slow{name}");
        stage.begun(&name);
        stage.push(&name, &slow.url);
    }
    let (dispatcher, scheduler) = stage.dispatcher();
    assert_eq!(bodies(&slow, 2), ["run_started", "run_started"]);
    stage.begun("fast");
    let row = stage.push("fast", &fast.url);
    scheduler.add(
        (row.run.clone(), row.id.clone()),
        owner_of(stage.tenant_of(&row), &egress(), &row),
        row.due_at,
    );
    assert_eq!(bodies(&fast, 1), ["run_started"]);
    assert!(slow.is_quiet(), "few at a time");
    dispatcher.close();
    dispatcher.wait(Instant::now());
}

#[test]
fn a_redirect_is_a_failure_and_is_not_followed() {
    let stage = Stage::new();
    let elsewhere = Receiver::new(&[OK]);
    let location = format!("location: {}\r\n", elsewhere.url).leak();
    let receiver = Receiver::new(&[Answer::Says("307 There", location)]);
    stage.begun("a");
    stage.push("a", &receiver.url);
    let (dispatcher, _) = stage.dispatcher();
    let row = stage.wait("a", "the first failure", |row| row.tries > 0);
    assert!(row.note.unwrap().contains("redirects are not followed"));
    assert_eq!((row.state, row.next_seq), (PushState::Active, 0));
    assert!(row.due_at > row.at);
    stop(dispatcher);
    assert!(elsewhere.is_quiet());
}

#[test]
fn an_internal_address_that_is_not_allowed_gets_no_request() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    stage.begun("a");
    stage.begun("b");
    stage.push("a", &receiver.url);
    stage.push("b", &receiver.url.replace("http://127.0.0.1", "https://localhost"));
    let (dispatcher, _) = stage.dispatcher_with(EgressPolicy::default());
    let a = stage.wait("a", "its failure", |row| row.tries > 0);
    let b = stage.wait("b", "its failure", |row| row.tries > 0);
    assert_eq!(a.note.unwrap(), "`http:` is not taken for `127.0.0.1`; use `https:`");
    assert_eq!(b.note.unwrap(), "the address 127.0.0.1 is of this machine");
    stop(dispatcher);
    assert!(receiver.is_quiet());
}

#[test]
fn a_receiver_that_is_gone_is_given_up_and_so_is_one_that_never_answers_well() {
    let stage = Stage::new();
    let gone = Receiver::new(&[Answer::Says("410 Gone", "")]);
    let failing = Receiver::new(&[Answer::Says("500 Oops", "")]);
    stage.begun("gone");
    stage.begun("late");
    stage.push("gone", &gone.url);
    let late = stage.push("late", &failing.url);
    stage.store.mark_push(&PushRow { tries: 1_000, ..late }).unwrap();
    let (dispatcher, scheduler) = stage.dispatcher();
    let row = stage.wait("gone", "its end", |row| row.state == PushState::Failed);
    assert_eq!((row.note.as_deref(), row.tries), (Some("the receiver answered 410: it is gone"), 1));
    let row = stage.wait("late", "its end", |row| row.state == PushState::Failed);
    assert_eq!(row.note.as_deref(), Some("the receiver answered 500; it was tried 1001 times"));
    stage.commit("gone", 1, [ended()]);
    scheduler.committed(&run("gone").unwrap(), envoi_engine::now());
    stop(dispatcher);
    assert_eq!((bodies(&gone, 1).len(), gone.is_quiet()), (1, true));
    let logged = LOGGED.lock().unwrap().join("\n");
    assert!(logged.contains("run_gone are given up: the receiver answered 410"), "{logged}");
    assert!(!logged.contains("s3cret") && !logged.contains("t0ken") && !logged.contains("/hook"), "{logged}");
}

#[test]
fn nothing_is_sent_for_an_expired_token() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    stage.begun("a");
    stage.push("a", &receiver.url);
    let (dispatcher, scheduler) = stage.dispatcher();
    assert_eq!(bodies(&receiver, 1), ["run_started"]);
    stage.wait("a", "the mark", |row| row.next_seq == 1);
    stage.store.revoke_token(&stage.client, envoi_engine::now()).unwrap();
    stage.commit("a", 1, [ended()]);
    scheduler.committed(&run("a").unwrap(), envoi_engine::now());
    let row = stage.wait("a", "its end", |row| row.state == PushState::Failed);
    assert_eq!(row.note.as_deref(), Some("the token that set it is good no more"));
    stop(dispatcher);
    assert!(receiver.is_quiet());
}

#[test]
fn a_configuration_that_was_deleted_or_replaced_gets_nothing_more() {
    let stage = Stage::new();
    let old = Receiver::new(&[OK]);
    let new = Receiver::new(&[OK]);
    stage.begun("a");
    stage.begun("b");
    stage.push("a", &old.url);
    stage.push("b", &old.url);
    let (dispatcher, scheduler) = stage.dispatcher();
    assert_eq!(bodies(&old, 2).len(), 2);
    stage.wait("a", "the mark", |row| row.next_seq == 1);
    stage.wait("b", "the mark", |row| row.next_seq == 1);
    assert!(stage.store.forget_push(&run("a").unwrap(), "p").unwrap());
    let row = PushRow { next_seq: 1, at: Timestamp::from_millis(1), ..stage.push("b", &new.url) };
    // The rest of this configuration's notifications do not matter here.
    assert!(stage.store.forget_push(&row.run, &row.id).unwrap());
    stage.store.keep_push(&row).unwrap();
    scheduler.add(
        (row.run.clone(), row.id.clone()),
        owner_of(stage.tenant_of(&row), &egress(), &row),
        row.due_at,
    );
    stage.commit("a", 1, [ended()]);
    stage.commit("b", 1, [ended()]);
    scheduler.committed(&run("a").unwrap(), envoi_engine::now());
    scheduler.committed(&run("b").unwrap(), envoi_engine::now());
    assert_eq!(bodies(&new, 1), ["run_ended"]);
    stage.wait("b", "its end", |row| row.state == PushState::Done);
    stop(dispatcher);
    assert!(old.is_quiet() && new.is_quiet());
}

#[test]
fn a_run_that_cannot_be_read_is_tried_again_later() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    let (dispatcher, scheduler) = stage.dispatcher();
    let row = stage.push("nobody", &receiver.url);
    scheduler.add((row.run.clone(), row.id.clone()), owner_of(None, &egress(), &row), row.due_at);
    let row = stage.wait("nobody", "the first failure", |row| row.tries > 0);
    assert_eq!((row.state, row.next_seq), (PushState::Active, 0));
    stop(dispatcher);
    assert!(receiver.is_quiet());
}
