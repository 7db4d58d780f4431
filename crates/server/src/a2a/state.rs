//! What the status of a run is called as the state of a task.
//!
//! A run is made with its first event and begins at once, asks for no credentials, and is refused before it is
//! made: it is never `Submitted`, `AuthRequired` or `Rejected`. Other agents' tasks are.

use super::model::TaskState;
use envoi_journal::RunStatus;
use envoi_kernel::event::EndStatus;

/// The state of the task that is a run.
pub(crate) const fn of(status: RunStatus) -> TaskState {
    match status {
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
            (RunStatus::Running, TaskState::Working),
            (RunStatus::Waiting, TaskState::InputRequired),
            (ended(EndStatus::Succeeded), TaskState::Completed),
            (ended(EndStatus::Failed), TaskState::Failed),
            (ended(EndStatus::Exhausted), TaskState::Failed),
            (ended(EndStatus::Cancelled), TaskState::Canceled),
        ];
        for (status, state) in rows {
            assert_eq!(of(status), state, "{status:?}");
            assert_eq!(state.is_terminal(), matches!(status, RunStatus::Ended(_)), "{status:?}");
            assert_eq!(state.is_interrupted(), status == RunStatus::Waiting, "{status:?}");
        }
    }
}
