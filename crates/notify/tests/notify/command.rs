//! Commands: what they get, how their exit is judged, and that no process of them is left.

use crate::event;
use envoi_notify::{Command, Outcome};
use std::{
    fs,
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

/// Longer than any command here takes that is not ended early.
const AMPLE: Duration = Duration::from_secs(60);

fn script(folder: &Path, script: &str) -> Command {
    Command {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        folder: folder.to_owned(),
        env: vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("ENVOI_NOTICE_ID".to_owned(), "evt_1_7".to_owned()),
        ],
        limit: AMPLE,
    }
}

fn run(command: &Command) -> Outcome {
    command.run(&event(), &AtomicBool::new(false))
}

fn error(outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed { error, wait: None } => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_command_gets_the_event_its_folder_and_only_its_own_environment() {
    let place = tempfile::tempdir().unwrap();
    let told = script(place.path(), "cat > body; env > seen; echo fine");
    assert_eq!(run(&told), Outcome::Delivered);
    assert_eq!(fs::read_to_string(place.path().join("body")).unwrap(), event().to_json() + "\n");
    let seen = fs::read_to_string(place.path().join("seen")).unwrap();
    assert!(seen.contains("ENVOI_NOTICE_ID=evt_1_7") && !seen.contains("CARGO"), "{seen}");
}

#[test]
fn a_command_that_fails_says_how_and_with_what_last_words() {
    let place = tempfile::tempdir().unwrap();
    let failing = |text: &str| error(run(&script(place.path(), text)));
    assert_eq!(failing("echo one; printf 'two\\033\\n' >&2; exit 3"), "the command exited with 3: one two");
    assert_eq!(failing("exit 1"), "the command exited with 1");
    assert_eq!(failing("kill -9 $$"), "the command was ended by signal 9");
    let long = failing("i=0; while [ $i -lt 2000 ]; do echo word; i=$((i+1)); done; echo last; exit 1");
    assert!(long.len() < 600 && long.ends_with("word last"), "{long}");
    let nothing = Command { argv: vec!["./nothing-here".to_owned()], ..script(place.path(), "") };
    assert!(error(run(&nothing)).starts_with("the command cannot be started: "));
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_of_its_group() {
    // On a busy machine a short time may be over before the command is up.
    for (limit, shown) in [(300, "0.3"), (3_000, "3"), (30_000, "30"), (300_000, "300")] {
        let place = tempfile::tempdir().unwrap();
        // Both hold the output open; were the second one left, the pipe would not end.
        let slow = script(place.path(), "sleep 600 & echo $! > child; echo started; sleep 600");
        let outcome = error(run(&Command { limit: Duration::from_millis(limit), ..slow }));
        if outcome.ends_with(": started") {
            assert_eq!(outcome, format!("the command took longer than {shown} s: started"));
            return wait_until_gone(place.path());
        }
    }
    panic!("the command was never up before its time was over");
}

#[test]
fn what_a_command_leaves_in_its_group_is_ended_with_it() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(run(&script(place.path(), "sleep 600 & echo $! > child")), Outcome::Delivered);
    wait_until_gone(place.path());
}

#[test]
fn an_engine_that_stops_ends_a_command() {
    let place = tempfile::tempdir().unwrap();
    let outcome = script(place.path(), "sleep 600").run(&event(), &AtomicBool::new(true));
    assert!(error(outcome).contains("when the engine closed"));
}

#[test]
fn a_command_that_does_not_read_its_event_is_delivered_too() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(run(&script(place.path(), "exec 0<&-; exit 0")), Outcome::Delivered);
}

/// Waits until the process whose id is in `child` is gone, or only waits to be reaped by the process that
/// adopted it.
fn wait_until_gone(folder: &Path) {
    let child = fs::read_to_string(folder.join("child")).unwrap();
    let until = Instant::now() + AMPLE;
    while Instant::now() < until {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ") {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    panic!("{child} lives on");
}
