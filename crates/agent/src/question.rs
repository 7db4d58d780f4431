//! Which question a task asks, so that an answer goes to that one, once, and to no later one.
//!
//! What is asked are the words that a person is shown, wherever the agent has them. The same words may be asked again, so
//! agents give a question marks: the id of its message, and since when it is asked. Agents differ in what they keep: some
//! give out a new id, or a new time, at each look. That is only seen by looking twice, so what cannot be told yet is said to
//! be so.

use crate::{
    QUESTION,
    mask::Mask,
    task::{self, Task},
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
    /// The ids of the messages in the task's history.
    #[serde(default)]
    history: BTreeSet<String>,
}

/// How a question stands to the one that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// It is the same, and the task has not moved.
    Kept,
    /// It is another one, or the same words asked again.
    Moved,
    /// The same words, and nothing tells; or not yet.
    Vague,
}

impl Question {
    /// What a task asks whose status is this.
    pub(crate) fn of(task: &Task, status: &Value) -> Self {
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let message = status.get("message").unwrap_or(&Value::Null);
        let shown = task.status.iter().filter_map(task::object).map(Value::compact);
        let asks: Vec<String> =
            [task.state.word().to_owned(), task.question()].into_iter().chain(shown).collect();
        let named = message.get("metadata").and_then(|metadata| metadata.get(QUESTION)).and_then(|named| {
            let mut members = Object::from([("id", Value::from(text(named, "id")?))]);
            if let Some(subject) = text(named, "subject") {
                members.insert("subject", Value::from(subject));
            }
            Some(Value::Object(members))
        });
        let spoken = task.history.iter().rev().find(|said| said.by_agent).map(|said| said.id.clone());
        let has_words = !task::words(&task.status).trim().is_empty();
        let id = text(message, "messageId").or(spoken.filter(|_| !has_words));
        Self {
            id: id.filter(|id| !id.is_empty()),
            at: text(status, "timestamp"),
            asks: Digest::of(asks.join("\n").as_bytes()).hex(),
            named,
            history: task.history.iter().map(|said| said.id.clone()).filter(|id| !id.is_empty()).collect(),
        }
    }

    /// The same, without the secrets in it. What is asked is a digest, so that other words with another secret differ.
    pub(crate) fn masked(self, mask: &dyn Mask) -> Self {
        let text = |text: &String| mask.text(text);
        Self {
            id: self.id.as_ref().map(text),
            at: self.at.as_ref().map(text),
            asks: self.asks,
            named: self.named.as_ref().map(|named| mask.value(named)),
            history: self.history.iter().map(text).collect(),
        }
    }

    /// Whether an answer to this one is one to what the task asks now. `before` is an earlier look at that, if there was one;
    /// `None` asks for it.
    pub(crate) fn is(&self, now: &Self, before: Option<&Self>, ours: &BTreeSet<String>) -> Option<bool> {
        if self.asks != now.asks || self.named != now.named {
            return Some(false);
        }
        if self.named.is_some() || kept(&self.id, &now.id) || kept(&self.at, &now.at) {
            return Some(true);
        }
        if now.id.is_none() && now.at.is_none() {
            return Some(self.others(ours) == now.others(ours));
        }
        let before = before?;
        // What differs from look to look says nothing.
        let says_nothing = !kept(&before.id, &now.id) && !kept(&before.at, &now.at);
        let history_says_nothing = before.others(ours) != now.others(ours);
        Some(says_nothing && (history_says_nothing || self.others(ours) == now.others(ours)))
    }

    /// What has become of this one since it was answered. `before` is the look before.
    pub(crate) fn since(&self, now: &Self, before: Option<&Self>) -> Since {
        if self.asks != now.asks || self.named != now.named {
            return Since::Moved;
        }
        // Whether the id says something: it does not where it is new at each look, and one look does not tell.
        let new_id = now.id.is_some() && self.id != now.id;
        if self.named.is_some() || (kept(&self.at, &now.at) && !new_id) {
            return Since::Kept;
        }
        let Some(before) = before else { return Since::Vague };
        let marks = [(&self.id, &before.id, &now.id), (&self.at, &before.at, &now.at)];
        let telling = marks.into_iter().filter(|(_, before, now)| kept(before, now));
        let same: Vec<bool> = telling.map(|(answered, _, now)| answered == now).collect();
        match same.as_slice() {
            // Its time; an id alone may be the same for all that it asks.
            [true] if kept(&self.at, &now.at) => Since::Kept,
            [] | [true, ..] | [false, true] => Since::Vague,
            [false, ..] => Since::Moved,
        }
    }

    /// The rest of the history: what others have said, but for the question itself.
    fn others(&self, ours: &BTreeSet<String>) -> BTreeSet<&String> {
        self.history.iter().filter(|id| !ours.contains(*id) && self.id.as_ref() != Some(*id)).collect()
    }
}

/// Whether a mark is there, and is the same.
fn kept(one: &Option<String>, other: &Option<String>) -> bool {
    one.is_some() && one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id and time of its message, what it asks, the ids of its history.
    fn asked(id: &str, at: &str, text: &str, history: &[&str]) -> Question {
        let history: Vec<String> = history
            .iter()
            .map(|id| format!(r#"{{"messageId":"{id}","role":"user","parts":[{{"text":"…"}}]}}"#))
            .collect();
        let message = format!(r#"{{"messageId":"{id}","role":"agent","parts":[{{"text":"{text}"}}]}}"#);
        let at = if at.is_empty() { String::new() } else { format!(r#""timestamp":"{at}","#) };
        question(&format!(
            r#"{{"id":"t","status":{{"state":"input-required",{at}"message":{message}}},"history":[{}]}}"#,
            history.join(",")
        ))
    }

    fn question(task: &str) -> Question {
        Task::read(&Value::parse_str(task).unwrap()).unwrap().question
    }

    fn ours() -> BTreeSet<String> {
        ["ours".to_owned()].into()
    }

    #[test]
    fn an_answer_is_for_the_words_that_were_shown_while_one_mark_stays() {
        let shown = asked("m1", "1", "which?", &[]);
        for (now, same) in [
            (asked("m1", "1", "which?", &[]), Some(true)),
            (asked("m2", "1", "which?", &[]), Some(true)),
            (asked("m1", "2", "which?", &[]), Some(true)),
            (asked("m2", "2", "which?", &[]), None),
            (asked("m1", "1", "delete it?", &[]), Some(false)),
        ] {
            assert_eq!(shown.is(&now, None, &ours()), same, "{now:?}");
        }
    }

    #[test]
    fn marks_that_are_new_at_each_look_say_nothing() {
        let shown = asked("m1", "1", "which?", &["ours"]);
        let is = |before: &Question, now: &Question| shown.is(now, Some(before), &ours());
        let now = asked("m3", "3", "which?", &["ours"]);
        assert_eq!(is(&asked("m2", "2", "which?", &["ours"]), &now), Some(true));
        assert_eq!(is(&now, &now), Some(false), "it was asked again");
        assert_eq!(is(&asked("m3", "2", "which?", &[]), &now), Some(false), "one mark is kept");
        let answered_elsewhere = asked("m3", "3", "which?", &["ours", "theirs"]);
        assert_eq!(is(&asked("m2", "2", "which?", &["ours", "theirs"]), &answered_elsewhere), Some(false));
        let renewed = |n: u8| asked(&format!("m{n}"), &n.to_string(), "which?", &[&format!("h{n}")]);
        assert_eq!(is(&renewed(2), &renewed(3)), Some(true), "so is the history");
    }

    #[test]
    fn a_question_in_the_history_alone_is_the_one_that_is_shown() {
        let task = |id: &str, text: &str| {
            question(&format!(
                r#"{{"id":"t","status":{{"state":"input-required"}},"history":[{{"messageId":"{id}","role":"agent","parts":[{{"text":"{text}"}}]}}]}}"#
            ))
        };
        assert_eq!(task("h1", "which?").is(&task("h1", "which?"), None, &ours()), Some(true));
        assert_eq!(task("h1", "which?").is(&task("h1", "delete it?"), None, &ours()), Some(false));
        let again = task("h2", "which?");
        assert_eq!(task("h1", "which?").is(&again, Some(&again), &ours()), Some(false));
        let bare = || question(r#"{"id":"t","status":{"state":"input-required"}}"#);
        assert_eq!(bare().is(&bare(), None, &ours()), Some(true));
        assert_eq!(bare().is(&task("h1", "which?"), None, &ours()), Some(false));
        // What has become of the status is its history.
        let moved = r#"{"id":"t","status":{"state":"input-required"},"history":[
            {"messageId":"m1","role":"agent","parts":[{"text":"which?"}]},{"messageId":"ours","role":"user","parts":[{"text":"left"}]}]}"#;
        assert_eq!(asked("m1", "", "which?", &[]).is(&question(moved), None, &ours()), Some(true));
    }

    #[test]
    fn an_envoi_names_its_questions_and_nothing_else_counts() {
        let named = |subject: &str, at: &str| {
            let named = format!(r#"{{"{QUESTION}":{{"id":"int_1","kind":"words","subject":"{subject}"}}}}"#);
            question(&format!(
                r#"{{"id":"t","status":{{"state":"input-required","timestamp":"{at}","message":{{"messageId":"{at}","parts":[{{"text":"which?"}}],"metadata":{named}}}}}}}"#
            ))
        };
        let shown = named("s", "1");
        assert_eq!(
            shown.named.as_ref().map(Value::compact).as_deref(),
            Some(r#"{"id":"int_1","subject":"s"}"#)
        );
        assert_eq!(shown.is(&named("s", "2"), None, &ours()), Some(true));
        assert_eq!(shown.is(&named("other", "1"), None, &ours()), Some(false));
        assert_eq!(shown.since(&named("s", "2"), None), Since::Kept);
        assert_eq!(shown.since(&named("other", "1"), None), Since::Moved);
    }

    #[test]
    fn a_task_that_was_answered_has_moved_when_what_it_asks_is_marked_anew() {
        let answered = asked("m1", "1", "which?", &[]);
        let since = |before: &Question, now: &Question| answered.since(now, Some(before));
        let same = |id: &str, at: &str| asked(id, at, "which?", &[]);
        assert_eq!(answered.since(&same("m1", "1"), None), Since::Kept);
        assert_eq!(answered.since(&same("m2", "1"), None), Since::Vague, "its id may be new at each look");
        assert_eq!(since(&same("m3", "1"), &same("m2", "1")), Since::Kept, "and is");
        assert_eq!(since(&same("m2", "1"), &same("m2", "1")), Since::Vague, "or is not");
        assert_eq!(answered.since(&asked("m1", "1", "delete it?", &[]), None), Since::Moved);
        assert_eq!(answered.since(&same("m2", "2"), None), Since::Vague, "one look tells nothing");
        assert_eq!(since(&same("m2", "2"), &same("m2", "2")), Since::Moved);
        assert_eq!(since(&same("m3", "2"), &same("m2", "2")), Since::Moved, "the id is new at each look");
        assert_eq!(since(&same("m3", "3"), &same("m2", "2")), Since::Vague, "so are both");
        assert_eq!(since(&same("m1", "2"), &same("m1", "2")), Since::Vague, "one is as it was");
        assert_eq!(since(&same("m1", ""), &same("m1", "")), Since::Vague);
        assert_eq!(since(&same("m2", ""), &same("m2", "")), Since::Moved);
        assert_eq!(since(&same("", ""), &same("", "")), Since::Vague);
    }
}
