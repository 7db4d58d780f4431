//! The decision table: the first row that matches decides, and the audit states why the earlier ones did not match.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::hint::Hint;
use super::input::{Input, Kind, Routing};
use super::label::{self, Stated};
use super::scan::has_pair;
use super::signal::{Decision, Route, Signal};
use super::text::{Findings, Reading, status};
use crate::digest::Digest;
use crate::error::Diagnostic;
use crate::json::{Object, Value};

/// The reason for a signal: the row of the decision table that matched, and why the rows before it did not. Written
/// into hand-offs as `routing_audit`. Source: CONTRACTS 1.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The row of the decision table (CONTRACTS 1.4) that matched.
    pub row: &'static str,
    /// The reason why it matched.
    pub fired_because: String,
    /// The rows before it, each with the reason why it did not match.
    pub passed_over: Vec<(&'static str, Cow<'static, str>)>,
    /// The hint that named an unknown step, if row 1b matched too.
    pub unknown_hint: Option<String>,
    /// SHA-256 of the whole input, as compact JSON in the order of its members.
    pub input_digest: Digest,
}

impl Audit {
    /// The audit in the form that a hand-off contains:
    /// `row, fired_because, passed_over, unknown_hint?, input_digest`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let passed: Object =
            self.passed_over.iter().map(|(row, why)| (*row, Value::from(why.as_ref()))).collect();
        let mut members = Object::from([
            ("row", Value::from(self.row)),
            ("fired_because", Value::from(self.fired_because.as_str())),
            ("passed_over", Value::Object(passed)),
        ]);
        if let Some(hint) = &self.unknown_hint {
            members.insert("unknown_hint", Value::from(hint.as_str()));
        }
        members.insert("input_digest", Value::from(self.input_digest.to_string()));
        Value::Object(members)
    }
}

/// The rows of the table.
const ROWS: [&str; 10] = ["1", "1a", "1b", "2", "3", "4", "5", "6", "7", "8"];

impl Audit {
    /// Reads the output of [`Audit::to_value`]; `None` for any other value.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Audit> {
        let text = |name| value.get(name).and_then(Value::as_str);
        let known = |row: &str| ROWS.into_iter().find(|known| *known == row);
        let passed = value.get("passed_over")?.as_object()?.iter();
        let passed_over = passed.map(|(row, why)| Some((known(row)?, Cow::from(why.as_str()?.to_string()))));
        Some(Audit {
            row: known(text("row")?)?,
            fired_because: text("fired_because")?.to_string(),
            passed_over: passed_over.collect::<Option<_>>()?,
            unknown_hint: text("unknown_hint").map(ToString::to_string),
            input_digest: Digest::parse(text("input_digest")?)?,
        })
    }
}

/// A signal and its audit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Resolution {
    /// The decision.
    pub signal: Signal,
    /// The reason.
    pub audit: Audit,
}

/// Derives one decision from a hand-off text and its routing configuration. The same input always gives the same
/// signal.
///
/// # Errors
/// `ROUTING_INVALID` if the routing is a microloop without an end, or expects an empty status.
pub fn resolve(input: &Input) -> Result<Resolution, Diagnostic> {
    if let Some(routing) = &input.routing {
        routing.check().map_err(|refusal| refusal.inside("/routing"))?;
    }
    let reading = Reading::of(&input.handoff_text);
    let mut findings = reading.findings(input.hints);
    if let Some(stated) = &input.stated {
        findings.statuses = alloc::vec![Stated { negated: false, word: stated.clone() }];
    } else if let Some(reported) = &input.reported {
        findings.statuses.extend(status(label::value(reported)));
    }
    let table = Table { input, reading: &reading, findings: &findings, passed: Vec::new() };
    Ok(table.decide())
}

/// The expected status, as far as the text states it.
enum Outcome {
    /// A status was read.
    Read { success: bool, inferred: bool, shown: String },
    /// Labelled statuses differ.
    Conflict(String),
    /// No status, or no clear one.
    Unclear,
}

/// The row that matched.
struct Fired {
    row: &'static str,
    because: String,
    signal: Signal,
}

impl Fired {
    fn new(row: &'static str, because: impl Into<String>, signal: Signal) -> Fired {
        Fired { row, because: because.into(), signal }
    }
}

/// The table, with the rows that did not match so far.
struct Table<'a> {
    input: &'a Input,
    reading: &'a Reading<'a>,
    findings: &'a Findings,
    passed: Vec<(&'static str, Cow<'static, str>)>,
}

impl Table<'_> {
    fn decide(mut self) -> Resolution {
        if self.input.cut && self.is_read() {
            return self.cut();
        }
        let hints = self.distinct_hints();
        let (fired, unknown) = match hints.as_slice() {
            [] => {
                self.pass("1", "no hint in the text");
                self.pass("1a", "no hint in the text");
                self.pass("1b", "no hint in the text");
                (self.without_hint(), None)
            }
            [hint] if self.is_unknown(hint) => {
                self.pass("1", "the step that the hint names is unknown");
                self.pass("1a", "only one hint");
                (self.without_hint(), Some(hint.shown()))
            }
            [hint] => (self.follow(hint), None),
            several => {
                self.pass("1", "more than one hint");
                (conflicting_hints(several), None)
            }
        };
        self.close(fired, unknown)
    }

    /// True if any part of the text would count.
    fn is_read(&self) -> bool {
        let waits_for_status = || {
            let routing = self.input.routing.as_ref();
            routing
                .is_some_and(|routing| routing.kind != Kind::Branch && !expected_values(routing).is_empty())
        };
        self.input.hints || (self.input.stated.is_none() && waits_for_status())
    }

    /// Row 8, for a text that is incomplete.
    fn cut(mut self) -> Resolution {
        for row in ["1", "1a", "1b", "2", "3", "4", "5", "6", "7"] {
            self.pass(row, "the text is cut");
        }
        let signal = Signal::new(Decision::Advance, "Handoff is cut, and nothing is read from it", "0.7");
        self.close(
            Fired::new("8", "the text is only a part of what the step wrote", needing_human(signal)),
            None,
        )
    }

    fn close(self, fired: Fired, unknown_hint: Option<String>) -> Resolution {
        let Fired { row, because, mut signal } = fired;
        if let Some(step) = &unknown_hint {
            signal.reason.push_str(&format!("; unknown step '{step}'"));
            signal.needs_human = true;
        }
        let input_digest = Digest::of(self.input.to_value().compact().as_bytes());
        let audit =
            Audit { row, fired_because: because, passed_over: self.passed, unknown_hint, input_digest };
        Resolution { signal, audit }
    }

    fn pass(&mut self, row: &'static str, why: impl Into<Cow<'static, str>>) {
        self.passed.push((row, why.into()));
    }

    /// The distinct hints. The flow is kept only if it is another one.
    fn distinct_hints(&self) -> Vec<Hint> {
        let hints = self.findings.hints.iter().map(|hint| {
            let flow = hint.flow.clone().filter(|_| hint.flow != self.input.flow);
            Hint { flow, step_id: hint.step_id.clone() }
        });
        let mut seen = BTreeSet::new();
        hints.filter(|hint| seen.insert(hint.clone())).collect()
    }

    /// True if the names of the steps are known and do not include this name. If the current flow is known, a step of
    /// another flow has to be listed as `flow/step`.
    fn is_unknown(&self, hint: &Hint) -> bool {
        let elsewhere = hint.flow.is_some() && self.input.flow.is_some();
        let name = if elsewhere { hint.shown() } else { hint.step_id.clone() };
        self.input.steps.as_ref().is_some_and(|steps| !steps.contains(&name))
    }

    /// Row 1.
    #[expect(clippy::unused_self, reason = "reads as a row of the table")]
    fn follow(&self, hint: &Hint) -> Fired {
        let step = &hint.step_id;
        let reason = format!("Explicit routing hint: step '{step}'");
        let because = format!("the text has a hint to go to {}", hint.shown());
        let mut signal = Signal::new(Decision::Branch, reason, "1.0");
        signal.next_step_id = Some(step.clone());
        signal.route = Some(Route { flow: hint.flow.clone(), step_id: step.clone(), unknown: Object::new() });
        Fired::new("1", because, signal)
    }

    /// Rows 2 to 8.
    fn without_hint(&mut self) -> Fired {
        let input = self.input;
        let Some(routing) = &input.routing else {
            let signal = Signal::new(Decision::Advance, "No routing configuration", "0.7");
            return Fired::new("2", "nothing is configured", signal);
        };
        self.pass("2", "routing is configured");
        if routing.kind == Kind::Branch {
            for row in ["3", "4", "5", "6"] {
                self.pass(row, "a branch waits for no status");
            }
            let signal = needing_human(Signal::new(Decision::Advance, "No routing hint", "0.7"));
            return Fired::new("7", "a branch without a hint", signal);
        }
        self.by_status(routing)
    }

    /// Rows 3 to 8 of a linear step or a microloop.
    fn by_status(&mut self, routing: &Routing) -> Fired {
        let expected = expected_values(routing);
        if expected.is_empty() {
            for row in ["3", "4", "5", "6"] {
                self.pass(row, "no status is waited for");
            }
            return linear_complete();
        }
        match self.outcome(&expected) {
            Outcome::Read { success: true, inferred, shown } => {
                let because = format!("the status {shown} is a success value{}", how(inferred));
                Fired::new(
                    "3",
                    because,
                    Signal::new(Decision::Advance, "Loop target reached", sure(inferred)),
                )
            }
            Outcome::Read { success: false, inferred, shown } => {
                self.pass("3", format!("the status {shown} is no success value{}", how(inferred)));
                self.not_reached(routing, inferred)
            }
            unread => {
                for row in ["3", "4", "5", "6"] {
                    self.pass(row, "no clear status was read");
                }
                self.unclear(&unread)
            }
        }
    }

    /// Rows 4 to 6, for a status that is not a success.
    fn not_reached(&mut self, routing: &Routing, inferred: bool) -> Fired {
        let iteration = self.input.iteration;
        let max = routing.max_iterations;
        if iteration >= max {
            let target = target(routing);
            let reason = format!("Max iterations ({max}) exhausted without {target}");
            let signal = needing_human(Signal::new(Decision::Loop, reason, sure(inferred)));
            return Fired::new("4", format!("iteration {iteration} is the last of {max}"), signal);
        }
        self.pass("4", "iterations are left");
        if self.findings.denies_help || !routing.can_further_iteration_help {
            let source = if self.findings.denies_help { "the text" } else { "the configuration" };
            let signal = Signal::new(Decision::Terminate, "Further iteration cannot help", sure(inferred));
            return Fired::new("5", format!("stated in {source}"), needing_human(signal));
        }
        self.pass("5", "further iteration can help");
        let reason = format!("Loop target not reached (iteration {iteration} of {max})");
        let because = "the status is no success and iterations are left";
        Fired::new("6", because, Signal::new(Decision::Loop, reason, sure(inferred)))
    }

    /// Row 8: a status is expected, and it is unclear or conflicting.
    fn unclear(&mut self, outcome: &Outcome) -> Fired {
        self.pass("7", "a status is waited for");
        let (reason, because) = match outcome {
            Outcome::Conflict(shown) => {
                (format!("Conflicting statuses: {shown}"), "labelled statuses differ")
            }
            _ => ("Handoff does not state a status".to_string(), "no clear status was read"),
        };
        Fired::new("8", because, needing_human(Signal::new(Decision::Advance, reason, "0.7")))
    }

    fn outcome(&self, expected: &[&str]) -> Outcome {
        let statuses = &self.findings.statuses;
        let Some(last) = statuses.last() else { return self.inferred(expected) };
        if statuses.iter().all(|status| status.agrees_with(last)) {
            let success = !last.negated && is_among(&last.word, expected);
            return Outcome::Read { success, inferred: false, shown: last.shown() };
        }
        let mut seen = BTreeSet::new();
        let distinct = statuses.iter().filter(|status| seen.insert(status.key()));
        Outcome::Conflict(distinct.map(Stated::shown).collect::<Vec<_>>().join(", "))
    }

    /// Infers a status from unlabelled words: exactly one expected value, which is always affirmed or always denied.
    /// An inner member of a JSON text that states another status makes it unclear.
    fn inferred(&self, expected: &[&str]) -> Outcome {
        let values = Values::of(expected);
        let mut found: Option<(&str, bool)> = None;
        for line in self.reading.prose() {
            for mention in values.mentions(line) {
                if found.is_some_and(|earlier| earlier != mention) {
                    return Outcome::Unclear;
                }
                found = Some(mention);
            }
        }
        let Some((value, negated)) = found else { return Outcome::Unclear };
        let inferred = Stated { negated, word: value.to_string() };
        if self.reading.inner_statuses().iter().any(|inner| !inner.agrees_with(&inferred)) {
            return Outcome::Unclear;
        }
        Outcome::Read { success: !negated, inferred: true, shown: inferred.shown() }
    }
}

/// Row 1a.
fn conflicting_hints(hints: &[Hint]) -> Fired {
    let shown = hints.iter().map(Hint::shown).collect::<Vec<_>>().join(", ");
    let signal = Signal::new(Decision::Advance, format!("Conflicting routing hints: {shown}"), "0.7");
    Fired::new("1a", format!("the text has a hint to go to {shown}"), needing_human(signal))
}

/// Row 7 of a linear step.
fn linear_complete() -> Fired {
    let signal = Signal::new(Decision::Advance, "Linear step complete", "0.9");
    Fired::new("7", "a linear step that waits for no status", signal)
}

fn needing_human(mut signal: Signal) -> Signal {
    signal.needs_human = true;
    signal
}

const fn sure(inferred: bool) -> &'static str {
    if inferred { "0.8" } else { "0.9" }
}

const fn how(inferred: bool) -> &'static str {
    if inferred { ", inferred from unlabelled words" } else { "" }
}

/// The distinct values that count as success.
fn expected_values(routing: &Routing) -> Vec<&str> {
    if routing.success_values.is_empty() {
        return routing.loop_target.as_deref().into_iter().collect();
    }
    let mut seen = BTreeSet::new();
    let values = routing.success_values.iter().map(String::as_str);
    values.filter(|value| seen.insert(value.to_ascii_lowercase())).collect()
}

/// The name of the expected status in a reason.
fn target(routing: &Routing) -> &str {
    routing.loop_target.as_deref().or(routing.success_values.first().map(String::as_str)).unwrap_or_default()
}

fn is_among(word: &str, values: &[&str]) -> bool {
    values.iter().any(|value| value.eq_ignore_ascii_case(word))
}

/// Up to this number of values, a quick check for each value precedes the careful reading of a line.
const FEW_VALUES: usize = 8;

/// The expected values in lower case, sorted. A text is read once for any number of values.
struct Values<'v>(Vec<(String, &'v str)>);

impl<'v> Values<'v> {
    fn of(expected: &[&'v str]) -> Values<'v> {
        let mut values: Vec<_> = expected.iter().map(|value| (value.to_ascii_lowercase(), *value)).collect();
        values.sort_unstable();
        Values(values)
    }

    /// The occurrences of the values in a line as whole words, each with whether it is denied. A value in a list of
    /// alternatives is an echoed template and does not count.
    fn mentions(&self, line: &str) -> Vec<(&'v str, bool)> {
        let mut mentions = Vec::new();
        if !self.may_stand_in(line) {
            return mentions;
        }
        let mut before_is_part = false;
        for (at, first) in line.char_indices() {
            let begins = !core::mem::replace(&mut before_is_part, label::is_word_part(first));
            if !begins {
                continue;
            }
            let (before, from) = line.split_at(at);
            self.at_start_of(from, |value| {
                let after = from.get(value.len()..).unwrap_or_default();
                if !after.starts_with(label::is_word_part) && !is_alternative(before, after) {
                    mentions.push((value, is_denied(before)));
                }
            });
        }
        mentions
    }

    /// A quick check whether `line` may contain a value. Only used for few values.
    fn may_stand_in(&self, line: &str) -> bool {
        let pair = |value: &str| value.as_bytes().first_chunk().is_none_or(|pair| has_pair(line, *pair));
        self.0.len() > FEW_VALUES || self.0.iter().any(|(_, value)| pair(value))
    }

    /// Calls `found` with each value that `text` begins with, ignoring case. Each byte narrows the range of
    /// candidates.
    fn at_start_of(&self, text: &str, mut found: impl FnMut(&'v str)) {
        let mut left = self.0.as_slice();
        for (place, byte) in text.bytes().enumerate() {
            let byte = byte.to_ascii_lowercase();
            let here = |value: &(String, &str)| value.0.as_bytes().get(place).copied();
            let start = left.partition_point(|value| here(value) < Some(byte));
            let end = left.partition_point(|value| here(value) <= Some(byte));
            left = left.get(start..end).unwrap_or_default();
            // The shortest candidate comes first, and each value is found once.
            match left.first() {
                None => return,
                Some((lower, value)) if lower.len() == place + 1 => found(value),
                Some(_) => {}
            }
        }
    }
}

fn is_alternative(before: &str, after: &str) -> bool {
    let before = before.trim_ascii_end();
    before.ends_with(['|', '/'])
        || last_word(before).eq_ignore_ascii_case("or")
        || label::goes_on_with_alternative(after)
}

/// True if the words before are `not` or `not yet`.
fn is_denied(before: &str) -> bool {
    let before = before.trim_end_matches(|scalar: char| !label::is_word_part(scalar) && scalar != '.');
    let last = last_word(before);
    if !last.eq_ignore_ascii_case("yet") {
        return last.eq_ignore_ascii_case("not");
    }
    let earlier = before.strip_suffix(last).unwrap_or(before);
    last_word(earlier.trim_ascii_end()).eq_ignore_ascii_case("not")
}

fn last_word(text: &str) -> &str {
    text.rsplit(|scalar| !label::is_word_part(scalar)).next().unwrap_or(text)
}
