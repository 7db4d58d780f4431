//! Asks a question at a terminal: shows its details and the effect of each answer, and reads the answer line
//! by line.
//!
//! Owns the words and their order. Input and output are arguments. It decides nothing: the answer that it
//! returns may be refused, as any other.

use crate::view::{amount, form};
use envoi_contract::json::Value;
use envoi_kernel::{
    Run,
    event::{About, Choice, InterruptRaised},
    ids::Principal,
    input::Answer,
    ledger::Ledger,
};
use std::io::{self, BufRead, Write};

/// The input of the person.
#[derive(Debug, PartialEq)]
pub(crate) enum Reply {
    /// An answer.
    Answer(Box<Answer>),
    /// Files are edited before the answer is given: [`finish`] asks for the rest of the answer.
    Edit,
    /// Show everything.
    Show,
    /// Not now, or the input has ended.
    Later,
}

/// The channel of an answer from here.
const CHANNEL: &str = "terminal";

/// The choices of a question, each with its effect.
pub(crate) type Choices = [(Choice, String)];

/// Prints the possible answers.
pub(crate) fn put(choices: &Choices, output: &mut dyn Write) -> io::Result<()> {
    for (choice, leads) in choices {
        writeln!(output, "  {:<8} {leads}", choice.word())?;
    }
    writeln!(output, "  show     shows all there is to know; later leaves the question open")
}

/// Reads the answer to a question that was shown.
pub(crate) fn ask(
    run: &Run,
    raised: &InterruptRaised,
    choices: &Choices,
    by: Principal,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Reply> {
    let words: Vec<&str> = choices.iter().map(|(choice, _)| choice.word()).chain(["show", "later"]).collect();
    loop {
        let prompt = format!("{}? ", words.join(", "));
        let Some(line) = form::line(&prompt, input, output)? else { return Ok(Reply::Later) };
        let Some(word) = meant(&words, line.trim()) else {
            writeln!(output, "  type one of these, or its first letters")?;
            continue;
        };
        match choices.iter().map(|(choice, _)| *choice).find(|choice| choice.word() == word) {
            Some(Choice::Edit) => return Ok(Reply::Edit),
            Some(choice) => return finish(run, raised, choice, by, input, output),
            None if word == "show" => return Ok(Reply::Show),
            None => return Ok(Reply::Later),
        }
    }
}

/// The word that the line abbreviates. `y` and `n` are accepted if there is a yes and a no.
fn meant<'w>(words: &[&'w str], line: &str) -> Option<&'w str> {
    let line = line.to_ascii_lowercase();
    let synonyms: &[&str] = match line.as_str() {
        "" => return None,
        "y" | "yes" => &["approve", "proceed"],
        "n" | "no" => &["deny", "stop"],
        _ => &[],
    };
    let known = words.iter().find(|word| synonyms.contains(word));
    let mut begun = words.iter().filter(|word| word.starts_with(&line));
    match (known, begun.next(), begun.next()) {
        (Some(word), _, _) | (None, Some(word), None) => Some(word),
        _ => words.iter().find(|word| **word == line).copied(),
    }
}

/// Asks for the details of a choice: a form, a text, or an amount.
pub(crate) fn finish(
    run: &Run,
    raised: &InterruptRaised,
    choice: Choice,
    by: Principal,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Reply> {
    let mut answer = Answer {
        seen: raised.subject,
        channel: CHANNEL.to_owned(),
        ..Answer::new(raised.interrupt.clone(), choice, by)
    };
    let asks = run.step(&raised.visit).and_then(|step| step.asks());
    let schema = asks.filter(|_| raised.about == About::Ask).and_then(|plan| plan.schema.as_ref());
    if let (Some(schema), Choice::Approve | Choice::Respond) = (schema, choice) {
        let Some(form) = form::ask(schema, input, output)? else { return Ok(Reply::Later) };
        answer.data = Some(form);
    }
    if choice == Choice::Raise {
        let Some(more) = amount(raised, input, output)? else { return Ok(Reply::Later) };
        answer.raise = Some(more);
    }
    let needed = choice == Choice::Respond && answer.data.is_none();
    let what = match choice {
        Choice::Respond if needed => "answer",
        Choice::Deny | Choice::Stop | Choice::Fail => "reason (Enter for none)",
        Choice::Again => "what is to be done otherwise (Enter for nothing)",
        _ => "note (Enter for none)",
    };
    loop {
        let Some(line) = form::line(&format!("  {what}: "), input, output)? else { return Ok(Reply::Later) };
        if needed && line.trim().is_empty() {
            writeln!(output, "    a question needs an answer that is not blank")?;
            continue;
        }
        answer.text = Some(line).filter(|line| !line.is_empty());
        return Ok(Reply::Answer(Box::new(answer)));
    }
}

fn amount(
    raised: &InterruptRaised,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<Ledger>> {
    let bound = raised.evidence.get("bound").and_then(Value::as_str).unwrap_or("");
    loop {
        let prompt = format!("  by how much `{bound}` is raised: ");
        let Some(line) = form::line(&prompt, input, output)? else { return Ok(None) };
        match amount::read_amount(raised, line.trim()) {
            Ok(more) => return Ok(Some(more)),
            Err(expected) => writeln!(output, "    {expected}")?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_letters_are_enough_where_they_are_clear() {
        let words = ["approve", "again", "deny", "show", "later"];
        let rows = [
            ("approve", Some("approve")),
            ("ap", Some("approve")),
            ("a", None),
            ("y", Some("approve")),
            ("No", Some("deny")),
            ("s", Some("show")),
            ("x", None),
            ("", None),
        ];
        for (line, expected) in rows {
            assert_eq!(meant(&words, line), expected, "{line}");
        }
        assert_eq!(meant(&["rerun", "fail"], "y"), None, "in doubt there is no plain yes");
    }
}
