//! The form of a question: fills in its defaults, and checks it against its schema.
//!
//! The schema is part of the flow to which a run is pinned. Only [`complete`] fills in defaults and decides whether a
//! form fits. The engine calls it for every answer, however the answer arrived.
//!
//! JSON Schema allows a form to have members that the schema does not name. People fill in forms, and such a member
//! is usually a typo. It is therefore refused, unless the schema says which other members it allows.

use crate::syntax::{suggestion::nearest, yaml::shortened};
use crate::values::json_schema::{Mismatch, Schema};
use core::fmt;
use envoi_contract::json::{Object, Value};

/// All mistakes in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormErrors {
    /// A line per mistake.
    lines: Vec<String>,
}

impl fmt::Display for FormErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl core::error::Error for FormErrors {}

/// Checks a form against its schema.
///
/// # Errors
/// Every location at which the form does not fit, as a JSON pointer.
fn check(schema: &Value, form: &Value) -> Result<(), FormErrors> {
    let wrong = match Schema::new(schema) {
        Ok(schema) => schema.check(form),
        Err(mismatch) => vec![mismatch],
    };
    if wrong.is_empty() { Ok(()) } else { Err(FormErrors { lines: wrong.iter().map(line).collect() }) }
}

fn line(mismatch: &Mismatch) -> String {
    let place = mismatch.path.iter().map(|name| format!("/{name}")).collect::<String>();
    if place.is_empty() { mismatch.reason.clone() } else { format!("{place}: {}", mismatch.reason) }
}

/// Keywords besides `properties` that determine whether other members are allowed.
const LETS_IN_MORE: [&str; 14] = [
    "$dynamicRef",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedProperties",
];

/// The members of a form that are not fields, if the schema allows no others.
fn unknown_fields(schema: &Value, form: &Value) -> Vec<String> {
    let fields = schema.get("properties").and_then(Value::as_object).filter(|fields| !fields.is_empty());
    let (Some(fields), Some(members)) = (fields, form.as_object()) else { return Vec::new() };
    let lets_in = |keyword: &str| match schema.get(keyword) {
        Some(Value::Bool(false)) if keyword == "additionalProperties" => false,
        found => found.is_some(),
    };
    if LETS_IN_MORE.into_iter().any(lets_in) {
        return Vec::new();
    }
    members.keys().filter(|name| !fields.contains_key(name)).map(str::to_owned).collect()
}

fn without(form: Value, unknown: &[String]) -> Value {
    let Value::Object(members) = form else { return form };
    let kept = members.iter().filter(|(name, _)| !unknown.iter().any(|other| other == name));
    Value::Object(kept.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// The message for an unknown member, with the field that was probably meant, or the existing fields.
fn unknown_field(name: &str, schema: &Value) -> String {
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<&str> = fields.into_iter().flat_map(Object::keys).collect();
    let shown = shortened(name);
    match nearest(name, fields.iter().copied()) {
        Some(near) => format!("`{shown}` is no field of this form; did you mean `{near}`?"),
        None => format!("`{shown}` is no field of this form; it has {}", listed(&fields)),
    }
}

/// The largest number of fields that a message lists.
const MOST_NAMED: usize = 10;

fn listed(fields: &[&str]) -> String {
    let mut all: Vec<String> = fields.iter().take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
    if fields.len() > MOST_NAMED {
        all.push(format!("and {} more", fields.len().saturating_sub(MOST_NAMED)));
    }
    all.join(", ")
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name of its member.
    pub name: String,
    /// The label that people see: the schema's `title`, else the name.
    pub title: String,
    /// The description.
    pub description: Option<String>,
    /// True if the form is incomplete without it.
    pub required: bool,
    /// The value when none is given.
    pub default: Option<Value>,
    /// The allowed values, if it is a choice.
    pub choices: Vec<Value>,
    schema: Value,
}

/// The schema of a field, with the definitions that it may refer to.
pub(crate) fn on_its_own(field: Value, whole: &Value) -> Value {
    let Value::Object(mut members) = field else { return field };
    for key in ["$defs", "definitions"] {
        if let (None, Some(definitions)) = (members.get(key), whole.get(key)) {
            members.insert(key, definitions.clone());
        }
    }
    Value::Object(members)
}

/// The fields of a form, in the order of the schema's `properties`.
#[must_use]
pub fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let text = |field: &Value, key: &str| field.get(key).and_then(Value::as_str).map(str::to_owned);
    let read = |name: &str, field: &Value| Field {
        name: name.to_owned(),
        title: text(field, "title").unwrap_or_else(|| name.to_owned()),
        description: text(field, "description"),
        required: required.contains(&name),
        default: field.get("default").cloned(),
        choices: match (field.get("enum"), field.get("const")) {
            (Some(Value::Array(values)), _) => values.clone(),
            (_, Some(only)) => vec![only.clone()],
            _ => branches_of_one(field),
        },
        schema: on_its_own(field.clone(), schema),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|all| all.iter().map(|(name, field)| read(name, field))).collect()
}

/// The values of a field whose `oneOf` or `anyOf` branches allow one value each.
fn branches_of_one(field: &Value) -> Vec<Value> {
    let branches = ["oneOf", "anyOf"].into_iter().find_map(|keyword| match field.get(keyword) {
        Some(Value::Array(branches)) => Some(branches),
        _ => None,
    });
    let values = branches.into_iter().flatten().map(|branch| branch.get("const").cloned());
    values.collect::<Option<_>>().unwrap_or_default()
}

/// The complete form of an answer: the given members, and the defaults of missing fields.
///
/// An answer without a form has no members, so it is complete if the defaults are.
///
/// # Errors
/// Every location at which the form does not fit. This includes required fields without a value and a default, and
/// members that are not fields, unless the schema allows others.
pub fn complete(schema: &Value, given: Option<&Value>) -> Result<Value, FormErrors> {
    let form = match given {
        None => with_defaults(schema, Object::default()),
        Some(Value::Object(given)) => with_defaults(schema, given.clone()),
        Some(other) => other.clone(),
    };
    let unknown = unknown_fields(schema, &form);
    if unknown.is_empty() {
        check(schema, &form)?;
        return Ok(form);
    }
    // Other mistakes are reported too, but each unknown member only once.
    let mut lines: Vec<String> = unknown.iter().map(|name| unknown_field(name, schema)).collect();
    if let Err(errors) = check(schema, &without(form, &unknown)) {
        lines.extend(errors.lines);
    }
    Err(FormErrors { lines })
}

fn with_defaults(schema: &Value, mut given: Object) -> Value {
    for field in fields(schema) {
        if let (None, Some(default)) = (given.get(&field.name), field.default) {
            given.insert(field.name, default);
        }
    }
    Value::Object(given)
}

impl Field {
    /// The accepted values, for people: `text`, `yes or no`, `blog, mail`.
    #[must_use]
    pub fn expects(&self) -> String {
        if !self.choices.is_empty() {
            return self.choices.iter().map(spoken).collect::<Vec<_>>().join(", ");
        }
        let words = expected(&self.schema);
        if words.is_empty() { "text".to_owned() } else { words.join(", or ") }
    }

    /// Converts a person's text to a value, and checks it against the field's schema.
    ///
    /// The text itself is the value if the schema accepts it. Otherwise the value is the accepted interpretation of
    /// the text: yes or no, or the text as JSON.
    ///
    /// # Errors
    /// The values that the field accepts, or the mistake in the value.
    pub fn parse(&self, text: &str) -> Result<Value, NotAValue> {
        let trimmed = text.trim();
        let chosen = self.choices.iter().find(|choice| spoken(choice).eq_ignore_ascii_case(trimmed));
        let meant = match chosen {
            Some(choice) => vec![choice.clone()],
            None => meanings(text),
        };
        let check = |value: &Value| check(&self.schema, value);
        if let Some(value) = meant.iter().find(|value| check(value).is_ok()) {
            return Ok(value.clone());
        }
        // If the value has the right type, its mistake is reported. For a value of another type, the accepted values
        // are.
        let words = expected(&self.schema);
        let read = meant.iter().skip(1).find(|value| words.contains(&kind_of(value)));
        let takes_text = words.is_empty() || words.contains(&"text");
        match (read, meant.first().filter(|_| takes_text)) {
            (Some(value), _) | (None, Some(value)) => {
                check(value).map_err(NotAValue::Misfit).map(|()| value.clone())
            }
            (None, None) => Err(NotAValue::Expected(self.expects())),
        }
    }
}

/// The reason why a text is not a value of a field.
#[derive(Debug, thiserror::Error)]
pub enum NotAValue {
    /// The text has another type than the field. Contains the accepted values.
    #[error("expected {0}")]
    Expected(String),
    /// The schema of the field refuses the value.
    #[error(transparent)]
    Misfit(FormErrors),
}

/// The types that a schema accepts, for people, without duplicates. Empty if it does not say.
fn expected(schema: &Value) -> Vec<&'static str> {
    let mut words = Vec::new();
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(only)) => vec![only.as_str()],
        _ => Vec::new(),
    };
    words.extend(types.into_iter().map(|kind| match kind {
        "boolean" => "yes or no",
        "integer" => "a whole number",
        "number" => "a number",
        "array" => "a JSON list",
        "object" => "a JSON object",
        "null" => "null",
        _ => "text",
    }));
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            words.extend(branches.iter().flat_map(expected));
        }
    }
    let mut seen = Vec::new();
    words.retain(|word| {
        !seen.contains(word) && {
            seen.push(*word);
            true
        }
    });
    words
}

/// The word of [`expected`] for a value that is not a text.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "yes or no",
        Value::Number(number) if number.as_str().contains(['.', 'e', 'E']) => "a number",
        Value::Number(_) => "a whole number",
        Value::Array(_) => "a JSON list",
        Value::Object(_) => "a JSON object",
        Value::Null => "null",
        Value::String(_) => "text",
    }
}

/// All possible interpretations of a person's text. The text itself comes first.
fn meanings(text: &str) -> Vec<Value> {
    let trimmed = text.trim();
    let truth = match trimmed.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    };
    let json = Value::parse_str(trimmed).ok();
    [Some(Value::from(text)), truth.map(Value::from), json].into_iter().flatten().collect()
}

/// Converts `name=text` pairs to members. A field interprets its text by its own schema ([`Field::parse`]). Any other
/// member is the text, unless the schema refuses that and accepts the text as JSON.
///
/// # Errors
/// The name of the field, and the expected value.
pub fn read_members<'t>(
    schema: &Value,
    given: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Object, (String, String)> {
    let fields = fields(schema);
    let mut members = Object::default();
    let mut others = Vec::new();
    for (name, text) in given {
        let value = match fields.iter().find(|field| field.name == name) {
            Some(field) => field.parse(text).map_err(|why| (name.to_owned(), why.to_string()))?,
            None => {
                others.push((name, text));
                Value::from(text)
            }
        };
        members.insert(name, value);
    }
    for (name, text) in others {
        let mistakes = |value: &Value| {
            let mut form = members.clone();
            form.insert(name, value.clone());
            check(schema, &with_defaults(schema, form)).map_or_else(|errors| errors.lines.len(), |()| 0)
        };
        // The first interpretation with the fewest mistakes, because other mistakes of the form occur with each of
        // them.
        let best = meanings(text).into_iter().min_by_key(mistakes);
        members.insert(name, best.unwrap_or_else(|| Value::from(text)));
    }
    Ok(members)
}

/// A value as a person would write it.
fn spoken(value: &Value) -> String {
    value.as_str().map_or_else(|| value.compact(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        Value::parse_str(text).unwrap()
    }

    #[test]
    fn every_mistake_of_a_form_is_reported() {
        let schema = parsed(
            r#"{"type": "object", "required": ["channel"], "additionalProperties": false,
                "properties": {"channel": {"enum": ["blog", "mail"]}, "copies": {"type": "integer", "minimum": 1}}}"#,
        );
        assert_eq!(check(&schema, &parsed(r#"{"channel": "mail", "copies": 2}"#)), Ok(()));
        let wrong = check(&schema, &parsed(r#"{"channel": "fax", "copies": 0}"#)).unwrap_err();
        assert_eq!(wrong.lines.len(), 2, "{wrong}");
        assert!(
            wrong.to_string().contains("/channel: ") && wrong.to_string().contains("/copies: "),
            "{wrong}"
        );
        assert!(check(&schema, &parsed("{}")).unwrap_err().to_string().contains("channel"));
    }

    #[test]
    fn a_field_reads_what_people_write() {
        let schema = parsed(
            r#"{"type": "object", "required": ["channel"], "properties": {
                "channel": {"enum": ["blog", "mail"], "title": "Where to"}, "urgent": {"type": "boolean", "default": false},
                "copies": {"type": "integer", "minimum": 1}, "note": {"type": "string", "maxLength": 3}}}"#,
        );
        let fields = fields(&schema);
        let rows = [
            (0, "Mail", Ok(r#""mail""#)),
            (0, "fax", Err(())),
            (1, "Y", Ok("true")),
            (1, "maybe", Err(())),
            (2, " 3 ", Ok("3")),
            (2, "0", Err(())),
            (2, "three", Err(())),
            (3, " a ", Ok(r#"" a ""#)),
            (3, "long", Err(())),
        ];
        for (place, text, expected) in rows {
            let value = fields[place].parse(text);
            assert_eq!(
                value.as_ref().map(Value::compact).map_err(|_| ()),
                expected.map(str::to_owned),
                "{text}: {value:?}"
            );
        }
        assert_eq!(
            (fields[0].title.as_str(), fields[0].required, fields[0].expects().as_str()),
            ("Where to", true, "blog, mail")
        );
    }

    #[test]
    fn a_field_that_takes_more_than_text_takes_what_the_text_says() {
        let read = |schema: &str, text: &str| {
            let schema = parsed(&format!(
                r##"{{"type": "object", "$defs": {{"count": {{"type": "integer"}}}}, "properties": {{"n": {schema}}}}}"##
            ));
            let parsed = fields(&schema)[0].parse(text).map(|value| value.compact());
            parsed.map_err(|error| error.to_string())
        };
        let either = r#"{"anyOf": [{"type": "integer", "minimum": 1}, {"type": "boolean"}]}"#;
        let one = r#"{"oneOf": [{"const": 3}, {"type": "array"}]}"#;
        for (schema, text, expected) in [
            (r#"{"type": ["integer", "null"]}"#, "5", "5"),
            (r#"{"type": ["integer", "null"]}"#, "null", "null"),
            (r#"{"type": ["string", "null"]}"#, "null", r#""null""#),
            (r#"{"type": ["string", "integer"]}"#, "5", r#""5""#),
            (r#"{"type": ["string", "integer"], "pattern": "^[a-z]+$"}"#, "5", "5"),
            (either, "7", "7"),
            (either, "yes", "true"),
            (one, "3", "3"),
            (one, " [1, 2] ", "[1,2]"),
            (r#"{"const": 3}"#, "3", "3"),
            (r#"{"const": true}"#, "TRUE", "true"),
            (r#"{"oneOf": [{"const": "Blog"}, {"const": "Mail", "title": "By mail"}]}"#, "mail", r#""Mail""#),
            (r#"{"anyOf": [{"const": "Blog"}, {"const": 3}]}"#, "BLOG", r#""Blog""#),
            (r#"{"const": null}"#, "null", "null"),
            (r#"{"enum": [1, "one", null]}"#, "1", "1"),
            (r#"{"enum": [1, "one", null]}"#, "One", r#""one""#),
            (r#"{"enum": [[1, 2], 5]}"#, "[1, 2]", "[1,2]"),
            (r##"{"$ref": "#/$defs/count"}"##, "4", "4"),
            (r#"{}"#, "4", r#""4""#),
            (r#"{"type": "object"}"#, r#"{"a": 1}"#, r#"{"a":1}"#),
        ] {
            assert_eq!(read(schema, text).as_deref(), Ok(expected), "{schema} {text}");
        }
        for (schema, text, expected) in [
            (r#"{"type": ["integer", "null"]}"#, "five", "expected a whole number, or null"),
            (r#"{"type": "boolean"}"#, "maybe", "expected yes or no"),
            (r#"{"type": "integer", "minimum": 1}"#, "0", "0 is less than the minimum of 1"),
            (r#"{"type": "string", "maxLength": 3}"#, "long", "longer than 3 characters"),
            (either, "0", "not valid under any of the schemas"),
        ] {
            let message = read(schema, text).unwrap_err();
            assert!(message.contains(expected), "{schema} {text}: {message}");
        }
    }

    #[test]
    fn a_member_beside_the_fields_is_what_the_whole_schema_takes() {
        let read = |schema: &str, given: &[(&str, &str)]| {
            read_members(&parsed(schema), given.iter().copied()).map(|form| Value::Object(form).compact())
        };
        let counted = r#"{"type": "object", "required": ["who"], "additionalProperties": {"type": "integer"},
            "properties": {"who": {"type": "string"}}}"#;
        assert_eq!(read(counted, &[("who", "1"), ("n", "5")]).as_deref(), Ok(r#"{"who":"1","n":5}"#));
        assert_eq!(
            read(counted, &[("n", "5")]).as_deref(),
            Ok(r#"{"n":5}"#),
            "`who` is missed by the engine"
        );
        let any = r#"{"type": "object"}"#;
        assert_eq!(read(any, &[("n", "5")]).as_deref(), Ok(r#"{"n":"5"}"#), "the text fits");
        let inside = r#"{"anyOf": [{"properties": {"n": {"type": "integer"}}, "required": ["n"]}]}"#;
        assert_eq!(read(inside, &[("n", "5")]).as_deref(), Ok(r#"{"n":5}"#));
        let wrong = read(r#"{"properties": {"n": {"type": "integer"}}}"#, &[("n", "x")]).unwrap_err();
        assert_eq!(wrong, ("n".to_owned(), "expected a whole number".to_owned()));
    }

    #[test]
    fn an_answer_is_completed_by_defaults_or_refused_with_the_field_named() {
        let schema = parsed(
            r#"{"type": "object", "required": ["channel", "copies"], "additionalProperties": false, "properties": {
                "channel": {"enum": ["blog", "mail"]}, "copies": {"type": "integer", "default": 2}}}"#,
        );
        let rows = [
            (Some(r#"{"channel": "blog"}"#), Ok(r#"{"channel":"blog","copies":2}"#)),
            (Some(r#"{"channel": "blog", "copies": 5}"#), Ok(r#"{"channel":"blog","copies":5}"#)),
            (Some(r#"{"copies": 1}"#), Err("channel")),
            (Some("{}"), Err("channel")),
            (None, Err("channel")),
            (Some(r#"{"channel": "blog", "copies": "5"}"#), Err("/copies: ")),
            (Some(r#"{"channel": "blog", "copies": null}"#), Err("/copies: ")),
            (
                Some(r#"{"channel": "blog", "more": 1}"#),
                Err("`more` is no field of this form; it has `channel`, `copies`"),
            ),
            (
                Some(r#"{"chanel": "blog"}"#),
                Err("`chanel` is no field of this form; did you mean `channel`?"),
            ),
            (Some(r#"{"chanel": "blog"}"#), Err("\"channel\" is a required property")),
            (Some("[]"), Err("object")),
            (Some("null"), Err("object")),
        ];
        for (given, expected) in rows {
            let found = complete(&schema, given.map(parsed).as_ref());
            match (found, expected) {
                (Ok(form), Ok(expected)) => assert_eq!(form.compact(), expected, "{given:?}"),
                (Err(errors), Err(word)) => assert!(errors.to_string().contains(word), "{given:?}: {errors}"),
                (found, _) => panic!("{given:?}: {found:?}"),
            }
        }
        let defaults =
            parsed(r#"{"type": "object", "properties": {"copies": {"type": "integer", "default": 2}}}"#);
        assert_eq!(complete(&defaults, None).map(|form| form.compact()).as_deref(), Ok(r#"{"copies":2}"#));
    }

    #[test]
    fn a_member_that_is_no_field_is_refused_unless_the_schema_lets_it_in() {
        let given = parsed(r#"{"channel": "blog", "chanel": 1}"#);
        let schema = |more: &str| {
            let properties = r#""properties": {"channel": {"type": "string"}}"#;
            parsed(&format!(r#"{{"type": "object", {properties}{more}}}"#))
        };
        for (more, taken) in [
            ("", false),
            (r#", "additionalProperties": false"#, false),
            (r#", "required": ["channel"], "minProperties": 1"#, false),
            (r#", "additionalProperties": true"#, true),
            (r#", "additionalProperties": {"type": "integer"}"#, true),
            (r#", "additionalProperties": {"type": "string"}"#, false),
            (r#", "patternProperties": {"^chan": {}}"#, true),
            (r#", "unevaluatedProperties": true"#, true),
            (r#", "anyOf": [{"properties": {"chanel": {}}}]"#, true),
        ] {
            let found = complete(&schema(more), Some(&given));
            assert_eq!(found.is_ok(), taken, "{more}: {found:?}");
        }
        let form = complete(&parsed(r#"{"type": "object"}"#), Some(&given));
        assert_eq!(form.as_ref(), Ok(&given), "a form without fields says what it is called by itself");
        let wrong = complete(&schema(r#", "additionalProperties": false"#), Some(&given)).unwrap_err();
        assert_eq!(wrong.lines.len(), 1, "it is said once: {wrong}");
    }

    #[test]
    fn a_long_list_of_fields_is_cut() {
        let fields: Vec<String> = (0..12).map(|nth| format!("\"field-{nth:02}\": {{}}")).collect();
        let schema = parsed(&format!(r#"{{"type": "object", "properties": {{{}}}}}"#, fields.join(",")));
        let wrong = complete(&schema, Some(&parsed(r#"{"x": 1}"#))).unwrap_err().to_string();
        assert!(wrong.ends_with("`field-09`, and 2 more"), "{wrong}");
    }
}
