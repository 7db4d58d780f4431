//! The law of the contracts: for every value, nothing is lost in two round trips, and no bytes make a decoder panic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "what is not as a test expects ends it; vectors and seeds are read from files"
)]

mod bytes;
mod contracts;
mod schema;
mod values;

use std::fmt::Debug;

use envoi_contract::envelope::{Envelope, FlowInterrupt, InterruptResponse, ProcessingRecord};
use envoi_contract::handoff::Handoff;
use envoi_contract::json::Value;
use envoi_contract::routing::Signal;
use envoi_contract::skill_report::SkillReport;
use envoi_contract::user_envelope;
use proptest::prelude::*;
use proptest::test_runner::Config;

/// How a contract's value is written and read.
struct Codec<T> {
    write: fn(&T) -> Value,
    read: fn(&[u8]) -> Result<T, String>,
}

impl<T: Debug + PartialEq> Codec<T> {
    /// Checks `decode(encode(x)) == x` twice, in both written forms.
    fn keeps(&self, value: &T) -> Result<(), TestCaseError> {
        let encoded = (self.write)(value);
        for text in [encoded.compact(), encoded.pretty()] {
            let once = (self.read)(text.as_bytes()).map_err(TestCaseError::fail)?;
            prop_assert_eq!(&once, value);
            let again = (self.write)(&once);
            prop_assert_eq!(again.compact(), encoded.compact());
            let twice = (self.read)(again.pretty().as_bytes()).map_err(TestCaseError::fail)?;
            prop_assert_eq!(&twice, value);
        }
        Ok(())
    }

    /// Checks that a decoded value survives a round trip: `encode(decode(b)) == encode(decode(encode(decode(b))))`.
    fn keeps_what_it_reads(&self, bytes: &[u8]) -> Result<(), TestCaseError> {
        match (self.read)(bytes) {
            Ok(read) => self.keeps(&read),
            Err(_) => Ok(()),
        }
    }
}

fn in_words<T, E: ToString>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn parsed(bytes: &[u8]) -> Result<Value, String> {
    in_words(Value::parse(bytes))
}

const JSON: Codec<Value> = Codec { write: Value::clone, read: parsed };
const ORCHESTRATOR: Codec<Signal> = Codec {
    write: |signal| signal.orchestrator(None),
    read: |bytes| in_words(Signal::decode(&parsed(bytes)?)),
};
const RESOLVER: Codec<Signal> =
    Codec { write: Signal::resolver, read: |bytes| in_words(Signal::decode(&parsed(bytes)?)) };
const HANDOFF: Codec<Handoff> =
    Codec { write: Handoff::to_value, read: |bytes| in_words(Handoff::decode(bytes)) };
const REPORT: Codec<SkillReport> =
    Codec { write: SkillReport::to_value, read: |bytes| in_words(SkillReport::decode(bytes)) };
const ENVELOPE: Codec<Envelope> =
    Codec { write: Envelope::to_state_dict, read: |bytes| in_words(Envelope::decode(bytes)) };
const INTERRUPT: Codec<FlowInterrupt> = Codec {
    write: FlowInterrupt::to_value,
    read: |bytes| in_words(FlowInterrupt::from_value(&parsed(bytes)?)),
};
const RESPONSE: Codec<InterruptResponse> = Codec {
    write: InterruptResponse::to_value,
    read: |bytes| in_words(InterruptResponse::from_value(&parsed(bytes)?)),
};
const RECORD: Codec<ProcessingRecord> = Codec {
    write: ProcessingRecord::to_value,
    read: |bytes| in_words(ProcessingRecord::from_value(&parsed(bytes)?)),
};
const ANSWER: Codec<user_envelope::UserEnvelope> = Codec {
    write: user_envelope::UserEnvelope::to_value,
    read: |bytes| {
        let text = in_words(std::str::from_utf8(bytes))?;
        in_words(user_envelope::parse(text, true, &[]))
    },
};

fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn json_keeps_every_value(value in values::value()) {
        JSON.keeps(&value)?;
    }

    #[test]
    fn json_keeps_deep_and_wide_values(value in values::deep_or_wide()) {
        JSON.keeps(&value)?;
    }

    #[test]
    fn both_forms_keep_every_signal(signal in contracts::signal()) {
        ORCHESTRATOR.keeps(&signal)?;
        prop_assert_eq!(signal.compact(), signal.orchestrator(None).compact());
        prop_assert!(signal.check().is_ok());
        RESOLVER.keeps(&signal)?;
    }

    #[test]
    fn a_report_is_kept_whole(report in contracts::report()) {
        REPORT.keeps(&report)?;
    }

    #[test]
    fn an_answer_is_kept_whole(answer in contracts::answer()) {
        ANSWER.keeps(&answer)?;
    }

    #[test]
    fn parts_of_an_envelope_are_kept_whole(
        interrupt in contracts::interrupt(),
        response in contracts::response(),
        record in contracts::record(),
    ) {
        INTERRUPT.keeps(&interrupt)?;
        RESPONSE.keeps(&response)?;
        RECORD.keeps(&record)?;
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn a_handoff_is_kept_whole(handoff in contracts::handoff()) {
        HANDOFF.keeps(&handoff)?;
        prop_assert_eq!(handoff.compact(), handoff.to_value().compact());
        prop_assert!(handoff.check().is_ok());
    }

    #[test]
    fn an_envelope_is_kept_whole(envelope in contracts::envelope()) {
        ENVELOPE.keeps(&envelope)?;
        prop_assert_eq!(envelope.compact(), envelope.to_state_dict().compact());
    }

    #[test]
    fn the_exchanged_form_of_an_envelope_is_read_and_kept(envelope in contracts::envelope()) {
        let exchanged = envelope.to_dict();
        let read = Envelope::from_dict(&exchanged).map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        prop_assert_eq!(read.to_dict(), exchanged);
        ENVELOPE.keeps(&read)?;
    }

    #[test]
    fn what_is_read_from_a_changed_envelope_is_kept(
        envelope in contracts::envelope(),
        change in values::change(),
    ) {
        ENVELOPE.keeps_what_it_reads(values::changed(&envelope.to_state_dict(), &change).compact().as_bytes())?;
    }

    #[test]
    fn what_is_read_from_a_changed_handoff_is_kept(handoff in contracts::handoff(), change in values::change()) {
        HANDOFF.keeps_what_it_reads(values::changed(&handoff.to_value(), &change).compact().as_bytes())?;
    }

    #[test]
    fn what_is_read_from_a_changed_signal_is_kept(signal in contracts::signal(), change in values::change()) {
        for form in [signal.orchestrator(None), signal.resolver()] {
            let bytes = values::changed(&form, &change).compact().into_bytes();
            ORCHESTRATOR.keeps_what_it_reads(&bytes)?;
            RESOLVER.keeps_what_it_reads(&bytes)?;
        }
    }

    #[test]
    fn what_is_read_from_a_changed_report_is_kept(report in contracts::report(), change in values::change()) {
        REPORT.keeps_what_it_reads(values::changed(&report.to_value(), &change).compact().as_bytes())?;
    }
}
