//! Every error code of the product, in one table: its text, its class and its HTTP status.
//!
//! A code is stable: programs compare it, and each has a page in `spec/errors/` that `envoi explain CODE` prints. The
//! class gives the exit code of a command. The message and the hint, which describe the specific error, are not
//! decided here.
//!
//! An error of a step (`error.code` in a report, contract 4) may contain any other text, because a skill chooses its
//! own codes.

use core::fmt;

/// The party that has to change something before the same request can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The caller: the request, the file or the command line is invalid. Exit code 2.
    Input,
    /// The request is valid, but not possible now or not allowed. Nothing has changed. Exit code 6.
    Refused,
    /// The store, the machine or another program failed, or a run is set aside. Exit code 8.
    Machine,
    /// A step of a run failed with this code. A command that follows the run exits with 1.
    Step,
    /// A limit that the caller gave is exceeded. Exit code 4.
    Exhausted,
}

impl Class {
    /// The exit code of a command that ends with a code of this class.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Step => 1,
            Self::Input => 2,
            Self::Exhausted => 4,
            Self::Refused => 6,
            Self::Machine => 8,
        }
    }
}

macro_rules! codes {
    ($($name:ident, $text:literal, $class:ident, $status:literal;)+) => {
        /// An error code. See the module documentation.
        ///
        /// ```
        /// use envoi_contract::code::{Class, Code};
        ///
        /// let code: Code = "RUN_NOT_FOUND".parse()?;
        /// assert_eq!((code.class(), code.exit_code(), code.http_status()), (Class::Input, 2, 404));
        /// assert_eq!(code.to_string(), "RUN_NOT_FOUND");
        /// # Ok::<(), envoi_contract::code::UnknownCode>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $text, "`; its page is `spec/errors/", $text, ".md`.")] $name,)+
        }

        impl Code {
            /// All codes, sorted by their text.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The text in messages, documents and answers.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Its class.
            #[must_use]
            pub const fn class(self) -> Class {
                match self {
                    $(Self::$name => Class::$class,)+
                }
            }

            /// The status of an HTTP response with this code.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)+
                }
            }
        }
    };
}

codes! {
    AddressUnusable, "ADDRESS_UNUSABLE", Machine, 500;
    AgentAuth, "AGENT_AUTH", Step, 500;
    AgentBilling, "AGENT_BILLING", Step, 500;
    AgentBudget, "AGENT_BUDGET", Step, 500;
    AgentCanceled, "AGENT_CANCELED", Step, 500;
    AgentCrashed, "AGENT_CRASHED", Step, 500;
    AgentDenied, "AGENT_DENIED", Step, 500;
    AgentFailed, "AGENT_FAILED", Step, 500;
    AgentIdle, "AGENT_IDLE", Step, 500;
    AgentModel, "AGENT_MODEL", Step, 500;
    AgentNetwork, "AGENT_NETWORK", Step, 500;
    AgentNotInstalled, "AGENT_NOT_INSTALLED", Step, 500;
    AgentOverloaded, "AGENT_OVERLOADED", Step, 500;
    AgentRefused, "AGENT_REFUSED", Step, 500;
    AgentRejected, "AGENT_REJECTED", Step, 500;
    AgentSchema, "AGENT_SCHEMA", Step, 500;
    AgentTaskLost, "AGENT_TASK_LOST", Step, 500;
    AgentThrottled, "AGENT_THROTTLED", Step, 500;
    AgentTooLong, "AGENT_TOO_LONG", Step, 500;
    AgentTurns, "AGENT_TURNS", Step, 500;
    AgentUnanswered, "AGENT_UNANSWERED", Step, 500;
    AgentUnclear, "AGENT_UNCLEAR", Step, 500;
    AgentUnreachable, "AGENT_UNREACHABLE", Step, 500;
    AlreadyStarted, "ALREADY_STARTED", Refused, 409;
    AmbiguousId, "AMBIGUOUS_ID", Refused, 409;
    AnswerInvalid, "ANSWER_INVALID", Input, 422;
    ApplyConflict, "APPLY_CONFLICT", Refused, 409;
    ArtifactMissing, "ARTIFACT_MISSING", Step, 500;
    ArtifactNotFound, "ARTIFACT_NOT_FOUND", Input, 404;
    AttachmentUnreadable, "ATTACHMENT_UNREADABLE", Input, 422;
    AttemptOver, "ATTEMPT_OVER", Refused, 409;
    AttemptUnknown, "ATTEMPT_UNKNOWN", Refused, 409;
    BodyTooLarge, "BODY_TOO_LARGE", Input, 413;
    BudgetExhausted, "BUDGET_EXHAUSTED", Refused, 429;
    BudgetOverrun, "BUDGET_OVERRUN", Step, 500;
    BundleDamaged, "BUNDLE_DAMAGED", Input, 422;
    CallOver, "CALL_OVER", Refused, 409;
    Cancelling, "CANCELLING", Refused, 409;
    CommandInvalid, "COMMAND_INVALID", Input, 422;
    ComparisonChanged, "COMPARISON_CHANGED", Refused, 409;
    ConfigInvalid, "CONFIG_INVALID", Input, 422;
    ConfigSyntax, "CONFIG_SYNTAX", Input, 422;
    DataInvalid, "DATA_INVALID", Step, 500;
    Denied, "DENIED", Step, 500;
    DidNotHappen, "DID_NOT_HAPPEN", Step, 500;
    EngineBusy, "ENGINE_BUSY", Refused, 409;
    EngineStopping, "ENGINE_STOPPING", Refused, 503;
    EngineUnreachable, "ENGINE_UNREACHABLE", Machine, 500;
    EnvelopeInvalid, "ENVELOPE_INVALID", Input, 422;
    EnvFileInvalid, "ENV_FILE_INVALID", Input, 422;
    ExpressionFailed, "EXPRESSION_FAILED", Step, 500;
    FamilyBusy, "FAMILY_BUSY", Refused, 409;
    FilesInTheWay, "FILES_IN_THE_WAY", Refused, 409;
    FilesMoving, "FILES_MOVING", Refused, 409;
    FilesNotKept, "FILES_NOT_KEPT", Refused, 409;
    FileExists, "FILE_EXISTS", Input, 422;
    FileUnreadable, "FILE_UNREADABLE", Input, 422;
    FlowFailed, "FLOW_FAILED", Step, 500;
    FlowInvalid, "FLOW_INVALID", Input, 422;
    FlowNotFound, "FLOW_NOT_FOUND", Input, 404;
    FlowSyntax, "FLOW_SYNTAX", Input, 422;
    FlowUnreadable, "FLOW_UNREADABLE", Input, 422;
    ForEachInvalid, "FOR_EACH_INVALID", Step, 500;
    GitFailed, "GIT_FAILED", Refused, 409;
    GitTooOld, "GIT_TOO_OLD", Refused, 409;
    GoalsInvalid, "GOALS_INVALID", Step, 500;
    HandoffInvalid, "HANDOFF_INVALID", Input, 422;
    HandoffNotFound, "HANDOFF_NOT_FOUND", Input, 404;
    HostNotAllowed, "HOST_NOT_ALLOWED", Input, 421;
    ImportDefect, "IMPORT_DEFECT", Machine, 500;
    ImportIncomplete, "IMPORT_INCOMPLETE", Refused, 409;
    ImportInvalid, "IMPORT_INVALID", Input, 422;
    InputInvalid, "INPUT_INVALID", Input, 422;
    InvalidUserEnvelope, "INVALID_USER_ENVELOPE", Input, 400;
    InDoubt, "IN_DOUBT", Step, 500;
    ItemsFailed, "ITEMS_FAILED", Step, 500;
    JoinNotMet, "JOIN_NOT_MET", Step, 500;
    KeyReused, "KEY_REUSED", Refused, 422;
    LogInvalid, "LOG_INVALID", Input, 422;
    MachineFailed, "MACHINE_FAILED", Machine, 500;
    MediaTypeNotTaken, "MEDIA_TYPE_NOT_TAKEN", Input, 415;
    MergeConflict, "MERGE_CONFLICT", Step, 500;
    MethodNotAllowed, "METHOD_NOT_ALLOWED", Input, 405;
    NotCorrectable, "NOT_CORRECTABLE", Refused, 409;
    NotForkable, "NOT_FORKABLE", Refused, 409;
    NotFound, "NOT_FOUND", Input, 404;
    NotIsolated, "NOT_ISOLATED", Refused, 409;
    NotRaised, "NOT_RAISED", Refused, 409;
    NotRemote, "NOT_REMOTE", Input, 422;
    NotReopenable, "NOT_REOPENABLE", Refused, 409;
    NotYetSupported, "NOT_YET_SUPPORTED", Input, 422;
    NotYoursToAnswer, "NOT_YOURS_TO_ANSWER", Refused, 403;
    NoLlmProvider, "NO_LLM_PROVIDER", Machine, 503;
    NoStore, "NO_STORE", Input, 422;
    OriginNotAllowed, "ORIGIN_NOT_ALLOWED", Refused, 403;
    OutputInvalid, "OUTPUT_INVALID", Step, 500;
    OutputNeeded, "OUTPUT_NEEDED", Input, 422;
    PartIncomplete, "PART_INCOMPLETE", Input, 422;
    PartInvalid, "PART_INVALID", Input, 422;
    PastBound, "PAST_BOUND", Refused, 409;
    PatchTooLarge, "PATCH_TOO_LARGE", Refused, 409;
    PathNotUnicode, "PATH_NOT_UNICODE", Input, 422;
    PlanPastMaximum, "PLAN_PAST_MAXIMUM", Exhausted, 422;
    ProviderFailed, "PROVIDER_FAILED", Machine, 502;
    QuestionClosed, "QUESTION_CLOSED", Refused, 409;
    QuestionExpired, "QUESTION_EXPIRED", Refused, 409;
    QuestionNotFound, "QUESTION_NOT_FOUND", Input, 404;
    RangeOutside, "RANGE_OUTSIDE", Input, 416;
    Refused, "REFUSED", Refused, 409;
    RequestInvalid, "REQUEST_INVALID", Input, 400;
    RequestNotUnderstood, "REQUEST_NOT_UNDERSTOOD", Refused, 409;
    RequestTimedOut, "REQUEST_TIMED_OUT", Machine, 503;
    RoutingInvalid, "ROUTING_INVALID", Input, 422;
    RoutingSignalInvalid, "ROUTING_SIGNAL_INVALID", Input, 422;
    RunExists, "RUN_EXISTS", Refused, 409;
    RunFilesFailed, "RUN_FILES_FAILED", Machine, 409;
    RunForeign, "RUN_FOREIGN", Refused, 409;
    RunInconsistent, "RUN_INCONSISTENT", Machine, 409;
    RunNotFound, "RUN_NOT_FOUND", Input, 404;
    RunOver, "RUN_OVER", Refused, 409;
    RunSetAside, "RUN_SET_ASIDE", Machine, 409;
    RunStopped, "RUN_STOPPED", Step, 500;
    RunUnreadable, "RUN_UNREADABLE", Machine, 409;
    ScopeTooSmall, "SCOPE_TOO_SMALL", Refused, 403;
    SecretMissing, "SECRET_MISSING", Refused, 409;
    ServerNotUnderstood, "SERVER_NOT_UNDERSTOOD", Machine, 500;
    ServerOptionsInvalid, "SERVER_OPTIONS_INVALID", Input, 422;
    ServerUnreachable, "SERVER_UNREACHABLE", Machine, 500;
    SigningFailed, "SIGNING_FAILED", Refused, 409;
    SkillError, "SKILL_ERROR", Step, 500;
    SkillException, "SKILL_EXCEPTION", Step, 500;
    SkillExit, "SKILL_EXIT", Step, 500;
    SkillReportedFailure, "SKILL_REPORTED_FAILURE", Step, 500;
    SkillReportInvalid, "SKILL_REPORT_INVALID", Step, 500;
    SkillReportMissing, "SKILL_REPORT_MISSING", Step, 500;
    StoreBusy, "STORE_BUSY", Machine, 503;
    StoreCopied, "STORE_COPIED", Refused, 409;
    StoreFailed, "STORE_FAILED", Machine, 500;
    SubjectChanged, "SUBJECT_CHANGED", Refused, 409;
    TakenOver, "TAKEN_OVER", Machine, 500;
    TlsUnusable, "TLS_UNUSABLE", Input, 422;
    TokenInvalid, "TOKEN_INVALID", Input, 422;
    TokenNameTaken, "TOKEN_NAME_TAKEN", Refused, 409;
    TokenNeeded, "TOKEN_NEEDED", Refused, 401;
    TokenNotFound, "TOKEN_NOT_FOUND", Input, 404;
    ToolCancelled, "TOOL_CANCELLED", Step, 500;
    ToolCannotStart, "TOOL_CANNOT_START", Step, 500;
    ToolExitNonZero, "TOOL_EXIT_NON_ZERO", Step, 500;
    ToolTimeout, "TOOL_TIMEOUT", Step, 500;
    TooManyCalls, "TOO_MANY_CALLS", Refused, 429;
    TooManyConnections, "TOO_MANY_CONNECTIONS", Refused, 429;
    TooManyRequests, "TOO_MANY_REQUESTS", Refused, 429;
    TooManyStarts, "TOO_MANY_STARTS", Refused, 429;
    TooManyStreams, "TOO_MANY_STREAMS", Refused, 429;
    TreeNotMade, "TREE_NOT_MADE", Machine, 500;
    UnknownCode, "UNKNOWN_CODE", Input, 422;
    UnknownModelId, "UNKNOWN_MODEL_ID", Input, 400;
    UnknownSchema, "UNKNOWN_SCHEMA", Input, 422;
    UnknownTopic, "UNKNOWN_TOPIC", Input, 422;
    ValueTooLarge, "VALUE_TOO_LARGE", Step, 500;
    VectorsInvalid, "VECTORS_INVALID", Input, 422;
    WorkspaceBusy, "WORKSPACE_BUSY", Refused, 409;
    WorkspaceMissing, "WORKSPACE_MISSING", Input, 409;
    WorkspaceTooWide, "WORKSPACE_TOO_WIDE", Refused, 409;
    WrongAnswer, "WRONG_ANSWER", Refused, 422;
    YesToInvalid, "YES_TO_INVALID", Input, 422;
}

impl Code {
    /// The exit code of a command that ends with it.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        self.class().exit_code()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not a code of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text is no code of this version")
    }
}

impl core::error::Error for UnknownCode {}

impl core::str::FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let found = Self::ALL.binary_search_by(|code| code.as_str().cmp(text)).ok();
        found.and_then(|at| Self::ALL.get(at)).copied().ok_or(UnknownCode)
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == text
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Code;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an error code, such as RUN_NOT_FOUND")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Code, E> {
                text.parse().map_err(|UnknownCode| E::unknown_variant(text, &[]))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn the_table_is_sorted_and_every_text_is_read_back() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
        for code in Code::ALL {
            assert_eq!(code.to_string().parse(), Ok(*code));
            #[cfg(feature = "serde")]
            assert_eq!(serde_json::from_str::<Code>(&serde_json::to_string(code).unwrap()).unwrap(), *code);
        }
        for text in ["", "run_not_found", "RUN_NOT_FOUND ", "ZZZ"] {
            assert_eq!(text.parse::<Code>(), Err(UnknownCode), "{text:?}");
        }
    }

    #[test]
    fn a_status_says_who_has_to_change_something() {
        for code in Code::ALL {
            let status = code.http_status();
            let is_ours = (500..600).contains(&status);
            match code.class() {
                Class::Input | Class::Exhausted => assert!((400..500).contains(&status), "{code} {status}"),
                Class::Step => assert!(is_ours, "{code} {status}"),
                // Both may be temporary: an engine that stops (503), or a run that is set aside (409).
                Class::Refused | Class::Machine => {
                    assert!(is_ours || (400..500).contains(&status), "{code} {status}")
                }
            }
        }
    }
}
