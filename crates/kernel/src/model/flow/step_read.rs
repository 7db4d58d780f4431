//! A place in a flow file that reads the result of a step.

use crate::model::ids::StepId;

/// A place in a flow file that reads the result of a step of the same flow, or the goals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRead {
    /// The step that contains the expression. For the list of `goals`, the first step of the rounds.
    pub reader: StepId,
    /// Whether the list of `goals` contains the expression.
    pub for_goals: bool,
    /// The step whose result is read. `None`: the goals.
    pub step: Option<StepId>,
    /// The path as written: `steps.build.data.version`.
    pub path: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// Whether a missing result is no failure: only its status is read, or the expression has a default.
    pub optional: bool,
}
