//! The questions of a run and how they stand: which are open, in which order, and until when.

use envoi_contract::time::Timestamp;
use envoi_journal::{InboxRow, InterruptState, Reader};
use envoi_kernel::{
    Run,
    event::InterruptRaised,
    ids::{InterruptId, RunId},
};

/// The open questions of a run, oldest first; those of one moment as the flow lists their steps.
pub(crate) fn open(run: &Run) -> Vec<&InterruptRaised> {
    let mut open: Vec<&InterruptRaised> = run.interrupts().collect();
    let place = |raised: &InterruptRaised| run.flow_of(&raised.visit).position(&raised.visit.step);
    open.sort_by_cached_key(|raised| (raised.raised_at, place(raised), raised.visit.clone()));
    open
}

/// Open, but its time is over: it cannot be answered any more.
pub(crate) fn has_lapsed(row: &InboxRow, now: Timestamp) -> bool {
    row.state == InterruptState::Open && row.expires_at.is_some_and(|at| now >= at)
}

/// How a question stands, for people.
pub(crate) fn stands(row: &InboxRow, now: Timestamp) -> String {
    if has_lapsed(row, now) {
        return format!("expired; `envoi resume {}` goes on", row.run);
    }
    match (row.state, row.expires_at, &row.closed) {
        (InterruptState::Open, Some(at), _) => format!("expires in {}", span(at, now)),
        (InterruptState::Open, None, _) => "open".to_owned(),
        (state, _, Some(closed)) => {
            let told = [closed.answer.as_deref(), closed.by.as_deref()].into_iter().flatten();
            let told = told.collect::<Vec<_>>().join(" by ");
            if told.is_empty() { state.word().to_owned() } else { format!("{}: {told}", state.word()) }
        }
        (state, _, None) => state.word().to_owned(),
    }
}

/// The time from one moment to a later one, for people.
pub(crate) fn span(later: Timestamp, earlier: Timestamp) -> String {
    let ms = later.as_millis().saturating_sub(earlier.as_millis()).max(0);
    let (s, min, h, d) = (ms / 1_000, ms / 60_000, ms / 3_600_000, ms / 86_400_000);
    match (d, h, min) {
        (0, 0, 0) => format!("{s} s"),
        (0, 0, _) => format!("{min} min"),
        (0, _, _) => format!("{h} h {} min", min % 60),
        _ => format!("{d} d {} h", h % 24),
    }
}

/// Whether the question can still be answered.
pub(crate) fn is_open(reader: &Reader, run: &RunId, interrupt: &InterruptId) -> bool {
    reader
        .question(run, interrupt)
        .is_ok_and(|row| row.state == InterruptState::Open && !has_lapsed(&row, envoi_engine::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_two_units_at_most() {
        let rows = [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_660_000, "1 h 1 min"),
            (90_000_000, "1 d 1 h"),
            (-5, "0 s"),
        ];
        for (ms, told) in rows {
            assert_eq!(span(Timestamp::from_millis(ms), Timestamp::from_millis(0)), told);
        }
    }
}
