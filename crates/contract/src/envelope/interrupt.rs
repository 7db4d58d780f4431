//! A question for which a pipeline waits: its text, its addressee and its answer.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::ENVELOPE_INVALID;
use crate::decode::{Fields, with_unknown};
use crate::error::Diagnostic;
use crate::json::{Object, Value};
use crate::time::Timestamp;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The kind of an interrupt.
    InterruptKind {
        /// Asks a question.
        Clarification = "clarification",
        /// Asks for an approval.
        Confirmation = "confirmation",
        /// Asks for a review of a decision.
        AgentReview = "agent_review",
        /// Stops at a checkpoint.
        Checkpoint = "checkpoint",
        /// Waits for a resource.
        ResourceExhausted = "resource_exhausted",
        /// A time limit was exceeded.
        Timeout = "timeout",
        /// Reports a fault.
        SystemError = "system_error",
    }
}

impl InterruptKind {
    /// How long an interrupt stays open that was made through the library; `None` means for ever. In a run interrupts
    /// expire only if the flow sets an expiry.
    #[must_use]
    pub const fn default_time_to_live_ms(self) -> Option<u64> {
        const MINUTE_MS: u64 = 60_000;
        match self {
            InterruptKind::Clarification => Some(24 * 60 * MINUTE_MS),
            InterruptKind::Confirmation | InterruptKind::SystemError => Some(60 * MINUTE_MS),
            InterruptKind::AgentReview => Some(30 * MINUTE_MS),
            InterruptKind::ResourceExhausted | InterruptKind::Timeout => Some(5 * MINUTE_MS),
            InterruptKind::Checkpoint => None,
        }
    }
}

vocabulary! {
    /// The state of an interrupt.
    InterruptStatus {
        /// Not answered yet.
        Pending = "pending",
        /// Answered.
        Resolved = "resolved",
        /// Not answered in time.
        Expired = "expired",
        /// Withdrawn.
        Cancelled = "cancelled",
    }
}

/// A question to a person or a system, with its 16 members. Interrupts of another system may lack an owner or a
/// status; the kind is required. Source: seed 2, CONTRACTS 3; part `interrupt` of the schema `envelope`.
///
/// ```
/// use envoi_contract::envelope::{FlowInterrupt, InterruptKind};
/// use envoi_contract::time::Timestamp;
///
/// let now = Timestamp::parse("2026-01-02T03:04:05Z").ok_or("no time")?;
/// let interrupt = FlowInterrupt::new("int_1", InterruptKind::Confirmation, now).with_default_expiry(now);
/// assert_eq!(interrupt.expires_at.as_deref(), Some("2026-01-02T04:04:05.000Z"));
/// assert_eq!(FlowInterrupt::from_value(&interrupt.to_value()), Ok(interrupt));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FlowInterrupt {
    /// The id of the interrupt.
    pub id: Option<String>,
    /// The kind.
    pub kind: InterruptKind,
    /// The request it belongs to.
    pub request_id: Option<String>,
    /// The user who should answer.
    pub user_id: Option<String>,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// The envelope it belongs to.
    pub envelope_id: Option<String>,
    /// The question.
    pub question: Option<String>,
    /// The message.
    pub message: Option<String>,
    /// Further data, free-form.
    pub data: Option<Object>,
    /// The answer.
    pub response: Option<InterruptResponse>,
    /// The status.
    pub status: Option<InterruptStatus>,
    /// When it was raised.
    pub created_at: Option<String>,
    /// When it expires.
    pub expires_at: Option<String>,
    /// When it was answered.
    pub resolved_at: Option<String>,
    /// The id of its trace.
    pub trace_id: Option<String>,
    /// The id of its span.
    pub span_id: Option<String>,
    /// Members that this contract does not know, in the order in which they were read.
    pub unknown: Object,
}

impl FlowInterrupt {
    /// An open interrupt: status `pending`, empty `data`, created `now`, without expiry.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: InterruptKind, now: Timestamp) -> FlowInterrupt {
        FlowInterrupt {
            id: Some(id.into()),
            kind,
            request_id: None,
            user_id: None,
            session_id: None,
            envelope_id: None,
            question: None,
            message: None,
            data: Some(Object::new()),
            response: None,
            status: Some(InterruptStatus::Pending),
            created_at: Some(now.to_string()),
            expires_at: None,
            resolved_at: None,
            trace_id: None,
            span_id: None,
            unknown: Object::new(),
        }
    }

    /// Sets the expiry to the default of its kind.
    #[must_use]
    pub fn with_default_expiry(mut self, now: Timestamp) -> FlowInterrupt {
        let expiry = self.kind.default_time_to_live_ms().map(|ttl| now.saturating_add_ms(ttl));
        self.expires_at = expiry.map(|at| at.to_string());
        self
    }

    /// The interrupt as JSON with all its 16 members.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let text = |text: &Option<String>| Value::from(text.clone());
        let known = [
            ("id", text(&self.id)),
            ("kind", Value::from(self.kind.word())),
            ("request_id", text(&self.request_id)),
            ("user_id", text(&self.user_id)),
            ("session_id", text(&self.session_id)),
            ("envelope_id", text(&self.envelope_id)),
            ("question", text(&self.question)),
            ("message", text(&self.message)),
            ("data", Value::from(self.data.clone())),
            ("response", Value::from(self.response.as_ref().map(InterruptResponse::to_value))),
            ("status", Value::from(self.status.map(InterruptStatus::word))),
            ("created_at", text(&self.created_at)),
            ("expires_at", text(&self.expires_at)),
            ("resolved_at", text(&self.resolved_at)),
            ("trace_id", text(&self.trace_id)),
            ("span_id", text(&self.span_id)),
        ];
        let members: Vec<(String, Value)> =
            known.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        with_unknown(Object::from_distinct(members), &self.unknown)
    }

    /// Reads an interrupt. `kind` is required; any other member may be missing or null. No defaults are filled in.
    ///
    /// # Errors
    /// `ENVELOPE_INVALID` with the location: wrong types, unknown words, texts that are not times.
    pub fn from_value(value: &Value) -> Result<FlowInterrupt, Diagnostic> {
        FlowInterrupt::read(Fields::of(value, ENVELOPE_INVALID)?)
    }

    pub(super) fn read(mut fields: Fields) -> Result<FlowInterrupt, Diagnostic> {
        let id = fields.string("id")?;
        let kind = match fields.take("kind") {
            Some(word) => {
                word.as_str().and_then(InterruptKind::parse).ok_or_else(|| wrong_kind(&fields, &word))?
            }
            None => return Err(fields.missing("kind")),
        };
        let [request_id, user_id, session_id, envelope_id] = [
            fields.string("request_id")?,
            fields.string("user_id")?,
            fields.string("session_id")?,
            fields.string("envelope_id")?,
        ];
        let [question, message] = [fields.string("question")?, fields.string("message")?];
        let data = fields.object_or_null("data")?;
        let response = read_response(&mut fields)?;
        let status = read_status(&mut fields)?;
        let [created_at, expires_at, resolved_at] =
            [fields.time("created_at")?, fields.time("expires_at")?, fields.time("resolved_at")?];
        let [trace_id, span_id] = [fields.string("trace_id")?, fields.string("span_id")?];
        let unknown = fields.rest();
        Ok(FlowInterrupt {
            id,
            kind,
            request_id,
            user_id,
            session_id,
            envelope_id,
            question,
            message,
            data,
            response,
            status,
            created_at,
            expires_at,
            resolved_at,
            trace_id,
            span_id,
            unknown,
        })
    }
}

fn wrong_kind(fields: &Fields, word: &Value) -> Diagnostic {
    let expected =
        "clarification, confirmation, agent_review, checkpoint, resource_exhausted, timeout or system_error";
    fields.wrong("kind", expected, word)
}

fn read_status(fields: &mut Fields) -> Result<Option<InterruptStatus>, Diagnostic> {
    let Some(word) = fields.take("status").filter(|word| !word.is_null()) else { return Ok(None) };
    let status = word.as_str().and_then(InterruptStatus::parse);
    status
        .map(Some)
        .ok_or_else(|| fields.wrong("status", "pending, resolved, expired, cancelled or null", &word))
}

fn read_response(fields: &mut Fields) -> Result<Option<InterruptResponse>, Diagnostic> {
    match fields.take("response") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(response)) => {
            InterruptResponse::read(Fields::of_object(response, ENVELOPE_INVALID))
                .map(Some)
                .map_err(|refusal| refusal.inside("/response"))
        }
        Some(other) => Err(fields.wrong("response", "an object or null", &other)),
    }
}

/// An answer. Only the present members are written. `received_at` is stored once and is not renewed at each save.
/// Source: CONTRACTS 3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterruptResponse {
    /// The answer in words.
    pub text: Option<String>,
    /// The approval: yes or no.
    pub approved: Option<bool>,
    /// The name of a decision.
    pub decision: Option<String>,
    /// Further data of the answer, free-form.
    pub data: Option<Object>,
    /// When it arrived; stored once.
    pub received_at: Option<String>,
    /// Members that this contract does not know, in the order in which they were read.
    pub unknown: Object,
}

impl InterruptResponse {
    /// The answer as JSON, without absent members.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let known = [
            ("text", Value::from(self.text.clone())),
            ("approved", Value::from(self.approved)),
            ("decision", Value::from(self.decision.clone())),
            ("data", Value::from(self.data.clone())),
            ("received_at", Value::from(self.received_at.clone())),
        ];
        let there = known.into_iter().filter(|(_, value)| !value.is_null());
        with_unknown(there.collect(), &self.unknown)
    }

    /// Reads an answer; any member may be missing or null.
    ///
    /// # Errors
    /// `ENVELOPE_INVALID` with the location: wrong types, a text that is not a time.
    pub fn from_value(value: &Value) -> Result<InterruptResponse, Diagnostic> {
        InterruptResponse::read(Fields::of(value, ENVELOPE_INVALID)?)
    }

    fn read(mut fields: Fields) -> Result<InterruptResponse, Diagnostic> {
        let text = fields.string("text")?;
        let approved = match fields.take("approved") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(approved)) => Some(approved),
            Some(other) => return Err(fields.wrong("approved", "true, false or null", &other)),
        };
        let decision = fields.string("decision")?;
        let data = fields.object_or_null("data")?;
        let received_at = fields.time("received_at")?;
        Ok(InterruptResponse { text, approved, decision, data, received_at, unknown: fields.rest() })
    }
}
