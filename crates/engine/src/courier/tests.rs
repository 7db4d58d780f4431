//! The courier alone, between a real store and targets that are commands of a moment.

use super::*;
use crate::outbox::Posting;
use envoi_journal::{
    Commit, Delivery, Layout,
    conformance::{commit, ended, run, started},
};
use envoi_kernel::notify::{Address, Moment};
use std::{fs, path::Path};

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

    fn courier(&self) -> Courier {
        let notices = Notices {
            targets: Vec::new(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            variable: |_| None,
            how_to_answer: |_, _| String::new(),
        };
        Courier::start(&self.store, Arc::clone(&self.writer), notices, Callers::default()).unwrap()
    }

    /// A run that is over, and these commands to be told of it.
    fn over(&self, name: &str, scripts: &[&str]) {
        let run = run(name).unwrap();
        let to = |script: &&str| Delivery {
            seq: 1,
            kind: Moment::End,
            id: format!("evt_{name}_1"),
            target: serde_json::to_string(&Posting {
                folder: self.folder.path().to_string_lossy().into_owned(),
                to: Address::Command(envoi_kernel::event::Command::Shell((*script).to_owned())),
            })
            .unwrap(),
        };
        let deliveries = scripts.iter().map(to).collect();
        let events = [started(&run).unwrap(), ended()];
        self.writer.commit(Commit { deliveries, ..commit(&run, 0, events) }).unwrap();
    }

    fn rows(&self, name: &str) -> Vec<DeliveryRow> {
        self.store.reader().unwrap().deliveries(&run(name).unwrap()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
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
fn what_was_due_before_it_came_up_and_what_it_is_nudged_about_is_told() {
    let stage = Stage::new();
    stage.over("a", &["echo $ENVOI_NOTICE_ID >> told"]);
    let courier = stage.courier();
    wait_until("the first", || !stage.rows("a")[0].is_open());
    stage.over("b", &["echo $ENVOI_NOTICE_ID >> told", "exit 3"]);
    courier.nudge().nudge();
    wait_until("the second", || !stage.rows("b")[0].is_open() && stage.rows("b")[1].tries > 0);
    courier.close(AMPLE);
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
    let courier = stage.courier();
    wait_until("the second try", || !stage.rows("a")[0].is_open());
    courier.close(AMPLE);
    assert_eq!((stage.read("told").as_str(), stage.rows("a")[0].tries), ("evt_a_1\nevt_a_1\n", 2));
}

#[test]
fn nobody_is_told_twice_while_a_try_is_under_way() {
    let stage = Stage::new();
    stage.over("a", &["echo x >> told; while [ ! -e go ]; do sleep 0.01; done"]);
    let courier = stage.courier();
    wait_until("the try", || !stage.read("told").is_empty());
    for _ in 0..100 {
        courier.nudge().nudge();
    }
    stage.over("b", &["touch other"]);
    courier.nudge().nudge();
    wait_until("the other one", || !stage.rows("b")[0].is_open());
    fs::write(stage.folder.path().join("go"), "").unwrap();
    courier.close(AMPLE);
    assert_eq!(stage.read("told"), "x\n");
    assert!(!stage.rows("a")[0].is_open(), "what is under way is waited for");
}

#[test]
fn more_than_may_fly_at_once_are_all_told_before_it_closes() {
    let stage = Stage::new();
    let scripts = vec!["echo x >> told"; 3 * MOST_FLYING];
    stage.over("a", &scripts);
    stage.courier().close(AMPLE);
    assert_eq!(stage.read("told").lines().count(), 3 * MOST_FLYING);
    assert!(stage.rows("a").iter().all(|row| row.delivered_at.is_some() && row.tries == 1));
}

#[test]
fn a_courier_that_is_closed_at_once_ends_its_commands_and_counts_no_try() {
    let stage = Stage::new();
    stage.over("a", &["echo $$ > pid; sleep 600"]);
    let courier = stage.courier();
    wait_until("the command", || stage.read("pid").ends_with('\n'));
    courier.close(Duration::ZERO);
    let pid = stage.read("pid");
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "it lives on");
    assert_eq!((stage.rows("a")[0].tries, stage.rows("a")[0].is_open()), (0, true));
}

#[test]
fn who_wants_to_go_cuts_the_wait_of_a_courier_that_is_being_closed() {
    let stage = Stage::new();
    stage.over("a", &["touch began; sleep 600"]);
    let courier = stage.courier();
    let nudge = courier.nudge();
    wait_until("the command", || stage.folder.path().join("began").exists());
    let closing = thread::spawn(move || courier.close(Duration::from_secs(600)));
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
    let courier = stage.courier();
    wait_until("its end", || courier.thread.is_finished());
    let before = stage.read("told");
    courier.close(AMPLE);
    assert!(before.lines().count() <= 2, "{before}");
    assert!(stage.rows("a")[0].is_open(), "only the newest engine marks");
    let newest = Stage { writer: Arc::new(stage.store.writer(later).unwrap()), ..stage };
    newest.courier().close(AMPLE);
    assert!(!newest.rows("a")[0].is_open() && !newest.rows("b")[0].is_open());
}
