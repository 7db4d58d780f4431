//! Reading of an event by its `type`, which is the first member if Envoi wrote the event.
//!
//! The derived reader of a tagged enum first reads the whole object into a tree and then reads the event from
//! that. Each event is read once before it is committed and at each replay, so this reader reads the members
//! directly. It falls back to a tree if another writer has put `type` at another position.

use super::Event;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};
use std::fmt;

const TYPE: &str = "type";

/// Each kind of event with its type as written.
macro_rules! kinds {
    ($($kind:ident = $word:literal),+ $(,)?) => {
        #[derive(Clone, Copy, Deserialize)]
        enum Kind {
            $(#[serde(rename = $word)] $kind,)+
        }

        impl Kind {
            fn read<'de, D: Deserializer<'de>>(self, members: D) -> Result<Event, D::Error> {
                match self {
                    $(Kind::$kind => Deserialize::deserialize(members).map(Event::$kind),)+
                }
            }
        }

        impl Event {
            /// The types of all kinds of events, as written.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// Its type, as written.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Event::$kind(_) => $word,)+
                }
            }
        }
    };
}

kinds! {
    RunStarted = "run_started",
    StepEntered = "step_entered",
    StepsGivenUp = "steps_given_up",
    FannedOut = "fanned_out",
    GoalsSet = "goals_set",
    GoalsReached = "goals_reached",
    FlowEntered = "flow_entered",
    FlowReturned = "flow_returned",
    AttemptStarted = "attempt_started",
    AttemptSettled = "attempt_settled",
    ModelCallStarted = "model_call_started",
    ModelCallEnded = "model_call_ended",
    Routed = "routed",
    HandoffWritten = "handoff_written",
    InterruptRaised = "interrupt_raised",
    InterruptAnswered = "interrupt_answered",
    VoteCast = "vote_cast",
    InterruptExpired = "interrupt_expired",
    InterruptCancelled = "interrupt_cancelled",
    TimerSet = "timer_set",
    TimerFired = "timer_fired",
    AccountsTried = "accounts_tried",
    LimitsRaised = "limits_raised",
    RunStopping = "run_stopping",
    CancelRequested = "cancel_requested",
    RunReopened = "run_reopened",
    RunForked = "run_forked",
    CorrectionRequested = "correction_requested",
    FlowCorrected = "flow_corrected",
    CorrectionDropped = "correction_dropped",
    FilesRestoring = "files_restoring",
    FilesRestored = "files_restored",
    FilesKeptAsTheyWere = "files_kept_as_they_were",
    RunEnded = "run_ended",
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let Some(first) = map.next_key::<String>()? else { return Err(A::Error::missing_field(TYPE)) };
        if first == TYPE {
            let kind: Kind = map.next_value()?;
            return kind.read(MapAccessDeserializer::new(map));
        }
        let mut members = Map::new();
        members.insert(first, map.next_value()?);
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            members.insert(name, value);
        }
        let kind = members.remove(TYPE).ok_or_else(|| A::Error::missing_field(TYPE))?;
        let kind: Kind = serde_json::from_value(kind).map_err(A::Error::custom)?;
        kind.read(Value::Object(members)).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::{EndStatus, RunEnded};
    use envoi_contract::envelope::TerminalReason;

    fn sample() -> Event {
        Event::RunEnded(RunEnded::new(
            EndStatus::Failed,
            TerminalReason::UserCancelled,
            "no \u{fffd}".to_owned(),
            None,
        ))
    }

    fn read(text: &str) -> Result<Event, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_event_is_read_wherever_its_type_stands() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert!(text.starts_with(r#"{"type":"run_ended","#), "{text}");
        let members = text.trim_start_matches(r#"{"type":"run_ended","#).trim_end_matches('}');
        let last = format!(r#"{{{members},"type":"run_ended"}}"#);
        assert_eq!(read(&text), Ok(sample()));
        assert_eq!(read(&last), Ok(sample()));
        assert_eq!(
            serde_json::from_value::<Event>(serde_json::to_value(sample()).unwrap()).unwrap(),
            sample()
        );
    }

    #[test]
    fn what_is_no_event_is_refused_with_what_is_wrong() {
        for (text, words) in [
            ("{}", "missing field `type`"),
            (r#"{"status":"failed"}"#, "missing field `type`"),
            (r#"{"type":"run_over"}"#, "unknown variant `run_over`"),
            (r#"{"status":"failed","type":"run_over"}"#, "unknown variant `run_over`"),
            (r#"{"type":"run_ended"}"#, "missing field `status`"),
            (r#"{"status":"failed","type":"run_ended"}"#, "missing field `terminal_reason`"),
            (r#"{"type":7}"#, "expected"),
            ("[]", "expected an event"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
