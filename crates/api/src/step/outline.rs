//! Which visits of a run began last, found without decoding its events.
//!
//! Owns how the rows of the newest visits are made of few events: those from the first of these visits on, and those before it of what
//! they are part of. [`StepRows`](super::StepRows) makes the same rows of them as of all events.

use super::wholes;
use envoi_kernel::{
    Event,
    ids::{Seq, VisitId},
};
use std::collections::{BTreeMap, BTreeSet};

/// How an event is about a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// The visit is there from now on.
    Begins,
    /// It changes, if it is there.
    Changes,
}

impl Touch {
    /// How an event of this kind touches the visit that it names; `None`: it is about none, or changes no row.
    #[must_use]
    pub fn of(kind: &str) -> Option<Self> {
        match kind {
            "attempt_started" | "fanned_out" | "flow_entered" | "interrupt_raised" | "handoff_written" => {
                Some(Self::Begins)
            }
            "attempt_settled" | "model_call_ended" | "flow_returned" | "timer_set" => Some(Self::Changes),
            _ => None,
        }
    }
}

/// The visit that an event touches; see [`Touch::of`].
#[must_use]
pub fn subject(event: &Event) -> Option<&VisitId> {
    match event {
        Event::AttemptStarted(started) => Some(&started.attempt.visit),
        Event::AttemptSettled(settled) => Some(&settled.attempt.visit),
        Event::ModelCallEnded(ended) => ended.attempt.as_ref().map(|attempt| &attempt.visit),
        Event::FannedOut(fanned) => Some(&fanned.visit),
        Event::FlowEntered(entered) => Some(&entered.visit),
        Event::FlowReturned(returned) => Some(&returned.visit),
        Event::InterruptRaised(raised) => Some(&raised.visit),
        Event::TimerSet(timer) => Some(&timer.visit),
        Event::HandoffWritten(written) => Some(&written.visit),
        _ => None,
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    visits: BTreeMap<VisitId, Begun>,
}

/// What is known of a visit.
#[derive(Debug, Clone, Default)]
struct Begun {
    /// The event with which it began.
    at: Seq,
    /// How many visits that it is part of began with the same event or before.
    depth: usize,
    /// Events about itself before those of its parts, the newest first.
    own: Vec<Seq>,
    has_parts: bool,
}

/// Of which events the rows of the newest visits are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// The visits, and what they are part of.
    pub visits: BTreeSet<VisitId>,
    /// How many other visits there are.
    pub earlier: usize,
    /// All events from this one on are needed.
    pub from: Seq,
    /// These before it are needed too.
    pub before: BTreeSet<Seq>,
}

impl Outline {
    /// Takes the event before the one that was taken last.
    pub fn take_back(&mut self, seq: Seq, touch: Touch, visit: &VisitId) {
        if touch == Touch::Begins {
            let all = wholes(visit);
            for (parts, each) in all.iter().enumerate() {
                let begun = self.visits.entry(each.clone()).or_default();
                begun.at = seq;
                begun.depth = all.len().saturating_sub(parts);
                begun.has_parts |= parts > 0;
            }
        }
        if let Some(begun) = self.visits.get_mut(visit).filter(|begun| begun.has_parts) {
            begun.own.push(seq);
        }
    }

    /// The newest visits, at most so many beside those that they are part of.
    #[must_use]
    pub fn newest(&self, most: usize) -> Newest {
        let mut order: Vec<(Seq, usize, &VisitId)> =
            self.visits.iter().map(|(id, begun)| (begun.at, begun.depth, id)).collect();
        order.sort_unstable();
        let newest = order.get(order.len().saturating_sub(most)..).unwrap_or_default();
        let visits: BTreeSet<VisitId> = newest.iter().flat_map(|(_, _, id)| wholes(id)).collect();
        let from = newest.first().filter(|_| newest.len() < order.len()).map_or(0, |(at, _, _)| *at);
        let begun = visits.iter().filter_map(|id| self.visits.get(id));
        let before = begun.flat_map(|begun| begun.own.iter().copied().chain([begun.at]));
        Newest {
            earlier: self.visits.len().saturating_sub(visits.len()),
            from,
            before: before.filter(|seq| *seq < from).collect(),
            visits,
        }
    }
}

#[cfg(test)]
#[cfg(feature = "flow")]
mod tests;
