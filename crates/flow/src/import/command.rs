//! The command that runs an agent: an argument list with placeholders for the agent, the step and the prompt.
//!
//! Owns its syntax on a command line, and fills in the placeholders. It is never passed to a shell.

/// Words that may contain `{agent}`, `{step}` and `{prompt}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    written: String,
    words: Vec<String>,
}

/// The reason why a text is not a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The text or its first word is blank.
    #[error("the command names no program")]
    NoProgram,
    /// A quote is not closed.
    #[error("a quote in the command is not closed")]
    OpenQuote,
    /// It has a character that is not allowed in an argument, or cannot be shown on a line.
    #[error("the command holds a control character")]
    Control,
    /// Without the prompt an agent would not know its task, and the source's text would be lost.
    #[error("the command has no `{{prompt}}`")]
    NoPrompt,
    /// An unknown placeholder, perhaps a typo.
    #[error("`{{{0}}}` in the command is not a place that is filled in")]
    UnknownPlace(String),
}

const PLACES: [&str; 3] = ["agent", "step", "prompt"];

impl Command {
    /// Splits a text into words as a shell does: blanks separate words, and quotes and backslashes keep blanks.
    /// Nothing else is special.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub fn parse(text: &str) -> Result<Self, CommandError> {
        if text.chars().any(char::is_control) {
            return Err(CommandError::Control);
        }
        let words = split(text)?;
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(CommandError::NoProgram);
        }
        let mut named = words.iter().flat_map(|word| places(word));
        if let Some(unknown) = named.find(|place| !PLACES.contains(place)) {
            return Err(CommandError::UnknownPlace(unknown.to_owned()));
        }
        if !words.iter().flat_map(|word| places(word)).any(|place| place == "prompt") {
            return Err(CommandError::NoPrompt);
        }
        Ok(Self { written: text.trim().to_owned(), words })
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_written(&self) -> &str {
        &self.written
    }

    /// The arguments for one agent. Inserted texts are not searched for placeholders.
    pub(super) fn fill(&self, agent: &str, step: &str, prompt: &str) -> Vec<String> {
        let value = |place: &str| match place {
            "agent" => agent,
            "step" => step,
            _ => prompt,
        };
        self.words.iter().map(|word| fill(word, value)).collect()
    }
}

fn split(text: &str) -> Result<Vec<String>, CommandError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let escaped = letters.next().ok_or(CommandError::OpenQuote)?;
                word.get_or_insert_default().push(escaped);
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if quote.is_some() { Err(CommandError::OpenQuote) } else { Ok(words) }
}

/// The placeholders: names in braces. Braces around anything else are text.
fn places(word: &str) -> Vec<&str> {
    let pieces = word.split('{').skip(1);
    let inside = pieces.filter_map(|piece| piece.split_once('}').map(|(name, _)| name));
    inside
        .filter(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        .collect()
}

fn fill<'v>(word: &str, value: impl Fn(&str) -> &'v str) -> String {
    let mut filled = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let place = after.split_once('}').filter(|(name, _)| PLACES.contains(name));
        match place {
            Some((name, remaining)) => {
                filled.push_str(value(name));
                rest = remaining;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(command: &str) -> Vec<String> {
        Command::parse(command).unwrap().fill("critic", "review", "say {agent} 'x'")
    }

    #[test]
    fn words_are_split_and_places_filled_in_once() {
        let prompt = "say {agent} 'x'";
        for (command, expected) in [
            ("claude -p {prompt}", vec!["claude", "-p", prompt]),
            (
                "  sh 'my agent.sh' {agent}/{step} \"{prompt}\" ",
                vec!["sh", "my agent.sh", "critic/review", prompt],
            ),
            (r#"run a\ b "q\"q" 'b\s' '' {prompt}"#, vec!["run", "a b", "q\"q", r"b\s", "", prompt]),
            (r#"run '{"json": 1}' {} {A} {prompt}"#, vec!["run", "{\"json\": 1}", "{}", "{A}", prompt]),
            ("run {{step}} {prompt}", vec!["run", "{review}", prompt]),
        ] {
            assert_eq!(filled(command), expected, "{command}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for (command, error) in [
            ("", CommandError::NoProgram),
            ("'' {prompt}", CommandError::NoProgram),
            ("claude '{prompt}", CommandError::OpenQuote),
            ("claude {prompt} \\", CommandError::OpenQuote),
            ("claude -p", CommandError::NoPrompt),
            ("claude {promt}", CommandError::UnknownPlace("promt".to_owned())),
            ("claude\n{prompt}", CommandError::Control),
        ] {
            assert_eq!(Command::parse(command), Err(error), "{command}");
        }
    }
}
