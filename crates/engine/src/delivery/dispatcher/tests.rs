//! The dispatcher alone, between a real store and targets that are commands of a moment.

use super::*;
use envoi_journal::{
    Commit, Delivery, Layout,
    conformance::{commit, ended, run, started},
};
use envoi_kernel::notify::Posting;
use envoi_kernel::{
    Event, event,
    notify::{Address, Moment, Webhook},
};
use std::{
    fs,
    net::TcpListener,
    path::Path,
    sync::{
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

struct Stage {
    folder: tempfile::TempDir,
    store: Arc<Store>,
    writer: Arc<Writer>,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(Layout::new(folder.path().join("store"))).unwrap());
        let writer = Arc::new(store.writer(store.take_epoch().unwrap()).unwrap());
        Self { folder, store, writer }
    }

    fn dispatcher(&self) -> DeliveryLoop {
        start(&self.store, Arc::clone(&self.writer), notices(), Callers::default()).unwrap()
    }

    /// A dispatcher whose wall clock shows what `wall` does.
    fn dispatcher_by(&self, wall: &Arc<AtomicI64>) -> DeliveryLoop {
        let shown = Arc::clone(wall);
        let wall = move || Timestamp::from_millis(shown.load(Ordering::Relaxed));
        let clock = SteadyClock::over(wall, Timestamp::default());
        let reader = self.store.reader().unwrap();
        start_with(reader, Arc::clone(&self.writer), notices(), Callers::default(), clock).unwrap()
    }

    /// A run that is over, and these commands to be notified of it.
    fn over(&self, name: &str, scripts: &[&str]) {
        self.over_of("local", name, scripts);
    }

    fn over_of(&self, tenant: &str, name: &str, scripts: &[&str]) {
        let to = |script: &&str| Address::Command(event::Command::Shell((*script).to_owned()));
        self.over_for(tenant, name, scripts.iter().map(to).collect());
    }

    /// Its events bear this time.
    fn over_at(&self, name: &str, at_ms: i64, scripts: &[&str]) {
        let to = |script: &&str| Address::Command(event::Command::Shell((*script).to_owned()));
        let mut commit = self.commit_of("local", name, scripts.iter().map(to).collect());
        commit.records.iter_mut().for_each(|record| record.at = Timestamp::from_millis(at_ms));
        self.writer.commit(commit).unwrap();
    }

    fn over_for(&self, tenant: &str, name: &str, targets: Vec<Address>) {
        self.writer.commit(self.commit_of(tenant, name, targets)).unwrap();
    }

    fn commit_of(&self, tenant: &str, name: &str, targets: Vec<Address>) -> Commit {
        let run = run(name).unwrap();
        let mut begun = started(&run).unwrap();
        if let Event::RunStarted(begun) = &mut begun {
            begun.by.tenant = tenant.to_owned();
        }
        let to = |to| Delivery {
            seq: 1,
            kind: Moment::End,
            id: format!("evt_{name}_1"),
            target: serde_json::to_string(&Posting {
                folder: self.folder.path().to_string_lossy().into_owned(),
                to,
            })
            .unwrap(),
        };
        let deliveries = targets.into_iter().map(to).collect();
        let events = [begun, ended()];
        Commit { deliveries, ..commit(&run, 0, events) }
    }

    fn marked(&self, mark: Mark) {
        let (tell, told) = mpsc::channel();
        self.writer.mark(mark, Box::new(move |result| tell.send(result).unwrap()));
        told.recv().unwrap().unwrap();
    }

    fn rows(&self, name: &str) -> Vec<DeliveryRow> {
        self.store.reader().unwrap().deliveries(&run(name).unwrap()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

fn notices() -> Notices {
    Notices {
        keys: Vec::new(),
        targets: Vec::new(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        variable: |_| None,
        how_to_answer: |_, _| String::new(),
        page: None,
    }
}

/// Longer than anything takes here.
const AMPLE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + AMPLE;
    while !holds() {
        assert!(Instant::now() < until, "still waiting for {what}");
        thread::park_timeout(Duration::from_millis(2));
    }
}

#[test]
fn the_try_of_a_command_is_counted_before_it_begins() {
    let stage = Stage::new();
    stage
        .over("a", &["echo $ENVOI_NOTICE_ID >> told; while [ -e told ] && [ ! -e go ]; do sleep 0.01; done"]);
    let dispatcher = stage.dispatcher();
    wait_until("the command", || !stage.read("told").is_empty());
    // An engine that ended now would leave this.
    let row = &stage.rows("a")[0];
    assert_eq!((row.tries, row.is_open(), row.last_error.as_deref()), (1, true, None));
    fs::write(stage.folder.path().join("go"), "").unwrap();
    wait_until("the end", || !stage.rows("a")[0].is_open());
    dispatcher.close(AMPLE);
    let row = &stage.rows("a")[0];
    assert!(row.tries == 1 && row.delivered_at.is_some() && row.last_error.is_none(), "{row:?}");
    assert_eq!(stage.read("told"), "evt_a_1\n");
}

#[test]
fn engines_that_end_during_each_try_do_so_ever_later_and_not_for_ever() {
    let stage = Stage::new();
    stage.over("a", &["echo told >> told"]);
    let key = stage.rows("a")[0].key;
    let reader = stage.store.reader().unwrap();
    let (writer, clock) = (Arc::clone(&stage.writer), SteadyClock::new(Timestamp::default()));
    let due = DueNotices { reader, writer, notices: notices(), callers: Callers::default(), clock };
    let waits = [0, 1, 2, 9, 82].map(|tries| {
        let row = DeliveryRow { tries, ..stage.rows("a")[0].clone() };
        let before = due.now();
        match due.begun(&row) {
            Mark { tries: begun, fate: Fate::Begun { at }, .. } if begun == tries + 1 => {
                at.as_millis().saturating_sub(before.as_millis()) / 1_000
            }
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(waits, [0, 2, 4, 512, 3_600]);
    stage.marked(Mark { key, tries: retry::MOST_TRIES, fate: Fate::Begun { at: Timestamp::from_millis(0) } });
    let dispatcher = stage.dispatcher();
    wait_until("it is given up", || !stage.rows("a")[0].is_open());
    dispatcher.close(AMPLE);
    let row = &stage.rows("a")[0];
    let error = row.last_error.as_deref().unwrap_or_default();
    assert!(row.gave_up_at.is_some() && error.starts_with("each engine has ended during its try"), "{row:?}");
    assert_eq!(stage.read("told"), "");
}

#[test]
fn work_that_was_due_before_the_start_and_new_work_are_both_sent() {
    let stage = Stage::new();
    stage.over("a", &["echo $ENVOI_NOTICE_ID >> told"]);
    let dispatcher = stage.dispatcher();
    wait_until("the first", || !stage.rows("a")[0].is_open());
    stage.over("b", &["echo $ENVOI_NOTICE_ID >> told", "exit 3"]);
    dispatcher.waker().wake();
    wait_until("the second", || !stage.rows("b")[0].is_open() && stage.rows("b")[1].tries > 0);
    dispatcher.close(AMPLE);
    assert_eq!(stage.read("told"), "evt_a_1\nevt_b_1\n");
    let failed = &stage.rows("b")[1];
    assert!(
        failed.is_open() && failed.last_error.as_deref() == Some("the command exited with 3"),
        "{failed:?}"
    );
}

#[test]
fn a_failed_notice_is_tried_again_by_itself() {
    let stage = Stage::new();
    stage.over("a", &["echo $ENVOI_NOTICE_ID >> told; test $(wc -l < told) -ge 2"]);
    let dispatcher = stage.dispatcher();
    wait_until("the second try", || !stage.rows("a")[0].is_open());
    dispatcher.close(AMPLE);
    assert_eq!((stage.read("told").as_str(), stage.rows("a")[0].tries), ("evt_a_1\nevt_a_1\n", 2));
}

const HOUR_MS: i64 = 3_600_000;

#[test]
fn a_clock_that_is_set_back_by_an_hour_does_not_hold_up_the_next_try() {
    let stage = Stage::new();
    stage.over("a", &["echo x >> told; test $(wc -l < told) -ge 2"]);
    let wall = Arc::new(AtomicI64::new(crate::model::clock::now().as_millis()));
    let dispatcher = stage.dispatcher_by(&wall);
    wait_until("the first try", || stage.rows("a")[0].tries == 1);
    wall.fetch_sub(HOUR_MS, Ordering::Relaxed);
    wait_until("the second try", || !stage.rows("a")[0].is_open());
    dispatcher.close(AMPLE);
    assert_eq!(stage.rows("a")[0].tries, 2);
}

#[test]
fn a_notice_of_a_run_an_hour_ahead_of_the_clock_is_sent_at_once() {
    let stage = Stage::new();
    stage.over_at("a", crate::model::clock::now().as_millis() + HOUR_MS, &["touch told"]);
    let dispatcher = stage.dispatcher();
    wait_until("the notice", || !stage.rows("a")[0].is_open());
    dispatcher.close(AMPLE);
    assert!(stage.folder.path().join("told").exists());
}

#[test]
fn no_second_message_is_sent_while_a_try_is_under_way() {
    let stage = Stage::new();
    stage.over("a", &["echo x >> told; while [ -e told ] && [ ! -e go ]; do sleep 0.01; done"]);
    let dispatcher = stage.dispatcher();
    wait_until("the try", || !stage.read("told").is_empty());
    for _ in 0..100 {
        dispatcher.waker().wake();
    }
    stage.over("b", &["touch other"]);
    dispatcher.waker().wake();
    wait_until("the other one", || !stage.rows("b")[0].is_open());
    fs::write(stage.folder.path().join("go"), "").unwrap();
    dispatcher.close(AMPLE);
    assert_eq!(stage.read("told"), "x\n");
    assert!(!stage.rows("a")[0].is_open(), "what is under way is waited for");
}

#[test]
fn a_tenant_whose_targets_all_hang_holds_up_no_other() {
    let stage = Stage::new();
    stage.over_of(
        "dead",
        "a",
        &["echo x >> told; while [ -e told ] && [ ! -e go ]; do sleep 0.01; done"; 4 * MAX_IN_FLIGHT],
    );
    let dispatcher = stage.dispatcher();
    wait_until("as many as it may have", || stage.read("told").lines().count() == MAX_IN_FLIGHT / 2);
    stage.over_of("north", "b", &["touch other"]);
    dispatcher.waker().wake();
    wait_until("the other tenant's", || !stage.rows("b")[0].is_open());
    assert!(stage.rows("a").iter().all(DeliveryRow::is_open), "none of them is over");
    assert_eq!(stage.read("told").lines().count(), MAX_IN_FLIGHT / 2);
    fs::write(stage.folder.path().join("go"), "").unwrap();
    dispatcher.close(AMPLE);
}

#[test]
fn more_messages_than_may_be_under_way_are_all_sent_before_it_closes() {
    let stage = Stage::new();
    let scripts = vec!["echo x >> told"; 3 * MAX_IN_FLIGHT];
    stage.over("a", &scripts);
    stage.dispatcher().close(AMPLE);
    assert_eq!(stage.read("told").lines().count(), 3 * MAX_IN_FLIGHT);
    assert!(stage.rows("a").iter().all(|row| row.delivered_at.is_some() && row.tries == 1));
}

#[test]
fn a_courier_that_is_closed_at_once_ends_its_commands_which_have_been_tried() {
    let stage = Stage::new();
    stage.over("a", &["echo $$ > pid; sleep 600"]);
    let dispatcher = stage.dispatcher();
    wait_until("the command", || stage.read("pid").ends_with('\n'));
    let before = crate::model::clock::now();
    dispatcher.close(Duration::ZERO);
    let pid = stage.read("pid");
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "it lives on");
    let row = &stage.rows("a")[0];
    assert_eq!((row.tries, row.is_open()), (1, true));
    assert_eq!(row.last_error.as_deref(), Some("the command was cut short when the engine closed"));
    assert!(row.next_try_at > before, "it has to wait: {row:?}");
}

#[test]
fn a_webhook_that_is_cut_short_has_been_tried() {
    let stage = Stage::new();
    // The machine accepts connections, but no process answers them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let webhook =
        Webhook { url: format!("http://{}/", silent.local_addr().unwrap()), token: None, timeout_ms: 60_000 };
    stage.over_for("local", "a", vec![Address::Webhook(webhook)]);
    let dispatcher = stage.dispatcher();
    let caller = silent.accept().unwrap();
    dispatcher.close(Duration::ZERO);
    let row = &stage.rows("a")[0];
    assert_eq!((row.tries, row.is_open()), (1, true));
    assert_eq!(row.last_error.as_deref(), Some("it was cut short when the engine closed"));
    drop(caller);
}

#[test]
fn the_last_try_that_is_cut_short_is_given_up() {
    let stage = Stage::new();
    stage.over("a", &["touch began; sleep 600"]);
    let key = stage.rows("a")[0].key;
    stage.marked(Mark {
        key,
        tries: retry::MOST_TRIES - 1,
        fate: Fate::Again { at: Timestamp::from_millis(0), error: "e".to_owned() },
    });
    let dispatcher = stage.dispatcher();
    wait_until("the command", || stage.folder.path().join("began").exists());
    dispatcher.close(Duration::ZERO);
    let row = &stage.rows("a")[0];
    assert_eq!((row.tries, row.is_open()), (retry::MOST_TRIES, false), "{row:?}");
}

#[test]
fn what_is_not_due_is_not_waited_for() {
    let stage = Stage::new();
    stage.over("a", &["touch told"]);
    let key = stage.rows("a")[0].key;
    let later = Timestamp::from_millis(crate::model::clock::now().as_millis() + 3_600_000);
    stage.marked(Mark { key, tries: 1, fate: Fate::Again { at: later, error: "e".to_owned() } });
    let dispatcher = stage.dispatcher();
    let closing = thread::spawn(move || dispatcher.close(Duration::from_secs(600)));
    wait_until("its end", || closing.is_finished());
    assert_eq!((stage.rows("a")[0].tries, stage.folder.path().join("told").exists()), (1, false));
}

#[test]
fn who_wants_to_go_cuts_the_wait_of_a_courier_that_is_being_closed() {
    let stage = Stage::new();
    stage.over("a", &["touch began; sleep 600"]);
    let dispatcher = stage.dispatcher();
    let nudge = dispatcher.waker();
    wait_until("the command", || stage.folder.path().join("began").exists());
    let closing = thread::spawn(move || dispatcher.close(Duration::from_secs(600)));
    nudge.hurry();
    wait_until("its end", || closing.is_finished());
    assert!(stage.rows("a")[0].is_open());
}

#[test]
fn a_courier_that_was_overtaken_tells_nothing_further() {
    let stage = Stage::new();
    stage.over("a", &["echo $ENVOI_NOTICE_ID >> told"]);
    stage.over("b", &["echo $ENVOI_NOTICE_ID >> told"]);
    let later = stage.store.take_epoch().unwrap();
    let dispatcher = stage.dispatcher();
    wait_until("its end", || dispatcher.has_ended());
    let before = stage.read("told");
    dispatcher.close(AMPLE);
    assert!(before.lines().count() <= 2, "{before}");
    assert!(stage.rows("a")[0].is_open(), "only the newest engine marks");
    let newest = Stage { writer: Arc::new(stage.store.writer(later).unwrap()), ..stage };
    newest.dispatcher().close(AMPLE);
    assert!(!newest.rows("a")[0].is_open() && !newest.rows("b")[0].is_open());
}
