//! Tests attempts against an agent on loopback. All attempts run in the test process, one after the other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as a test expects ends it"
)]

mod cancel;
mod course;
mod fake;
mod masks;
mod outage;
mod questions;
mod twice;

use envoi_agent::{Everything, Mask, Order, Timeouts};
use envoi_contract::json::Value;
use fake::Agent;
use std::{fs, path::PathBuf, sync::Arc};
use tempfile::TempDir;

/// A visit of a step, and the folder of its attempts.
struct Visit {
    folder: TempDir,
    order: Order,
    token: Option<String>,
    secret: &'static str,
}

/// A mask that knows one secret in one spelling.
struct Plain(&'static str);

impl Mask for Plain {
    fn text(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(self.0, "***") }
    }

    fn value(&self, value: &Value) -> Value {
        Value::parse_str(&self.text(&value.compact())).unwrap()
    }
}

/// The text and the report of an attempt.
struct Left {
    text: String,
    report: Value,
}

impl Left {
    fn code(&self) -> &str {
        let error = self.report.get("error").and_then(|error| error.get("code"));
        error.and_then(Value::as_str).unwrap_or("ok")
    }

    fn agent(&self, name: &str) -> &str {
        self.report.get("agent").and_then(|agent| agent.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    fn message(&self) -> &str {
        self.report
            .get("error")
            .and_then(|error| error.get("message"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

impl Visit {
    fn of(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let order = Order {
            interface: None,
            key: "run_1:a.1".to_owned(),
            url: url.to_owned(),
            message: "do it".to_owned(),
            data: None,
            tenant: None,
            task: 0,
            turn: 0,
            answer: None,
            denied: false,
            resend: false,
            cancel: None,
            ends_at_ms: None,
            resends: false,
            record: place("a2a/a.1.0.json"),
            report: place("report.json"),
            output: place("output"),
            files: None,
            secrets: 0,
            hides: false,
            timeouts: Timeouts {
                request_ms: 20_000,
                reply_ms: 20_000,
                outage_ms: 60_000,
                refusal_ms: 60_000,
                in_flight_ms: 0,
                search_ms: 0,
                settle_ms: 0,
                move_ms: 60_000,
                compare_ms: 1,
                first_poll_ms: 1,
                max_poll_ms: 5,
            },
        };
        Self { folder, order, token: None, secret: "" }
    }

    fn with(agent: &Agent) -> Self {
        Self::of(&agent.url)
    }

    /// Runs the next attempt.
    fn attempt(&self) -> Left {
        let mask: Arc<dyn Mask> = match self.secret {
            "*everything*" => Arc::new(Everything),
            secret => Arc::new(Plain(secret)),
        };
        let _code = envoi_agent::run(&self.order, self.token.clone(), &mask);
        let read = |path: &PathBuf| fs::read_to_string(path).unwrap();
        Left { text: read(&self.order.output), report: Value::parse_str(&read(&self.order.report)).unwrap() }
    }

    /// Records a person's answer for the next attempt.
    fn answered(&mut self, answer: &str) -> &mut Self {
        let place = self.folder.path().join("answer.json");
        fs::write(&place, answer).unwrap();
        (self.order.turn, self.order.answer) = (self.order.turn + 1, Some(place));
        self
    }

    fn said(&mut self, words: &str) -> &mut Self {
        self.answered(&format!(r#"{{"text":"{words}","data":null}}"#))
    }

    fn record(&self) -> Value {
        Value::parse_str(&fs::read_to_string(&self.order.record).unwrap()).unwrap()
    }

    fn rewrite(&self, change: impl FnOnce(&mut envoi_contract::json::Object)) {
        let Value::Object(mut record) = self.record() else { panic!("no record") };
        change(&mut record);
        fs::write(&self.order.record, Value::Object(record).compact()).unwrap();
    }
}
