//! Real tries: a real server on loopback, and real commands.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as a test expects ends it"
)]

mod command;
mod http_post;
mod receiver;
mod webhook;

use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use envoi_notify::CloudEvent;

fn event() -> CloudEvent {
    CloudEvent {
        id: "evt_1_7".to_owned(),
        source: "/envoi/runs/run_1".to_owned(),
        kind: "dev.envoi.run.ended",
        subject: "run_1".to_owned(),
        time: Timestamp::from_millis(0),
        data: Object::from([("status", Value::from("succeeded"))]),
    }
}
