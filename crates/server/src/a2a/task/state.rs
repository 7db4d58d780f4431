//! The state of a task, from the status of its run.
//!
//! A run begins with its first event, needs no credentials of its client, and is refused before it exists. So
//! its task is never `Submitted`, `AuthRequired` or `Rejected`, unlike tasks of other agents.
//!
//! A run that continues while a question is open is `running`. Its task is `InputRequired`, because otherwise
//! the client would not see the question.

use envoi_a2a::model::TaskState;
use envoi_journal::{RunRow, RunStatus};
use envoi_kernel::event::EndStatus;

/// The state of the task for this run's row.
pub(crate) fn of_row(row: &RunRow) -> TaskState {
    of(row.status(), row.open_interrupts > 0)
}

/// The state of a run's task. `asks`: whether the run has an open question.
pub(crate) const fn of(status: RunStatus, asks: bool) -> TaskState {
    match status {
        RunStatus::Running if asks => TaskState::InputRequired,
        RunStatus::Running => TaskState::Working,
        RunStatus::Waiting => TaskState::InputRequired,
        RunStatus::Ended(EndStatus::Succeeded) => TaskState::Completed,
        RunStatus::Ended(EndStatus::Failed | EndStatus::Exhausted) => TaskState::Failed,
        RunStatus::Ended(EndStatus::Cancelled) => TaskState::Canceled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_task_that_stands_where_the_run_does() {
        let ended = RunStatus::Ended;
        let rows = [
            (RunStatus::Running, false, TaskState::Working),
            (RunStatus::Running, true, TaskState::InputRequired),
            (RunStatus::Waiting, true, TaskState::InputRequired),
            (ended(EndStatus::Succeeded), false, TaskState::Completed),
            (ended(EndStatus::Failed), false, TaskState::Failed),
            (ended(EndStatus::Exhausted), false, TaskState::Failed),
            (ended(EndStatus::Cancelled), false, TaskState::Canceled),
        ];
        for (status, asks, state) in rows {
            assert_eq!(of(status, asks), state, "{status:?}");
            assert_eq!(state.is_terminal(), matches!(status, RunStatus::Ended(_)), "{status:?}");
            assert_eq!(state.is_interrupted(), asks, "{status:?}");
        }
    }
}
