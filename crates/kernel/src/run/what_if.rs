//! The decisions that another flow would make from the texts that a run has read. Nothing is done, and nothing is changed.
//!
//! Each decision is looked at by itself, with the state of its time. The consequences of another decision are not invented: the steps
//! that would show them have not run.

use super::{ReplayError, Run};
use crate::{
    decide::{
        conclude::within_the_run,
        draft::Draft,
        route::{self, Decided},
    },
    model::{
        event::{About, AttemptSettled, Course, EndStatus, Event, HandoffWritten, Record, Routed},
        flow::{Flow, Versions},
        ids::{FlowId, Seq, StepId, VisitId},
        size,
    },
};
use envoi_contract::{json::Value, routing::Signal};
use std::collections::BTreeMap;

/// A decision that was made from a text, and the decision of the other flow from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconsidered {
    /// The event that has it.
    pub seq: Seq,
    /// The visit that left the text.
    pub visit: VisitId,
    /// The result with the other flow.
    pub what_if: WhatIf,
}

/// See [`Reconsidered`].
#[derive(Debug, Clone, PartialEq)]
pub enum WhatIf {
    /// It leads to the same.
    Same,
    /// It leads elsewhere.
    Differs {
        /// The way that was taken.
        then: Box<Lead>,
        /// The way of the other flow.
        now: Box<Lead>,
    },
    /// The other flow has no such step.
    Gone {
        /// The way that was taken.
        then: Box<Lead>,
    },
    /// The text is not there any more, or it does not lead to what was decided then.
    Unknown,
}

/// The way that a text leads.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    /// The signal in the text.
    pub signal: Signal,
    /// The run's reaction to it.
    pub course: Course,
    /// Why: the row that fired and those that did not.
    pub audit: Value,
    /// Why a person is needed, if one is.
    pub about: Option<About>,
    /// The step of another flow that it leads into.
    pub into: Option<(FlowId, StepId)>,
    /// In a graph: steps that are not done, because another branch is taken.
    pub instead: Vec<StepId>,
    /// How the flow ends with it, if it does.
    pub end: Option<EndStatus>,
}

impl Lead {
    fn of(decided: Decided) -> Self {
        let Decided { signal, course, audit, hold, end, into, instead, .. } = decided;
        let (about, end) = (hold.map(|hold| hold.about), end.map(|end| end.status));
        Self { signal, course, audit, about, into, instead, end }
    }

    /// Whether the run does the same, for any reason.
    fn does_as(&self, other: &Self) -> bool {
        self.course == other.course
            && self.about == other.about
            && self.into == other.into
            && self.instead == other.instead
            && self.end == other.end
    }

    fn is_what(&self, routed: &Routed) -> bool {
        self.course == routed.course && self.signal == routed.signal
    }
}

/// Goes through the records of a run, and has `other` repeat each decision that was made from a text. `text_of` gives the text of an
/// attempt, as far as it is kept; without it, that of the hand-off is used if it is whole. Answers of people, failures and other events are
/// not looked at.
///
/// # Errors
/// As [`Run::replay`].
pub fn what_if(
    versions: impl Into<Versions>,
    records: &[Record],
    other: &Flow,
    text_of: &mut dyn FnMut(&AttemptSettled) -> Option<String>,
) -> Result<Vec<Reconsidered>, ReplayError> {
    let mut run = Run::new(versions);
    let mut settled: BTreeMap<VisitId, &AttemptSettled> = BTreeMap::new();
    let mut found = Vec::new();
    for (place, record) in records.iter().enumerate() {
        match &record.event {
            Event::AttemptSettled(event) if !event.late => {
                settled.insert(event.attempt.visit.clone(), event);
            }
            Event::Routed(routed) if is_of_a_text(routed, handoff_after(records, place)) => {
                let kept = settled.remove(&routed.visit).and_then(&mut *text_of);
                let handed_over = handoff_after(records, place).and_then(whole_text);
                let texts = kept.into_iter().chain(handed_over);
                let what_if = reconsider(&run, routed, other, texts);
                found.push(Reconsidered { seq: record.seq, visit: routed.visit.clone(), what_if });
            }
            _ => {}
        }
        run.apply(record)?;
    }
    Ok(found)
}

/// The hand-off of the visit that the event at `place` routed, if it is written before another visit is routed.
fn handoff_after(records: &[Record], place: usize) -> Option<&HandoffWritten> {
    let (first, rest) = records.get(place..)?.split_first()?;
    let Event::Routed(routed) = &first.event else { return None };
    rest.iter().take_while(|record| !matches!(record.event, Event::Routed(_))).find_map(
        |record| match &record.event {
            Event::HandoffWritten(written) if written.visit == routed.visit => Some(written.as_ref()),
            _ => None,
        },
    )
}

/// A row of the decision table has decided it. The event has the audit, or else the hand-off.
fn is_of_a_text(routed: &Routed, handoff: Option<&HandoffWritten>) -> bool {
    let has_row = |audit: &Value| audit.get("row").and_then(Value::as_str).is_some();
    let in_handoff = || handoff.is_some_and(|written| has_row(&written.handoff.routing_audit));
    routed.answer.is_none() && (has_row(&routed.audit) || (routed.audit.is_null() && in_handoff()))
}

/// The text of a hand-off, if it is all of it.
fn whole_text(written: &HandoffWritten) -> Option<String> {
    let summary = &written.handoff.summary;
    let whole = || Some(summary).filter(|summary| !size::is_shortened(summary)).cloned();
    written.text.clone().or_else(whole)
}

fn reconsider(run: &Run, routed: &Routed, other: &Flow, texts: impl Iterator<Item = String>) -> WhatIf {
    let then = texts.filter_map(|text| {
        let then = lead(run, &run.flow, &routed.visit, &text)?;
        then.is_what(routed).then_some((text, then))
    });
    // The same code must repeat the earlier decision, or the comparison would show nothing about the flows.
    let Some((text, then)) = { then }.next() else { return WhatIf::Unknown };
    match lead(run, other, &routed.visit, &text) {
        None => WhatIf::Gone { then: Box::new(then) },
        Some(now) if now.does_as(&then) => WhatIf::Same,
        Some(now) => WhatIf::Differs { then: Box::new(then), now: Box::new(now) },
    }
}

/// The way that a text leads in this flow. `None`: it has no such step.
fn lead(run: &Run, flow: &Flow, visit: &VisitId, text: &str) -> Option<Lead> {
    let control = &run.control;
    control.counterpart(flow, visit.flow_scope())?;
    let draft = Draft::new(&run.versions, flow, control.clone(), None, control.last_at);
    let at = draft.at(visit).ok()?;
    let decided = route::decide(&draft, visit, &at, text).ok()?;
    Some(Lead::of(within_the_run(&draft, &at, decided).naming_next()))
}
