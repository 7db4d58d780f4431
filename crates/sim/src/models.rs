//! Calls of models that commands make through the engine, as far as they are on their way.
//!
//! They end with the engine that they were made through: the journal then has all that is known of them.

use crate::instance::{Errand, Key};
use envoi_kernel::{
    event::CallOutcome,
    ids::{CallId, RunId},
    input::ModelCalled,
    ledger::Cost,
};
use envoi_testkit::Dice;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(crate) struct Models {
    on_their_way: BTreeMap<CallId, (RunId, State)>,
    /// How many calls each attempt has requested.
    requested: BTreeMap<Key, u64>,
    made: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The engine has not allowed it yet.
    Requested,
    /// It is being made.
    Made,
    /// It is over; the engine has not acknowledged that yet.
    Reported,
}

/// Most calls that one attempt asks for.
const MOST: u64 = 4;

impl Models {
    /// Whether this attempt, of a run whose commands call models, asks for one more.
    pub(crate) fn wants(&self, seed: u64, key: &Key) -> bool {
        let mut dice = Dice::of(seed, &["models", key.0.as_str(), &key.1.to_string()]);
        self.requested.get(key).copied().unwrap_or(0) < dice.below(MOST)
    }

    /// A call begins its way.
    pub(crate) fn ask(&mut self, key: &Key) -> Option<CallId> {
        self.made = self.made.saturating_add(1);
        let requested = self.requested.entry(key.clone()).or_default();
        *requested = requested.saturating_add(1);
        let call = CallId::new(format!("call_{}", self.made)).ok()?;
        self.on_their_way.insert(call.clone(), (key.0.clone(), State::Requested));
        Some(call)
    }

    /// Calls that are being made.
    pub(crate) fn made(&self) -> impl Iterator<Item = &CallId> {
        self.on_their_way.iter().filter(|(_, (_, state))| *state == State::Made).map(|(call, _)| call)
    }

    /// A call is over: its run, and its result.
    pub(crate) fn over(&mut self, call: &CallId, dice: &mut Dice) -> Option<(RunId, ModelCalled)> {
        let (run, state) = self.on_their_way.get_mut(call)?;
        *state = State::Reported;
        let ended = ModelCalled::lost(call.clone());
        let ended = match dice.below(5) {
            0 => ended,
            1 => ModelCalled { outcome: CallOutcome::Failed, duration_ms: 7, ..ended },
            _ => ModelCalled {
                outcome: CallOutcome::Ok,
                tokens_in: Some(100),
                tokens_out: Some(dice.below(50)),
                cost: Cost::parse(&format!("0.{}", dice.below(10))),
                duration_ms: 7,
                ..ended
            },
        };
        Some((run.clone(), ended))
    }

    /// The engine has answered.
    pub(crate) fn engine_answered(&mut self, errand: &Errand, ok: bool) {
        match errand {
            Errand::ModelCall(call) if ok => {
                self.on_their_way.get_mut(call).into_iter().for_each(|(_, state)| *state = State::Made);
            }
            Errand::ModelCall(call) | Errand::ModelCalled(call) => drop(self.on_their_way.remove(call)),
            _ => {}
        }
    }

    /// The engine is gone, and all calls with it.
    pub(crate) fn forget(&mut self) {
        self.on_their_way.clear();
    }

    /// Whether none is on its way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.on_their_way.is_empty()
    }
}
