//! Improves the messages for invalid command lines where the tip of the parser misleads.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use envoi_contract::suggestion::nearest;

/// Returns the same error with a better tip: only the most similar command, and how to give an input of a
/// flow.
pub(crate) fn explained(mut error: Error, words: &[String]) -> Error {
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let near = text(&error, ContextKind::InvalidSubcommand).and_then(|word| {
                match error.get(ContextKind::SuggestedSubcommand) {
                    Some(ContextValue::Strings(known)) => {
                        let known: Vec<&str> = known.iter().map(String::as_str).collect();
                        nearest(&word, &known, false).map(str::to_owned)
                    }
                    _ => None,
                }
            });
            if let Some(near) = near {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
            }
        }
        ErrorKind::UnknownArgument => {
            let starts_a_run =
                words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "run");
            let is_known = error.get(ContextKind::SuggestedArg).is_some();
            let name = text(&error, ContextKind::InvalidArg).filter(|_| starts_a_run && !is_known);
            if let Some(name) = name.as_deref().and_then(|name| name.strip_prefix("--")) {
                let tip = format!("an input of the flow is given with '--input {name}=VALUE'");
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
        }
        _ => {}
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::args::Cli;
    use clap::Parser as _;

    #[test]
    fn tips_lead_on() {
        for (line, expected, other) in [
            ("envoi chek", "a similar subcommand exists: 'check'", "'schema'"),
            (
                "envoi run flow.yaml --name x",
                "an input of the flow is given with '--input name=VALUE'",
                "-- --name",
            ),
            ("envoi run flow.yaml --name=x", "'--input name=VALUE'", "-- --name"),
            (
                "envoi run flow.yaml --inputs name=x",
                "a similar argument exists: '--input'",
                "of the flow is given",
            ),
            ("envoi show --name x", "unexpected argument '--name'", "--input"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = Cli::try_parse_from(&words).unwrap_err();
            let message = explained(error, &words[1..]).render().to_string();
            assert!(message.contains(expected) && !message.contains(other), "{line}: {message}");
        }
    }

    #[test]
    fn a_denial_takes_the_word_of_an_approval() {
        assert!(Cli::try_parse_from(["envoi", "deny", "--note", "no"]).is_ok());
    }
}
