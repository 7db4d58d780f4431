//! The failures of an agent: the class, its code, and whether another try can help.

use envoi_contract::code::Code;

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The login is missing, or the provider does not accept it.
    Auth,
    /// The account has no credit.
    Billing,
    /// A rate limit of the account is reached.
    Throttled,
    /// The provider is overloaded, or has an internal error.
    Overloaded,
    /// The prompt and the session are too long for the model.
    TooLong,
    /// The turn limit is reached.
    Turns,
    /// The program's own cost limit is reached.
    Budget,
    /// A tool that the agent wanted to use was refused.
    Denied,
    /// The agent gave no data, or the data cannot be read.
    Schema,
    /// The program was ended because it gave no sign of work for too long.
    Idle,
    /// The program ended without stating a result.
    Crashed,
    /// The provider cannot be reached.
    Network,
    /// The model does not exist, or may not be used.
    Model,
    /// The model or its provider refuses the request.
    Refused,
    /// The program is not installed.
    NotInstalled,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 15] = [
        Self::Auth,
        Self::Billing,
        Self::Throttled,
        Self::Overloaded,
        Self::TooLong,
        Self::Turns,
        Self::Budget,
        Self::Denied,
        Self::Schema,
        Self::Idle,
        Self::Crashed,
        Self::Network,
        Self::Model,
        Self::Refused,
        Self::NotInstalled,
    ];

    /// The error code of the class.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::Auth => Code::AgentAuth,
            Self::Billing => Code::AgentBilling,
            Self::Throttled => Code::AgentThrottled,
            Self::Overloaded => Code::AgentOverloaded,
            Self::TooLong => Code::AgentTooLong,
            Self::Turns => Code::AgentTurns,
            Self::Budget => Code::AgentBudget,
            Self::Denied => Code::AgentDenied,
            Self::Schema => Code::AgentSchema,
            Self::Idle => Code::AgentIdle,
            Self::Crashed => Code::AgentCrashed,
            Self::Network => Code::AgentNetwork,
            Self::Model => Code::AgentModel,
            Self::Refused => Code::AgentRefused,
            Self::NotInstalled => Code::AgentNotInstalled,
        }
    }
}

/// The reason why an agent failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its class.
    pub class: Class,
    /// The message, in the program's own words if it has any.
    pub message: String,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

/// The class for an HTTP status of the provider.
pub(crate) fn of_status(status: u64) -> Option<Class> {
    Some(match status {
        401 | 403 => Class::Auth,
        402 => Class::Billing,
        404 => Class::Model,
        408 => Class::Network,
        413 => Class::TooLong,
        429 => Class::Throttled,
        400..=499 => Class::Refused,
        500..=599 => Class::Overloaded,
        _ => return None,
    })
}

/// Wordings of programs, for errors without structure. The first match counts.
const WORDINGS: &[(&str, Class)] = &[
    ("usage limit", Class::Throttled),
    ("exhausted your daily quota", Class::Throttled),
    ("hit your limit", Class::Throttled),
    ("session limit", Class::Throttled),
    ("weekly limit", Class::Throttled),
    ("quota exceeded", Class::Billing),
    ("credit balance", Class::Billing),
    ("billing", Class::Billing),
    ("reason: max_output_tokens", Class::TooLong),
    ("reason: content_filter", Class::Refused),
    ("context window", Class::TooLong),
    ("prompt is too long", Class::TooLong),
    ("exceeds the maximum number of tokens", Class::TooLong),
    ("please run /login", Class::Auth),
    ("not logged in", Class::Auth),
    ("missing environment variable", Class::Auth),
    ("invalid api key", Class::Auth),
    ("does not exist", Class::Model),
    ("is not found for api version", Class::Model),
    ("rate limit", Class::Throttled),
    ("overloaded", Class::Overloaded),
    ("at capacity", Class::Overloaded),
    ("experiencing high demand", Class::Overloaded),
    ("error sending request", Class::Network),
    ("fetch failed", Class::Network),
    ("stream disconnected", Class::Network),
    ("connection refused", Class::Network),
    ("cannot connect to api", Class::Network),
    ("waiting for network", Class::Network),
];

/// The class of a program's message, by its HTTP status or its wording.
pub(crate) fn of_wording(message: &str) -> Option<Class> {
    let message = message.to_ascii_lowercase();
    let status = ["unexpected status ", "last status: "].iter().find_map(|before| {
        let (_, after) = message.split_once(before)?;
        after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    status
        .and_then(of_status)
        .or_else(|| WORDINGS.iter().find(|(wording, _)| message.contains(wording)).map(|(_, class)| *class))
}
