//! The signal: one decision, its two wire forms, and the words of other systems for it.

use alloc::format;
use alloc::string::{String, ToString};

use super::ROUTING_SIGNAL_INVALID;
use crate::decode::{Fields, null_or_string};
use crate::error::Diagnostic;
use crate::json::{CompactObject, Number, Object, Value};

/// The decision about what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Decision {
    /// Continue with the next step: `advance`, `proceed`.
    Advance,
    /// Not done; run again: `loop`, `rerun`.
    Loop,
    /// Cannot continue: `terminate`, `blocked`.
    Terminate,
    /// Go to the named step: `branch`, `route`.
    Branch,
}

impl Decision {
    /// Every decision.
    pub const ALL: [Decision; 4] = [Decision::Advance, Decision::Loop, Decision::Terminate, Decision::Branch];

    /// The word inside a hand-off.
    #[must_use]
    pub const fn orchestrator_word(self) -> &'static str {
        match self {
            Decision::Advance => "advance",
            Decision::Loop => "loop",
            Decision::Terminate => "terminate",
            Decision::Branch => "branch",
        }
    }

    /// The word in the resolver's output.
    #[must_use]
    pub const fn resolver_word(self) -> &'static str {
        match self {
            Decision::Advance => "proceed",
            Decision::Loop => "rerun",
            Decision::Terminate => "blocked",
            Decision::Branch => "route",
        }
    }

    /// Every word that is read as this decision: those of the two forms, then the aliases.
    pub(crate) const fn words(self) -> &'static [&'static str] {
        match self {
            Decision::Advance => &["advance", "proceed", "continue", "next"],
            Decision::Loop => &["loop", "rerun", "retry", "repeat", "iterate"],
            Decision::Terminate => &["terminate", "blocked", "stop", "end", "exit"],
            Decision::Branch => &["branch", "route", "switch", "redirect"],
        }
    }

    /// Reads a word of either form or an alias, ignoring case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Decision> {
        let means =
            |decision: &Decision| decision.words().iter().any(|known| known.eq_ignore_ascii_case(word));
        Decision::ALL.into_iter().find(means)
    }
}

/// The target of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Route {
    /// The flow, or `None` for the same flow. Never empty, and without `/`.
    pub flow: Option<String>,
    /// The step, or the name of the route if the flow names its routes. Never empty, and without `/` if there is no
    /// flow.
    pub step_id: String,
    /// Members that this contract does not know, in the order in which they were read. Only the resolver's form, an
    /// object, can have them.
    pub unknown: Object,
}

impl Route {
    /// Reads `step` or `flow/step`; `None` if a part is missing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Route> {
        let (flow, step_id) = match text.split_once('/') {
            Some((flow, step_id)) => (Some(flow), step_id),
            None => (None, text),
        };
        let whole = !step_id.is_empty() && flow != Some("");
        whole.then(|| Route {
            flow: flow.map(String::from),
            step_id: step_id.to_string(),
            unknown: Object::new(),
        })
    }

    /// True if the step alone is read as the same step. A step with a `/` would be read as a flow and a step.
    pub(crate) fn can_leave_out_its_flow(&self) -> bool {
        !self.step_id.contains('/')
    }

    /// `step`, or `flow/step` for a flow other than `current_flow`.
    fn name(&self, current_flow: Option<&str>) -> String {
        match self.flow.as_deref() {
            Some(flow) if Some(flow) != current_flow || !self.can_leave_out_its_flow() => {
                format!("{flow}/{}", self.step_id)
            }
            _ => self.step_id.clone(),
        }
    }
}

/// A decision with its reason: the resolver's output, and a member of a hand-off.
///
/// The signal has two wire forms with the same meaning: [`Signal::orchestrator`] inside a hand-off,
/// [`Signal::resolver`] as the resolver's output. [`Signal::decode`] reads both, and the aliases of other systems. A
/// branch always names its step. Source: seeds 0 and 1, CONTRACTS 1.1; schemas `routing-signal` and
/// `routing-signal-resolver`.
///
/// ```
/// use envoi_contract::{json::Value, routing::Signal};
///
/// let read = Value::parse_str(r#"{"decision": "route", "route": {"flow": "build", "step_id": "verify"}, "confidence": 1.0}"#)?;
/// let signal = Signal::decode(&read)?;
/// let written = signal.orchestrator(Some("signal"));
/// assert_eq!(written.get("decision").and_then(Value::as_str), Some("branch"));
/// assert_eq!(written.get("route").and_then(Value::as_str), Some("build/verify"));
///
/// let refused = Signal::decode(&Value::parse_str(r#"{"decision": "finish"}"#)?).unwrap_err();
/// assert_eq!((refused.code.as_str(), refused.pointer.as_str()), ("ROUTING_SIGNAL_INVALID", "/decision"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Two signals are equal if they have the same meaning. `raw_decision`, the word that was read, is not compared.
#[derive(Clone, Debug)]
pub struct Signal {
    /// The decision.
    pub decision: Decision,
    /// The word that was read, if it differs from the word inside a hand-off.
    pub raw_decision: Option<String>,
    /// The step to go to, if one is named.
    pub next_step_id: Option<String>,
    /// The target of a branch.
    pub route: Option<Route>,
    /// The reason, for people.
    pub reason: String,
    /// Confidence from 0 to 1, with its digits as written. 0.7 means ambiguous, 1.0 an explicit instruction.
    pub confidence: Number,
    /// Whether a person should check it first.
    pub needs_human: bool,
    /// Members that this contract does not know, in the order in which they were read.
    pub unknown: Object,
}

impl PartialEq for Signal {
    fn eq(&self, other: &Signal) -> bool {
        let decided = |signal: &Signal| (signal.decision, signal.needs_human);
        decided(self) == decided(other)
            && (&self.next_step_id, &self.route) == (&other.next_step_id, &other.route)
            && (&self.reason, &self.confidence, &self.unknown)
                == (&other.reason, &other.confidence, &other.unknown)
    }
}

impl Eq for Signal {}

/// The signal of a step without one: advance, with a reason that states that the signal is missing.
impl Default for Signal {
    fn default() -> Signal {
        Signal::new(Decision::Advance, "No routing signal given", "0.7")
    }
}

impl Signal {
    /// A signal without a target. `confidence` is a number token from 0 to 1; any other text is replaced by `0.7`,
    /// which means ambiguous.
    #[must_use]
    pub fn new(decision: Decision, reason: impl Into<String>, confidence: &'static str) -> Signal {
        let confidence =
            Number::parse(confidence).filter(Number::is_fraction_of_one).unwrap_or_else(ambiguous);
        Signal {
            decision,
            raw_decision: None,
            next_step_id: None,
            route: None,
            reason: reason.into(),
            confidence,
            needs_human: false,
            unknown: Object::new(),
        }
    }

    /// Reads either wire form, or a mixture of both.
    ///
    /// Only `decision` is required. A missing `reason` is empty, a missing `confidence` 0.7.
    ///
    /// # Errors
    /// `ROUTING_SIGNAL_INVALID`: an unknown word, a wrong type, a confidence outside 0 to 1, a branch without a step.
    pub fn decode(value: &Value) -> Result<Signal, Diagnostic> {
        let mut fields = Fields::of(value, ROUTING_SIGNAL_INVALID)?;
        let word = fields.required_string("decision")?;
        let decision = Decision::parse(&word).ok_or_else(|| unknown_word(&word))?;
        let next_step_id = fields.string("next_step_id")?;
        let route = fields.take("route").map_or(Ok(None), |route| decode_route(&route))?;
        let reason = fields.string_or_default("reason")?;
        let confidence = decode_confidence(&mut fields)?;
        let needs_human = fields.bool("needs_human")?;
        let raw_decision = (word != decision.orchestrator_word()).then_some(word);
        let unknown = fields.rest();
        let signal =
            Signal { decision, raw_decision, next_step_id, route, reason, confidence, needs_human, unknown };
        signal.targeted()
    }

    /// Completes a branch's target if only one of step and route is given.
    fn targeted(mut self) -> Result<Signal, Diagnostic> {
        if self.decision != Decision::Branch {
            return Ok(self);
        }
        match (&self.next_step_id, &self.route) {
            (None, None) => return Err(no_target()),
            (Some(next), None) => self.route = Route::parse(next),
            (None, Some(route)) => self.next_step_id = Some(route.step_id.clone()),
            (Some(_), Some(_)) => {}
        }
        Ok(self)
    }

    /// The signal as a hand-off can contain it. A route is a name there, which cannot have further members.
    pub(crate) fn for_handoff(mut self) -> Self {
        if let Some(route) = &mut self.route {
            route.unknown = Object::new();
        }
        self
    }

    /// The form inside a hand-off: all six members, `route` a string or null.
    ///
    /// A flow other than `current_flow` is written as `flow/step`.
    #[must_use]
    pub fn orchestrator(&self, current_flow: Option<&str>) -> Value {
        let route = self.route.as_ref().map(|route| route.name(current_flow));
        let mut members = self.common_members(self.decision.orchestrator_word(), route.into());
        members.insert("needs_human", Value::Bool(self.needs_human));
        self.with_unknown(members)
    }

    /// The form inside a hand-off, on one line. Equals `orchestrator(None)`, but builds no tree.
    #[must_use]
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write_compact(&mut out);
        out
    }

    pub(crate) fn write_compact(&self, out: &mut String) {
        let mut object = CompactObject::begin(out);
        object.string("decision", self.decision.orchestrator_word());
        object.string_or_null("next_step_id", self.next_step_id.as_deref());
        let route = self.route.as_ref().map(|route| route.name(None));
        object.string_or_null("route", route.as_deref());
        object.string("reason", &self.reason);
        object.name("confidence").push_str(self.confidence.as_str());
        object.bool("needs_human", self.needs_human);
        object.unknown(&self.unknown, &KNOWN);
        object.end();
    }

    /// Checks that [`Signal::decode`] would accept the output of [`Signal::orchestrator`].
    ///
    /// # Errors
    /// As [`Signal::decode`].
    pub fn check(&self) -> Result<(), Diagnostic> {
        if !self.confidence.is_fraction_of_one() {
            let found = Value::from(self.confidence.clone());
            return Err(Diagnostic::of_value(
                ROUTING_SIGNAL_INVALID,
                "/confidence",
                "a number from 0 to 1",
                &found,
            ));
        }
        if let Some(route) = &self.route {
            decode_route(&Value::from(route.name(None)))?;
        } else if self.decision == Decision::Branch && self.next_step_id.is_none() {
            return Err(no_target());
        }
        Ok(())
    }

    /// The form of the resolver's output: `route` an object or null, `needs_human` only when true.
    #[must_use]
    pub fn resolver(&self) -> Value {
        let route = self.route.as_ref().map(|route| {
            let Route { flow, step_id, unknown } = route;
            let known = Object::from([
                ("flow", Value::from(flow.clone())),
                ("step_id", Value::from(step_id.as_str())),
            ]);
            crate::decode::with_unknown(known, unknown)
        });
        let mut members = self.common_members(self.decision.resolver_word(), route.into());
        if self.needs_human {
            members.insert("needs_human", Value::Bool(true));
        }
        self.with_unknown(members)
    }

    fn common_members(&self, word: &str, route: Value) -> Object {
        Object::from_distinct(alloc::vec![
            ("decision".to_string(), Value::from(word)),
            ("next_step_id".to_string(), Value::from(self.next_step_id.clone())),
            ("route".to_string(), route),
            ("reason".to_string(), Value::from(self.reason.as_str())),
            ("confidence".to_string(), Value::from(self.confidence.clone())),
        ])
    }

    fn with_unknown(&self, known: Object) -> Value {
        crate::decode::with_unknown(known, &self.unknown)
    }
}

/// The members of the form inside a hand-off.
const KNOWN: [&str; 6] = ["decision", "next_step_id", "route", "reason", "confidence", "needs_human"];

fn no_target() -> Diagnostic {
    let expected = "`route` or `next_step_id` beside the decision `branch`";
    Diagnostic::new(ROUTING_SIGNAL_INVALID, "", expected, "neither").with_hint("name the step to go to")
}

fn ambiguous() -> Number {
    Number::parse("0.7").unwrap_or_else(|| Number::from(0_u64))
}

fn unknown_word(word: &str) -> Diagnostic {
    let expected = "advance, loop, terminate or branch (or proceed, rerun, blocked, route)";
    let found = crate::quoted::shorten(word, 60);
    Diagnostic::new(ROUTING_SIGNAL_INVALID, "/decision", expected, &found)
        .with_hint("an unknown word is never taken for `advance`")
}

fn decode_confidence(fields: &mut Fields) -> Result<Number, Diagnostic> {
    match fields.take("confidence") {
        None => Ok(ambiguous()),
        Some(Value::Number(number)) if number.is_fraction_of_one() => Ok(number),
        Some(other) => Err(fields.wrong("confidence", "a number from 0 to 1", &other)),
    }
}

fn decode_route(route: &Value) -> Result<Option<Route>, Diagnostic> {
    let refused = |expected: &str| Diagnostic::of_value(ROUTING_SIGNAL_INVALID, "/route", expected, route);
    match route {
        Value::Null => Ok(None),
        Value::String(name) => {
            Route::parse(name).map(Some).ok_or_else(|| refused("a step, or a flow and a step as `flow/step`"))
        }
        Value::Object(_) => decode_route_object(route).map(Some).map_err(|refusal| refusal.inside("/route")),
        _ => Err(refused("a string, an object or null")),
    }
}

fn decode_route_object(route: &Value) -> Result<Route, Diagnostic> {
    let mut fields = Fields::of(route, ROUTING_SIGNAL_INVALID)?;
    let flow = fields.take("flow").map_or(Ok(None), |flow| null_or_string(&fields, "flow", flow))?;
    let step_id = fields.required_string("step_id")?;
    let name = flow.as_ref().map_or_else(|| step_id.clone(), |flow| format!("{flow}/{step_id}"));
    // Both forms must have the same meaning, so a name that the string form would read differently is refused.
    let read =
        Route::parse(&name).filter(|read| read.flow == flow && read.step_id == step_id).ok_or_else(|| {
            Diagnostic::of_value(ROUTING_SIGNAL_INVALID, "", "names without `/`, not empty", route)
        })?;
    Ok(Route { unknown: fields.rest(), ..read })
}
