//! The plan of an `ask` step: its question, the people who may answer, and the step that follows each answer.

use super::Template;
use crate::model::ids::StepId;
use envoi_contract::{envelope::InterruptKind, json::Value};

/// A question before its message is filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct AskPlan {
    /// The kind of the question: a clarification takes words (or a form), every other kind a decision.
    pub kind: InterruptKind,
    /// The question, in Markdown.
    pub message: Template,
    /// A JSON Schema of the response. The engine checks an answer against it before the kernel gets it.
    pub schema: Option<Value>,
    /// Milliseconds until the question expires; `None`: never.
    pub expires_in_ms: Option<u64>,
    /// The step after a denial; `None`: the run fails.
    pub on_deny: Option<StepId>,
    /// The reaction to an expiry.
    pub on_expire: Overdue,
    /// Whether the starter of the run may not answer.
    pub not_by_starter: bool,
    /// Number of different people who have to approve, at least 1.
    pub quorum: u32,
}

impl AskPlan {
    /// A question with only a message: one person decides, without a time limit.
    #[must_use]
    pub fn plain(message: Template) -> Self {
        Self {
            kind: InterruptKind::Confirmation,
            message,
            schema: None,
            expires_in_ms: None,
            on_deny: None,
            on_expire: Overdue::Fail,
            not_by_starter: false,
            quorum: 1,
        }
    }

    /// Whether a denial or an expiry leads to `step`.
    #[must_use]
    pub fn diverts_to(&self, step: &StepId) -> bool {
        self.diversions().any(|target| target == step)
    }

    /// The steps that a denial or an expiry leads to.
    pub fn diversions(&self) -> impl Iterator<Item = &StepId> {
        let overdue = match &self.on_expire {
            Overdue::Go(step) => Some(step),
            Overdue::Fail | Overdue::Deny => None,
        };
        self.on_deny.iter().chain(overdue)
    }
}

/// `on_expire`: the reaction to an expiry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Overdue {
    /// The run fails.
    #[default]
    Fail,
    /// The same as after a denial.
    Deny,
    /// The run goes on at this step.
    Go(StepId),
}
