//! The phase of a run: not started, going on, being stopped or cancelled, or ended.
//!
//! Each phase has only its own data, so that an ended run cannot be in cancellation and only a started run
//! can end. This module owns the transitions.

use crate::{
    model::{
        event::{RunEnded, RunStarted},
        ids::Principal,
    },
    state::illegal_event::IllegalEvent,
};
use std::sync::Arc;

/// The phase of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Phase {
    /// Before the first event.
    #[default]
    NotStarted,
    /// Steps may start.
    GoingOn {
        /// The first event.
        started: Arc<RunStarted>,
    },
    /// Nothing further starts. The run ends in this way when nothing is live.
    Stopping {
        /// The first event.
        started: Arc<RunStarted>,
        /// How it will end.
        end: RunEnded,
    },
    /// Nothing further starts. The run ends as cancelled when nothing is live, even if it was being stopped
    /// before.
    Cancelling {
        /// The first event.
        started: Arc<RunStarted>,
        /// The requester.
        by: Principal,
    },
    /// The run has ended.
    Ended {
        /// The first event.
        started: Arc<RunStarted>,
        /// How it ended.
        end: RunEnded,
    },
}

impl Phase {
    /// The first event.
    pub(crate) fn started(&self) -> Option<&Arc<RunStarted>> {
        match self {
            Self::NotStarted => None,
            Self::GoingOn { started }
            | Self::Stopping { started, .. }
            | Self::Cancelling { started, .. }
            | Self::Ended { started, .. } => Some(started),
        }
    }

    /// The first event, mutable: for a run whose files were moved.
    pub(crate) fn started_mut(&mut self) -> Option<&mut RunStarted> {
        match self {
            Self::NotStarted => None,
            Self::GoingOn { started }
            | Self::Stopping { started, .. }
            | Self::Cancelling { started, .. }
            | Self::Ended { started, .. } => Some(Arc::make_mut(started)),
        }
    }

    /// How the run ended, if it has.
    pub(crate) fn ended(&self) -> Option<&RunEnded> {
        match self {
            Self::Ended { end, .. } => Some(end),
            Self::NotStarted | Self::GoingOn { .. } | Self::Stopping { .. } | Self::Cancelling { .. } => None,
        }
    }

    /// The person who cancels the run, until it has ended.
    pub(crate) fn cancelled_by(&self) -> Option<&Principal> {
        match self {
            Self::Cancelling { by, .. } => Some(by),
            Self::NotStarted | Self::GoingOn { .. } | Self::Stopping { .. } | Self::Ended { .. } => None,
        }
    }

    /// Starts the run with its first event.
    pub(crate) fn start(&mut self, started: Arc<RunStarted>) -> Result<(), IllegalEvent> {
        match self {
            Self::NotStarted => *self = Self::GoingOn { started },
            _ => return Err(IllegalEvent::NotTheStart),
        }
        Ok(())
    }

    /// Stops the run: nothing further starts, and it will end in this way.
    pub(crate) fn stop(&mut self, end: RunEnded) -> Result<(), IllegalEvent> {
        *self = Self::Stopping { started: self.open()?, end };
        Ok(())
    }

    /// Continues a run that is being stopped, if `is_undone` returns true for its end. Returns whether it
    /// did.
    pub(crate) fn go_on_if(&mut self, is_undone: impl FnOnce(&RunEnded) -> bool) -> bool {
        let Self::Stopping { started, end } = self else { return false };
        let undone = is_undone(end);
        if undone {
            *self = Self::GoingOn { started: Arc::clone(started) };
        }
        undone
    }

    /// Cancels the run: nothing further starts.
    pub(crate) fn cancel(&mut self, by: Principal) -> Result<(), IllegalEvent> {
        *self = Self::Cancelling { started: self.open()?, by };
        Ok(())
    }

    /// Ends the run.
    pub(crate) fn end(&mut self, end: RunEnded) -> Result<(), IllegalEvent> {
        let started = match self {
            Self::Cancelling { started, .. } => Arc::clone(started),
            _ => self.open()?,
        };
        *self = Self::Ended { started, end };
        Ok(())
    }

    /// Continues an ended run.
    pub(crate) fn reopen(&mut self) -> Result<(), IllegalEvent> {
        let Self::Ended { started, .. } = self else { return Err(IllegalEvent::NotOver) };
        *self = Self::GoingOn { started: Arc::clone(started) };
        Ok(())
    }

    /// Continues a forked run, from any phase of the original.
    pub(crate) fn fork(&mut self) -> Result<(), IllegalEvent> {
        let started = self.started().ok_or(IllegalEvent::NotTheStart)?;
        *self = Self::GoingOn { started: Arc::clone(started) };
        Ok(())
    }

    /// The first event of a run that has neither ended nor is being cancelled.
    fn open(&self) -> Result<Arc<RunStarted>, IllegalEvent> {
        match self {
            Self::GoingOn { started } | Self::Stopping { started, .. } => Ok(Arc::clone(started)),
            Self::NotStarted => Err(IllegalEvent::NotTheStart),
            Self::Cancelling { .. } => Err(IllegalEvent::BeingCancelled),
            Self::Ended { .. } => Err(IllegalEvent::Over),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EndStatus;
    use IllegalEvent::{BeingCancelled, NotOver, NotTheStart, Over};
    use envoi_contract::envelope::TerminalReason;
    use envoi_contract::{digest::Digest, json::Object};

    fn started() -> Arc<RunStarted> {
        Arc::new(RunStarted {
            run: crate::model::ids::RunId::new("run_0").unwrap(),
            flow: crate::model::ids::FlowId::new("demo").unwrap(),
            flow_digest: Digest::of(b""),
            language: 1,
            source: "/f.yaml".to_owned(),
            inputs: Object::default(),
            workspace: "/w".to_owned(),
            shared: false,
            keep_files: false,
            snapshots: crate::model::event::SnapshotScope::default(),
            no_cache: false,
            isolated: None,
            run_base: "/b".to_owned(),
            by: by(),
            yes_to: Vec::new(),
            trace: None,
            env: Default::default(),
            requester: Default::default(),
            part: None,
        })
    }

    fn by() -> Principal {
        Principal { tenant: "local".to_owned(), actor: "ada".to_owned() }
    }

    fn end(terminal_reason: TerminalReason) -> RunEnded {
        RunEnded { status: EndStatus::Exhausted, terminal_reason, reason: String::new(), stopped_by: None }
    }

    /// Each change, in the order of the columns below.
    fn changes(phase: &Phase) -> [Result<Phase, IllegalEvent>; 6] {
        let after = |change: fn(&mut Phase) -> Result<(), IllegalEvent>| {
            let mut phase = phase.clone();
            change(&mut phase).map(|()| phase)
        };
        [
            after(|phase| phase.start(started())),
            after(|phase| phase.stop(end(TerminalReason::MaxIterationsExceeded))),
            after(|phase| phase.cancel(by())),
            after(|phase| phase.end(end(TerminalReason::MaxIterationsExceeded))),
            after(Phase::reopen),
            after(Phase::fork),
        ]
    }

    #[test]
    fn a_phase_follows_from_another_or_the_event_is_illegal() {
        let going_on = Phase::GoingOn { started: started() };
        let stopping =
            Phase::Stopping { started: started(), end: end(TerminalReason::MaxIterationsExceeded) };
        let was_stopping =
            Phase::Stopping { started: started(), end: end(TerminalReason::CostLimitExceeded) };
        let cancelling = Phase::Cancelling { started: started(), by: by() };
        let ended = Phase::Ended { started: started(), end: end(TerminalReason::MaxIterationsExceeded) };
        let was_ended = Phase::Ended { started: started(), end: end(TerminalReason::CostLimitExceeded) };
        let go = || Ok(going_on.clone());
        let stop = || Ok(stopping.clone());
        let cancel = || Ok(cancelling.clone());
        let over = || Ok(ended.clone());
        let table = [
            (
                Phase::NotStarted,
                [go(), Err(NotTheStart), Err(NotTheStart), Err(NotTheStart), Err(NotOver), Err(NotTheStart)],
            ),
            (going_on.clone(), [Err(NotTheStart), stop(), cancel(), over(), Err(NotOver), go()]),
            (was_stopping, [Err(NotTheStart), stop(), cancel(), over(), Err(NotOver), go()]),
            (
                cancelling.clone(),
                [Err(NotTheStart), Err(BeingCancelled), Err(BeingCancelled), over(), Err(NotOver), go()],
            ),
            (was_ended, [Err(NotTheStart), Err(Over), Err(Over), Err(Over), go(), go()]),
        ];
        for (phase, expected) in table {
            assert_eq!(changes(&phase), expected, "{phase:?}");
        }
    }

    #[test]
    fn only_what_stopped_a_run_can_be_undone() {
        let mut phase = Phase::Stopping { started: started(), end: end(TerminalReason::CostLimitExceeded) };
        assert!(!phase.go_on_if(|end| end.terminal_reason == TerminalReason::TimeLimitExceeded));
        assert!(matches!(phase, Phase::Stopping { .. }));
        assert!(phase.go_on_if(|end| end.terminal_reason == TerminalReason::CostLimitExceeded));
        assert!(matches!(phase, Phase::GoingOn { .. }));
        assert!(!phase.go_on_if(|_| true));
        let mut phase = Phase::Ended { started: started(), end: end(TerminalReason::CostLimitExceeded) };
        assert!(!phase.go_on_if(|_| true) && phase.ended().is_some());
    }
}
