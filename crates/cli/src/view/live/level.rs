//! The steps of one flow of a run as a person sees them, with what is part of them: items, and the flows that steps run.
//!
//! Owns which row an event is about. What the event does to it is [`super::model`]'s business.

use super::rounds::Rounds;
use envoi_api::{headline::Sources, step};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Flow, Run,
    flow::Step,
    ids::{AttemptId, InterruptId, StepId, VisitId},
};
use std::{collections::BTreeMap, sync::Arc};

/// See the module.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) flow: Arc<Flow>,
    pub(crate) steps: Vec<StepView>,
    pub(crate) rounds: Rounds,
}

/// One step, or one item of it.
#[derive(Debug)]
pub(crate) struct StepView {
    /// Of which flow, and which item; empty at the top.
    pub(crate) scope: String,
    pub(crate) id: StepId,
    pub(crate) state: State,
    /// The newest visit; 0 before the first.
    pub(crate) visit: u32,
    /// Its newest attempt; 0 before the first.
    pub(crate) attempt: u32,
    /// Tries that a visit may have.
    pub(crate) tries: u32,
    /// When the newest attempt began, or the visit that has parts.
    pub(crate) began: Timestamp,
    /// How long the newest visit, or its failed attempt, took.
    pub(crate) took_ms: u64,
    /// The headline of the newest visit, or why its attempt failed.
    pub(crate) remark: String,
    /// What its newest attempt has left for it beside its text.
    pub(crate) sources: Sources,
    /// Of an item: its value.
    pub(crate) value: Option<String>,
    /// The last line of output of a live attempt.
    pub(crate) output: String,
    /// What a live attempt has used so far, in words.
    pub(crate) used: String,
    /// The open question about it.
    pub(crate) question: Option<(InterruptId, String)>,
    /// A person let the run go on from it although a bound was used up, or a review was needed.
    pub(crate) passed_by_a_person: bool,
    /// Its loop had its last round without success, and the run has gone on.
    pub(crate) is_exhausted: bool,
    /// It was given up, and something of it is still being ended.
    pub(crate) is_ending: bool,
    pub(crate) parts: Parts,
}

/// What a visit consists of, if not of attempts.
#[derive(Debug, Default)]
pub(crate) enum Parts {
    #[default]
    None,
    Items {
        /// The values of all, in order.
        values: Vec<String>,
        /// Those that have begun.
        begun: BTreeMap<u64, StepView>,
    },
    Flow(Box<Level>),
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The run has not come to it.
    Waiting,
    /// Its turn has come; it waits for a free slot.
    Ready,
    Running,
    /// Its last attempt failed; the next one begins then.
    Retry {
        due: Timestamp,
    },
    /// A person has to say how it goes on.
    AwaitsAnswer,
    /// How its last attempt ended is unknown.
    InDoubt,
    /// It was given up, and is being ended.
    Ending,
    Done,
    Failed,
    Skipped,
}

impl State {
    /// Whether it should stay in view when not all can.
    pub(crate) fn matters(self) -> bool {
        !matches!(self, Self::Waiting | Self::Done | Self::Skipped)
    }
}

impl Level {
    /// The flow of the run is another one from here on. Steps that it still has keep what they have come to.
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

    /// A flow of which nothing has happened.
    pub(crate) fn of(flow: &Arc<Flow>, scope: &str) -> Self {
        let steps = flow.steps.iter().map(|step| StepView::of(step, scope)).collect();
        Self { flow: Arc::clone(flow), steps, rounds: Rounds::of(flow) }
    }

    /// The row of a visit, of an item or a step at whatever depth.
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

    /// Every row, a whole before its parts.
    pub(crate) fn each(&mut self, work: &mut impl FnMut(&mut StepView)) {
        self.steps.iter_mut().for_each(|step| step.each(work));
    }

    /// The rows that have no parts in view.
    pub(crate) fn leaves(&self) -> Vec<&StepView> {
        self.steps.iter().flat_map(StepView::leaves).collect()
    }

    /// Something of these attempts' steps is still being ended, and of no others.
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

    /// Its name beside others of the same flow: an item's begins with its number.
    pub(crate) fn name(&self) -> String {
        match self.visit_id().item() {
            Some(item) => format!("{item}.{}", self.id),
            None => self.id.to_string(),
        }
    }

    /// It begins as a whole of several parts.
    pub(crate) fn begin(&mut self, visit: &VisitId, at: Timestamp, parts: Parts) {
        (self.state, self.visit, self.attempt, self.began) = (State::Running, visit.visit, 0, at);
        self.remark.clear();
        self.sources = Sources::default();
        self.parts = parts;
    }

    /// It is to be done anew.
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

    /// What is part of it, while that is under way.
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

    /// Where it stands; a whole as its parts do.
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
