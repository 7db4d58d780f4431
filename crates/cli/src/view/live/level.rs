//! The steps of one flow of a run for display, with their parts: items and inner flows.
//!
//! Owns which row an event belongs to. [`super::model`] owns how the event changes the row.

use super::rounds::Rounds;
use envoi_api::{headline::Sources, step};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Flow, Run,
    flow::Step,
    ids::{AttemptId, InterruptId, StepId, VisitId},
};
use std::{collections::BTreeMap, sync::Arc};

/// The steps of one flow, with their state.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) flow: Arc<Flow>,
    pub(crate) steps: Vec<StepView>,
    pub(crate) rounds: Rounds,
}

/// A step, or an item of it.
#[derive(Debug)]
pub(crate) struct StepView {
    /// The scope: its flow and item. Empty at the top.
    pub(crate) scope: String,
    pub(crate) id: StepId,
    pub(crate) state: State,
    /// The newest visit; 0 before the first.
    pub(crate) visit: u32,
    /// Its newest attempt; 0 before the first.
    pub(crate) attempt: u32,
    /// The maximum of tries per visit.
    pub(crate) tries: u32,
    /// When the newest attempt started, or the visit if it has parts.
    pub(crate) began: Timestamp,
    /// The duration of the newest visit, or of its failed attempt.
    pub(crate) took_ms: u64,
    /// The headline of the newest visit, or why its attempt failed.
    pub(crate) remark: String,
    /// Further sources for the headline, besides the text of the newest attempt.
    pub(crate) sources: Sources,
    /// The value, if this is an item.
    pub(crate) value: Option<String>,
    /// The last line of output of a live attempt.
    pub(crate) output: String,
    /// The usage of a live attempt so far, in words.
    pub(crate) used: String,
    /// The open question about it.
    pub(crate) question: Option<(InterruptId, String)>,
    /// A person let the run continue after this step, although a bound was reached or a review was needed.
    pub(crate) passed_by_a_person: bool,
    /// Its loop had its last round without success, and the run has continued.
    pub(crate) is_exhausted: bool,
    /// It was abandoned, and a part of it is still being ended.
    pub(crate) is_ending: bool,
    pub(crate) parts: Parts,
}

/// The parts of a visit that has no attempts of its own.
#[derive(Debug, Default)]
pub(crate) enum Parts {
    #[default]
    None,
    Items {
        /// All values, in order.
        values: Vec<String>,
        /// The items that have started.
        begun: BTreeMap<u64, StepView>,
    },
    Flow(Box<Level>),
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The run has not reached it.
    Waiting,
    /// It is ready, and waits for a free slot.
    Ready,
    Running,
    /// Its last attempt failed. The next one starts at `due`.
    Retry {
        due: Timestamp,
    },
    /// It waits for a decision of a person.
    AwaitsAnswer,
    /// The outcome of its last attempt is unknown.
    InDoubt,
    /// It was abandoned, and is being ended.
    Ending,
    Done,
    Failed,
    Skipped,
}

impl State {
    /// Whether it should stay visible if there is no room for all.
    pub(crate) fn matters(self) -> bool {
        !matches!(self, Self::Waiting | Self::Done | Self::Skipped)
    }
}

impl Level {
    /// The run continues with a corrected flow. Steps that still exist keep their state.
    pub(crate) fn correct(&mut self, run: &Run) {
        let corrected = Self::of(run.flow(), "");
        self.rounds.correct(run.flow(), run);
        let before = core::mem::replace(&mut self.steps, corrected.steps);
        self.flow = corrected.flow;
        for old in before {
            if let Some(step) = self.steps.iter_mut().find(|step| step.id == old.id) {
                let tries = step.tries;
                *step = StepView { tries, ..old };
            }
        }
    }

    /// A flow without events.
    pub(crate) fn of(flow: &Arc<Flow>, scope: &str) -> Self {
        let steps = flow.steps.iter().map(|step| StepView::of(step, scope)).collect();
        Self { flow: Arc::clone(flow), steps, rounds: Rounds::of(flow) }
    }

    /// The row of a visit: of a step or item at any depth.
    pub(crate) fn find(&mut self, visit: &VisitId) -> Option<&mut StepView> {
        match visit.item() {
            Some(item) => self.find(&visit.whole())?.item(item),
            None => self.within(&visit.scope)?.steps.iter_mut().find(|step| step.id == visit.step),
        }
    }

    /// The flow of this scope.
    pub(crate) fn within(&mut self, scope: &str) -> Option<&mut Level> {
        if scope.is_empty() {
            return Some(self);
        }
        match &mut self.find(&step::caller(scope)?)?.parts {
            Parts::Flow(level) => Some(level),
            Parts::None | Parts::Items { .. } => None,
        }
    }

    /// Calls `work` for every row, the parts after the whole.
    pub(crate) fn each(&mut self, work: &mut impl FnMut(&mut StepView)) {
        self.steps.iter_mut().for_each(|step| step.each(work));
    }

    /// The rows without visible parts.
    pub(crate) fn leaves(&self) -> Vec<&StepView> {
        self.steps.iter().flat_map(StepView::leaves).collect()
    }

    /// Marks the steps of exactly these attempts as being ended.
    pub(crate) fn ending(&mut self, attempts: &[AttemptId]) {
        self.each(&mut |step| step.is_ending = false);
        for attempt in attempts {
            let mut next = Some(attempt.visit.clone());
            while let Some(visit) = next {
                if let Some(step) = self.find(&visit) {
                    step.is_ending = true;
                }
                next = step::whole(&visit);
            }
        }
    }
}

impl StepView {
    fn of(step: &Step, scope: &str) -> Self {
        Self::waiting(scope.to_owned(), step.id.clone(), step.retry.attempts)
    }

    fn waiting(scope: String, id: StepId, tries: u32) -> Self {
        Self {
            scope,
            id,
            state: State::Waiting,
            visit: 0,
            attempt: 0,
            tries,
            began: Timestamp::from_millis(0),
            took_ms: 0,
            remark: String::new(),
            sources: Sources::default(),
            value: None,
            output: String::new(),
            used: String::new(),
            question: None,
            passed_by_a_person: false,
            is_exhausted: false,
            is_ending: false,
            parts: Parts::None,
        }
    }

    /// The newest visit.
    pub(crate) fn visit_id(&self) -> VisitId {
        VisitId { scope: self.scope.clone(), step: self.id.clone(), visit: self.visit }
    }

    /// Its name within its flow. That of an item begins with its number.
    pub(crate) fn name(&self) -> String {
        match self.visit_id().item() {
            Some(item) => format!("{item}.{}", self.id),
            None => self.id.to_string(),
        }
    }

    /// Starts a visit that has parts.
    pub(crate) fn begin(&mut self, visit: &VisitId, at: Timestamp, parts: Parts) {
        (self.state, self.visit, self.attempt, self.began) = (State::Running, visit.visit, 0, at);
        self.remark.clear();
        self.sources = Sources::default();
        self.parts = parts;
    }

    /// Resets it, because it is to be executed again.
    pub(crate) fn reset(&mut self) {
        self.state = State::Waiting;
        self.question = None;
        self.passed_by_a_person = false;
        self.is_exhausted = false;
        self.parts = Parts::None;
    }

    fn item(&mut self, item: u64) -> Option<&mut StepView> {
        let of = self.visit_id().nth(item);
        let Parts::Items { values, begun } = &mut self.parts else { return None };
        let value = usize::try_from(item).ok().and_then(|item| values.get(item)).cloned();
        let new = || {
            let step = Self::waiting(of.scope, of.step, self.tries);
            Self { visit: of.visit, began: self.began, value, ..step }
        };
        Some(begun.entry(item).or_insert_with(new))
    }

    fn each(&mut self, work: &mut impl FnMut(&mut StepView)) {
        work(self);
        match &mut self.parts {
            Parts::None => {}
            Parts::Items { begun, .. } => begun.values_mut().for_each(|item| item.each(work)),
            Parts::Flow(level) => level.each(work),
        }
    }

    /// Its parts, while it is running.
    pub(crate) fn open_parts(&self) -> Vec<&StepView> {
        match &self.parts {
            _ if self.state != State::Running => Vec::new(),
            Parts::None => Vec::new(),
            Parts::Items { begun, .. } => begun.values().collect(),
            Parts::Flow(level) => level.steps.iter().collect(),
        }
    }

    fn leaves(&self) -> Vec<&StepView> {
        let parts = self.open_parts();
        if parts.is_empty() { vec![self] } else { parts.into_iter().flat_map(Self::leaves).collect() }
    }

    /// Its state, which follows from its parts if it has any.
    pub(crate) fn stands(&self) -> State {
        let is_over = matches!(self.state, State::Waiting | State::Skipped);
        if self.is_ending && is_over {
            return State::Ending;
        }
        let parts: Vec<State> = self.open_parts().into_iter().map(Self::stands).collect();
        let moves = |state: &State| {
            matches!(state, State::Running | State::Ready | State::Retry { .. } | State::Ending)
        };
        match self.state {
            State::Running if parts.iter().any(moves) => State::Running,
            State::Running if parts.contains(&State::InDoubt) => State::InDoubt,
            State::Running if parts.contains(&State::AwaitsAnswer) => State::AwaitsAnswer,
            state => state,
        }
    }
}
