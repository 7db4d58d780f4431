//! Stories with a real Restate node on loopback, with their own ports and folder: tests/restate/check.sh.
//!
//! [`commands`] are stories with the commands that people type. The others use parts written for the tests:
//! [`cluster`] starts, kills and restarts a node and an endpoint; [`worker`] is a worker without commands;
//! [`journal`] is the state of a replica. This program is also the endpoint ([`endpoint`]), in its own
//! process, so that it can be killed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod cluster;
mod commands;
mod endpoint;
mod journal;
mod stories;
mod worker;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, port, lease_ms, flow, commits] = &arguments[..]
        && first == "endpoint"
    {
        let lease = Duration::from_millis(lease_ms.parse().expect("a time"));
        endpoint::serve(port.parse().expect("a port"), lease, flow, commits);
        return;
    }
    let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
    let mut failed = Vec::new();
    let mut count = 0;
    for (name, story) in stories::ALL.iter().chain(commands::ALL) {
        if wanted.is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        count += 1;
        let is_fine = catch_unwind(AssertUnwindSafe(story)).is_ok();
        println!("test {name} ... {}", if is_fine { "ok" } else { "FAILED" });
        failed.extend((!is_fine).then_some(*name));
    }
    assert!(count > 0, "there is no story with {wanted:?} in its name");
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
}
