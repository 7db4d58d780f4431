//! The approval of a tool call that an agent program postponed until a person decides.
//!
//! An answer applies only to the next attempt. If that attempt is interrupted, it is not known whether it
//! made the call. The agent then has to ask again, so that no answer allows a call twice.

use crate::model::{
    command::CallAnswer,
    event::{AgentOutcome, AttemptSettled, Choice, InterruptAnswered, InterruptRaised},
};
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};

/// The text for the agent if there is no answer.
const SILENCE: &str = "Nobody answered in time.";

/// The state of the approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolApproval {
    /// No call is postponed.
    #[default]
    None,
    /// The call waits for a person; its session waits too.
    Waits,
    /// The next attempt carries out this decision.
    Decided(Box<CallAnswer>),
}

impl ToolApproval {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The state after an ended attempt.
    pub(crate) fn after(event: &AttemptSettled, is_program: bool) -> Self {
        match event.agent {
            Some(AgentOutcome::Asks { .. }) if is_program => Self::Waits,
            _ => Self::None,
        }
    }

    /// The state after the answer of a person.
    pub(crate) fn answered(raised: &InterruptRaised, event: &InterruptAnswered) -> Self {
        let allows = event.choice != Choice::Deny;
        Self::Decided(Box::new(CallAnswer {
            interrupt: Some(event.interrupt.clone()),
            call: call_of(raised),
            allows,
            text: event.text.clone(),
            data: Some(&event.data).filter(|data| allows && data.as_object().is_some()).cloned(),
        }))
    }

    /// The state after the question has expired.
    pub(crate) fn expired(raised: &InterruptRaised) -> Self {
        let call = call_of(raised);
        let text = SILENCE.to_owned();
        Self::Decided(Box::new(CallAnswer { interrupt: None, call, allows: false, text, data: None }))
    }

    /// The decision that the next attempt carries out.
    pub(crate) fn decided(&self) -> Option<&CallAnswer> {
        match self {
            Self::Decided(answer) => Some(answer),
            Self::None | Self::Waits => None,
        }
    }
}

fn call_of(raised: &InterruptRaised) -> String {
    raised.evidence.get("call").and_then(Value::as_str).unwrap_or("").to_owned()
}
