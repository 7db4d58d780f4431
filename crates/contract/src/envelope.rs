//! The state of a whole pipeline (contract 3): 37 members that every language reads and writes without the loss of a
//! digit.
//!
//! Owns the type, its two written forms, the variants that other systems write, and the methods of the seed. It does
//! not decide what happens in a run: limits are only numbers here, and are enforced where steps are started.
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
mod part;
mod read;
mod reason;
mod record;

#[cfg(test)]
mod tests;

use crate::code::Code;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use goals::{DEFAULT_MIN_PROGRESS_STAGES, Request, StageContext, create_envelope};
pub use import::Interpretation;
pub use interrupt::{FlowInterrupt, InterruptKind, InterruptResponse, InterruptStatus};
pub use reason::TerminalReason;
pub use record::{ProcessingRecord, RecordStatus};

use self::part::Part;
use crate::decode::with_unknown;
use crate::json::{Members, Object, Value, write_compact};

/// Code of a refused envelope.
pub const ENVELOPE_INVALID: Code = Code::EnvelopeInvalid;

/// The members of [`Envelope::to_dict`], in order; [`Envelope::to_state_dict`] writes all 37.
pub(crate) const DICT_MEMBERS: [&str; 22] = [
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

/// The state of one pipeline, in two written forms: [`Envelope::to_state_dict`] with all 37 members,
/// [`Envelope::to_dict`] with the 22 that are exchanged. [`Envelope::from_dict`] reads either, any subset, and the
/// variants of related systems. `Default` has the seed's values. Source: seed 2, CONTRACTS 3; schemas `envelope` and
/// `envelope-dict`.
///
/// Counters are at most 2^53 - 1; times are RFC 3339 texts, unchanged, and their offset may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The id of the envelope.
    pub envelope_id: String,
    /// The id of the request that caused it.
    pub request_id: String,
    /// The user who made the request.
    pub user_id: String,
    /// The session of the request.
    pub session_id: String,
    /// The text of the request.
    pub raw_input: String,
    /// When the request arrived.
    pub received_at: Option<String>,
    /// The output of each step, free-form.
    pub outputs: Object,
    /// The current step.
    pub current_stage: String,
    /// The steps in order.
    pub stage_order: Vec<String>,
    /// How many times a loop has gone back.
    pub iteration: u64,
    /// How many times loops may go back.
    pub max_iterations: u64,
    /// Model calls made.
    pub llm_call_count: u64,
    /// Model calls allowed.
    pub max_llm_calls: u64,
    /// Attempts started.
    pub agent_hop_count: u64,
    /// Attempts allowed.
    pub max_agent_hops: u64,
    /// The reason why it ended, for programs.
    pub terminal_reason: Option<TerminalReason>,
    /// Whether it has ended.
    pub terminated: bool,
    /// The reason why it ended, for people.
    pub termination_reason: Option<String>,
    /// Whether it waits for a person.
    pub interrupt_pending: bool,
    /// The open interrupt; the oldest one if there are several.
    pub interrupt: Option<FlowInterrupt>,
    /// The running steps.
    pub active_stages: Members<bool>,
    /// The finished steps.
    pub completed_stage_set: Members<bool>,
    /// The failed steps, each with its reason.
    pub failed_stages: Members<String>,
    /// Whether steps run in parallel.
    pub parallel_mode: bool,
    /// The result of each finished round, free-form.
    pub completed_stages: Vec<Object>,
    /// The current round of the goals, from 1.
    pub current_stage_number: u64,
    /// Rounds allowed.
    pub max_stages: u64,
    /// The goals, including duplicates.
    pub all_goals: Vec<String>,
    /// The goals that are not complete.
    pub remaining_goals: Vec<String>,
    /// Each goal's status: `pending`, `complete`, or `satisfied` from a related system.
    pub goal_completion_status: Members<String>,
    /// Earlier plans, free-form.
    pub prior_plans: Vec<Object>,
    /// The feedback of critics.
    pub loop_feedback: Vec<String>,
    /// A record per attempt.
    pub processing_history: Vec<ProcessingRecord>,
    /// Errors, free-form.
    pub errors: Vec<Object>,
    /// When it was created.
    pub created_at: Option<String>,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Metadata, free-form.
    pub metadata: Object,
    /// Members that this contract does not know, in the order in which they were read.
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
    /// All 37 members, with nulls, then the unknown ones: the complete state.
    #[must_use]
    pub fn to_state_dict(&self) -> Value {
        self.written(&self.members())
    }

    /// The 22 members that related systems exchange while a pipeline runs, then the unknown ones. They do not include
    /// limits, goals, history and times.
    #[must_use]
    pub fn to_dict(&self) -> Value {
        let exchanged = self.members().into_iter().filter(|(name, _)| DICT_MEMBERS.contains(name));
        self.written(&exchanged.collect::<Vec<_>>())
    }

    /// The complete state on one line: the bytes of `to_state_dict().compact()`, without copying the values first.
    #[must_use]
    pub fn compact(&self) -> String {
        let members = self.members();
        let mut out = String::from("{");
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            part::member(name, &mut out);
            value.write(&mut out);
        }
        for (name, value) in &self.unknown {
            if !members.iter().any(|(known, _)| *known == name) {
                out.push(',');
                part::member(name, &mut out);
                write_compact(value, &mut out);
            }
        }
        out.push('}');
        out
    }

    fn written(&self, members: &[(&'static str, Part<'_>)]) -> Value {
        let copied = members.iter().map(|(name, value)| (name.to_string(), value.to_value()));
        with_unknown(Object::from_distinct(copied.collect()), &self.unknown)
    }

    fn members(&self) -> Vec<(&'static str, Part<'_>)> {
        let mut members = Vec::with_capacity(37);
        members.extend(self.request());
        members.extend(self.progress());
        members.extend(self.ending());
        members.extend(self.stages());
        members.extend(self.goals());
        members.extend(self.history());
        members
    }

    fn request(&self) -> [(&'static str, Part<'_>); 7] {
        [
            ("envelope_id", Part::Text(&self.envelope_id)),
            ("request_id", Part::Text(&self.request_id)),
            ("user_id", Part::Text(&self.user_id)),
            ("session_id", Part::Text(&self.session_id)),
            ("raw_input", Part::Text(&self.raw_input)),
            ("received_at", Part::MaybeText(self.received_at.as_deref())),
            ("outputs", Part::Free(&self.outputs)),
        ]
    }

    fn progress(&self) -> [(&'static str, Part<'_>); 8] {
        [
            ("current_stage", Part::Text(&self.current_stage)),
            ("stage_order", Part::Texts(&self.stage_order)),
            ("iteration", Part::Count(self.iteration)),
            ("max_iterations", Part::Count(self.max_iterations)),
            ("llm_call_count", Part::Count(self.llm_call_count)),
            ("max_llm_calls", Part::Count(self.max_llm_calls)),
            ("agent_hop_count", Part::Count(self.agent_hop_count)),
            ("max_agent_hops", Part::Count(self.max_agent_hops)),
        ]
    }

    fn ending(&self) -> [(&'static str, Part<'_>); 5] {
        let interrupt = self.interrupt.as_ref().map(FlowInterrupt::to_value);
        [
            ("terminal_reason", Part::MaybeText(self.terminal_reason.map(TerminalReason::word))),
            ("terminated", Part::Flag(self.terminated)),
            ("termination_reason", Part::MaybeText(self.termination_reason.as_deref())),
            ("interrupt_pending", Part::Flag(self.interrupt_pending)),
            ("interrupt", Part::Made(interrupt.unwrap_or(Value::Null))),
        ]
    }

    fn stages(&self) -> [(&'static str, Part<'_>); 5] {
        [
            ("active_stages", Part::Flags(&self.active_stages)),
            ("completed_stage_set", Part::Flags(&self.completed_stage_set)),
            ("failed_stages", Part::TextMap(&self.failed_stages)),
            ("parallel_mode", Part::Flag(self.parallel_mode)),
            ("completed_stages", Part::FreeList(&self.completed_stages)),
        ]
    }

    fn goals(&self) -> [(&'static str, Part<'_>); 5] {
        [
            ("current_stage_number", Part::Count(self.current_stage_number)),
            ("max_stages", Part::Count(self.max_stages)),
            ("all_goals", Part::Texts(&self.all_goals)),
            ("remaining_goals", Part::Texts(&self.remaining_goals)),
            ("goal_completion_status", Part::TextMap(&self.goal_completion_status)),
        ]
    }

    fn history(&self) -> [(&'static str, Part<'_>); 7] {
        let records: Vec<Value> = self.processing_history.iter().map(ProcessingRecord::to_value).collect();
        [
            ("prior_plans", Part::FreeList(&self.prior_plans)),
            ("loop_feedback", Part::Texts(&self.loop_feedback)),
            ("processing_history", Part::Made(Value::from(records))),
            ("errors", Part::FreeList(&self.errors)),
            ("created_at", Part::MaybeText(self.created_at.as_deref())),
            ("completed_at", Part::MaybeText(self.completed_at.as_deref())),
            ("metadata", Part::Free(&self.metadata)),
        ]
    }
}
