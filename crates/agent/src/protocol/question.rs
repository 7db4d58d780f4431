//! Compares the questions in two replies of an agent, so that an answer is sent once, and to the question that a
//! person has seen.
//!
//! A question is identified by its text, and by marks from the agent: the id of its message and a time. The text
//! alone is not enough, because an agent may ask the same again. Some agents give a new id or a new time in each
//! reply to the same question. A single reply does not show that; two replies do. Until then the result is
//! "unclear".

use crate::input::mask::Mask;
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The properties that identify a question of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The id of the message with the question.
    pub(super) id: Option<String>,
    /// The time of the question, as the agent gave it.
    pub(super) at: Option<String>,
    /// A digest of the state, the text and the data that a person is shown.
    pub(super) asks: String,
    /// Id and subject of the question of another Envoi. That agent wants them back with the answer.
    pub(crate) named: Option<Value>,
    /// The ids of the messages in the task's history.
    #[serde(default)]
    pub(super) history: BTreeSet<String>,
}

/// How a task's question has changed since it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is the same question, and the task has not moved on.
    Unchanged,
    /// It is another question, or the same text once more.
    Changed,
    /// The text is the same, and the marks prove nothing, or not yet.
    Unclear,
}

impl Question {
    /// The question with its secrets masked. The digest is of the unmasked text, so that texts with different secrets
    /// differ.
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

    /// Returns whether `now` is this question, so that an answer to this one fits. `None` means that another reply is
    /// needed.
    ///
    /// `before` is the question of an earlier reply, if there was one. `ours` are the ids of our own messages.
    pub(crate) fn is_same(&self, now: &Self, before: Option<&Self>, ours: &BTreeSet<String>) -> Option<bool> {
        if self.asks != now.asks || self.named != now.named {
            return Some(false);
        }
        if self.named.is_some() || is_kept(&self.id, &now.id) || is_kept(&self.at, &now.at) {
            return Some(true);
        }
        let same_history = self.messages_of_others(ours) == now.messages_of_others(ours);
        if now.id.is_none() && now.at.is_none() {
            return Some(same_history);
        }
        let before = before?;
        // Marks that differ in each reply prove nothing. Marks that stay the same prove that the agent asked again.
        let marks_differ = !is_kept(&before.id, &now.id) && !is_kept(&before.at, &now.at);
        let history_differs = before.messages_of_others(ours) != now.messages_of_others(ours);
        Some(marks_differ && (history_differs || same_history))
    }

    /// How this question has changed since it was answered. `before` is the question of the reply before `now`.
    pub(crate) fn change_to(&self, now: &Self, before: Option<&Self>) -> Change {
        if self.asks != now.asks || self.named != now.named {
            return Change::Changed;
        }
        // A new id alone is no proof: some agents give a new one in each reply.
        let has_new_id = now.id.is_some() && self.id != now.id;
        if self.named.is_some() || (is_kept(&self.at, &now.at) && !has_new_id) {
            return Change::Unchanged;
        }
        let Some(before) = before else { return Change::Unclear };
        let marks = [(&self.id, &before.id, &now.id), (&self.at, &before.at, &now.at)];
        // A mark counts only if two replies have it in common.
        let stable = marks.into_iter().filter(|(_, before, now)| is_kept(before, now));
        let same: Vec<bool> = stable.map(|(answered, _, now)| answered == now).collect();
        match same.as_slice() {
            // The mark that stayed is the time. An id alone may be the same for all questions of the agent.
            [true] if is_kept(&self.at, &now.at) => Change::Unchanged,
            [] | [true, ..] | [false, true] => Change::Unclear,
            [false, ..] => Change::Changed,
        }
    }

    /// The ids in the history that belong neither to us nor to the question.
    fn messages_of_others(&self, ours: &BTreeSet<String>) -> BTreeSet<&String> {
        self.history.iter().filter(|id| !ours.contains(*id) && self.id.as_ref() != Some(*id)).collect()
    }
}

/// True if the mark exists and is unchanged.
fn is_kept(one: &Option<String>, other: &Option<String>) -> bool {
    one.is_some() && one == other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::task::Task;
    use envoi_a2a::extension::QUESTION;

    /// A question with the id and time of its message, its text, and the ids of its history.
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
        Task::new(envoi_a2a::received::task(&Value::parse_str(task).unwrap()).unwrap()).question
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
            assert_eq!(shown.is_same(&now, None, &ours()), same, "{now:?}");
        }
    }

    #[test]
    fn marks_that_are_new_in_each_reply_prove_nothing() {
        let shown = asked("m1", "1", "which?", &["ours"]);
        let is = |before: &Question, now: &Question| shown.is_same(now, Some(before), &ours());
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
        assert_eq!(task("h1", "which?").is_same(&task("h1", "which?"), None, &ours()), Some(true));
        assert_eq!(task("h1", "which?").is_same(&task("h1", "delete it?"), None, &ours()), Some(false));
        let again = task("h2", "which?");
        assert_eq!(task("h1", "which?").is_same(&again, Some(&again), &ours()), Some(false));
        let bare = || question(r#"{"id":"t","status":{"state":"input-required"}}"#);
        assert_eq!(bare().is_same(&bare(), None, &ours()), Some(true));
        assert_eq!(bare().is_same(&task("h1", "which?"), None, &ours()), Some(false));
        // The message that was the status is now in the history.
        let moved = r#"{"id":"t","status":{"state":"input-required"},"history":[
            {"messageId":"m1","role":"agent","parts":[{"text":"which?"}]},{"messageId":"ours","role":"user","parts":[{"text":"left"}]}]}"#;
        assert_eq!(asked("m1", "", "which?", &[]).is_same(&question(moved), None, &ours()), Some(true));
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
        assert_eq!(shown.is_same(&named("s", "2"), None, &ours()), Some(true));
        assert_eq!(shown.is_same(&named("other", "1"), None, &ours()), Some(false));
        assert_eq!(shown.change_to(&named("s", "2"), None), Change::Unchanged);
        assert_eq!(shown.change_to(&named("other", "1"), None), Change::Changed);
    }

    #[test]
    fn a_task_that_was_answered_has_moved_when_what_it_asks_is_marked_anew() {
        let answered = asked("m1", "1", "which?", &[]);
        let change = |before: &Question, now: &Question| answered.change_to(now, Some(before));
        let same = |id: &str, at: &str| asked(id, at, "which?", &[]);
        assert_eq!(answered.change_to(&same("m1", "1"), None), Change::Unchanged);
        assert_eq!(
            answered.change_to(&same("m2", "1"), None),
            Change::Unclear,
            "its id may be new in each reply"
        );
        assert_eq!(change(&same("m3", "1"), &same("m2", "1")), Change::Unchanged, "and is");
        assert_eq!(change(&same("m2", "1"), &same("m2", "1")), Change::Unclear, "or is not");
        assert_eq!(answered.change_to(&asked("m1", "1", "delete it?", &[]), None), Change::Changed);
        assert_eq!(answered.change_to(&same("m2", "2"), None), Change::Unclear, "one poll proves nothing");
        assert_eq!(change(&same("m2", "2"), &same("m2", "2")), Change::Changed);
        assert_eq!(
            change(&same("m3", "2"), &same("m2", "2")),
            Change::Changed,
            "the id is new in each reply"
        );
        assert_eq!(change(&same("m3", "3"), &same("m2", "2")), Change::Unclear, "so are both");
        assert_eq!(change(&same("m1", "2"), &same("m1", "2")), Change::Unclear, "one is as it was");
        assert_eq!(change(&same("m1", ""), &same("m1", "")), Change::Unclear);
        assert_eq!(change(&same("m2", ""), &same("m2", "")), Change::Changed);
        assert_eq!(change(&same("", ""), &same("", "")), Change::Unclear);
    }
}
