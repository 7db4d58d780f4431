//! Finds the newest visits of a run without decoding its events.
//!
//! Owns how the rows of the newest visits are made from few events: the events since the first of these visits, and
//! earlier events of their ancestors. [`StepRows`](super::StepRows) makes the same rows from them as from all events.
//! Also decides when enough of a long run was read from its end: the first event about a visit is known to be its
//! beginning once all events since the event that opened the visit are known.

use super::wholes;
use envoi_kernel::{
    Event,
    event::Course,
    ids::{Seq, StepId, VisitId},
};
use std::collections::{BTreeMap, BTreeSet};

/// How an event relates to a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// The visit exists from this event on.
    Begins,
    /// The visit changes, if it exists.
    Changes,
}

impl Touch {
    /// How an event of this kind relates to the visit that it names. `None` if it names no visit, or changes no row.
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

/// The visit to which an event relates; see [`Touch::of`].
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

/// The visits that an event opens. No earlier event is about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening<'e> {
    /// The next visit of a step, in the flow of this scope.
    Step(&'e str, &'e StepId),
    /// All children of a visit: its items, or the steps of the flow that it runs.
    Parts(&'e VisitId),
}

impl<'e> Opening<'e> {
    /// True if events of this kind open visits.
    #[must_use]
    pub fn is_of(kind: &str) -> bool {
        matches!(kind, "routed" | "step_entered" | "fanned_out" | "flow_entered")
    }

    /// The visits that an event opens. Rare events that open visits, such as a correction, are left out. For visits
    /// that only such events open, all events have to be read.
    #[must_use]
    pub fn of(event: &'e Event) -> Option<Self> {
        match event {
            Event::Routed(routed) => match &routed.course {
                Course::Enter(step) | Course::LoopBack(step) | Course::Round(step) => {
                    Some(Self::Step(routed.visit.flow_scope(), step))
                }
                Course::Done(_) | Course::Gathered | Course::Complete | Course::Hold | Course::Stop => None,
            },
            Event::StepEntered(entered) => Some(Self::Step(&entered.scope, &entered.step)),
            Event::FannedOut(fanned) => Some(Self::Parts(&fanned.visit)),
            Event::FlowEntered(entered) => Some(Self::Parts(&entered.visit)),
            _ => None,
        }
    }
}

/// See the module documentation.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    visits: BTreeMap<VisitId, Begun>,
}

/// The known data of a visit.
#[derive(Debug, Clone, Default)]
struct Begun {
    /// The event with which it began.
    at: Seq,
    /// The nesting depth: the number of its ancestors, plus one.
    depth: usize,
    /// Events about the visit itself before those of its children, newest first.
    own: Vec<Seq>,
    has_parts: bool,
    /// True if the event that opened it was taken.
    is_opened: bool,
    /// True if the event that opened its children was taken.
    are_parts_opened: bool,
}

/// The events from which the rows of the newest visits are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// The visits and their ancestors.
    pub visits: BTreeSet<VisitId>,
    /// The number of other visits.
    pub earlier: usize,
    /// All events from this one on are needed.
    pub from: Seq,
    /// These earlier events are needed too.
    pub before: BTreeSet<Seq>,
}

impl Outline {
    /// Takes an event. Events are taken backwards: each call takes the event before the previous one.
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

    /// Takes the visits that the last taken event has opened.
    pub fn open_back(&mut self, opening: &Opening<'_>) {
        match opening {
            // A step has one open visit at a time, so everything known about its visits happened after this one was
            // opened.
            Opening::Step(scope, step) => {
                let nth = |visit| VisitId { scope: (*scope).to_owned(), step: (*step).clone(), visit };
                let visits = self.visits.range_mut(nth(0)..=nth(u32::MAX));
                visits.for_each(|(_, begun)| begun.is_opened = true);
            }
            Opening::Parts(visit) => {
                if let Some(begun) = self.visits.get_mut(visit) {
                    begun.are_parts_opened = true;
                }
            }
        }
    }

    /// True if [`Self::newest`] would return the same for this number of visits if all events had been taken. Only
    /// the number of other visits may differ; there is at least one.
    #[must_use]
    pub fn is_enough(&self, most: usize) -> bool {
        let mut known = Vec::new();
        let mut unknown: Vec<(Seq, usize)> = Vec::new();
        for (id, begun) in &self.visits {
            match self.is_begin_known(id) {
                true => known.push((begun.at, begun.depth, id)),
                false => unknown.push((begun.at, begun.depth)),
            }
        }
        known.sort_unstable();
        let Some((first, newest)) =
            known.len().checked_sub(most).and_then(|rest| known.get(rest..)?.split_first())
        else {
            return false;
        };
        let shown: BTreeSet<VisitId> =
            newest.iter().chain([first]).flat_map(|(_, _, id)| wholes(id)).collect();
        unknown.iter().all(|begun| *begun < (first.0, first.1))
            && shown.iter().all(|id| self.is_begin_known(id))
            && self.visits.len() > shown.len()
    }

    /// True if no event before the taken ones is about this visit.
    fn is_begin_known(&self, id: &VisitId) -> bool {
        let of = |id: &VisitId| self.visits.get(id);
        wholes(id).iter().enumerate().any(|(parts, whole)| {
            of(whole).is_some_and(|begun| begun.is_opened || (parts > 0 && begun.are_parts_opened))
        })
    }

    /// The newest visits, at most `most`, not counting their ancestors.
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
