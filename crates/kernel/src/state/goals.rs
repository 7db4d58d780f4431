//! The goals of a run, and which of them are reached.

use envoi_contract::json::{Object, Value};
use serde::{Deserialize, Serialize};

/// The goals of a run, from the start of its first round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Goals {
    pub(crate) all: Vec<String>,
    /// The reached goals, in the order in which they were reached.
    pub(crate) reached: Vec<String>,
    /// Number of the current round, from 1.
    pub(crate) round: u64,
}

impl Goals {
    pub(crate) fn of(all: Vec<String>) -> Self {
        Self { all, round: 1, ..Self::default() }
    }

    pub(crate) fn remaining(&self) -> Vec<&str> {
        self.all.iter().filter(|goal| !self.reached.contains(goal)).map(String::as_str).collect()
    }

    pub(crate) fn next_round(&mut self) {
        self.round = self.round.saturating_add(1);
    }

    /// The value that expressions see.
    pub(crate) fn value(&self) -> Value {
        let texts = |texts: &[String]| Value::from(texts.to_vec());
        let remaining: Vec<String> = self.remaining().into_iter().map(str::to_owned).collect();
        Value::Object(Object::from([
            ("all", texts(&self.all)),
            ("remaining", texts(&remaining)),
            ("done", texts(&self.reached)),
            ("round", Value::from(self.round)),
        ]))
    }
}
