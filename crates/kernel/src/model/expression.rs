//! Expressions: `${{ … }}` in strings and in `if`.
//!
//! Owns their syntax and their evaluation. In a template, a string is inserted as it is, and every other
//! value as compact JSON with its original number token. Fuel limits the number of instructions; a meter,
//! shared by all expressions of a step, limits the memory. Evaluation reads only the given values and happens
//! once: the result is stored in an event. Crate `flow` checks before a run which names exist.

#[cfg(test)]
mod bounds;
mod compare;
mod guard;
mod language;
mod meter;
pub mod names;
mod number;
mod ordered;
mod sorting;

pub use guard::variables;
pub use language::{filter_names, test_names};

use crate::model::{files, size};
use envoi_contract::json::{Object, Value};
pub(crate) use meter::Spent;
use meter::{EXPRESSION_BYTES, MAX_MADE_BYTES, Meter};
use minijinja::{ErrorKind, value::ValueKind};
use names::{Call, Kind};
use ordered::OrderedMap;
use std::borrow::Cow;

/// Longest source of one expression: the parser recurses, and a longer chain could overflow the stack.
pub const MAX_EXPRESSION_BYTES: usize = 1024;

/// Why an expression could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expression `{expression}`: {reason}")]
pub struct EvaluationError {
    /// The source.
    pub expression: String,
    /// The error, in minijinja's words.
    pub reason: String,
    /// Whether it refers to artifacts that are in a manifest (too many to be a value), or exceeds the memory
    /// limit of expressions.
    pub too_large: bool,
}

impl EvaluationError {
    fn new(expression: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { expression: expression.into(), reason: reason.into(), too_large: false }
    }
}

/// A piece of a string with `${{ … }}` in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Literal text. `$`, `${NAME}` and `{{` are text.
    Text(&'a str),
    /// The source between `${{` and `}}`.
    Expression(&'a str),
    /// `${{` without its `}}`: the rest of the string.
    Unclosed(&'a str),
}

/// The pieces of `template`, in order. A `}}` inside a quoted string of an expression does not end the
/// expression.
#[must_use]
pub fn segments(template: &str) -> Vec<Segment<'_>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once("${{") {
        if !text.is_empty() {
            found.push(Segment::Text(text));
        }
        let Some((expression, remaining)) = end_of_expression(after).and_then(|end| split_around(after, end))
        else {
            found.push(Segment::Unclosed(after));
            return found;
        };
        found.push(Segment::Expression(expression));
        rest = remaining;
    }
    if !rest.is_empty() {
        found.push(Segment::Text(rest));
    }
    found
}

/// Whether `template` contains no expression, so that no values are needed to render it.
pub(crate) fn is_text(template: &str) -> bool {
    !template.contains("${{")
}

/// The text before and after the `}}` at `end`.
fn split_around(text: &str, end: usize) -> Option<(&str, &str)> {
    Some((text.get(..end)?, text.get(end.checked_add(2)?..)?))
}

fn end_of_expression(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'}') if text.as_bytes().get(place.saturating_add(1)) == Some(&b'}') => {
                return Some(place);
            }
            _ => {}
        }
    }
    None
}

/// The values that expressions see: `inputs`, `steps` and `run`. All expressions that are evaluated with one
/// scope share the limit of one step.
#[derive(Debug, Clone)]
pub struct Scope {
    meter: Meter,
    root: minijinja::Value,
    after_failure: bool,
    /// Steps whose artifacts are in a manifest, with its path relative to the run's folder.
    large: Vec<(String, String)>,
    /// Steps whose data are too large to be a value.
    large_data: Vec<String>,
    /// Steps whose text is too long to be a value, so that only its summary is available.
    large_text: Vec<String>,
}

impl Scope {
    /// A scope over these members.
    #[must_use]
    pub fn new(members: &Object) -> Self {
        Self::paid_from(&Spent::default(), members)
    }

    /// A scope over these members. The work of its expressions, and the size of the members themselves, are
    /// added to `spent`.
    pub(crate) fn paid_from(spent: &Spent, members: &Object) -> Self {
        spent.add(weight(members));
        let steps = members.get("steps").and_then(Value::as_object).into_iter().flat_map(Object::iter);
        let large = steps
            .filter_map(|(id, step)| {
                Some((id.to_owned(), files::list_of(step.get("artifacts")?)?.to_owned()))
            })
            .collect();
        let (shown, large_data) = without_large_data(members.clone());
        let large_text = without_text(&shown);
        let root = convert(&Value::Object(shown));
        Self { meter: Meter::new(spent.clone()), root, after_failure: false, large, large_data, large_text }
    }

    /// Sets the result of `success()` and `failure()`: whether something before has failed.
    #[must_use]
    pub fn after_failure(self, after_failure: bool) -> Self {
        Self { after_failure, ..self }
    }

    /// Renders a string with `${{ … }}` in it.
    ///
    /// # Errors
    /// An undefined name, a wrong type, or work beyond the limits.
    pub fn render(&self, template: &str) -> Result<String, EvaluationError> {
        let mut out = String::with_capacity(template.len());
        for segment in segments(template) {
            match segment {
                Segment::Text(text) => out.push_str(text),
                Segment::Expression(source) => out.push_str(&self.text(source)?),
                Segment::Unclosed(source) => return Err(unclosed(source)),
            }
        }
        Ok(out)
    }

    /// Converts `template` to a script. Each expression becomes a `reference` to a variable, so that a value
    /// is never interpreted as code. Returns the script and the variables, named `ENVOI_VALUE_1` and so on.
    ///
    /// # Errors
    /// As [`Scope::render`].
    pub fn render_script(
        &self,
        template: &str,
        reference: impl Fn(&str) -> String,
    ) -> Result<(String, Vec<(String, String)>), EvaluationError> {
        let mut script = String::with_capacity(template.len());
        let mut variables = Vec::new();
        for segment in segments(template) {
            match segment {
                Segment::Text(text) => script.push_str(text),
                Segment::Expression(source) => {
                    let name = format!("ENVOI_VALUE_{}", variables.len().saturating_add(1));
                    script.push_str(&reference(&name));
                    variables.push((name, self.text(source)?));
                }
                Segment::Unclosed(source) => return Err(unclosed(source)),
            }
        }
        Ok((script, variables))
    }

    fn text(&self, source: &str) -> Result<String, EvaluationError> {
        let mut out = String::new();
        let value = self.value(source)?;
        match value.as_str() {
            Some(text) => out.push_str(text),
            None => write_value(source, &value, &mut out)?,
        }
        self.pay(source, meter::length(&out))?;
        Ok(out)
    }

    fn pay(&self, source: &str, bytes: u64) -> Result<(), EvaluationError> {
        self.meter.take(bytes).map_err(|error| self.failed(source, &error))
    }

    fn failed(&self, source: &str, error: &minijinja::Error) -> EvaluationError {
        EvaluationError { too_large: self.meter.is_exceeded(), ..failed(source, error) }
    }

    fn value(&self, source: &str) -> Result<minijinja::Value, EvaluationError> {
        if source.len() > MAX_EXPRESSION_BYTES {
            let reason = format!("it is longer than {MAX_EXPRESSION_BYTES} bytes");
            return Err(EvaluationError::new(source.chars().take(40).collect::<String>(), reason));
        }
        let too_large = |reason: String| EvaluationError {
            too_large: true,
            ..EvaluationError::new(source.trim(), reason)
        };
        if let Some((step, list)) = self.large.iter().find(|(step, _)| asks_for_artifacts(source, step)) {
            return Err(too_large(format!(
                "the artifacts of step `{step}` are too many to be a value; the file `{list}` in the run's folder lists them"
            )));
        }
        // Fails even if the expression has a default: the data exist, and a default is for missing data.
        if let Some(step) = self.large_data.iter().find(|step| asks_for(source, step, "data", false)) {
            return Err(too_large(format!(
                "the data of step `{step}` has more than 64 KiB or more than 100 levels of nesting, and is no value of an expression"
            )));
        }
        if let Some(step) = self.large_text.iter().find(|step| asks_for(source, step, "text", false)) {
            return Err(too_large(text_is_not_whole(step)));
        }
        self.pay(source, EXPRESSION_BYTES)?;
        let mut environment = language::environment(&self.meter);
        let failed_before = self.after_failure;
        environment.add_function("success", move || !failed_before);
        environment.add_function("failure", move || failed_before);
        environment.add_function("always", || true);
        let value = guard::evaluate(&environment, &self.as_undefined(source), self.root.clone())
            .and_then(|value| {
                let value = value.unwrap_or(minijinja::Value::UNDEFINED);
                meter::finite(&value).map(|()| value)
            })
            .map_err(|error| self.failed(source, &error))?;
        if value.is_undefined() {
            let reason = self.what_is_missing(source).unwrap_or_else(|| "it is not defined".to_owned());
            return Err(EvaluationError::new(source.trim(), reason));
        }
        Ok(value)
    }

    /// The first undefined path of the source, and the reason if it is known.
    fn what_is_missing(&self, source: &str) -> Option<String> {
        let (name, members) = self.missing_path(source)?;
        if let ("steps", [id, data, _]) = (name.as_str(), members.as_slice())
            && data == "data"
            && self
                .root
                .get_attr("steps")
                .and_then(|steps| steps.get_attr(id)?.get_attr(data))
                .ok()?
                .is_none()
        {
            let cure = "with `data: json` the output of a step is its data";
            return Some(format!("it is not defined: step `{id}` handed over no data; {cure}"));
        }
        if let ("steps", [id, member]) = (name.as_str(), members.as_slice()) {
            let step = self.root.get_attr("steps").and_then(|steps| steps.get_attr(id)).ok()?;
            if step.get_attr("summary").is_ok_and(|summary| summary.is_undefined()) {
                return Some(format!(
                    "step `{id}` is left out of the part that is run, and has no `{member}`"
                ));
            }
        }
        let path = members.iter().fold(name, |path, member| format!("{path}.{member}"));
        Some(match path == source.trim() {
            true => "it is not defined".to_owned(),
            false => format!("`{path}` is not defined"),
        })
    }

    fn missing_path(&self, source: &str) -> Option<(String, Vec<String>)> {
        names::names(source).into_iter().find_map(|found| match found.kind {
            Kind::Path { members, call: Call::No } => {
                let missing = self.first_missing(&found.name, &members)?;
                Some((found.name, members.into_iter().take(missing).collect()))
            }
            Kind::Path { .. } | Kind::Filter | Kind::Test => None,
        })
    }

    /// Index of the first undefined member of a path. `None`: all are defined, or the name does not belong to
    /// the scope.
    fn first_missing(&self, name: &str, members: &[String]) -> Option<usize> {
        let mut value = self.root.get_attr(name).ok().filter(|value| !value.is_undefined())?;
        for (before, member) in members.iter().enumerate() {
            value = value.get_attr(member).ok()?;
            if value.is_undefined() {
                return before.checked_add(1);
            }
        }
        None
    }

    /// The source, with each path cut after its first undefined member. This makes `default()` and `is
    /// defined` work for deeper paths: without it, `steps.a.data.b` with an undefined `steps.a` would be an
    /// error before either is evaluated.
    fn as_undefined<'s>(&self, source: &'s str) -> Cow<'s, str> {
        let cut_short = |found: &names::Found| match &found.kind {
            Kind::Path { members, call: Call::No } => {
                let missing =
                    self.first_missing(&found.name, members).filter(|count| *count < members.len())?;
                let kept = members.get(..missing)?;
                // A path with a quote or an escape in a name is left unchanged for the expression language.
                let is_plain = kept.iter().all(|member| !member.contains(['\'', '\\']));
                let path = kept.iter().map(|member| format!("['{member}']"));
                is_plain.then(|| format!("{}{}", found.name, path.collect::<String>()))
            }
            Kind::Path { .. } | Kind::Filter | Kind::Test => None,
        };
        let mut cut = Cow::Borrowed(source);
        // Replaces from the end, so that earlier positions stay valid.
        for found in names::names(source).iter().rev() {
            if let Some(path) = cut_short(found) {
                cut.to_mut().replace_range(found.range.clone(), &path);
            }
        }
        cut
    }

    /// Evaluates one expression. A source that is JSON evaluates to that JSON value, with its number tokens.
    ///
    /// # Errors
    /// As [`Scope::render`].
    pub fn evaluate(&self, source: &str) -> Result<Value, EvaluationError> {
        if let Ok(literal) = Value::parse_str(source.trim()) {
            return Ok(literal);
        }
        let mut text = String::new();
        write_value(source, &self.value(source)?, &mut text)?;
        self.pay(source, meter::length(&text))?;
        Value::parse_str(&text)
            .map_err(|error| EvaluationError::new(source.trim(), format!("its value is no JSON: {error}")))
    }

    /// Evaluates the expression of an `if`. False, 0, empty values and null count as false.
    ///
    /// # Errors
    /// As [`Scope::render`].
    pub fn holds(&self, expression: &str) -> Result<bool, EvaluationError> {
        Ok(self.value(expression)?.is_true())
    }
}

/// Whether an expression refers to `steps.ID.artifacts`, with dots or in brackets.
fn asks_for_artifacts(source: &str, step: &str) -> bool {
    asks_for(source, step, "artifacts", true)
}

/// Whether an expression refers to this member of the step, or, if `or_all`, to the whole step.
fn asks_for(source: &str, step: &str, member: &str, or_all: bool) -> bool {
    let mut dotted = String::with_capacity(source.len());
    for character in source.chars().filter(|character| !character.is_whitespace()) {
        match character {
            '[' => dotted.push('.'),
            ']' | '"' | '\'' => {}
            other => dotted.push(other),
        }
    }
    // An expression that reads all steps as a whole reads these artifacts too.
    let name = format!("steps.{step}.{member}");
    let whole = format!("steps.{step}");
    dotted.match_indices(&whole).any(|(place, _)| {
        let rest = dotted.get(place.saturating_add(whole.len())..).unwrap_or_default();
        let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '-' | '.'));
        (or_all && ends) || dotted.get(place..).is_some_and(|from| from.starts_with(&name))
    })
}

fn text_is_not_whole(step: &str) -> String {
    format!(
        "the text of step `{step}` is not kept whole: it has more than 100 KiB, or is cut, or the flow did not read it when the \
         step was done"
    )
}

/// The steps that have a summary and no text.
fn without_text(members: &Object) -> Vec<String> {
    let Some(Value::Object(steps)) = members.get("steps") else { return Vec::new() };
    let lacks_text = |step: &Value| step.get("summary").is_some() && step.get("text").is_none();
    steps.iter().filter(|(_, step)| lacks_text(step)).map(|(id, _)| id.to_owned()).collect()
}

/// The members without data that are a reference to stored content, and the steps that have such data.
fn without_large_data(mut members: Object) -> (Object, Vec<String>) {
    let Some(Value::Object(steps)) = members.get_mut("steps") else { return (members, Vec::new()) };
    let has_large = |step: &Value| step.get("data").is_some_and(size::is_reference);
    let large: Vec<String> =
        steps.iter().filter(|(_, step)| has_large(step)).map(|(id, _)| id.to_owned()).collect();
    for id in &large {
        if let Some(Value::Object(step)) = steps.get_mut(id) {
            step.remove("data");
        }
    }
    (members, large)
}

fn unclosed(source: &str) -> EvaluationError {
    EvaluationError::new(source, "`${{` has no `}}`")
}

fn failed(expression: &str, error: &minijinja::Error) -> EvaluationError {
    let reason = match error.kind() {
        ErrorKind::OutOfFuel => "it takes too much work".to_owned(),
        _ => error.to_string(),
    };
    EvaluationError::new(expression.trim(), reason)
}

/// The approximate size of these members in bytes.
fn weight(members: &Object) -> u64 {
    let of_member = |(name, value): (&str, &Value)| meter::length(name).saturating_add(weight_of(value));
    members.iter().map(of_member).fold(0, u64::saturating_add)
}

fn weight_of(value: &Value) -> u64 {
    let within = match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => meter::length(number.as_str()),
        Value::String(text) => meter::length(text),
        Value::Array(items) => items.iter().map(weight_of).fold(0, u64::saturating_add),
        Value::Object(members) => weight(members),
    };
    within.saturating_add(meter::ITEM_BYTES)
}

fn convert(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(flag) => minijinja::Value::from(*flag),
        Value::Number(number) => number::value(number),
        Value::String(text) => minijinja::Value::from(text.as_str()),
        Value::Array(items) => items.iter().map(convert).collect::<Vec<_>>().into(),
        Value::Object(members) => minijinja::Value::from_object(
            members.iter().map(|(name, member)| (name.to_owned(), convert(member))).collect::<OrderedMap>(),
        ),
    }
}

fn write_value(source: &str, value: &minijinja::Value, out: &mut String) -> Result<(), EvaluationError> {
    write_json(value, out)
        .map_err(|error| EvaluationError { too_large: is_full(out), ..failed(source, &error) })
}

/// Whether a text exceeds the memory limit of an expression.
fn is_full(text: &str) -> bool {
    meter::length(text) > MAX_MADE_BYTES
}

fn write_json(value: &minijinja::Value, out: &mut String) -> Result<(), minijinja::Error> {
    if is_full(out) {
        let message = format!("its value has more than {MAX_MADE_BYTES} bytes");
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, message));
    }
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::String => out.push_str(&Value::from(value.as_str().unwrap_or("")).compact()),
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            for (place, item) in value.try_iter()?.enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_json(&item, out)?;
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            for (place, key) in value.try_iter()?.enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.to_string()).compact());
                out.push(':');
                write_json(&value.get_item(&key)?, out)?;
            }
            out.push('}');
        }
        _ => {
            meter::finite(value)?;
            out.push_str(&number_text(value));
        }
    }
    Ok(())
}

/// The text of a number. The template language adds a decimal point to each number that is not one of its own
/// integers. The point is removed if the JSON had none: for `-0` and integers that do not fit into 64 bits.
fn number_text(value: &minijinja::Value) -> String {
    let text = value.to_string();
    let is_integer =
        |digits: &&str| digits.parse::<i64>().is_ok_and(|integer| integer.to_string() == *digits);
    match text.strip_suffix(".0").filter(|digits| !is_integer(digits)) {
        Some(digits) if value.is_number() => digits.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::new(Value::parse(text.as_bytes()).unwrap().as_object().unwrap())
    }

    #[test]
    fn values_go_in_with_their_own_text() {
        let scope = scope(
            r#"{"inputs":{"s":"a \"b\"","n":123456789012345678901234567890,"f":1.00,"e":1e400,"i":7,"t":true,"z":null,
               "m":-0,"p":-0.0,"h":100000000000000000000,"g":-100000000000000000000.0,"w":3.0,"s8":0.00001,
               "l":[1,"x",{"z":2.50,"a":null}]}}"#,
        );
        for (template, text) in [
            ("${{ inputs.s }}", "a \"b\""),
            ("${{ inputs.n }}", "123456789012345678901234567890"),
            ("${{ inputs.f }}", "1.00"),
            ("${{ inputs.e }}", "1e400"),
            ("${{ inputs.i + 1 }}", "8"),
            ("${{ inputs.m }}", "-0"),
            ("${{ [inputs.m, {'m': inputs.m}] }}", r#"[-0,{"m":-0}]"#),
            ("${{ inputs.m == 0 }} ${{ inputs.m + 1 }}", "true 1.0"),
            ("${{ inputs.p }}", "-0.0"),
            ("${{ inputs.h }} ${{ inputs.g }}", "100000000000000000000 -100000000000000000000.0"),
            ("${{ inputs.w }} ${{ inputs.s8 }} ${{ inputs.i / 7 }}", "3.0 0.00001 1.0"),
            ("${{ inputs.t }} ${{ inputs.z }}", "true null"),
            ("${{ inputs.l }}", r#"[1,"x",{"z":2.50,"a":null}]"#),
            ("no expression, {{ braces }} stay", "no expression, {{ braces }} stay"),
            ("$HOME and ${HOME} stay\n", "$HOME and ${HOME} stay\n"),
        ] {
            assert_eq!(scope.render(template).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn a_number_is_compared_and_calculated_with_whatever_its_digits() {
        let big = "123456789012345678901234567890";
        let huge = "1".repeat(60);
        let scope = scope(&format!(
            r#"{{"inputs":{{"zero":0.0,"half":2.50,"e":1e3,"big":{big},"minus":-{big},"huge":{huge},"far":1e400,
               "l":[1.0,2.50],"m":{{"a":1.0}}}}}}"#
        ));
        for (source, expected) in [
            ("inputs.half > 5", "false"),
            ("inputs.half < 5", "true"),
            ("inputs.half == 2.5", "true"),
            ("2.5 == inputs.half", "true"),
            ("inputs.half != 2.5", "false"),
            ("1 < inputs.half < 3", "true"),
            ("inputs.e >= 1000", "true"),
            ("inputs.zero > 0.8", "false"),
            ("inputs.zero == 0", "true"),
            ("not inputs.zero", "true"),
            ("not inputs.far", "false"),
            ("inputs.minus < 0", "true"),
            ("inputs.big > 5", "true"),
            ("inputs.big > inputs.minus", "true"),
            ("inputs.half + 1", "3.5"),
            ("inputs.half - 1", "1.5"),
            ("inputs.half * 2", "5.0"),
            ("inputs.half / 2", "1.25"),
            ("inputs.half % 2", "0.5"),
            ("inputs.half // 1", "2.0"),
            ("inputs.half ** 2", "6.25"),
            ("-inputs.half", "-2.5"),
            ("inputs.big + 1", "123456789012345678901234567891"),
            ("2.5 in inputs.l", "true"),
            ("inputs.half in [2.5]", "true"),
            ("inputs.l == [1, 2.5]", "true"),
            ("[1, 2.5] == inputs.l", "true"),
            ("inputs.m == {'a': 1}", "true"),
            ("inputs.l | sum", "3.5"),
            ("inputs.l | max", "2.50"),
            ("(inputs.l + [2]) | sort | last", "2.50"),
            ("inputs.l | select('gt', 2) | list", "[2.50]"),
            ("inputs.half | int", "2"),
            ("inputs.half | round", "2.0"),
            ("inputs.half is number", "true"),
            ("inputs.half is gt 5", "false"),
            ("inputs.big is integer", "true"),
            // A number that is not used in a calculation keeps its digits.
            ("inputs.half", "2.50"),
            ("inputs.half ~ 'x'", "\"2.50x\""),
            ("inputs.half or 1", "2.50"),
            ("inputs.l + [1]", "[1.0,2.50,1]"),
            ("inputs.l | first", "1.0"),
        ] {
            let value = scope.evaluate(source).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(value.compact(), expected, "{source}");
        }
        for (source, shown) in [
            ("inputs.far + 1", "1e400"),
            ("[inputs.far] | sum", "1e400"),
            ("-inputs.far", "1e400"),
            ("inputs.huge + 1", "1111111111111111111111111111111111111111…"),
            ("170141183460469231731687303715884105728 + 1", "170141183460469231731687303715884105728"),
            ("1 - 170141183460469231731687303715884105728", "170141183460469231731687303715884105728"),
        ] {
            let error = scope.evaluate(source).unwrap_err().to_string();
            let expected = format!("the number {shown} is too large to be calculated with");
            assert!(error.contains(&expected), "{source}: {error}");
        }
        assert!(!scope.holds("inputs.zero").unwrap());
    }

    /// Each line is less than the next one; values on one line are equal.
    const IN_ORDER: &[&[&str]] = &[
        &["inputs.none", "none"],
        &["inputs.no", "false"],
        &["inputs.yes", "true", "not false"],
        &["inputs.minus_far"],
        &["-2.5", "inputs.minus_half"],
        &["inputs.zero", "0", "0.0", "-inputs.zero"],
        &["inputs.tiny"],
        &["1", "1.0", "inputs.one", "inputs.one_exact", "inputs.one * 1"],
        &["inputs.more_than_one"],
        &["9007199254740992", "9007199254740992.0", "inputs.even * 1"],
        &["9007199254740993", "inputs.odd"],
        &["9223372036854775807"],
        &["9223372036854775808", "inputs.next"],
        &["170141183460469231731687303715884105727"],
        &["170141183460469231731687303715884105728", "inputs.large", "inputs.large_exact"],
        &["inputs.large_and_a_bit"],
        &["inputs.huge"],
        &["inputs.far"],
        &["''"],
        &["'1'", "inputs.text"],
        &["'a'"],
        &["[]"],
        &["[true]"],
        &["[1, 2]", "inputs.list"],
        &["[1, '2']"],
        &["[2]"],
        &["{}"],
        &["{'a': 1}", "inputs.map"],
        &["{'a': 1, 'b': none}", "inputs.pair"],
        &["{'a': 1, 'b': 2}"],
    ];

    #[test]
    fn equality_order_and_all_that_chooses_by_them_agree() {
        let scope = || {
            scope(&format!(
                r#"{{"inputs":{{"none":null,"no":false,"yes":true,"minus_far":-1e400,"minus_half":-2.50,"zero":0.00,
                   "tiny":1e-400,"one":1.0,"one_exact":1.0000000000000000000000,"more_than_one":1.0000000000000000000001,
                   "even":9007199254740992.0,"odd":9007199254740993.0,"next":9223372036854775808.0,
                   "large":170141183460469231731687303715884105728,
                   "large_exact":1.70141183460469231731687303715884105728e38,"large_and_a_bit":170141183460469231731687303715884105728.5,"huge":{},"far":1e400,"text":"1",
                   "list":[1.0,2.00],"map":{{"a":1.0}},"pair":{{"b":null,"a":1.0}}}}}}"#,
                "1".repeat(60)
            ))
        };
        let all = || {
            IN_ORDER.iter().enumerate().flat_map(|(place, line)| line.iter().map(move |one| (place, *one)))
        };
        for (place, left) in all() {
            for (other, right) in all() {
                let (less, equal) = (place < other, place == other);
                let all_rows = [
                    (format!("({left}) == ({right})"), equal),
                    (format!("({left}) < ({right})"), less),
                    (format!("({left}) > ({right})"), !less && !equal),
                    (format!("({left}) in [({right})]"), equal),
                    (format!("([({left}), ({right})] | unique | length) == 1"), equal),
                    (format!("({left}) != ({right})"), !equal),
                    (format!("({left}) <= ({right})"), less || equal),
                    (format!("({left}) >= ({right})"), !less),
                    (format!("({left}) <= ({right}) < {{'x': 0, 'y': 0, 'z': 0}} > 1"), less || equal),
                    (format!("({left}) not in [({right})]"), !equal),
                    (format!("1 < 2 in [({left}) == ({right}), 2]"), true),
                    (format!("({left}) is eq(({right})) and not ({left}) is ne(({right}))"), equal),
                    (format!("({left}) is lt(({right})) and not ({left}) is ge(({right}))"), less),
                    (format!("({left}) is gt(({right})) and not ({left}) is le(({right}))"), !less && !equal),
                    (format!("({left}) is in([({right})])"), equal),
                    (format!("([({left}), ({right})] | min) == ({left})"), less || equal),
                    (format!("([({left}), ({right})] | max) == ({right})"), less || equal),
                    (format!("([({left}), ({right})] | sort | first) == ({left})"), less || equal),
                    (
                        format!("([({left}), ({right})] | sort(reverse=true) | last) == ({left})"),
                        less || equal,
                    ),
                    (
                        format!(
                            "({{'x': ({left}), 'y': ({right})}} | dictsort(by='value') | first | first) == 'x'"
                        ),
                        less || equal,
                    ),
                ];
                let scope = scope();
                // Compares all pairs in one line. Other pairs are only sampled, because each expression is
                // parsed anew.
                let rows =
                    all_rows.get(..if place.abs_diff(other) > 1 { 5 } else { all_rows.len() }).unwrap();
                for some in rows.chunks(5) {
                    let (sources, holds): (Vec<_>, Vec<_>) =
                        some.iter().map(|(source, holds)| (source.as_str(), holds.to_string())).unzip();
                    let source = format!("[{}]", sources.join(", "));
                    let found = scope.evaluate(&source).unwrap_or_else(|error| panic!("{error}"));
                    assert_eq!(found.compact(), format!("[{}]", holds.join(",")), "{source}");
                }
            }
        }
    }

    #[test]
    fn what_is_chosen_from_a_list_keeps_its_digits_and_the_options_of_a_filter_hold() {
        let scope = scope(
            r#"{"inputs":{"l":[1.0,1,2.50,true,1e400],"t":["b","A","a","B"],
               "p":[{"n":2.0,"s":"x"},{"n":1,"s":"Y"},{"n":2,"s":"X"},{}]}}"#,
        );
        for (source, expected) in [
            ("inputs.l | unique", "[1.0,2.50,true,1e400]"),
            ("inputs.l | sort", "[true,1.0,1,2.50,1e400]"),
            ("inputs.l | sort(reverse=true)", "[1e400,2.50,1.0,1,true]"),
            ("inputs.l | max", "1e400"),
            ("inputs.l | min", "true"),
            ("[2, 2.0, 1.0, 1] | min", "1.0"),
            ("[2, 2.0, 1.0, 1] | max", "2.0"),
            ("inputs.t | sort", r#"["A","a","b","B"]"#),
            ("inputs.t | sort(case_sensitive=true)", r#"["A","B","a","b"]"#),
            ("inputs.t | unique", r#"["b","A"]"#),
            ("inputs.t | unique(case_sensitive=true)", r#"["b","A","a","B"]"#),
            ("inputs.t | min ~ inputs.t | max(case_sensitive=true)", r#""Ab""#),
            (
                "inputs.p | sort(attribute='n') | map(attribute='s') | map('default', '-') | list",
                r#"["-","Y","x","X"]"#,
            ),
            ("inputs.p[:3] | sort(attribute='n, s') | map(attribute='s') | list", r#"["Y","x","X"]"#),
            ("inputs.p[:3] | sort(attribute='s, n', reverse=true) | map(attribute='n') | list", "[1,2.0,2]"),
            ("inputs.p[:3] | unique(attribute='n') | map(attribute='s') | list", r#"["x","Y"]"#),
            ("(inputs.p[:3] | max(attribute='n')).s ~ (inputs.p[:3] | min(attribute='n')).s", r#""XY""#),
            ("{'b': 1, 'A': 2} | dictsort", r#"[["A",2],["b",1]]"#),
            ("{'b': 1, 'A': 2} | dictsort(by='value')", r#"[["b",1],["A",2]]"#),
            ("{'b': 1, 'A': 2} | dictsort(reverse=true)", r#"[["b",1],["A",2]]"#),
            ("[] | max is undefined", "true"),
            ("'ab' in 'xaby' and 'a' in {'a': 1} and 'b' not in {'a': 1} and 2.5 in inputs.l", "true"),
            ("1 < 2.5 in inputs.l", "true"),
            ("inputs.l is sequence and inputs.l[4] is number and inputs.l[4] is float", "true"),
            ("170141183460469231731687303715884105728 is integer", "true"),
        ] {
            let value = scope.evaluate(source).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(value.compact(), expected, "{source}");
        }
        for source in [
            "1 in 5",
            "1 < 2 in 5",
            "inputs.nope in [1]",
            "1 in inputs.nope",
            "inputs.nope | sort",
            "inputs.nope | unique",
            "5 | min",
            "inputs.t | sort(by='a')",
            "inputs.t | max(none=1)",
            "(1e308 * 10) > 1",
            "1 < (1e308 * 10)",
            "['x'] | map('int') | sort",
            "['x'] | map('int') == [1]",
        ] {
            assert!(scope.evaluate(source).is_err(), "{source}");
        }
    }

    #[test]
    fn what_is_read_of_a_step_that_was_not_visited_is_undefined_at_any_depth() {
        let scope = scope(r#"{"inputs":{"a":1},"steps":{"b":{"data":{"n":2}}}}"#);
        for (template, text) in [
            ("${{ steps.a.data.session | default('new') }}", "new"),
            ("${{ steps['a']['data'].n | default(0) + steps.b.data.n }}", "2"),
            ("${{ 'again' if steps.a.data.session is defined else 'first' }}", "first"),
            ("${{ steps.a is defined }} ${{ steps.b.data is defined }}", "false true"),
            ("${{ steps.a.summary is undefined and steps.b.data.n == 2 }}", "true"),
        ] {
            assert_eq!(scope.render(template).as_deref(), Ok(text), "{template}");
        }
        for template in
            ["${{ steps.a.data.session }}", "${{ steps.a.data ~ 'x' }}", "${{ steps.a.data.n + 1 }}"]
        {
            assert!(scope.render(template).is_err(), "{template}");
        }
    }

    #[test]
    fn what_is_below_an_undefined_member_is_undefined_too() {
        let scope = scope(
            r#"{"inputs":{"a":{"b":1},"none":null},"steps":{"b":{"data":{"n":{"m":2}}},"c":{"data":null}}}"#,
        );
        for (template, text) in [
            ("${{ steps.b.data.x.y.z | default('none') }}", "none"),
            ("${{ steps.b.data.n.x.y | default(7) + steps.b.data.n.m }}", "9"),
            ("${{ steps.c.data.x.y | default('none') }} ${{ inputs.none.x.y is defined }}", "none false"),
            ("${{ steps['b']['data'].x['y-z'].q is undefined and inputs.a.b.c.d is not defined }}", "true"),
            ("${{ 'steps.b.data.x.y' ~ inputs.a.b }}", "steps.b.data.x.y1"),
        ] {
            assert_eq!(scope.render(template).as_deref(), Ok(text), "{template}");
        }
        for (template, reason) in [
            ("${{ steps.b.data.x.y }}", "`steps.b.data.x` is not defined"),
            ("${{ steps.b.data.x }}", "it is not defined"),
            (
                "${{ steps.c.data.x.y }}",
                "it is not defined: step `c` handed over no data; with `data: json` the output of a step is its data",
            ),
        ] {
            assert_eq!(scope.render(template).unwrap_err().reason, reason, "{template}");
        }
        assert!(scope.render("${{ steps.b.data.x.y ~ 'z' }}").is_err());
    }

    #[test]
    fn an_undefined_name_is_an_error_not_an_empty_string() {
        let scope = scope(r#"{"inputs":{}}"#);
        assert!(scope.render("x ${{ inputs.nope }}").is_err());
        assert!(scope.holds("inputs.nope == 1").is_err());
    }

    #[test]
    fn a_runaway_expression_ends() {
        let scope = || scope(r#"{"inputs":{"l":[1,2,3]}}"#);
        let long = format!("${{{{ {} }}}}", vec!["inputs.l"; 100_000].join(" ~ "));
        let nested = format!("${{{{ {}1{} }}}}", "(".repeat(2_000), ")".repeat(2_000));
        let huge = "${{ 'x' * 99999999999 }}".to_owned();
        for bomb in [long, nested, huge] {
            assert!(scope().render(&bomb).is_err(), "{}", bomb.get(..40).unwrap_or_default());
        }
        assert!(scope().render(&format!("${{{{ {}1 }}}}", "1~".repeat(500))).is_ok());
    }

    #[test]
    fn a_value_is_never_shell_code() {
        let scope = scope(r#"{"inputs":{"s":"$(rm -rf ~); '\"'"}}"#);
        let (script, variables) =
            scope.render_script("echo \"${{ inputs.s }}\" ${#HOME}", |name| format!("${{{name}}}")).unwrap();
        assert_eq!(script, "echo \"${ENVOI_VALUE_1}\" ${#HOME}");
        assert_eq!(variables, [("ENVOI_VALUE_1".to_owned(), "$(rm -rf ~); '\"'".to_owned())]);
    }

    #[test]
    fn braces_inside_a_quoted_string_do_not_end_an_expression() {
        let scope = scope("{}");
        assert_eq!(scope.render("a ${{ 'x}}y' }} b").as_deref(), Ok("a x}}y b"));
        assert!(scope.render("a ${{ 'x").is_err());
    }

    #[test]
    fn conditions_compare_values() {
        let scope = scope(r#"{"steps":{"triage":{"status":"succeeded","data":{"n":3}}}}"#);
        assert_eq!(scope.holds("steps.triage.data.n > 2 and steps.triage.status == 'succeeded'"), Ok(true));
        assert_eq!(scope.holds("steps.triage.data.n > 3"), Ok(false));
    }
}
