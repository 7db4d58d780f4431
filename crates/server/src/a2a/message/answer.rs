//! How a message answers the question of a task.
//!
//! Pure. Only a plain yes counts as one: a question that takes a decision refuses every other text, names the words
//! that it takes, and stays open. The engine decides who may answer, and whether a form fits.

use crate::{
    a2a::task::{fold::Question, writer::takes_words},
    commands::amount,
};
use envoi_a2a::{
    fault::{Fault, Kind},
    model::{Content, Message},
};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_kernel::{event::Choice, ledger::Ledger};

/// A text with one of these beginnings is a decision of an operator; a note may follow.
const APPROVED: &str = "[Approved by operator]";
const DENIED: &str = "[Denied by operator]";

/// The decisions that a person may give as one word.
const DECISIONS: [Choice; 12] = [
    Choice::Rerun,
    Choice::Fail,
    Choice::Proceed,
    Choice::Again,
    Choice::Ours,
    Choice::Theirs,
    Choice::Edit,
    Choice::Stop,
    Choice::Approve,
    Choice::Deny,
    Choice::Respond,
    Choice::Raise,
];

/// Members of a `data` part that gives an answer explicitly.
const EXACT: [&str; 5] = ["choice", "approved", "text", "data", "raise"];

/// The answer in a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerContent {
    /// The decision.
    pub(crate) choice: Choice,
    /// The text of the answer, unchanged.
    pub(crate) text: Option<String>,
    /// The data of the form.
    pub(crate) data: Option<Value>,
    /// How much to add to a limit.
    pub(crate) raise: Option<Ledger>,
}

impl AnswerContent {
    fn of(choice: Choice) -> Self {
        Self { choice, text: None, data: None, raise: None }
    }

    fn saying(self, text: &str) -> Self {
        let text = (!text.trim_ascii().is_empty()).then(|| text.to_owned());
        Self { text, ..self }
    }
}

/// Reads the answer of `message` to `question`; `words` is the text of the message.
///
/// # Errors
/// The message is not an answer to the question.
pub(crate) fn read(
    question: &Question,
    message: &Message,
    words: Option<&str>,
) -> Result<AnswerContent, Fault> {
    let data = data(message)?;
    let answer = content(question, data, words)?;
    // A yes is not taken from a message that says something else in its text.
    let says = words.filter(|_| data.is_some()).and_then(|words| said(question, words));
    let is_no = Some(answer.choice) == no(&question.choices);
    if says.is_some_and(|says| says != answer.choice) && !is_no {
        return Err(not_an_answer(question, "the text is another decision than the data part"));
    }
    Ok(answer)
}

/// The decision in a text beside a data part: in words, or as JSON.
fn said(question: &Question, words: &str) -> Option<Choice> {
    let in_json = || {
        let data = Value::parse_str(words.trim_ascii()).ok()?;
        exact_answer(question, exact_members(&data)?, None).ok()
    };
    let is_of_operator = |prefix: &str| words.trim_ascii().starts_with(prefix);
    match decision(question, words).or_else(in_json) {
        Some(answer) => Some(answer.choice),
        None if is_of_operator(APPROVED) || is_of_operator(DENIED) => no(&question.choices),
        None => None,
    }
}

fn content(question: &Question, data: Option<&Value>, words: Option<&str>) -> Result<AnswerContent, Fault> {
    if let Some(form) = &question.form {
        return form_answer(question, form, data, words);
    }
    if let Some(data) = data {
        let Some(members) = exact_members(data) else {
            return Err(not_an_answer(
                question,
                "a data part says `choice` or `approved`, and nothing that is unknown",
            ));
        };
        return exact_answer(question, members, words);
    }
    let Some(words) = words else { return Err(not_an_answer(question, "the message says nothing")) };
    if takes_words(&question.choices) {
        return Ok(AnswerContent { text: Some(words.to_owned()), ..AnswerContent::of(Choice::Respond) });
    }
    decision(question, words).ok_or_else(|| not_an_answer(question, "the text is no decision"))
}

/// The answer to a question with a form: the form in a data part or as JSON, or a decision about the
/// question. A decision never counts as form data.
fn form_answer(
    question: &Question,
    form: &Value,
    data: Option<&Value>,
    words: Option<&str>,
) -> Result<AnswerContent, Fault> {
    let yes = yes(&question.choices).unwrap_or(Choice::Respond);
    match (data, words) {
        (Some(data), words) => form_or_decision(question, form, yes, data, words),
        (None, Some(words)) => match Value::parse_str(words) {
            Ok(data @ Value::Object(_)) => form_or_decision(question, form, yes, &data, None),
            // A yes without a form: the engine fills in the defaults, or names the missing fields.
            _ => decision(question, words).ok_or_else(|| {
                not_an_answer(question, "the text is no form: an object in JSON, or a data part")
            }),
        },
        (None, None) => Err(not_an_answer(question, "the message says nothing")),
    }
}

fn form_or_decision(
    question: &Question,
    form: &Value,
    yes: Choice,
    data: &Value,
    words: Option<&str>,
) -> Result<AnswerContent, Fault> {
    let fits = envoi_flow::answers::complete(form, Some(data)).is_ok();
    match exact_members(data) {
        // A decision that a lenient form would accept must not become a yes.
        Some(members) if fits && decides(question, members) && !members.contains_key("data") => {
            let why = "that is a decision and fits the form as well; say it as `choice` and `data`";
            Err(not_an_answer(question, why))
        }
        Some(members) if !fits || decides(question, members) => exact_answer(question, members, words),
        // A form that does not fit is passed on: the engine reports what is wrong.
        _ => {
            let filled = AnswerContent { data: Some(data.clone()), ..AnswerContent::of(yes) };
            Ok(filled.saying(words.unwrap_or_default()))
        }
    }
}

/// Whether the members, which may also be those of a form, are a decision about this question.
fn decides(question: &Question, members: &Object) -> bool {
    members.get("approved").is_some_and(|approved| approved.as_bool().is_some())
        || members
            .get("choice")
            .and_then(Value::as_str)
            .is_some_and(|word| choice(&question.choices, word).is_some())
}

/// The members of a `data` part that gives an answer explicitly; `None` for any other part.
fn exact_members(data: &Value) -> Option<&Object> {
    let members = data.as_object()?;
    let known = members.keys().all(|name| EXACT.contains(&name));
    let decides = members.get("choice").is_some_and(|choice| choice.as_str().is_some())
        || members.get("approved").is_some_and(|approved| approved.as_bool().is_some());
    (known && decides).then_some(members)
}

fn exact_answer(question: &Question, members: &Object, words: Option<&str>) -> Result<AnswerContent, Fault> {
    let text = match members.get("text") {
        None | Some(Value::Null) => words.map(str::to_owned),
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err(not_an_answer(question, "`text` is not a string")),
    };
    let raise = members.get("raise").map(|more| amount::read("raise", more)).transpose();
    let raise = raise.map_err(|problem| not_an_answer(question, &problem.detail))?;
    let approved = members.get("approved").and_then(Value::as_bool);
    let choice = match (members.get("choice").and_then(Value::as_str), approved) {
        (Some(word), None) => choice(&question.choices, word),
        (None, Some(true)) => yes(&question.choices),
        (None, Some(false)) => no(&question.choices),
        // Both are given, or neither.
        _ => None,
    };
    let choice = choice.ok_or_else(|| not_an_answer(question, "that is no decision of this question"))?;
    let data = members.get("data").filter(|data| !data.is_null()).cloned();
    Ok(AnswerContent { text, data, raise, ..AnswerContent::of(choice) })
}

/// The decision in a text, if it clearly is one.
fn decision(question: &Question, words: &str) -> Option<AnswerContent> {
    let words = words.trim_ascii();
    let choices = &question.choices;
    let approved = words.strip_prefix(APPROVED).map(|note| (yes(choices), note));
    let denied = || words.strip_prefix(DENIED).map(|note| (no(choices), note));
    if let Some((choice, note)) = approved.or_else(denied) {
        let note = note.trim_ascii();
        // The text says both.
        let is_ambiguous = [APPROVED, DENIED].iter().any(|beginning| note.starts_with(beginning));
        return choice.filter(|_| !is_ambiguous).map(|choice| AnswerContent::of(choice).saying(note));
    }
    // A single word does not say by how much a limit is raised.
    choice(choices, &words.to_ascii_lowercase())
        .filter(|choice| *choice != Choice::Raise)
        .map(AnswerContent::of)
}

/// Whether `message` is only a decision, for any question: a single word, the text of an operator, or JSON.
pub(crate) fn is_decision(message: &Message) -> bool {
    let texts: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| if let Content::Text(text) = &part.content { Some(text.as_str()) } else { None })
        .collect();
    let words = texts.join("\n");
    let words = words.trim_ascii();
    words.starts_with(APPROVED)
        || words.starts_with(DENIED)
        || choice(&DECISIONS, &words.to_ascii_lowercase()).is_some()
        || Value::parse_str(words).is_ok_and(|data| exact_members(&data).is_some())
}

/// The decision that a word means.
fn choice(choices: &[Choice], word: &str) -> Option<Choice> {
    match word {
        "yes" | "approve" | "proceed" => yes(choices),
        "no" | "deny" | "stop" => no(choices),
        word => choices.iter().copied().find(|choice| choice.word() == word),
    }
}

fn yes(choices: &[Choice]) -> Option<Choice> {
    let yes = [Choice::Approve, Choice::Proceed, Choice::Respond];
    yes.into_iter().find(|choice| choices.contains(choice))
}

fn no(choices: &[Choice]) -> Option<Choice> {
    [Choice::Deny, Choice::Stop].into_iter().find(|choice| choices.contains(choice))
}

fn data(message: &Message) -> Result<Option<&Value>, Fault> {
    let mut found = message.parts.iter().enumerate().filter_map(|(at, part)| match &part.content {
        Content::Data(value) => Some((at, value)),
        _ => None,
    });
    match (found.next(), found.next()) {
        (first, None) => Ok(first.map(|(_, value)| value)),
        (_, Some((at, _))) => {
            Err(Fault::violation(format!("message.parts[{at}]"), "There may be one data part."))
        }
    }
}

/// The fault for a message that does not answer the question. It names the accepted answers.
fn not_an_answer(question: &Question, why: &str) -> Fault {
    let words: Vec<String> = question.choices.iter().map(|choice| format!("`{}`", choice.word())).collect();
    let id = &question.raised.interrupt;
    let detail = format!("question `{id}` stays open: {why}; it takes {}", words.join(", "));
    Fault::new(Kind::InvalidParams).detail(detail).code(Code::AnswerInvalid).note("question", id.as_str())
}

#[cfg(test)]
mod tests;
