//! The questions of a run and their states: which are open, in which order, and until when.

use crate::text::duration::between;
use envoi_contract::time::Timestamp;
use envoi_journal::{InboxRow, InterruptState, Reader};
use envoi_kernel::{
    Run,
    event::InterruptRaised,
    ids::{InterruptId, RunId},
};

/// The open questions of a run, oldest first. Questions of the same time are in the order of their steps in
/// the flow.
pub(crate) fn open(run: &Run) -> Vec<&InterruptRaised> {
    let mut open: Vec<&InterruptRaised> = run.interrupts().collect();
    let place = |raised: &InterruptRaised| run.flow_of(&raised.visit).position(&raised.visit.step);
    open.sort_by_cached_key(|raised| (raised.raised_at, place(raised), raised.visit.clone()));
    open
}

/// Whether it is open and has expired, so that it cannot be answered any more.
pub(crate) fn has_lapsed(row: &InboxRow, now: Timestamp) -> bool {
    row.state == InterruptState::Open && row.expires_at.is_some_and(|at| now >= at)
}

/// The state of a question, for people.
pub(crate) fn stands(row: &InboxRow, now: Timestamp) -> String {
    if has_lapsed(row, now) {
        return format!("expired; `envoi resume {}` goes on", row.run);
    }
    match (row.state, row.expires_at, &row.closed) {
        (InterruptState::Open, Some(at), _) => format!("expires in {}", between(now, at)),
        (InterruptState::Open, None, _) => "open".to_owned(),
        (state, _, Some(closed)) => {
            let answer = [closed.answer.as_deref(), closed.by.as_deref()].into_iter().flatten();
            let answer = answer.collect::<Vec<_>>().join(" by ");
            if answer.is_empty() { state.word().to_owned() } else { format!("{}: {answer}", state.word()) }
        }
        (state, _, None) => state.word().to_owned(),
    }
}

/// Whether the question can still be answered.
pub(crate) fn is_open(reader: &Reader, run: &RunId, interrupt: &InterruptId) -> bool {
    reader
        .question(run, interrupt)
        .is_ok_and(|row| row.state == InterruptState::Open && !has_lapsed(&row, envoi_engine::now()))
}
