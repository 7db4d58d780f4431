//! Why a request was refused: the one place that gives the errors of the engine and of the journal their codes.

use super::{claim, message::EngineError};
use envoi_contract::code::{Class, Code, UnknownCode};
use envoi_journal::{CommitError, ReadError};
use envoi_kernel::{
    Refusal,
    ids::{AttemptId, RunId},
};
use serde::{Deserialize, Serialize};

/// Why nothing was done, in words for a person and a code for a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub struct Refused {
    /// Has a page in `spec/errors/`. A code that this version does not know counts as [`Code::Refused`].
    pub code: Code,
    /// The text of a code that only another version knows.
    foreign_code: Option<String>,
    /// That of the code; of a code that only another version knows, that of its exit code.
    class: Class,
    /// The error, in words.
    pub message: String,
    /// A hint how to solve it.
    pub hint: Option<String>,
}

impl Refused {
    /// A refusal of the code's class.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, hint: Option<&str>) -> Self {
        Self {
            code,
            foreign_code: None,
            class: code.class(),
            message: message.into(),
            hint: hint.map(str::to_owned),
        }
    }

    /// A failure of the store or the machine.
    #[must_use]
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(Code::StoreFailed, message, None)
    }

    /// Something is wrong with this run alone. `code` is that of the row that sets it aside.
    #[must_use]
    pub fn set_aside(run: &RunId, code: &str, reason: &str) -> Self {
        let message = format!("run `{run}` is set aside ({code}): {reason}");
        let hint = format!("`envoi repair {run}` says what it finds; `envoi resume {run}` tries again");
        Self::new(Code::RunSetAside, message, Some(&hint))
    }

    /// A step would follow the run that waits for that step. `hint` names the alternative.
    #[must_use]
    pub fn waits_for_itself(run: &RunId, attempt: &AttemptId, hint: &str) -> Self {
        let message = format!(
            "attempt `{attempt}` of run `{run}` would wait for its own run, which waits for that attempt"
        );
        Self::new(Code::Refused, message, Some(hint))
    }

    /// Another run works in the workspace; the message names it.
    #[must_use]
    pub(crate) fn workspace_busy(message: String) -> Self {
        let hint = "wait for it, or start with --copy (a copy of its own) or --share-workspace";
        Self::new(Code::WorkspaceBusy, message, Some(hint))
    }

    /// A step of another run works in the workspace, and no engine goes on with that run: waiting would not end it.
    #[must_use]
    pub(crate) fn workspace_left(run: &RunId, workspace: &str, wanted: &str) -> Self {
        let message = claim::left(run, workspace, wanted);
        let hint = format!(
            "`envoi resume {run}` waits for the step and goes on with that run, `envoi cancel {run}` ends it; or start with \
             --copy (a copy of its own) or --share-workspace"
        );
        Self::new(Code::WorkspaceBusy, message, Some(&hint))
    }

    /// It cannot be looked at whether a step of another run works in the workspace. `why` names what cannot be.
    #[must_use]
    pub(crate) fn workspace_unknown(run: &RunId, workspace: &str, wanted: &str, why: &str) -> Self {
        let message = claim::unknown(run, workspace, wanted, why);
        let hint = "give that folder to the user of the store, with `chown` or `chmod`; or start with --copy (a copy of its own) or \
                    --share-workspace";
        Self::new(Code::WorkspaceBusy, message, Some(hint))
    }

    /// The same refusal with this hint.
    #[must_use]
    pub(crate) fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// The text of the code, as the engine sent it.
    #[must_use]
    pub fn code_text(&self) -> &str {
        self.foreign_code.as_deref().unwrap_or(self.code.as_str())
    }

    /// The exit code of the command: that of the class.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.class.exit_code()
    }
}

impl From<&ReadError> for Refused {
    fn from(error: &ReadError) -> Self {
        match error {
            ReadError::Missing { .. } => {
                Self::new(Code::RunNotFound, error.to_string(), Some("`envoi runs` lists them"))
            }
            ReadError::Busy => Self::new(Code::StoreBusy, error.to_string(), None),
            _ => Self::failure(error.to_string()),
        }
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        Self::from(&error)
    }
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Refused(refusal) => Self::new(code_of(&refusal), message, hint_of(&refusal)),
            EngineError::WorkspaceBusy { .. } => Self::workspace_busy(message),
            // The next engine can be asked.
            EngineError::Stopping { .. }
            | EngineError::Moved { .. }
            | EngineError::TakenOver
            | EngineError::Store(CommitError::Fenced { .. }) => {
                Self::new(Code::EngineStopping, message, None)
            }
            EngineError::SetAside { run, code, reason } => Self::set_aside(&run, &code, &reason),
            EngineError::Store(CommitError::Busy) => Self::new(Code::StoreBusy, message, None),
            EngineError::Store(_)
            | EngineError::Stale { .. }
            | EngineError::NotHeld { .. }
            | EngineError::Unread { .. } => Self::failure(message),
        }
    }
}

/// The hint for a refusal of a run, if its message does not contain one.
fn hint_of(refusal: &Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::PastBound { bound } if bound.starts_with("max_iterations") => Some(
            "for more rounds set a higher `max_iterations` in the flow file, then `envoi resume RUN --flow FILE`; \
             `--review proceed` goes on with the present result",
        ),
        Refusal::PastBound { .. } => Some(
            "`envoi raise RUN` raises it, such as with `--iterations 5`; `--review proceed` goes on without another round",
        ),
        Refusal::NotIsolated { .. } => {
            Some("`envoi run --isolate` gives it one: the run itself never changes your own folder")
        }
        _ => None,
    }
}

/// The code of a refusal of a run.
fn code_of(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Over { .. } => Code::RunOver,
        Refusal::NotReopenable { .. } => Code::NotReopenable,
        Refusal::NotForkable { .. } => Code::NotForkable,
        Refusal::NotCorrectable { .. } => Code::NotCorrectable,
        Refusal::ComparisonChanged => Code::ComparisonChanged,
        Refusal::NotOpen { .. } => Code::QuestionClosed,
        Refusal::Expired { .. } => Code::QuestionExpired,
        Refusal::Changed { .. } => Code::SubjectChanged,
        Refusal::NotByStarter { .. } | Refusal::AlreadyVoted { .. } => Code::NotYoursToAnswer,
        Refusal::WrongChoice { .. } => Code::WrongAnswer,
        Refusal::Blank | Refusal::Misfit { .. } => Code::AnswerInvalid,
        Refusal::PastBound { .. } => Code::PastBound,
        Refusal::NotRaised { .. } => Code::NotRaised,
        Refusal::Restoring | Refusal::NotRestoring | Refusal::StillAtWork => Code::WorkspaceBusy,
        Refusal::NotIsolated { .. } => Code::NotIsolated,
        Refusal::Cancelling => Code::Cancelling,
        Refusal::NoCallsLeft { .. } => Code::BudgetExhausted,
        Refusal::NotLive { .. } => Code::AttemptOver,
        Refusal::NoCall { .. } => Code::CallOver,
        Refusal::AlreadyStarted => Code::AlreadyStarted,
        Refusal::PartInvalid { .. } => Code::PartInvalid,
        Refusal::PartIncomplete { .. } => Code::PartIncomplete,
        Refusal::Inconsistent { .. } => Code::StoreFailed,
        _ => Code::Refused,
    }
}

/// A refusal as it passes from one process to another.
#[derive(Serialize, Deserialize)]
struct Wire {
    code: String,
    message: String,
    hint: Option<String>,
    exit_code: u8,
}

impl From<Refused> for Wire {
    fn from(refused: Refused) -> Self {
        Self {
            code: refused.code_text().to_owned(),
            exit_code: refused.exit_code(),
            message: refused.message,
            hint: refused.hint,
        }
    }
}

impl From<Wire> for Refused {
    /// An engine of another version may send a code that this version does not know.
    fn from(wire: Wire) -> Self {
        let Wire { code, message, hint, exit_code } = wire;
        match code.parse::<Code>() {
            Ok(known) => Self { code: known, foreign_code: None, class: known.class(), message, hint },
            Err(UnknownCode) => {
                let class = class_of(exit_code);
                Self { code: Code::Refused, foreign_code: Some(code), class, message, hint }
            }
        }
    }
}

fn class_of(exit_code: u8) -> Class {
    let all = [Class::Input, Class::Refused, Class::Machine, Class::Step, Class::Exhausted];
    all.into_iter().find(|class| class.exit_code() == exit_code).unwrap_or(Class::Machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through_the_wire(json: &str) -> Refused {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_refusal_is_the_same_after_the_wire() {
        for refused in [
            Refused::new(Code::RunNotFound, "m", Some("h")),
            Refused::new(Code::AmbiguousId, "m", None),
            Refused::failure("m"),
        ] {
            let text = serde_json::to_string(&refused).unwrap();
            assert_eq!(through_the_wire(&text), refused, "{text}");
        }
        let text = serde_json::to_string(&Refused::new(Code::RunOver, "m", None)).unwrap();
        assert_eq!(text, r#"{"code":"RUN_OVER","message":"m","hint":null,"exit_code":6}"#);
    }

    #[test]
    fn an_engine_that_was_taken_over_has_its_clients_ask_the_next_one() {
        let fenced = CommitError::Fenced { ours: 1, current: 2 };
        for error in [EngineError::TakenOver, EngineError::Store(fenced)] {
            assert_eq!(Refused::from(error).code, Code::EngineStopping);
        }
        assert_eq!(Refused::from(EngineError::Store(CommitError::Closed)).code, Code::StoreFailed);
    }

    #[test]
    fn a_code_of_another_version_keeps_its_text_and_its_exit_code() {
        let refused = through_the_wire(r#"{"code":"OF_TOMORROW","message":"m","hint":null,"exit_code":2}"#);
        assert_eq!((refused.code, refused.exit_code()), (Code::Refused, 2));
        assert_eq!(refused.code_text(), "OF_TOMORROW");
        assert!(serde_json::to_string(&refused).unwrap().contains("OF_TOMORROW"));
    }
}
