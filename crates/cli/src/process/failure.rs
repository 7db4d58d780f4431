//! The failure of a command: one type, printed in one place.

use crate::process::{clock, stderr};
mod location;

use crate::text::diff;
use envoi_changes::ChangesError;
use envoi_contract::{
    code::{Class, Code, UnknownCode},
    error::Diagnostic,
    json::{Object, Value},
};
use envoi_engine::protocol::Refused;
use location::Location;
use std::{fmt::Display, path::Path};

/// Exit code for bad usage or a bad file.
pub(crate) const BAD_INPUT: u8 = Class::Input.exit_code();
/// Exit code when the store or the machine failed.
pub(crate) const MACHINE: u8 = Class::Machine.exit_code();
/// Exit code of a request that is not possible in the present state.
pub(crate) const REFUSED: u8 = Class::Refused.exit_code();
/// Exit code after Ctrl-C with the run unfinished.
pub(crate) const STOPPED: u8 = 7;

/// The failure of a command.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: FailureCode,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The location in a document, if the document is wrong.
    location: Option<Box<Location>>,
    pub(crate) exit_code: u8,
}

/// The code of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureCode {
    /// A code of this version. It has a page in `spec/errors/`.
    Known(Code),
    /// The text of a code that this version does not know. An engine or server of another version sent it. It
    /// is only printed.
    Foreign(String),
}

impl FailureCode {
    /// Reads a code that another process sent.
    pub(crate) fn received(text: String) -> Self {
        text.parse().map_or_else(|UnknownCode| Self::Foreign(text), Self::Known)
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Known(code) => code.as_str(),
            Self::Foreign(text) => text,
        }
    }

    /// The code, if this version knows it.
    pub(crate) fn known(&self) -> Option<Code> {
        match self {
            Self::Known(code) => Some(*code),
            Self::Foreign(_) => None,
        }
    }
}

impl Failure {
    /// A failure with the exit code of the code's class.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self::received(FailureCode::Known(code), code.exit_code(), message.into())
    }

    /// A failure that another process reports, with the given exit code.
    pub(crate) fn received(code: FailureCode, exit_code: u8, message: String) -> Self {
        Self { code, message, hint: None, location: None, exit_code }
    }

    /// A contract refused the document `bytes`, which came from `file`.
    pub(crate) fn in_document(refusal: Diagnostic, file: &str, bytes: &[u8]) -> Self {
        let refusal = refusal.located(bytes);
        let location = Some(Box::new(Location::of(&refusal, file, bytes)));
        let Diagnostic { code, expected, found, hint, .. } = refusal;
        let hint = Some(hint.into_string()).filter(|hint| !hint.is_empty());
        let message = format!("expected {expected}, found {found}");
        // A document that a command reads is its input, so the exit code is that of bad input, no matter what
        // the code means in a run.
        Self { hint, location, ..Self::received(FailureCode::Known(code), BAD_INPUT, message) }
    }

    /// The machine failed at `what`.
    pub(crate) fn machine(what: impl Display, error: impl Display) -> Self {
        Failure::new(Code::MachineFailed, format!("{what}: {error}"))
    }

    /// A folder that the person has named cannot be created or used. Names the file that is in its place, if
    /// there is one.
    pub(crate) fn folder(folder: &Path, error: std::io::Error) -> Self {
        let is_other = |path: &&Path| std::fs::metadata(path).is_ok_and(|found| !found.is_dir());
        match folder.ancestors().find(is_other) {
            Some(other) => {
                let message = format!("{} is not a folder", other.display());
                Self::new(Code::FileExists, message).hint("name another folder, or one that is not there yet")
            }
            None => Self::machine(folder.display(), error),
        }
    }

    /// The store failed.
    pub(crate) fn store(error: impl Display) -> Self {
        Failure::new(Code::StoreFailed, error.to_string())
    }

    /// The lock file of the engine could not be opened.
    pub(crate) fn lease(error: envoi_journal::LeaseError) -> Self {
        Self::store(error).hint(
            "`envoi doctor` looks closer; give the file to the user of the store, with `chown` or `chmod`",
        )
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it to stderr, as text or as one JSON object.
    pub(crate) fn say(&self, json: bool) {
        if json {
            stderr::line(format_args!("{}", self.to_json().compact()));
        } else {
            stderr::text(format_args!("{}", self.to_text()));
        }
    }

    /// Formats it for programs.
    fn to_json(&self) -> Value {
        let mut members = Object::from([
            ("code", Value::from(self.code.as_str())),
            ("message", Value::from(self.message.as_str())),
            ("hint", Value::from(self.hint.clone())),
        ]);
        if let Some(location) = &self.location {
            location.add_to(&mut members);
        }
        Value::Object(members)
    }

    /// Formats it for people.
    fn to_text(&self) -> String {
        let location = self.location.as_deref().map(Location::to_text).unwrap_or_default();
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("  hint: {hint}\n"));
        let message = match self.code.known() {
            // These messages list mistakes, each with lines of the file.
            Some(Code::FlowInvalid | Code::FlowSyntax | Code::ConfigInvalid | Code::ConfigSyntax) => {
                self.message.clone()
            }
            _ => quoted_on_one_line(&self.message),
        };
        diff::lines(&format!("error[{}]: {message}\n{location}{hint}", self.code.as_str()))
    }
}

/// Formats a message. Text in backticks comes from outside, such as an unknown name: its line breaks are
/// escaped and its times are unchanged. Times outside of backticks are converted to the zone of this machine.
fn quoted_on_one_line(message: &str) -> String {
    let pieces = message.split('`').enumerate().map(|(place, piece)| match place % 2 {
        1 => piece.replace('\n', "\\n"),
        _ => clock::localized(piece),
    });
    pieces.collect::<Vec<_>>().join("`")
}

impl From<ChangesError> for Failure {
    fn from(error: ChangesError) -> Self {
        Self { hint: error.hint(), ..Self::new(error.code(), error.to_string()) }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let exit_code = refused.exit_code();
        let code = FailureCode::received(refused.code_text().to_owned());
        Self { hint: refused.hint, ..Self::received(code, exit_code, refused.message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> Failure {
        let refusal = envoi_contract::routing::decode_input(bytes).err();
        refusal.map_or_else(
            || Failure::store("it was accepted"),
            |refusal| Failure::in_document(refusal, "stdin", bytes),
        )
    }

    #[test]
    fn a_refused_document_is_reported_with_code_place_and_cure() {
        let shown = refused(b"{\"handoff_text\": 7}").to_text();
        let expected = "error[ROUTING_INVALID]: expected a string, found `7`\n  --> stdin:1:18 at `/handoff_text`\n  |\n\
                        1 | {\"handoff_text\": 7}\n  |                  ^\n  hint: correct the resolver's input (CONTRACTS 1.2)\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_code_of_another_version_is_shown_as_it_came() {
        let failure = |code: &str| {
            let sent = format!(r#"{{"code":"{code}","message":"m","hint":null,"exit_code":6}}"#);
            Failure::from(serde_json::from_str::<Refused>(&sent).unwrap())
        };
        assert_eq!(failure("RUN_OVER").code.known(), Some(Code::RunOver));
        let foreign = failure("OF_ANOTHER_VERSION");
        assert_eq!((foreign.code.known(), foreign.exit_code), (None, 6));
        assert_eq!(foreign.to_text(), "error[OF_ANOTHER_VERSION]: m\n");
        assert!(foreign.to_json().compact().starts_with("{\"code\":\"OF_ANOTHER_VERSION\""));
    }

    #[test]
    fn a_name_with_a_line_break_begins_no_line_of_its_own() {
        let refused = Failure::new(Code::RunNotFound, "no run is named `run_1\nrun_1 succeeded`\nlook again");
        assert_eq!(
            refused.to_text(),
            "error[RUN_NOT_FOUND]: no run is named `run_1\\nrun_1 succeeded`\nlook again\n"
        );
        let listed = Failure::new(Code::FlowInvalid, "cannot be run\n1 | run: echo `\n2 | `");
        assert_eq!(listed.to_text(), "error[FLOW_INVALID]: cannot be run\n1 | run: echo `\n2 | `\n");
    }

    #[test]
    fn programs_get_the_place_in_members_of_its_own() {
        let row = refused(b"{\"handoff_text\": 7}").to_json();
        let expected = "{\"code\":\"ROUTING_INVALID\",\"message\":\"expected a string, found `7`\",\
                        \"hint\":\"correct the resolver's input (CONTRACTS 1.2)\",\"file\":\"stdin\",\
                        \"pointer\":\"/handoff_text\",\"line\":1,\"column\":18}";
        assert_eq!(row.compact(), expected);
        assert_eq!(Failure::store("full").to_json().as_object().map(Object::len), Some(3));
    }
}
