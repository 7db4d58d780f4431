//! A call of a tool that an agent program has put off until a person decides, and what was decided.
//!
//! An answer is for the next attempt alone. Whether that made the call is not known if it was cut off: then the agent has to ask
//! again, so that no answer allows a call twice.

use crate::model::{
    command::CallAnswer,
    event::{AgentOutcome, AttemptSettled, Choice, InterruptAnswered, InterruptRaised},
};
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};

/// The words for the agent if there is no answer.
const SILENCE: &str = "Nobody answered in time.";

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolApproval {
    /// There is none.
    #[default]
    None,
    /// It waits for a person; its session waits with it.
    Waits,
    /// The next attempt carries this out.
    Decided(Box<CallAnswer>),
}

impl ToolApproval {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// After an attempt that is over.
    pub(crate) fn after(event: &AttemptSettled, is_program: bool) -> Self {
        match event.agent {
            Some(AgentOutcome::Asks { .. }) if is_program => Self::Waits,
            _ => Self::None,
        }
    }

    /// A person has answered.
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

    /// Nobody has.
    pub(crate) fn expired(raised: &InterruptRaised) -> Self {
        let call = call_of(raised);
        let text = SILENCE.to_owned();
        Self::Decided(Box::new(CallAnswer { interrupt: None, call, allows: false, text, data: None }))
    }

    /// What the next attempt carries out.
    pub(crate) fn decided(&self) -> Option<&CallAnswer> {
        match self {
            Self::Decided(answer) => Some(answer),
            Self::None | Self::Waits => None,
        }
    }
}

fn call_of(raised: &InterruptRaised) -> String {
    raised.evidence.get("call").and_then(Value::as_str).unwrap_or_default().to_owned()
}
