//! Which question a task asks, so that an answer goes to that one and to no later one.
//!
//! Agents differ in what they keep stable from one look to the next: some name their message anew, some date it anew. What is
//! asked has to be the same; of the other two, one is enough.

use crate::QUESTION;
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The id of the message that asks.
    id: Option<String>,
    /// Since when it is asked.
    at: Option<String>,
    /// A digest of what is asked.
    asks: String,
    /// What an Envoi wants to hear again with the answer: id and subject of the question.
    pub(crate) named: Option<Value>,
}

impl Question {
    /// What the status of a task asks.
    pub(crate) fn read(status: &Value) -> Self {
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let message = status.get("message").unwrap_or(&Value::Null);
        let asks = [
            text(status, "state").unwrap_or_default(),
            message.get("parts").map_or(String::new(), Value::compact),
        ];
        let named = message.get("metadata").and_then(|metadata| metadata.get(QUESTION)).and_then(|named| {
            let mut members = Object::from([("id", Value::from(text(named, "id")?))]);
            if let Some(subject) = text(named, "subject") {
                members.insert("subject", Value::from(subject));
            }
            Some(Value::Object(members))
        });
        Self {
            id: text(message, "messageId").filter(|id| !id.is_empty()),
            at: text(status, "timestamp"),
            asks: Digest::of(asks.join("\n").as_bytes()).hex(),
            named,
        }
    }

    /// Whether an answer to the one is an answer to the other.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let nothing_tells =
            self.id.is_none() && other.id.is_none() && self.at.is_none() && other.at.is_none();
        let told = (self.id.is_some() && self.id == other.id) || (self.at.is_some() && self.at == other.at);
        self.asks == other.asks && self.named == other.named && (told || nothing_tells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(id: &str, at: &str, text: &str, subject: &str) -> Question {
        let named = format!(r#"{{"{QUESTION}":{{"id":"int_1","kind":"words","subject":"{subject}"}}}}"#);
        let message = format!(r#"{{"messageId":"{id}","parts":[{{"text":"{text}"}}],"metadata":{named}}}"#);
        let status = format!(r#"{{"state":"input-required","timestamp":"{at}","message":{message}}}"#);
        Question::read(&Value::parse_str(&status).unwrap())
    }

    #[test]
    fn a_question_is_the_same_while_it_asks_the_same_and_one_mark_of_it_stays() {
        let asked = question("m1", "1", "which?", "s");
        assert_eq!(
            asked.named.as_ref().map(Value::compact).as_deref(),
            Some(r#"{"id":"int_1","subject":"s"}"#)
        );
        for (now, same) in [
            (question("m1", "1", "which?", "s"), true),
            (question("m2", "1", "which?", "s"), true),
            (question("m1", "2", "which?", "s"), true),
            (question("m2", "2", "which?", "s"), false),
            (question("m1", "1", "delete it?", "s"), false),
            (question("m1", "1", "which?", "other"), false),
        ] {
            assert_eq!(asked.is(&now), same, "{now:?}");
        }
        let bare = || Question::read(&Value::parse_str(r#"{"state":"input-required"}"#).unwrap());
        assert!(bare().is(&bare()) && !bare().is(&asked));
    }
}
