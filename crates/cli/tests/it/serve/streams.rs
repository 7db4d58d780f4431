//! Streams of events: many readers, slow readers, readers that come back.

use super::{APPROVAL, client::Served, served};
use crate::stage::{Stage, text, wait_for};
use serde_json::json;
use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// A flow that goes round `rounds` times, changing so many files with long names each time, and waits before the last step for the file `go`.
pub(crate) fn rounds(rounds: u32, files: u32) -> String {
    format!(
        "flow: rounds
steps:
  - id: count
    run: \"echo x >> did.txt; n=$(wc -l < did.txt); mkdir -p {long}; for i in $(seq {files}); do echo $n > {long}/$i; done; if [ $(wc -l < did.txt) -gt {rounds} ]; then exit 0; fi; exit 1\"
    artifacts: ['out/**']
    routing: {{ kind: microloop, loop_to: count, status_from_exit: {{0: DONE, 1: MORE}}, success_values: [DONE], max_iterations: {} }}
  - id: last
    run: while [ ! -e go ]; do sleep 0.02; done
",
        rounds + 5,
        long = ["out".to_owned(), "n".repeat(200), "m".repeat(200), "o".repeat(200)].join("/"),
    )
}

#[test]
fn many_readers_see_each_event_once_across_a_kill_and_a_restart() {
    const READERS: usize = 40;
    let stage = Stage::new();
    // Nothing but a commit wakes a reader.
    stage.write(".envoi/config.yaml", "server: { limits: { streams: 1000, keep_alive: 1d } }\n");
    let (before, admin) = served(&stage);
    let address = before.address();
    let run = admin.run(&rounds(12, 1));
    let path = format!("/v1/runs/{run}/stream");
    let (begun, back) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let told = thread::scope(|scope| {
        let read = || {
            let (mut ids, mut breaks): (Vec<String>, _) = (Vec::new(), 0);
            loop {
                // While there is no server, there is no response.
                let stream =
                    wait_for("a stream", || admin.follow(&path, ids.last().map(String::as_str)).ok());
                if stream.status == 204 {
                    return (ids, breaks);
                }
                assert_eq!(stream.status, 200);
                if breaks == 1 {
                    back.fetch_add(1, Ordering::SeqCst);
                }
                for told in stream {
                    if ids.is_empty() {
                        begun.fetch_add(1, Ordering::SeqCst);
                    }
                    ids.push(told.id);
                }
                breaks += 1;
            }
        };
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        wait_for("all readers", || (begun.load(Ordering::SeqCst) == READERS).then_some(()));
        before.process.kill();
        let after = Served::on(&stage, &address);
        // Later events are committed while they wait for them.
        wait_for("all of them again", || (back.load(Ordering::SeqCst) == READERS).then_some(()));
        stage.write("go", "");
        let told: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        drop(after);
        told
    });
    let events = stage.events(&run).len();
    let whole: Vec<String> = (0..events).map(|seq| seq.to_string()).collect();
    for (ids, breaks) in told {
        assert_eq!(ids, whole);
        assert_eq!(breaks, 2, "once by the kill, once at the end");
    }
}

/// Kilobytes of memory that a process has.
fn resident_kib(pid: u32) -> u64 {
    memory_kib(pid, "VmRSS:")
}

/// Kilobytes of memory that a process has had at most.
pub(crate) fn peak_kib(pid: u32) -> u64 {
    memory_kib(pid, "VmHWM:")
}

fn memory_kib(pid: u32, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn readers_that_do_not_read_cost_a_page_each_and_delay_no_other() {
    const SLOW: u64 = 100;
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { streams: 1000 } }\n");
    let (served, admin) = served(&stage);
    let run = admin.run(&rounds(20, 20));
    stage.write("go", "");
    admin.wait_until_run_is(&run, "succeeded");
    let path = format!("/v1/runs/{run}/stream");
    let count = || admin.follow(&path, None).unwrap().count();
    let (all, before) = (count(), resident_kib(served.process.pid()));
    let whole_kib = admin.get(&path).body.len() / 1024;
    assert!(whole_kib > 1000, "more than the machine takes of what nobody reads: {whole_kib} KiB");
    let slow: Vec<_> = (0..SLOW).map(|_| admin.follow(&path, None).unwrap()).collect();
    assert!(slow.iter().all(|stream| stream.status == 200));
    assert_eq!(count(), all, "one that reads is not held up");
    let grown = resident_kib(served.process.pid()).saturating_sub(before);
    // A page, a buffer of 64 KiB, and the memory of a connection.
    assert!(grown < SLOW * 400, "{grown} KiB for {SLOW} readers");
    eprintln!("{grown} KiB for {SLOW} slow readers of {whole_kib} KiB each");
    // All at once: a stream of which nothing is read for 90 seconds is ended.
    thread::scope(|scope| {
        let counts: Vec<_> = slow.into_iter().map(|stream| scope.spawn(move || stream.count())).collect();
        for count in counts {
            assert_eq!(count.join().unwrap(), all, "and a slow one gets everything in the end");
        }
    });
}

#[test]
fn questions_are_streamed_when_asked_and_closed_and_the_list_leaves_no_gap() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { keep_alive: 20ms } }\n");
    let (served, admin) = served(&stage);
    let mut idle = admin.follow("/v1/questions/stream", None).unwrap();
    assert_eq!(idle.line().as_deref(), Some(":"), "a sign of life");
    drop(idle);
    admin.question(&admin.run(APPROVAL));
    let place = text(&admin.json("/v1/questions")["last_event_id"]);
    let run = admin.run(APPROVAL);
    let question = admin.question(&run);
    let mut stream = admin.follow("/v1/questions/stream", Some(&place)).unwrap();
    // The question that the list has is not sent again.
    let put = stream.next().unwrap();
    assert_eq!(put.event, "interrupt_raised");
    assert_eq!(
        [&put.data["run"], &put.data["record"]["event"]["interrupt"]],
        [&json!(run), &json!(question)]
    );
    admin.post(&format!("/v1/questions/{question}/answer"), r#"{"choice": "deny"}"#);
    let rest: Vec<_> = stream.by_ref().take(2).collect();
    assert_eq!(
        rest.iter().map(|told| told.event.as_str()).collect::<Vec<_>>(),
        ["interrupt_answered", "run_ended"]
    );
    // From the place of the last one that was seen, over a restart.
    let address = served.address();
    served.process.kill();
    let _after = Served::on(&stage, &address);
    let mut again = admin.follow("/v1/questions/stream", Some(&put.id)).unwrap();
    let told: Vec<_> = again.by_ref().take(2).map(|told| told.id).collect();
    assert_eq!(told, rest.iter().map(|told| told.id.clone()).collect::<Vec<_>>());
    assert_eq!(text(&admin.json(&format!("/v1/runs/{run}"))["status"]), "failed");
}
