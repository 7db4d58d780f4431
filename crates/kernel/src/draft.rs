//! A decision in the making: events are tried on a copy of the state, one after the other.
//!
//! Every `decide` module works on a [`Draft`]. Because it applies each event with the code that recovery uses, a decision
//! that could not be replayed cannot be made.

use crate::{
    control::Control,
    event::{Event, Record},
    flow::{Flow, Step},
    ids::{InterruptId, RunId, Seq, StepId, TimerId, derived},
    input::{Refusal, Slot},
};
use envoi_contract::time::Timestamp;

/// See the module.
pub(crate) struct Draft<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) control: Control,
    pub(crate) now: Timestamp,
    pub(crate) slot: Option<Slot>,
    records: Vec<Record>,
}

impl<'a> Draft<'a> {
    /// A draft over a copy of `control`. `now` never goes below the run's last event.
    pub(crate) fn new(flow: &'a Flow, control: &Control, now: Timestamp, slot: Option<Slot>) -> Self {
        let now = now.max(control.last_at);
        Self { flow, control: control.clone(), now, slot, records: Vec::new() }
    }

    /// Adds an event and what it changes.
    pub(crate) fn emit(&mut self, event: Event) -> Result<(), Refusal> {
        let record = Record { seq: self.control.next_seq, at: self.now, event };
        self.control
            .apply(self.flow, &record)
            .map_err(|error| Refusal::Inconsistent { reason: error.to_string() })?;
        self.records.push(record);
        Ok(())
    }

    /// The events, to be committed together.
    pub(crate) fn finish(self) -> Vec<Record> {
        self.records
    }

    /// The step of this id.
    pub(crate) fn step(&self, id: &StepId) -> Result<&'a Step, Refusal> {
        self.flow.step(id).ok_or_else(|| Refusal::Inconsistent { reason: format!("there is no step `{id}`") })
    }

    /// The run's id.
    pub(crate) fn run(&self) -> Result<&RunId, Refusal> {
        self.control.started.as_deref().map(|started| &started.run).ok_or(Refusal::NotStarted)
    }

    /// A fresh id for an interrupt.
    pub(crate) fn interrupt_id(&self) -> Result<InterruptId, Refusal> {
        InterruptId::new(format!("int_{}", self.derived(self.control.next_seq)?)).map_err(inconsistent)
    }

    /// A fresh id for a timer.
    pub(crate) fn timer_id(&self) -> Result<TimerId, Refusal> {
        TimerId::new(format!("tim_{}", self.derived(self.control.next_seq)?)).map_err(inconsistent)
    }

    fn derived(&self, seq: Seq) -> Result<String, Refusal> {
        Ok(derived(self.run()?, seq, self.now))
    }
}

fn inconsistent(error: crate::ids::BadId) -> Refusal {
    Refusal::Inconsistent { reason: error.to_string() }
}
