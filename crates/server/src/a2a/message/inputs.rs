//! The inputs that a first message gives to its flow.
//!
//! Pure. The object of a `data` part has the inputs by name. Text becomes the input `message` if the flow has
//! one; otherwise it may be a JSON object. Files cannot be inputs, and URLs are not fetched.

use super::envelope;
use envoi_a2a::{
    fault::{Fault, Kind},
    model::{Content, Message},
};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_flow::inputs::{self, InputError};
use envoi_kernel::Flow;

/// The input that gets the text of a message.
pub(crate) const MESSAGE: &str = "message";

/// The inputs that `message` gives to `flow`, checked against the flow's declarations.
///
/// # Errors
/// A part that cannot be an input, or values that do not fit.
pub(crate) fn read(flow: &Flow, message: &Message) -> Result<Object, Fault> {
    let text = words(message)?;
    let takes_words = flow.inputs.iter().any(|input| input.name == MESSAGE);
    let mut given = match data(message)? {
        Some(members) => members.clone(),
        None if takes_words => Object::new(),
        None => match text.as_deref().map(Value::parse_str) {
            Some(Ok(Value::Object(members))) => members,
            _ => Object::new(),
        },
    };
    if let Some(text) = text.filter(|_| takes_words && !given.contains_key(MESSAGE)) {
        given.insert(MESSAGE, Value::from(text));
    }
    match inputs::resolve(flow, &given) {
        // The engine fills in the defaults when it starts the run.
        Ok(_) => Ok(given),
        Err(errors) => {
            let mistakes: Vec<String> = errors.0.iter().map(mistake).collect();
            let detail = format!("flow `{}`: {}", flow.id, mistakes.join("; "));
            Err(Fault::new(Kind::InvalidParams).detail(detail).code(Code::InputInvalid))
        }
    }
}

fn words(message: &Message) -> Result<Option<String>, Fault> {
    let file = |part: &envoi_a2a::model::Part| matches!(part.content, Content::Raw(_) | Content::Url(_));
    if message.parts.iter().any(file) {
        let detail = "a message that starts a task has text and data parts; bring files to `/v1/artifacts`";
        return Err(Fault::new(Kind::ContentTypeNotSupported).detail(detail));
    }
    let words = message.parts.iter().any(|part| matches!(part.content, Content::Text(_)));
    Ok(words.then(|| envelope::text(message)))
}

/// The object of the only `data` part.
fn data(message: &Message) -> Result<Option<&Object>, Fault> {
    let mut found = message.parts.iter().enumerate().filter_map(|(at, part)| match &part.content {
        Content::Data(value) => Some((at, value)),
        _ => None,
    });
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some((_, Value::Object(members))), None) => Ok(Some(members)),
        (Some((at, _)), None) => Err(Fault::violation(
            format!("message.parts[{at}].data"),
            "Must be an object, the inputs of the flow.",
        )),
        (_, Some((at, _))) => {
            Err(Fault::violation(format!("message.parts[{at}]"), "There may be one data part."))
        }
    }
}

fn mistake(error: &InputError) -> String {
    match error {
        // The hint for the command line does not apply here.
        InputError::Missing { name } => format!("input `{name}` is missing"),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_a2a::model::{Part, Role};

    fn message(parts: Vec<Part>) -> Message {
        Message {
            id: "m1".to_owned(),
            context_id: None,
            task_id: None,
            role: Role::User,
            parts,
            metadata: Object::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    fn data(text: &str) -> Part {
        Part::of(Content::Data(Value::parse_str(text).unwrap()))
    }

    fn flow(inputs: &str) -> Flow {
        let text = format!("flow: f\ninputs: {inputs}\nsteps:\n  - id: a\n    run: 'true'\n");
        envoi_flow::load("flow.yaml", &text).unwrap().flow
    }

    #[test]
    fn inputs_come_of_data_then_of_the_words() {
        let none = "{}";
        let words = "{message: {type: string}}";
        let number = "{count: {type: integer, default: 1}}";
        let both = "{message: {type: string, default: ''}, count: {type: integer, default: 1}}";
        for (inputs, parts, expected) in [
            (none, vec![Part::text("hello")], "{}"),
            (none, vec![Part::text("{}")], "{}"),
            (words, vec![Part::text("hello")], r#"{"message":"hello"}"#),
            (words, vec![Part::text(r#"{"message":"x"}"#)], r#"{"message":"{\"message\":\"x\"}"}"#),
            (words, vec![Part::text("two"), Part::text("lines")], r#"{"message":"two\nlines"}"#),
            (words, vec![data(r#"{"message":"x"}"#), Part::text("hello")], r#"{"message":"x"}"#),
            (number, vec![Part::text(r#" {"count": 7}"#)], r#"{"count":7}"#),
            (number, vec![Part::text("7")], "{}"),
            (number, vec![data(r#"{"count": 7}"#), Part::text("aside")], r#"{"count":7}"#),
            (both, vec![data(r#"{"count": 7}"#), Part::text("hello")], r#"{"count":7,"message":"hello"}"#),
        ] {
            let read = read(&flow(inputs), &message(parts.clone())).unwrap();
            assert_eq!(Value::Object(read).compact(), expected, "{inputs} {parts:?}");
        }
    }

    #[test]
    fn what_does_not_fit_starts_nothing() {
        let number = "{count: {type: integer}}";
        for (inputs, parts, words) in [
            (number, vec![Part::text("hello")], "input `count` is missing"),
            (number, vec![data(r#"{"count":"x"}"#)], "input `count`"),
            (number, vec![data(r#"{"count":1,"cuont":1}"#)], "cuont"),
            (number, vec![data("[1]")], "message.parts[0].data"),
            (number, vec![data("{}"), data("{}")], "message.parts[1]"),
            (number, vec![Part::of(Content::Raw(vec![1]))], "/v1/artifacts"),
            (number, vec![Part::of(Content::Url("https://x".to_owned()))], "/v1/artifacts"),
        ] {
            let refused = read(&flow(inputs), &message(parts.clone())).unwrap_err();
            let reply = refused.rest().compact();
            assert!(reply.contains(words), "{parts:?}: {reply}");
        }
    }
}
