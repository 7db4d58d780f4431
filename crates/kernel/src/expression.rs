//! Expressions: `${{ … }}` in strings and in `if`.
//!
//! Owns how they are written and what they evaluate to. A string goes in as it is; every other value as compact JSON with
//! its own number token. Evaluation is bounded by fuel, reads nothing but the values it is given, and happens once: the
//! result is stored in an event. Which names exist is checked by crate `flow` with the same [`environment`].

use envoi_contract::json::{Number, Object, Value};
use minijinja::{
    AutoEscape, Environment, ErrorKind, UndefinedBehavior,
    syntax::SyntaxConfig,
    value::{Object as DynamicObject, ValueKind},
};
use std::{fmt, sync::Arc};

/// Instructions that one evaluation may take. A template of 100 KiB with a loop over a few thousand items fits; a
/// runaway loop ends within milliseconds.
const FUEL: u64 = 200_000;

/// Why an expression gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expression `{expression}`: {reason}")]
pub struct EvaluationError {
    /// The source.
    pub expression: String,
    /// What was wrong, in minijinja's words.
    pub reason: String,
}

/// The expression language: delimiters, strict undefined values, fuel, no escaping, no loaders.
///
/// The same for checking (crate `flow`) and for evaluating.
#[must_use]
pub fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    if let Ok(syntax) = SyntaxConfig::builder()
        .variable_delimiters("${{", "}}")
        .block_delimiters("${%", "%}")
        .comment_delimiters("${#", "#}")
        .build()
    {
        environment.set_syntax(syntax);
    }
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_keep_trailing_newline(true);
    environment.set_fuel(Some(FUEL));
    environment.set_formatter(write_value);
    environment
}

/// The values that expressions see: `inputs`, `steps` and `run`.
#[derive(Debug, Clone)]
pub struct Scope {
    root: minijinja::Value,
}

impl Scope {
    /// A scope over these members.
    #[must_use]
    pub fn new(members: &Object) -> Self {
        Self { root: convert(&Value::Object(members.clone())) }
    }

    /// Fills in a string with `${{ … }}` in it.
    ///
    /// # Errors
    /// An undefined name, a wrong type, or more work than the fuel allows.
    pub fn render(&self, template: &str) -> Result<String, EvaluationError> {
        if !template.contains("${") {
            return Ok(template.to_owned());
        }
        environment().render_str(template, self.root.clone()).map_err(|error| failed(template, &error))
    }

    /// Whether the expression of an `if` holds: false, 0, empty and null are false.
    ///
    /// # Errors
    /// As [`Scope::render`].
    pub fn holds(&self, expression: &str) -> Result<bool, EvaluationError> {
        environment()
            .compile_expression(expression)
            .and_then(|compiled| compiled.eval(self.root.clone()))
            .map(|value| value.is_true())
            .map_err(|error| failed(expression, &error))
    }
}

fn failed(expression: &str, error: &minijinja::Error) -> EvaluationError {
    let reason = match error.kind() {
        ErrorKind::OutOfFuel => "it takes too much work".to_owned(),
        _ => error.to_string(),
    };
    EvaluationError { expression: expression.to_owned(), reason }
}

/// A number that a 64-bit value cannot hold exactly; it prints the token it was read from.
#[derive(Debug)]
struct ExactNumber(Number);

impl DynamicObject for ExactNumber {
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

fn convert(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(flag) => minijinja::Value::from(*flag),
        Value::Number(number) => convert_number(number),
        Value::String(text) => minijinja::Value::from(text.as_str()),
        Value::Array(items) => items.iter().map(convert).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), convert(member))).collect()
        }
    }
}

fn convert_number(number: &Number) -> minijinja::Value {
    let token = number.as_str();
    match token.parse::<i64>() {
        Ok(integer) if integer.to_string() == token => minijinja::Value::from(integer),
        _ => match token.parse::<f64>() {
            Ok(float) if float.is_finite() && float.to_string() == token => minijinja::Value::from(float),
            _ => minijinja::Value::from_object(ExactNumber(number.clone())),
        },
    }
}

fn write_value(
    output: &mut minijinja::Output<'_>,
    state: &minijinja::State<'_, '_>,
    value: &minijinja::Value,
) -> Result<(), minijinja::Error> {
    if value.is_undefined() || value.kind() == ValueKind::String {
        return minijinja::escape_formatter(output, state, value);
    }
    let mut text = String::new();
    write_json(value, &mut text)?;
    output.write_str(&text).map_err(minijinja::Error::from)
}

fn write_json(value: &minijinja::Value, out: &mut String) -> Result<(), minijinja::Error> {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => out.push_str("null"),
        ValueKind::String => out.push_str(&Value::from(value.as_str().unwrap_or_default()).compact()),
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
        _ => out.push_str(&value.to_string()),
    }
    Ok(())
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
               "l":[1,"x",{"k":2.50}]}}"#,
        );
        for (template, text) in [
            ("${{ inputs.s }}", "a \"b\""),
            ("${{ inputs.n }}", "123456789012345678901234567890"),
            ("${{ inputs.f }}", "1.00"),
            ("${{ inputs.e }}", "1e400"),
            ("${{ inputs.i + 1 }}", "8"),
            ("${{ inputs.t }} ${{ inputs.z }}", "true null"),
            ("${{ inputs.l }}", r#"[1,"x",{"k":2.50}]"#),
            ("no expression, {{ braces }} stay", "no expression, {{ braces }} stay"),
            ("$HOME and ${HOME} stay\n", "$HOME and ${HOME} stay\n"),
        ] {
            assert_eq!(scope.render(template).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn an_undefined_name_is_an_error_not_an_empty_string() {
        let scope = scope(r#"{"inputs":{}}"#);
        assert!(scope.render("x ${{ inputs.nope }}").is_err());
        assert!(scope.holds("inputs.nope == 1").is_err());
    }

    #[test]
    fn a_runaway_expression_ends() {
        let scope = scope(r#"{"inputs":{}}"#);
        let bomb = "${% for a in range(9999) %}${% for b in range(9999) %}x${% endfor %}${% endfor %}";
        assert!(scope.render(bomb).is_err());
    }

    #[test]
    fn conditions_compare_values() {
        let scope = scope(r#"{"steps":{"triage":{"status":"succeeded","data":{"n":3}}}}"#);
        assert_eq!(scope.holds("steps.triage.data.n > 2 and steps.triage.status == 'succeeded'"), Ok(true));
        assert_eq!(scope.holds("steps.triage.data.n > 3"), Ok(false));
    }
}
