//! The body of a notice: a CloudEvent 1.0 in structured mode, JSON.
//!
//! Owns the attributes and their order. The caller provides `data`.

use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

/// A CloudEvent (CloudEvents 1.0.2 §3). The same values always give the same bytes, so a second try sends the
/// same as the first.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudEvent {
    /// The same for every try of a notice. `source` and `id` together are unique.
    pub id: String,
    /// A URI reference.
    pub source: String,
    /// Reverse-DNS name of the kind of event.
    pub kind: &'static str,
    /// The part of `source` that the event is about.
    pub subject: String,
    /// Time of the event, not of sending it.
    pub time: Timestamp,
    /// The payload.
    pub data: Object,
}

impl CloudEvent {
    /// The media type of [`CloudEvent::to_json`].
    pub const MEDIA_TYPE: &'static str = "application/cloudevents+json";

    /// The event as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = |text: &str| Value::from(text);
        Value::from(Object::from([
            ("specversion", text("1.0")),
            ("id", text(&self.id)),
            ("source", text(&self.source)),
            ("type", text(self.kind)),
            ("subject", text(&self.subject)),
            ("time", text(&self.time.to_string())),
            ("datacontenttype", text("application/json")),
            ("data", Value::from(self.data.clone())),
        ]))
        .compact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_these_bytes() {
        let event = CloudEvent {
            id: "evt_1_7".to_owned(),
            source: "/envoi/runs/run_1".to_owned(),
            kind: "dev.envoi.run.ended",
            subject: "run_1".to_owned(),
            time: Timestamp::from_millis(1_700_000_000_123),
            data: Object::from([
                ("status", Value::from("failed")),
                ("reason", Value::from("a \"quote\"\nb")),
            ]),
        };
        assert_eq!(
            event.to_json(),
            "{\"specversion\":\"1.0\",\"id\":\"evt_1_7\",\"source\":\"/envoi/runs/run_1\",\"type\":\"dev.envoi.run.ended\",\
             \"subject\":\"run_1\",\"time\":\"2023-11-14T22:13:20.123Z\",\"datacontenttype\":\"application/json\",\
             \"data\":{\"status\":\"failed\",\"reason\":\"a \\\"quote\\\"\\nb\"}}"
        );
    }
}
