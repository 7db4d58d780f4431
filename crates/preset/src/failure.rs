//! Why an agent failed: a class, its code, and whether another try can help.

use envoi_contract::code::Code;

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The provider does not accept the login, or there is none.
    Auth,
    /// The account has no credit.
    Billing,
    /// A limit of the account is reached, for a while.
    Throttled,
    /// The provider has too much to do, or an error of its own.
    Overloaded,
    /// The prompt, with the session, is longer than the model takes.
    TooLong,
    /// The bound on turns is reached.
    Turns,
    /// The program's own bound on its cost is reached.
    Budget,
    /// A tool was refused that the agent wanted to use.
    Denied,
    /// The agent gave no data, or none that can be read.
    Schema,
    /// It gave no sign of work for too long, and was ended.
    Idle,
    /// The program ended without saying how.
    Crashed,
    /// The provider cannot be reached.
    Network,
    /// The model does not exist, or may not be used.
    Model,
    /// The model or its provider refuses the request.
    Refused,
    /// The program is not there.
    NotInstalled,
}

impl Class {
    /// All of them.
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

    /// Its code.
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

/// Why an agent failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its class.
    pub class: Class,
    /// In the program's own words where it has some.
    pub message: String,
}

impl Failure {
    /// A failure of this class.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

/// The class of an HTTP status of the provider.
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

/// Wordings of programs, for where no structure says it. The first that is found counts.
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

/// The class that a message of a program states by an HTTP status or by its wording.
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
