//! Reads an envelope from either form, any subset of it, and the variants of related systems.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{ENVELOPE_INVALID, Envelope, FlowInterrupt, ProcessingRecord, TerminalReason};
use crate::decode::Fields;
use crate::error::Diagnostic;
use crate::json::{Object, Value};

impl Envelope {
    /// Reads an envelope from bytes.
    ///
    /// # Errors
    /// `ENVELOPE_INVALID` with the location: not JSON, wrong types, unknown words, texts that are not times.
    pub fn decode(bytes: &[u8]) -> Result<Envelope, Diagnostic> {
        let value = Value::parse(bytes).map_err(|error| Diagnostic::of_json(ENVELOPE_INVALID, error))?;
        Envelope::from_value(value).map_err(|refusal| refusal.located(bytes))
    }

    /// Reads an envelope from either form. Missing members get the seed's defaults.
    ///
    /// # Errors
    /// As [`Envelope::decode`], without line and column.
    pub fn from_dict(value: &Value) -> Result<Envelope, Diagnostic> {
        Envelope::from_value(value.clone())
    }

    pub(crate) fn from_value(value: Value) -> Result<Envelope, Diagnostic> {
        let Value::Object(object) = value else {
            return Err(Diagnostic::of_value(ENVELOPE_INVALID, "", "an object", &value));
        };
        let mut fields = Fields::of_object(object, ENVELOPE_INVALID);
        let mut envelope = Envelope::default();
        envelope.read_request(&mut fields)?;
        envelope.read_progress(&mut fields)?;
        envelope.read_ending(&mut fields)?;
        envelope.read_stages(&mut fields)?;
        envelope.read_goals(&mut fields)?;
        envelope.read_history(&mut fields)?;
        envelope.unknown = fields.rest();
        Ok(envelope)
    }

    fn read_request(&mut self, fields: &mut Fields) -> Result<(), Diagnostic> {
        self.envelope_id = fields.string_or_default("envelope_id")?;
        self.request_id = fields.string_or_default("request_id")?;
        self.user_id = fields.string_or_default("user_id")?;
        self.session_id = fields.string_or_default("session_id")?;
        self.raw_input = fields.string_or_default("raw_input")?;
        self.received_at = fields.time("received_at")?;
        self.outputs = fields.object("outputs")?;
        Ok(())
    }

    fn read_progress(&mut self, fields: &mut Fields) -> Result<(), Diagnostic> {
        if let Some(stage) = fields.take("current_stage") {
            let Value::String(stage) = stage else {
                return Err(fields.wrong("current_stage", "a string", &stage));
            };
            self.current_stage = stage;
        }
        self.stage_order = fields.strings("stage_order")?;
        self.iteration = fields.u53_or("iteration", self.iteration)?;
        self.max_iterations = fields.u53_or("max_iterations", self.max_iterations)?;
        self.llm_call_count = fields.u53_or("llm_call_count", self.llm_call_count)?;
        self.max_llm_calls = fields.u53_or("max_llm_calls", self.max_llm_calls)?;
        self.agent_hop_count = fields.u53_or("agent_hop_count", self.agent_hop_count)?;
        self.max_agent_hops = fields.u53_or("max_agent_hops", self.max_agent_hops)?;
        Ok(())
    }

    fn read_ending(&mut self, fields: &mut Fields) -> Result<(), Diagnostic> {
        self.terminal_reason = terminal_reason(fields)?;
        self.terminated = fields.bool("terminated")?;
        self.termination_reason = fields.string("termination_reason")?;
        self.interrupt_pending = fields.bool("interrupt_pending")?;
        self.interrupt = interrupt(fields)?;
        Ok(())
    }

    fn read_stages(&mut self, fields: &mut Fields) -> Result<(), Diagnostic> {
        self.active_stages = fields.map_of("active_stages", "true or false", truth)?;
        self.completed_stage_set = fields.map_of("completed_stage_set", "true or false", truth)?;
        self.failed_stages = fields.map_of("failed_stages", "a string", text)?;
        self.parallel_mode = fields.bool("parallel_mode")?;
        self.completed_stages = objects(fields, "completed_stages")?;
        Ok(())
    }

    fn read_goals(&mut self, fields: &mut Fields) -> Result<(), Diagnostic> {
        self.current_stage_number = fields.u53_or("current_stage_number", self.current_stage_number)?;
        self.max_stages = fields.u53_or("max_stages", self.max_stages)?;
        self.all_goals = fields.strings("all_goals")?;
        self.remaining_goals = fields.strings("remaining_goals")?;
        self.goal_completion_status = fields.map_of("goal_completion_status", "a string", text)?;
        Ok(())
    }

    fn read_history(&mut self, fields: &mut Fields) -> Result<(), Diagnostic> {
        self.prior_plans = objects(fields, "prior_plans")?;
        self.loop_feedback = fields.strings("loop_feedback")?;
        self.processing_history = each(fields, "processing_history", ProcessingRecord::read)?;
        self.errors = objects(fields, "errors")?;
        self.created_at = fields.time("created_at")?;
        self.completed_at = fields.time("completed_at")?;
        self.metadata = fields.object("metadata")?;
        Ok(())
    }
}

fn truth(value: Value) -> Result<bool, Value> {
    match value {
        Value::Bool(truth) => Ok(truth),
        other => Err(other),
    }
}

fn text(value: Value) -> Result<String, Value> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(other),
    }
}

fn terminal_reason(fields: &mut Fields) -> Result<Option<TerminalReason>, Diagnostic> {
    let Some(word) = fields.take("terminal_reason").filter(|word| !word.is_null()) else { return Ok(None) };
    let reason = word.as_str().and_then(TerminalReason::parse_ignoring_case);
    reason.map(Some).ok_or_else(|| {
        let words: Vec<&str> = TerminalReason::ALL.iter().map(|reason| reason.word()).collect();
        fields.wrong("terminal_reason", &format!("null or one of {}", words.join(", ")), &word)
    })
}

fn interrupt(fields: &mut Fields) -> Result<Option<FlowInterrupt>, Diagnostic> {
    match fields.take("interrupt") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(interrupt)) => FlowInterrupt::read(Fields::of_object(interrupt, ENVELOPE_INVALID))
            .map(Some)
            .map_err(|refusal| refusal.inside("/interrupt")),
        Some(other) => Err(fields.wrong("interrupt", "an object or null", &other)),
    }
}

/// A list of objects, each read by `read`; empty when absent.
fn each<T>(
    fields: &mut Fields,
    name: &str,
    read: fn(Fields) -> Result<T, Diagnostic>,
) -> Result<Vec<T>, Diagnostic> {
    let Some(value) = fields.take(name) else { return Ok(Vec::new()) };
    let Value::Array(elements) = value else { return Err(fields.wrong(name, "a list of objects", &value)) };
    let read_one = |(index, element): (usize, Value)| {
        let read = match element {
            Value::Object(object) => read(Fields::of_object(object, ENVELOPE_INVALID)),
            other => Err(Diagnostic::of_value(ENVELOPE_INVALID, "", "an object", &other)),
        };
        read.map_err(|refusal| refusal.inside(&format!("/{name}/{index}")))
    };
    elements.into_iter().enumerate().map(read_one).collect()
}

fn objects(fields: &mut Fields, name: &str) -> Result<Vec<Object>, Diagnostic> {
    each(fields, name, |object| Ok(object.rest()))
}
