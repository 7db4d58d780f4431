//! The state of a whole pipeline (contract 3): 37 members that every language reads and writes without losing a digit.
//!
//! Owns the type, its two written forms, what is read from other systems, and the methods of the seed. It does not decide
//! what happens in a run: bounds are numbers here and are enforced where things are started.
//!
//! ```
//! use envoi_contract::envelope::Envelope;
//!
//! let read = Envelope::decode(br#"{"envelope_id": "env-1", "metadata": {"n": 1.00}, "request_context": {}}"#)?;
//! assert_eq!(read.current_stage, "start");
//! assert_eq!(Envelope::from_dict(&read.to_state_dict()), Ok(read));
//! # Ok::<(), envoi_contract::error::Diagnostic>(())
//! ```

mod goals;
mod import;
mod interrupt;
mod read;
mod reason;
mod record;

#[cfg(test)]
mod tests;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use goals::{DEFAULT_MIN_PROGRESS_STAGES, Request, StageContext, create_envelope};
pub use import::Interpretation;
pub use interrupt::{FlowInterrupt, InterruptKind, InterruptResponse, InterruptStatus};
pub use reason::TerminalReason;
pub use record::{ProcessingRecord, RecordStatus};

use crate::decode::with_unknown;
use crate::json::{Members, Object, Value};

/// Code of a refused envelope.
pub const ENVELOPE_INVALID: &str = "ENVELOPE_INVALID";

/// The members of [`Envelope::to_dict`], in order; [`Envelope::to_state_dict`] writes all 37.
const DICT_MEMBERS: [&str; 22] = [
    "envelope_id",
    "request_id",
    "user_id",
    "session_id",
    "raw_input",
    "outputs",
    "current_stage",
    "stage_order",
    "iteration",
    "llm_call_count",
    "agent_hop_count",
    "terminal_reason",
    "terminated",
    "termination_reason",
    "interrupt_pending",
    "interrupt",
    "active_stages",
    "completed_stage_set",
    "failed_stages",
    "parallel_mode",
    "errors",
    "metadata",
];

/// The state of one pipeline. Counters are at most 2^53 - 1; times are RFC 3339 as they were read, maybe without offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The envelope itself.
    pub envelope_id: String,
    /// The request that caused it.
    pub request_id: String,
    /// Who asked.
    pub user_id: String,
    /// The session of the request.
    pub session_id: String,
    /// What was asked.
    pub raw_input: String,
    /// When the request came.
    pub received_at: Option<String>,
    /// What each step gave, free-form.
    pub outputs: Object,
    /// The step that is current.
    pub current_stage: String,
    /// The steps in order.
    pub stage_order: Vec<String>,
    /// How often a loop has gone back.
    pub iteration: u64,
    /// How often loops may go back.
    pub max_iterations: u64,
    /// Model calls made.
    pub llm_call_count: u64,
    /// Model calls allowed.
    pub max_llm_calls: u64,
    /// Attempts started.
    pub agent_hop_count: u64,
    /// Attempts allowed.
    pub max_agent_hops: u64,
    /// Why it ended, for programs.
    pub terminal_reason: Option<TerminalReason>,
    /// Whether it ended.
    pub terminated: bool,
    /// Why it ended, for people.
    pub termination_reason: Option<String>,
    /// Whether it waits for a person.
    pub interrupt_pending: bool,
    /// What it waits for; the oldest, if there are several.
    pub interrupt: Option<FlowInterrupt>,
    /// Steps that are running.
    pub active_stages: Members<bool>,
    /// Steps that are done.
    pub completed_stage_set: Members<bool>,
    /// Steps that failed, and why.
    pub failed_stages: Members<String>,
    /// Whether steps run beside one another.
    pub parallel_mode: bool,
    /// What each finished round did, free-form.
    pub completed_stages: Vec<Object>,
    /// The round of the goals, from 1.
    pub current_stage_number: u64,
    /// Rounds allowed.
    pub max_stages: u64,
    /// The goals, duplicates and all.
    pub all_goals: Vec<String>,
    /// The goals that are not done.
    pub remaining_goals: Vec<String>,
    /// Each goal's status: `pending`, `complete`, or `satisfied` from a relative.
    pub goal_completion_status: Members<String>,
    /// Plans that were tried, free-form.
    pub prior_plans: Vec<Object>,
    /// What critics said.
    pub loop_feedback: Vec<String>,
    /// One record an attempt.
    pub processing_history: Vec<ProcessingRecord>,
    /// What went wrong, free-form.
    pub errors: Vec<Object>,
    /// When it was made.
    pub created_at: Option<String>,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Free-form.
    pub metadata: Object,
    /// Members that this contract does not know, in the order read.
    pub unknown: Object,
}

/// The seed's defaults.
impl Default for Envelope {
    fn default() -> Envelope {
        Envelope {
            envelope_id: String::new(),
            request_id: String::new(),
            user_id: String::new(),
            session_id: String::new(),
            raw_input: String::new(),
            received_at: None,
            outputs: Object::new(),
            current_stage: "start".to_string(),
            stage_order: Vec::new(),
            iteration: 0,
            max_iterations: 3,
            llm_call_count: 0,
            max_llm_calls: 10,
            agent_hop_count: 0,
            max_agent_hops: 21,
            terminal_reason: None,
            terminated: false,
            termination_reason: None,
            interrupt_pending: false,
            interrupt: None,
            active_stages: Members::new(),
            completed_stage_set: Members::new(),
            failed_stages: Members::new(),
            parallel_mode: false,
            completed_stages: Vec::new(),
            current_stage_number: 1,
            max_stages: 5,
            all_goals: Vec::new(),
            remaining_goals: Vec::new(),
            goal_completion_status: Members::new(),
            prior_plans: Vec::new(),
            loop_feedback: Vec::new(),
            processing_history: Vec::new(),
            errors: Vec::new(),
            created_at: None,
            completed_at: None,
            metadata: Object::new(),
            unknown: Object::new(),
        }
    }
}

impl Envelope {
    /// All 37 members, nulls and all, then the unknown ones: the complete state.
    #[must_use]
    pub fn to_state_dict(&self) -> Value {
        with_unknown(Object::from_distinct(self.members()), &self.unknown)
    }

    /// The 22 members that relatives exchange while a pipeline runs, then the unknown ones. Bounds, goals, history and
    /// times are not among them.
    #[must_use]
    pub fn to_dict(&self) -> Value {
        let exchanged = self.members().into_iter().filter(|(name, _)| DICT_MEMBERS.contains(&name.as_str()));
        with_unknown(Object::from_distinct(exchanged.collect()), &self.unknown)
    }

    fn members(&self) -> Vec<(String, Value)> {
        let mut members = Vec::with_capacity(37);
        self.write_request(&mut members);
        self.write_progress(&mut members);
        self.write_ending(&mut members);
        self.write_stages(&mut members);
        self.write_goals(&mut members);
        self.write_history(&mut members);
        members
    }

    fn write_request(&self, members: &mut Vec<(String, Value)>) {
        put(members, "envelope_id", self.envelope_id.as_str());
        put(members, "request_id", self.request_id.as_str());
        put(members, "user_id", self.user_id.as_str());
        put(members, "session_id", self.session_id.as_str());
        put(members, "raw_input", self.raw_input.as_str());
        put(members, "received_at", self.received_at.clone());
        put(members, "outputs", self.outputs.clone());
    }

    fn write_progress(&self, members: &mut Vec<(String, Value)>) {
        put(members, "current_stage", self.current_stage.as_str());
        put(members, "stage_order", self.stage_order.clone());
        put(members, "iteration", self.iteration);
        put(members, "max_iterations", self.max_iterations);
        put(members, "llm_call_count", self.llm_call_count);
        put(members, "max_llm_calls", self.max_llm_calls);
        put(members, "agent_hop_count", self.agent_hop_count);
        put(members, "max_agent_hops", self.max_agent_hops);
    }

    fn write_ending(&self, members: &mut Vec<(String, Value)>) {
        put(members, "terminal_reason", self.terminal_reason.map(TerminalReason::word));
        put(members, "terminated", self.terminated);
        put(members, "termination_reason", self.termination_reason.clone());
        put(members, "interrupt_pending", self.interrupt_pending);
        put(members, "interrupt", self.interrupt.as_ref().map(FlowInterrupt::to_value));
    }

    fn write_stages(&self, members: &mut Vec<(String, Value)>) {
        put(members, "active_stages", map(&self.active_stages, |truth| Value::from(*truth)));
        put(members, "completed_stage_set", map(&self.completed_stage_set, |truth| Value::from(*truth)));
        put(members, "failed_stages", map(&self.failed_stages, |why| Value::from(why.as_str())));
        put(members, "parallel_mode", self.parallel_mode);
        put(members, "completed_stages", self.completed_stages.clone());
    }

    fn write_goals(&self, members: &mut Vec<(String, Value)>) {
        put(members, "current_stage_number", self.current_stage_number);
        put(members, "max_stages", self.max_stages);
        put(members, "all_goals", self.all_goals.clone());
        put(members, "remaining_goals", self.remaining_goals.clone());
        let statuses = map(&self.goal_completion_status, |status| Value::from(status.as_str()));
        put(members, "goal_completion_status", statuses);
    }

    fn write_history(&self, members: &mut Vec<(String, Value)>) {
        put(members, "prior_plans", self.prior_plans.clone());
        put(members, "loop_feedback", self.loop_feedback.clone());
        let records: Vec<Value> = self.processing_history.iter().map(ProcessingRecord::to_value).collect();
        put(members, "processing_history", records);
        put(members, "errors", self.errors.clone());
        put(members, "created_at", self.created_at.clone());
        put(members, "completed_at", self.completed_at.clone());
        put(members, "metadata", self.metadata.clone());
    }
}

fn put(members: &mut Vec<(String, Value)>, name: &str, value: impl Into<Value>) {
    members.push((name.to_string(), value.into()));
}

fn map<V>(members: &Members<V>, write: fn(&V) -> Value) -> Object {
    Object::from_distinct(members.iter().map(|(name, value)| (name.to_string(), write(value))).collect())
}
