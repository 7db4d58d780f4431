//! Where a flow file reads what came of a step.

use crate::model::ids::StepId;

/// One place of a flow file that reads the result of a step of the same flow, or the goals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRead {
    /// The step whose text reads; for the list of `goals`, the first step of the rounds.
    pub reader: StepId,
    /// Whether the list of `goals` reads.
    pub for_goals: bool,
    /// The step whose result is read. `None`: the goals.
    pub step: Option<StepId>,
    /// As it is written: `steps.build.data.version`.
    pub path: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// Whether it is no failure if there is no such result: only its status is read, or the text says what holds then.
    pub optional: bool,
}
