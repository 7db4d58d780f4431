//! What a command could not do: one shape, said in one place.

mod place;

use crate::text::diff;
use envoi_contract::{
    error::Diagnostic,
    json::{Object, Value},
};
use envoi_engine::protocol::Refused;
use place::Place;
use std::fmt::Display;

/// Exit code for bad usage or a bad file.
pub(crate) const BAD_INPUT: u8 = 2;
/// Exit code when the store or the machine failed.
pub(crate) const MACHINE: u8 = 8;

/// Exit code of a request that makes no sense now.
pub(crate) const REFUSED: u8 = 6;
/// Exit code after Ctrl-C with the run unfinished.
pub(crate) const STOPPED: u8 = 7;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Has a page in `spec/errors/`.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Where in a document, if that is what is wrong.
    place: Option<Box<Place>>,
    pub(crate) exit_code: u8,
}

impl Failure {
    pub(crate) fn new(exit_code: u8, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: None, place: None, exit_code }
    }

    /// A contract refused the document `bytes`, which came from `file`.
    pub(crate) fn in_document(refusal: Diagnostic, file: &str, bytes: &[u8]) -> Self {
        let refusal = refusal.located(bytes);
        let place = Some(Box::new(Place::of(&refusal, file, bytes)));
        let Diagnostic { code, expected, found, hint, .. } = refusal;
        let hint = Some(hint.into_string()).filter(|hint| !hint.is_empty());
        let message = format!("expected {expected}, found {found}");
        Self { hint, place, ..Self::new(BAD_INPUT, code.as_str(), message) }
    }

    /// The machine failed at `what`.
    pub(crate) fn machine(what: impl Display, error: impl Display) -> Self {
        Self::new(MACHINE, "MACHINE_FAILED", format!("{what}: {error}"))
    }

    /// The store failed.
    pub(crate) fn store(error: impl Display) -> Self {
        Self::new(MACHINE, "STORE_FAILED", error.to_string())
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says it: to stderr, as words or as one JSON object.
    pub(crate) fn say(&self, json: bool) {
        if json {
            eprintln!("{}", self.told().compact());
        } else {
            eprint!("{}", self.shown());
        }
    }

    /// For programs.
    fn told(&self) -> Value {
        let mut members = Object::from([
            ("code", Value::from(self.code.as_str())),
            ("message", Value::from(self.message.as_str())),
            ("hint", Value::from(self.hint.clone())),
        ]);
        if let Some(place) = &self.place {
            place.add_to(&mut members);
        }
        Value::Object(members)
    }

    /// For people.
    fn shown(&self) -> String {
        let place = self.place.as_deref().map(Place::shown).unwrap_or_default();
        let hint = self.hint.as_ref().map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
        diff::lines(&format!("error[{}]: {}\n{place}{hint}", self.code, self.message))
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let Refused { code, message, hint, exit_code } = refused;
        Self { code, message, hint, place: None, exit_code }
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
    fn a_refused_document_is_said_with_code_place_and_what_to_do() {
        let shown = refused(b"{\"handoff_text\": 7}").shown();
        let expected = "error[ROUTING_INVALID]: expected a string, found `7`\n  --> stdin:1:18 at `/handoff_text`\n  |\n\
                        1 | {\"handoff_text\": 7}\n  |                  ^\n  hint: correct the resolver's input (CONTRACTS 1.2)\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn programs_get_the_place_in_members_of_its_own() {
        let told = refused(b"{\"handoff_text\": 7}").told();
        let expected = "{\"code\":\"ROUTING_INVALID\",\"message\":\"expected a string, found `7`\",\
                        \"hint\":\"correct the resolver's input (CONTRACTS 1.2)\",\"file\":\"stdin\",\
                        \"pointer\":\"/handoff_text\",\"line\":1,\"column\":18}";
        assert_eq!(told.compact(), expected);
        assert_eq!(Failure::store("full").told().as_object().map(Object::len), Some(3));
    }
}
