//! The body of `POST /api/llm-bridge`: its members, and their errors.

use super::refusal::Refusal;
use envoi_contract::{
    json::{Object, Value},
    user_envelope::{AttachmentRef, MAX_ATTACHMENTS},
};

/// A message for a model. Other members are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageRequest {
    /// The user text, unchanged.
    pub(crate) user: String,
    /// Whether `user` is a user envelope.
    pub(crate) user_envelope: bool,
    /// The attachments outside the envelope.
    pub(crate) attachments: Vec<AttachmentRef>,
    /// The name of the model; `None` for the default.
    pub(crate) model: Option<String>,
    /// The system prompt.
    pub(crate) system: Option<String>,
    /// The run that the caller names. It selects no run, but must not contradict the one that pays.
    pub(crate) agent_run: Option<String>,
}

impl MessageRequest {
    /// Parses a body.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] with everything that is wrong.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Refusal> {
        let value = Value::parse(body).map_err(|error| Refusal::one("", error.to_string()))?;
        let Value::Object(members) = value else {
            return Err(Refusal::one("", "expected a JSON object"));
        };
        let mut issues = Vec::new();
        let user = required_text(&members, "user", &mut issues);
        let user_envelope = flag(&members, "user_envelope", &mut issues);
        let attachments = references(&members, &mut issues);
        let model = model(&members, &mut issues);
        let system = text(&members, "system", &mut issues);
        // An invalid id names no run, but is still a contradiction.
        let agent_run = members.get("agent_run_id").filter(|value| **value != Value::Null);
        let agent_run = agent_run.map(|value| value.as_str().unwrap_or("").to_owned());
        match user {
            Some(user) if issues.is_empty() => {
                Ok(Self { user, user_envelope, attachments, model, system, agent_run })
            }
            _ => Err(Refusal::Invalid(issues)),
        }
    }
}

type Issues = Vec<(String, String)>;

/// The model, by either of its names: `model_id` is the name of an older bridge, which this one replaces.
///
/// Two different names are refused: with either one, the caller might pay for a model that it did not mean.
fn model(members: &Object, issues: &mut Issues) -> Option<String> {
    let model = text(members, "model", issues);
    let model_id = text(members, "model_id", issues);
    if model.is_some() && model_id.is_some() && model != model_id {
        issues.push(("model_id".to_owned(), "names another model than `model`".to_owned()));
    }
    model.or(model_id)
}

fn required_text(members: &Object, name: &str, issues: &mut Issues) -> Option<String> {
    if !members.contains_key(name) {
        issues.push((name.to_owned(), "is missing; expected a string".to_owned()));
    }
    text(members, name, issues)
}

/// A string, if it is present. Null is not the same as absence.
fn text(members: &Object, name: &str, issues: &mut Issues) -> Option<String> {
    let value = members.get(name)?;
    if value.as_str().is_none() {
        issues.push((name.to_owned(), "expected a string".to_owned()));
    }
    value.as_str().map(str::to_owned)
}

fn flag(members: &Object, name: &str, issues: &mut Issues) -> bool {
    match members.get(name) {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => {
            issues.push((name.to_owned(), "expected true or false".to_owned()));
            false
        }
    }
}

fn references(members: &Object, issues: &mut Issues) -> Vec<AttachmentRef> {
    let Some(value) = members.get("attachments") else { return Vec::new() };
    let Some(items) = value.as_array().filter(|items| items.len() <= MAX_ATTACHMENTS) else {
        let message = format!("expected a list of at most {MAX_ATTACHMENTS} references");
        issues.push(("attachments".to_owned(), message));
        return Vec::new();
    };
    let mut references = Vec::new();
    for (place, item) in items.iter().enumerate() {
        match AttachmentRef::decode(item) {
            Ok(reference) => references.push(reference),
            Err(wrong) => {
                let path = format!("attachments{}", format!("/{place}{}", wrong.pointer).replace('/', "."));
                issues.push((path, format!("expected {}, found {}", wrong.expected, wrong.found)));
            }
        }
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    const REF: &str = r#"{"artifactId": "art_1", "representationRevisionId": "rep_1", "digest": "sha256:0", "mime":
                         "text/plain", "originKind": "upload"}"#;

    fn wrong(body: &str) -> Vec<String> {
        match MessageRequest::read(body.as_bytes()) {
            Err(Refusal::Invalid(issues)) => issues.into_iter().map(|(path, _)| path).collect(),
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn what_is_known_is_read_and_the_rest_ignored() {
        let turn = MessageRequest::read(br#"{"user": "hi", "other": [1]}"#).unwrap();
        assert_eq!((turn.user.as_str(), turn.user_envelope, turn.attachments.len()), ("hi", false, 0));
        let body = format!(
            r#"{{"user": "hi", "user_envelope": true, "attachments": [{REF}], "model": "m", "system": "s", "agent_run_id": 7}}"#
        );
        let turn = MessageRequest::read(body.as_bytes()).unwrap();
        assert_eq!((turn.user_envelope, turn.attachments.len()), (true, 1));
        assert_eq!((turn.model.as_deref(), turn.system.as_deref()), (Some("m"), Some("s")));
        assert_eq!(turn.agent_run.as_deref(), Some(""));
    }

    #[test]
    fn a_model_is_named_in_two_ways_and_never_ignored() {
        for (body, model) in [
            (r#"{"user": "a", "model_id": "m"}"#, Some("m")),
            (r#"{"user": "a", "model": "m", "model_id": "m"}"#, Some("m")),
            (r#"{"user": "a"}"#, None),
        ] {
            assert_eq!(MessageRequest::read(body.as_bytes()).unwrap().model.as_deref(), model, "{body}");
        }
    }

    #[test]
    fn every_mistake_is_reported_with_its_place() {
        let many = vec![REF; 21].join(",");
        for (body, expected) in [
            ("", &[""][..]),
            ("[]", &[""]),
            (r#"{"user": "a", "user": "b"}"#, &[""]),
            ("{}", &["user"]),
            (r#"{"user": null}"#, &["user"]),
            (r#"{"user": 1, "user_envelope": "true"}"#, &["user", "user_envelope"]),
            (r#"{"user": "a", "user_envelope": null}"#, &["user_envelope"]),
            (r#"{"user": "a", "user_envelope": 1}"#, &["user_envelope"]),
            (r#"{"user": "a", "model": null, "system": []}"#, &["model", "system"]),
            (r#"{"user": "a", "model_id": 7}"#, &["model_id"]),
            (r#"{"user": "a", "model": "m", "model_id": "n"}"#, &["model_id"]),
            (r#"{"user": "a", "attachments": null}"#, &["attachments"]),
            (&format!(r#"{{"user": "a", "attachments": [{many}]}}"#), &["attachments"]),
            (&format!(r#"{{"user": "a", "attachments": [{REF}, {{}}]}}"#), &["attachments.1"]),
            (
                &format!(r#"{{"user": "a", "attachments": [{}]}}"#, REF.replacen('{', r#"{"x": 1, "#, 1)),
                &["attachments.0.x"],
            ),
        ] {
            assert_eq!(wrong(body), expected, "{body}");
        }
    }
}
