//! A plan as JSON for programs.

use super::{Amount, Bite, Dominant, Items, LoopPlan, Most, Past, Plan, StepPlan};
use envoi_contract::json::{Object, Value};
use envoi_kernel::{ids::StepId, ledger::Cost};

impl Plan {
    /// Members `flow, attempts, visits, loop_backs, rounds, time_ms, waits_ms, elapsed_ms, llm_calls, cost_usd, steps, loops,
    /// limits, most_attempts, most_time, notes`. A count is a number, or `{"more_than": N}` past the largest one; null is what is
    /// not bounded, and for `most_attempts` and `most_time` that nothing in the file can be lowered.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let dominant = |dominant: &Option<Dominant>| dominant.as_ref().map_or(Value::Null, Dominant::to_json);
        Value::Object(Object::from([
            ("flow", Value::from(self.flow.as_str())),
            ("attempts", self.attempts.to_json()),
            ("visits", self.visits.to_json()),
            ("loop_backs", self.loop_backs.to_json()),
            ("rounds", self.rounds.map_or(Value::Null, Value::from)),
            ("time_ms", maybe(self.time_ms)),
            ("waits_ms", self.waits_ms.to_json()),
            ("elapsed_ms", maybe(self.elapsed_ms)),
            ("llm_calls", maybe(self.llm_calls)),
            ("cost_usd", cost(self.cost)),
            ("steps", Value::Array(self.steps.iter().map(StepPlan::to_json).collect())),
            ("loops", Value::Array(self.loops.iter().map(LoopPlan::to_json).collect())),
            ("limits", Value::Array(self.bites.iter().map(Bite::to_json).collect())),
            ("most_attempts", dominant(&self.most_attempts)),
            ("most_time", dominant(&self.most_time)),
            ("notes", Value::Array(self.notes.iter().map(|note| Value::from(note.as_str())).collect())),
        ]))
    }
}

impl Most {
    /// A number, or `{"more_than": N}`.
    #[must_use]
    pub fn to_json(self) -> Value {
        let beyond = || Value::Object(Object::from([("more_than", Value::from(Self::LARGEST))]));
        self.known().map_or_else(beyond, Value::from)
    }
}

impl StepPlan {
    fn to_json(&self) -> Value {
        Value::Object(Object::from([
            ("step", Value::from(self.name())),
            ("asks", Value::from(self.asks)),
            ("runs", self.runs.as_ref().map_or(Value::Null, |flow| Value::from(flow.as_str()))),
            ("visits", self.visits.to_json()),
            ("items", self.items.map_or(Value::Null, Items::to_json)),
            ("attempts_each", self.attempts_each.to_json()),
            ("doubt_each", Value::from(u64::from(self.doubt_each))),
            ("attempts", self.attempts.to_json()),
            ("timeout_ms", self.timeout_ms.map_or(Value::Null, Value::from)),
            ("time_ms", maybe(self.time_ms)),
        ]))
    }
}

impl Items {
    fn to_json(self) -> Value {
        Value::Object(Object::from([("most", Value::from(self.most)), ("known", Value::from(self.known))]))
    }
}

impl LoopPlan {
    fn to_json(&self) -> Value {
        let (step, back_to) = self.names();
        Value::Object(Object::from([
            ("step", Value::from(step)),
            ("back_to", Value::from(back_to)),
            ("each_entry", Value::from(self.each_entry)),
            ("entries", self.entries.to_json()),
            ("returns", self.returns.to_json()),
            ("by_people", Value::from(self.by_people)),
            ("rounds", Value::from(self.rounds)),
        ]))
    }
}

impl Bite {
    fn to_json(&self) -> Value {
        Value::Object(Object::from([
            ("limit", Value::from(self.limit)),
            ("without", self.without.to_json()),
            ("with", self.with.to_json()),
        ]))
    }
}

impl Amount {
    fn to_json(self) -> Value {
        match self {
            Self::Count(most) => most.to_json(),
            Self::Cost(amount) => cost(Some(amount)),
        }
    }
}

impl Dominant {
    fn to_json(&self) -> Value {
        Value::Object(Object::from([
            ("key", Value::from(self.field.key())),
            ("flow", Value::from(self.flow.as_str())),
            ("step", self.field.step().map_or(Value::Null, |step| Value::from(step.as_str()))),
            ("now", Value::from(self.now)),
            ("known", Value::from(self.known)),
            ("one_less_saves", self.saves.to_json()),
            (
                "path",
                Value::Array(self.path.iter().map(|step: &StepId| Value::from(step.as_str())).collect()),
            ),
            ("spent_there", self.spent.to_json()),
        ]))
    }
}

impl Past {
    /// Members `maximum` (the option that set it), `allowed`, `planned` (null: not bounded).
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (option, allowed, planned) = match self {
            Self::Attempts(max, planned) => ("max-attempts", Value::from(*max), planned.to_json()),
            Self::LlmCalls(max, planned) => ("max-calls", Value::from(*max), maybe(*planned)),
            Self::Time(max, planned) => ("max-time", Value::from(*max), maybe(*planned)),
            Self::Cost(max, planned) => ("max-cost", cost(Some(*max)), cost(*planned)),
        };
        Value::Object(Object::from([
            ("maximum", Value::from(option)),
            ("allowed", allowed),
            ("planned", planned),
        ]))
    }
}

fn maybe(most: Option<Most>) -> Value {
    most.map_or(Value::Null, Most::to_json)
}

fn cost(cost: Option<Cost>) -> Value {
    cost.map_or(Value::Null, |cost| Value::from(cost.to_string()))
}
