//! Files that are being set back: nothing of the run starts until they are, also by another engine.

use crate::{
    driver::{Driver, exited, person, settled},
    flows::{ask, flow, step},
    story::{feed, stand},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Input, Refusal,
    event::{FilesRestored, FilesRestoring, Reach},
};

fn restore(word: &str) -> Input {
    Input::RestoreFiles(Box::new(FilesRestoring {
        from: Digest::of(b"now"),
        to: Digest::of(word.as_bytes()),
        reach: Reach::Workspace,
        undoes: false,
        by: person("bob"),
        why: None,
        folders_gone: None,
        folders_back: None,
        found: Vec::new(),
    }))
}

fn restored(word: &str) -> Input {
    let to = Digest::of(word.as_bytes());
    Input::FilesRestored(Box::new(FilesRestored { to, late: Vec::new(), left: Vec::new() }))
}

#[test]
fn nothing_starts_while_files_are_set_back_and_it_does_after_that() {
    let flow = flow([step("a"), ask("ok"), step("b")]);
    let mut driver = Driver::started(&flow);
    assert_eq!(driver.feed(restore("then")), Err(Refusal::StillAtWork));
    driver.feed(settled(exited("a.1.1", 0))).unwrap();
    driver.feed(restore("then")).unwrap();
    driver.restart();
    assert_eq!(driver.feed(restore("then")), Err(Refusal::Restoring));
    assert_eq!(driver.feed(restored("other")), Err(Refusal::NotRestoring));
    feed(&mut driver, "approve #1");
    driver.restart();
    let wants = driver.run.wants();
    assert!(wants.attempts.is_empty() && wants.ready.is_empty() && wants.restoring, "{wants:?}");
    driver.feed(restored("then")).unwrap();
    driver.restart();
    assert_eq!(driver.run.wants().attempts.len(), 1, "{}", stand(&driver.run));
    assert_eq!(driver.feed(restored("then")), Err(Refusal::NotRestoring));
}

#[test]
fn files_of_an_ended_run_are_set_back_and_it_stays_as_it_ended() {
    let mut driver = Driver::started(&flow([step("a")]));
    driver.feed(settled(exited("a.1.1", 0))).unwrap();
    let before = driver.run.status();
    driver.feed(restore("then")).unwrap();
    assert!(driver.run.restoring().is_some());
    driver.feed(Input::FilesKept { reason: "no room".to_owned() }).unwrap();
    assert!(driver.run.restoring().is_none());
    driver.feed(restore("then")).unwrap();
    driver.feed(restored("then")).unwrap();
    driver.restart();
    assert_eq!(driver.run.status(), before);
}
