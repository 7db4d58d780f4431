//! The resolver's input: a text, the expected statuses, and how many times the loop has gone back.

use alloc::string::String;
use alloc::vec::Vec;

use super::ROUTING_INVALID;
use crate::decode::Fields;
use crate::error::Diagnostic;
use crate::json::{Object, Value};
use crate::labelled::{self, Labelled, Labels, Places};

/// The default for how many times a loop may go back.
const DEFAULT_MAX_ITERATIONS: u64 = 3;

/// The shape of a step's routing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Kind {
    /// Runs the steps one after the other; with a `loop_target`, a gate.
    #[default]
    Linear,
    /// Repeats until a success value is stated.
    Microloop,
    /// The text names the next step.
    Branch,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Linear, Kind::Microloop, Kind::Branch];

    /// The word in the input.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Linear => "linear",
            Kind::Microloop => "microloop",
            Kind::Branch => "branch",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A step's routing configuration. A microloop has a `loop_target` or success values, and none of them is blank;
/// [`super::resolve`] refuses any other. Source: seed 1, CONTRACTS 1.2.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Routing {
    /// Linear, microloop or branch.
    pub kind: Kind,
    /// The *value* that ends the loop, such as `VERIFIED`; not a step.
    pub loop_target: Option<String>,
    /// The values that count as success. Empty means only the `loop_target`.
    pub success_values: Vec<String>,
    /// How many times the loop may go back.
    pub max_iterations: u64,
    /// True if another iteration can change the result. The text can deny it.
    pub can_further_iteration_help: bool,
}

impl Default for Routing {
    fn default() -> Routing {
        Routing {
            kind: Kind::Linear,
            loop_target: None,
            success_values: Vec::new(),
            max_iterations: DEFAULT_MAX_ITERATIONS,
            can_further_iteration_help: true,
        }
    }
}

/// The resolver's whole input, read by [`decode_input`]. Source: seed 1, CONTRACTS 1.2; schema `routing-input`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Input {
    /// The text that the step wrote.
    pub handoff_text: String,
    /// The step's routing; `None` if nothing is configured.
    pub routing: Option<Routing>,
    /// How many times the loop has gone back so far, from 0.
    pub iteration: u64,
    /// The flow of the step, so that a hint into the same flow is recognized.
    pub flow: Option<String>,
    /// The steps that a hint may name; steps of another flow as `flow/step`. `None` means any step.
    pub steps: Option<Vec<String>>,
    /// Whether hints in the text count.
    pub hints: bool,
    /// Engine only: the status that the exit code stated. Labels in the text are then ignored.
    pub stated: Option<String>,
    /// Engine only: `data.status` of the skill report. It counts as one more labelled status.
    pub reported: Option<String>,
    /// Engine only: the text is only a part of what the step wrote. The missing part may contradict it, so no hint
    /// and no status is read from it.
    pub cut: bool,
}

impl Default for Input {
    fn default() -> Input {
        Input {
            handoff_text: String::new(),
            routing: None,
            iteration: 0,
            flow: None,
            steps: None,
            hints: true,
            stated: None,
            reported: None,
            cut: false,
        }
    }
}

impl Input {
    /// All members in a fixed order, for the audit's digest.
    pub(super) fn to_value(&self) -> Value {
        let mut members = alloc::vec![
            ("handoff_text".into(), Value::from(self.handoff_text.as_str())),
            ("routing".into(), self.routing.as_ref().map(Routing::to_object).into()),
            ("iteration".into(), Value::from(self.iteration)),
            ("flow".into(), Value::from(self.flow.clone())),
            ("steps".into(), Value::from(self.steps.clone())),
            ("hints".into(), Value::from(self.hints)),
        ];
        for (name, engines) in [("stated", &self.stated), ("reported", &self.reported)] {
            members.extend(engines.as_ref().map(|status| (name.into(), Value::from(status.as_str()))));
        }
        if self.cut {
            members.push(("cut".into(), Value::from(true)));
        }
        Value::Object(Object::from_distinct(members))
    }
}

impl Routing {
    fn to_object(&self) -> Object {
        Object::from_distinct(alloc::vec![
            ("routing_kind".into(), Value::from(self.kind.word())),
            ("loop_target".into(), Value::from(self.loop_target.clone())),
            ("success_values".into(), Value::from(self.success_values.clone())),
            ("max_iterations".into(), Value::from(self.max_iterations)),
            ("can_further_iteration_help".into(), Value::from(self.can_further_iteration_help)),
        ])
    }

    /// Refuses a loop without an end, and blank statuses.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        let values = self.loop_target.iter().chain(&self.success_values);
        if values.clone().any(|value| value.trim_ascii().is_empty()) {
            let expected = "a `loop_target` and `success_values` that are not empty";
            return Err(Diagnostic::new(ROUTING_INVALID, "", expected, "an empty one"));
        }
        if self.kind == Kind::Microloop && values.count() == 0 {
            let expected = "a `loop_target` or `success_values` beside the kind `microloop`";
            return Err(Diagnostic::new(ROUTING_INVALID, "", expected, "neither")
                .with_hint("set the status that ends the loop, for instance `loop_target: VERIFIED`"));
        }
        Ok(())
    }
}

/// Reads a resolver input: JSON, or the labelled text `Handoff text: "…"` / `Step routing: name=value, …`.
///
/// # Errors
/// `ROUTING_INVALID` with the location: neither JSON nor labelled text, wrong types, unknown kinds, unknown members,
/// or a microloop without an end.
pub fn decode_input(bytes: &[u8]) -> Result<Input, Diagnostic> {
    let (value, places) = if labelled::is_json(bytes) {
        let value = Value::parse(bytes).map_err(|error| Diagnostic::of_json(ROUTING_INVALID, error))?;
        (value, Places::default())
    } else {
        from_labels(bytes)?
    };
    decode_value(&value).map_err(|refusal| places.locate(refusal, bytes))
}

/// The members of an input.
const MEMBERS: [&str; 6] = ["handoff_text", "routing", "iteration", "flow", "steps", "hints"];

/// The members of `routing`.
const ROUTING_MEMBERS: [&str; 5] =
    ["routing_kind", "loop_target", "success_values", "max_iterations", "can_further_iteration_help"];

fn decode_value(value: &Value) -> Result<Input, Diagnostic> {
    let mut fields = Fields::of(value, ROUTING_INVALID)?;
    let handoff_text = fields.required_string("handoff_text")?;
    let routing = match fields.take("routing") {
        None | Some(Value::Null) => None,
        Some(routing) => Some(decode_routing(&routing).map_err(|refusal| refusal.inside("/routing"))?),
    };
    let iteration = fields.u53_or("iteration", 0)?;
    let flow = fields.string("flow")?;
    let any_step = value.get("steps").is_none_or(Value::is_null);
    let steps = if any_step { fields.take("steps").and(None) } else { Some(fields.strings("steps")?) };
    let hints = fields.bool_or("hints", true)?;
    fields.refuse_others(&MEMBERS)?;
    Ok(Input {
        handoff_text,
        routing,
        iteration,
        flow,
        steps,
        hints,
        stated: None,
        reported: None,
        cut: false,
    })
}

fn decode_routing(routing: &Value) -> Result<Routing, Diagnostic> {
    let mut fields = Fields::of(routing, ROUTING_INVALID)?;
    let kind = match fields.take("routing_kind") {
        None => Kind::Linear,
        Some(word) => word
            .as_str()
            .and_then(Kind::parse)
            .ok_or_else(|| fields.wrong("routing_kind", "linear, microloop or branch", &word))?,
    };
    let loop_target = fields.string("loop_target")?;
    let success_values = fields.strings("success_values")?;
    let max_iterations = fields.u53_or("max_iterations", DEFAULT_MAX_ITERATIONS)?;
    let can_further_iteration_help = fields.bool_or("can_further_iteration_help", true)?;
    // This is configuration: with a misspelt `loop_target` every status would pass.
    fields.refuse_others(&ROUTING_MEMBERS)?;
    let routing = Routing { kind, loop_target, success_values, max_iterations, can_further_iteration_help };
    routing.check()?;
    Ok(routing)
}

/// The labels of the seed, and one for each other member of the JSON form.
const LABELS: Labels = Labels {
    code: ROUTING_INVALID,
    names: &["Handoff text", "Step routing", "Iteration", "Flow", "Steps", "Hints"],
    free_text: &["Handoff text"],
    guarded: &["Step routing"],
};

/// Turns the labelled text into the JSON form.
fn from_labels(bytes: &[u8]) -> Result<(Value, Places), Diagnostic> {
    let mut input = Object::new();
    let mut places = Places::default();
    for Labelled { label, value: text, start } in LABELS.read(bytes)? {
        let (name, value) = match label {
            "Handoff text" => ("handoff_text", Value::from(text)),
            "Step routing" => ("routing", routing_from(&text)),
            "Steps" => ("steps", labelled::list(&text)),
            "Flow" => ("flow", Value::from(text)),
            "Hints" => ("hints", labelled::scalar(&text)),
            _ => ("iteration", labelled::scalar(&text)),
        };
        places.add(name, start);
        input.insert(name, value);
    }
    Ok((Value::Object(input), places))
}

fn routing_from(text: &str) -> Value {
    if matches!(labelled::scalar(text), Value::Null) || text.eq_ignore_ascii_case("none") {
        return Value::Null;
    }
    let pairs = labelled::pairs(text);
    let member = |(name, value): (String, String)| {
        let value = match name.as_str() {
            "success_values" => labelled::list(&value),
            "max_iterations" | "can_further_iteration_help" => labelled::scalar(&value),
            _ => labelled::word(&value),
        };
        (name, value)
    };
    Value::Object(pairs.into_iter().map(member).collect())
}
