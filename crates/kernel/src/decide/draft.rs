//! A decision in the making: events are tried on a second state, one after the other.
//!
//! Every `decide` module works on a [`Draft`]. Because it applies each event with the code that recovery uses, a decision
//! that could not be replayed cannot be made.

use crate::{
    model::{
        event::{Event, Record},
        expression::Spent,
        flow::{Flow, Step, Versions},
        ids::{InterruptId, RunId, Seq, StepId, TimerId, VisitId, derived},
        input::{Refusal, Slot},
    },
    state::{control::Control, flow_state::FlowState},
};
use envoi_contract::time::Timestamp;

/// The position of a visit: its step, in its flow.
#[derive(Clone)]
pub(crate) struct At<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) step: &'a Step,
    /// The scope of that flow.
    pub(crate) scope: String,
    /// Which item of the step, if it has several.
    pub(crate) item: Option<u64>,
}

impl At<'_> {
    pub(crate) fn id(&self) -> &StepId {
        &self.step.id
    }
}

/// See the module.
pub(crate) struct Draft<'a> {
    /// The run's own, in the version that holds now.
    pub(crate) flow: &'a Flow,
    /// Every version of it that is known.
    pub(crate) versions: &'a Versions,
    pub(crate) control: Control,
    pub(crate) now: Timestamp,
    /// For an attempt that starts; taken by the first one.
    pub(crate) slot: Option<Slot>,
    /// By the expressions of this decision.
    pub(crate) spent: Spent,
    /// The decision ends although more follows.
    pub(crate) is_cut_short: bool,
    records: Vec<Record>,
}

impl<'a> Draft<'a> {
    /// A draft over `control`, which is a state equal to the run's. `now` never goes below the run's last event.
    pub(crate) fn new(
        versions: &'a Versions,
        flow: &'a Flow,
        control: Control,
        slot: Option<Slot>,
        now: Timestamp,
    ) -> Self {
        let now = now.max(control.last_at);
        Self {
            flow,
            versions,
            control,
            now,
            slot,
            spent: Spent::default(),
            is_cut_short: false,
            records: Vec::new(),
        }
    }

    /// Adds an event and its changes.
    pub(crate) fn emit(&mut self, event: Event) -> Result<(), Refusal> {
        self.adopt(Record { seq: self.control.next_seq, at: self.now, event })
    }

    /// Takes over a record of the history of another run, as it is.
    pub(crate) fn adopt(&mut self, record: Record) -> Result<(), Refusal> {
        let next = self.versions.named_by(&record.event).map_or(self.flow, AsRef::as_ref);
        self.control
            .apply(self.flow, next, &record)
            .map_err(|error| Refusal::Inconsistent { reason: error.to_string() })?;
        self.flow = next;
        self.now = self.now.max(record.at);
        self.records.push(record);
        Ok(())
    }

    /// The events, to be committed together; the state after them; and whether the decision was cut short.
    pub(crate) fn finish(self) -> (Vec<Record>, Control, bool) {
        (self.records, self.control, self.is_cut_short)
    }

    /// The position of a visit.
    pub(crate) fn at(&self, visit: &VisitId) -> Result<At<'a>, Refusal> {
        let scope = visit.flow_scope().to_owned();
        let flow = self.control.flow(self.flow, &scope);
        let missing = || Refusal::Inconsistent { reason: format!("there is no step of visit `{visit}`") };
        let step = flow.step(&visit.step).ok_or_else(missing)?;
        Ok(At { flow, step, scope, item: visit.item() })
    }

    /// The state of a visit's flow.
    pub(crate) fn flow_state(&self, at: &At<'_>) -> &FlowState {
        self.control.flow_state(&at.scope)
    }

    /// The run's id.
    pub(crate) fn run(&self) -> Result<&RunId, Refusal> {
        self.control.phase.started().map(|started| &started.run).ok_or(Refusal::NotStarted)
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

fn inconsistent(error: crate::model::ids::BadId) -> Refusal {
    Refusal::Inconsistent { reason: error.to_string() }
}
