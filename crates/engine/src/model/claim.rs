//! The claim of a run on the file system: its workspace with everything below it.
//!
//! Owns when two runs conflict. Accesses no file: workspaces are absolute paths without links, resolved when
//! a run starts.
//!
//! A run holds its workspace as long as something can still write there for it:
//!
//! - an engine goes on with it: it has begun, is neither at rest nor halted, and is not set aside. The loop
//!   knows that of its own runs, and no other engine works on the store;
//! - an attempt of it lives, also one that an earlier engine started: the loop knows those that its runner is
//!   still at, and `Commands::check_free` finds the others by their locks and processes.
//!
//! So a run that is set aside, stopped or in doubt leaves its workspace to others as soon as nothing of it
//! lives. To go on it must enter the workspace again, and that is refused while another run has it. A run
//! that has a live attempt is inside already.

use crate::model::runner::CallingAttempt;
use envoi_kernel::{Fork, event::RunStarted, ids::RunId, input::Start};
use std::path::Path;

/// The claim of one run.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// The run.
    pub(crate) run: RunId,
    /// Absolute, without links.
    pub(crate) workspace: String,
    /// The run's own folder.
    pub(crate) run_base: String,
    /// The run was started to share its workspace.
    pub(crate) shared: bool,
}

impl Claim {
    fn new(run: &RunId, workspace: &str, run_base: &str, shared: bool) -> Self {
        Self { run: run.clone(), workspace: workspace.to_owned(), run_base: run_base.to_owned(), shared }
    }

    /// The claim of a run that has begun.
    pub(crate) fn of(started: &RunStarted) -> Self {
        let RunStarted { run, workspace, run_base, shared, .. } = started;
        Self::new(run, workspace, run_base, *shared)
    }

    pub(crate) fn of_start(start: &Start) -> Self {
        let Start { run, workspace, run_base, shared, .. } = start;
        Self::new(run, workspace, run_base, *shared)
    }

    pub(crate) fn of_fork(fork: &Fork) -> Self {
        let Fork { run, workspace, run_base, shared, .. } = fork;
        Self::new(run, workspace, run_base, *shared)
    }

    /// Whether two runs may change the same files: the workspaces are equal, or one contains the other.
    ///
    /// A copy of a workspace lies in its run's own folder, and that usually lies below the workspace that was
    /// copied: only its own run changes it.
    pub(crate) fn collides(&self, other: &Self) -> bool {
        let ours = Path::new(&self.workspace);
        let theirs = Path::new(&other.workspace);
        let apart = self.run == other.run || (ours != theirs && (self.is_copy() || other.is_copy()));
        !apart && (ours.starts_with(theirs) || theirs.starts_with(ours))
    }

    /// Whether the run works in a copy of its own.
    pub(crate) fn is_copy(&self) -> bool {
        Path::new(&self.workspace).starts_with(&self.run_base)
    }

    /// Whether the run was called by a step of `other`, directly or indirectly. That step waits for it, and
    /// shares its workspace by calling it.
    pub(crate) fn is_called_by(callers: &[CallingAttempt], other: &RunId) -> bool {
        callers.iter().any(|caller| caller.run == *other)
    }
}

/// The message of a workspace that is taken.
pub(crate) fn busy(run: &RunId, workspace: &str, wanted: &str) -> String {
    format!("run `{run}` is at work in {}", place(workspace, wanted))
}

/// The message of a workspace in which a step works that an earlier engine has left.
pub(crate) fn left(run: &RunId, workspace: &str, wanted: &str) -> String {
    let place = place(workspace, wanted);
    format!("no engine goes on with run `{run}`, but a step of it still works in {place}")
}

/// The message of a workspace in which such a step may work.
pub(crate) fn unknown(run: &RunId, workspace: &str, wanted: &str, why: &str) -> String {
    let place = place(workspace, wanted);
    format!("a step of run `{run}` may still work in {place}: {why}")
}

fn place(workspace: &str, wanted: &str) -> String {
    let there = format!("the workspace `{workspace}`");
    if workspace == wanted {
        there
    } else if Path::new(wanted).starts_with(workspace) {
        format!("{there}, in which `{wanted}` lies")
    } else {
        format!("{there}, which lies in `{wanted}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collide(ours: &str, theirs: &str) -> bool {
        let [first, second] = ["run_a", "run_b"].map(|id| RunId::new(id).unwrap());
        let claim = |run, workspace| {
            let run_base = if run == &first { "/w/.envoi/runs/run_a" } else { "/w/.envoi/runs/run_b" };
            Claim::new(run, workspace, run_base, false)
        };
        let ours = claim(&first, ours);
        let theirs = claim(&second, theirs);
        assert_eq!(ours.collides(&theirs), theirs.collides(&ours));
        assert!(!ours.collides(&ours), "a run is not in its own way");
        ours.collides(&theirs)
    }

    #[test]
    fn a_workspace_is_claimed_with_all_that_lies_in_it() {
        for (ours, theirs, expected) in [
            ("/w", "/w", true),
            ("/w/sub", "/w", true),
            ("/w/sub/deep", "/w", true),
            ("/", "/w", true),
            ("/w/sub", "/w/sub2", false),
            ("/w", "/w2", false),
            ("/w/a", "/w/b", false),
            ("/w/.envoi/runs/run_a/_workspace", "/w", false),
            ("/w/.envoi/runs/run_a/_workspace", "/w/.envoi/runs/run_b/_workspace", false),
            ("/w/.envoi/runs/run_b/_workspace", "/w/.envoi/runs/run_b/_workspace", true),
        ] {
            assert_eq!(collide(ours, theirs), expected, "{ours} {theirs}");
        }
    }

    #[test]
    fn the_message_names_both_workspaces() {
        let run = RunId::new("run_a").unwrap();
        assert_eq!(busy(&run, "/w", "/w"), "run `run_a` is at work in the workspace `/w`");
        assert_eq!(
            busy(&run, "/w", "/w/s"),
            "run `run_a` is at work in the workspace `/w`, in which `/w/s` lies"
        );
        assert_eq!(
            busy(&run, "/w/s", "/w"),
            "run `run_a` is at work in the workspace `/w/s`, which lies in `/w`"
        );
    }
}
