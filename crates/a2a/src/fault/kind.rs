//! The kinds of errors: of A2A (specification 3.3.2 and 5.4), of JSON-RPC, and of HTTP for tokens and limits.
//!
//! The names in capitals belong to A2A and Google. They are not codes of Envoi.

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The task does not exist for this client. Also for a push configuration that does not exist.
    TaskNotFound,
    /// The task has ended.
    TaskNotCancelable,
    /// This agent sends no push notifications.
    PushNotificationNotSupported,
    /// This agent does not support the operation, or not for a task in this state.
    UnsupportedOperation,
    /// A part has a media type that this agent does not accept.
    ContentTypeNotSupported,
    /// A failure of the server: its result is not a valid reply.
    InvalidAgentResponse,
    /// The card announces an extended card, and there is none.
    ExtendedAgentCardNotConfigured,
    /// The client has to name a required extension.
    ExtensionSupportRequired,
    /// The version is neither 1.0 nor 0.3, or the method or path belongs to the other version.
    VersionNotSupported,
    /// The body is not JSON, or two readers could read it differently.
    ParseError,
    /// The body is JSON, but not a request.
    InvalidRequest,
    /// The operation does not exist.
    MethodNotFound,
    /// The parameters of the request are invalid.
    InvalidParams,
    /// An internal error of the server.
    Internal,
    /// The token is missing or invalid.
    Unauthenticated,
    /// The token lacks the scope for this request.
    PermissionDenied,
    /// The path needs another HTTP method.
    MethodNotAllowed,
    /// The body exceeds the limit.
    TooLarge,
    /// A limit on concurrent work is reached; try again later.
    TooMuch,
    /// The server is not available now; try again later.
    Unavailable,
}

/// A row of the table of errors.
struct Row {
    /// The code in JSON-RPC 1.0.
    rpc: i64,
    http: u16,
    /// The gRPC status name, which is in the body of HTTP+JSON.
    status: &'static str,
    reason: &'static str,
    title: &'static str,
}

/// The code of errors for which A2A has none.
const SERVER_ERROR: i64 = -32000;

const fn row(rpc: i64, http: u16, status: &'static str, reason: &'static str, title: &'static str) -> Row {
    Row { rpc, http, status, reason, title }
}

const INVALID_ARGUMENT: &str = "INVALID_ARGUMENT";
const FAILED_PRECONDITION: &str = "FAILED_PRECONDITION";
const INTERNAL: &str = "INTERNAL";
const NOT_FOUND: &str = "NOT_FOUND";
const RESOURCE_EXHAUSTED: &str = "RESOURCE_EXHAUSTED";

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::MethodNotAllowed,
        Self::TooLarge,
        Self::TooMuch,
        Self::Unavailable,
    ];

    #[rustfmt::skip]
    const fn row(self) -> Row {
        match self {
            Self::TaskNotFound => row(-32001, 404, NOT_FOUND, "TASK_NOT_FOUND", "Task not found"),
            Self::TaskNotCancelable => {
                row(-32002, 400, FAILED_PRECONDITION, "TASK_NOT_CANCELABLE", "Task cannot be canceled")
            }
            Self::PushNotificationNotSupported => {
                let title = "Push notifications are not supported";
                row(-32003, 400, FAILED_PRECONDITION, "PUSH_NOTIFICATION_NOT_SUPPORTED", title)
            }
            Self::UnsupportedOperation => {
                let title = "This operation is not supported";
                row(-32004, 400, FAILED_PRECONDITION, "UNSUPPORTED_OPERATION", title)
            }
            Self::ContentTypeNotSupported => {
                row(-32005, 400, INVALID_ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED", "Content type not supported")
            }
            Self::InvalidAgentResponse => {
                row(-32006, 500, INTERNAL, "INVALID_AGENT_RESPONSE", "Invalid agent response")
            }
            Self::ExtendedAgentCardNotConfigured => {
                let title = "Extended agent card not configured";
                row(-32007, 400, FAILED_PRECONDITION, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", title)
            }
            Self::ExtensionSupportRequired => {
                row(-32008, 400, FAILED_PRECONDITION, "EXTENSION_SUPPORT_REQUIRED", "Extension support required")
            }
            Self::VersionNotSupported => {
                row(-32009, 400, FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED", "Protocol version not supported")
            }
            Self::ParseError => row(-32700, 400, INVALID_ARGUMENT, "JSON_PARSE", "Invalid JSON payload"),
            Self::InvalidRequest => {
                row(-32600, 400, INVALID_ARGUMENT, "INVALID_REQUEST", "Request payload validation error")
            }
            Self::MethodNotFound => row(-32601, 404, NOT_FOUND, "METHOD_NOT_FOUND", "Method not found"),
            Self::InvalidParams => row(-32602, 400, INVALID_ARGUMENT, "INVALID_PARAMS", "Invalid parameters"),
            Self::Internal => row(-32603, 500, INTERNAL, "INTERNAL_ERROR", "Internal error"),
            Self::Unauthenticated => {
                row(SERVER_ERROR, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", "Not authenticated")
            }
            Self::PermissionDenied => {
                row(SERVER_ERROR, 403, "PERMISSION_DENIED", "PERMISSION_DENIED", "Not allowed")
            }
            Self::MethodNotAllowed => {
                row(SERVER_ERROR, 405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED", "HTTP method not allowed")
            }
            Self::TooLarge => row(SERVER_ERROR, 413, INVALID_ARGUMENT, "TOO_LARGE", "The body is too large"),
            Self::TooMuch => {
                row(SERVER_ERROR, 429, RESOURCE_EXHAUSTED, "TOO_MUCH", "As much is under way as there may be")
            }
            Self::Unavailable => row(SERVER_ERROR, 503, "UNAVAILABLE", "UNAVAILABLE", "Not available now"),
        }
    }

    /// The kind of a JSON-RPC error with this code. `None` if the code is neither of A2A nor of JSON-RPC.
    #[must_use]
    pub fn of_rpc_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().filter(|kind| kind.is_of_a2a()).find(|kind| kind.rpc_code() == code)
    }

    /// The code in a JSON-RPC error of 1.0.
    pub const fn rpc_code(self) -> i64 {
        self.row().rpc
    }

    /// The status of an HTTP+JSON response.
    pub const fn http_status(self) -> u16 {
        self.row().http
    }

    /// The HTTP status of a response with a JSON-RPC error. It is 200, except for errors that only HTTP has.
    pub const fn http_status_of_rpc(self) -> u16 {
        if self.is_of_a2a() { 200 } else { self.row().http }
    }

    /// The gRPC status name.
    pub const fn status_name(self) -> &'static str {
        self.row().status
    }

    /// The reason in `ErrorInfo`.
    pub const fn reason(self) -> &'static str {
        self.row().reason
    }

    /// The domain of the reason in `ErrorInfo`.
    pub const fn domain(self) -> &'static str {
        if self.is_of_a2a() { "a2a-protocol.org" } else { "envoi" }
    }

    /// The title for people, in 1.0.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    const fn is_of_a2a(self) -> bool {
        self.row().rpc != SERVER_ERROR
    }

    /// True if clients of 0.3 may compare the whole message. The models of `fasta2a`, which WayFlow uses, accept
    /// these three messages in only one spelling, and report anything else as an unreadable response.
    pub const fn is_literal_in_v03(self) -> bool {
        matches!(self, Self::TaskNotFound | Self::TaskNotCancelable | Self::PushNotificationNotSupported)
    }

    /// Code and title in 0.3. Clients of that version know only these codes, so later errors are mapped to the
    /// nearest one: invalid request, or internal error.
    pub const fn in_v03(self) -> (i64, &'static str) {
        match self {
            Self::TaskNotFound => (-32001, "Task not found"),
            Self::TaskNotCancelable => (-32002, "Task not cancelable"),
            Self::PushNotificationNotSupported => (-32003, "Push notification not supported"),
            Self::UnsupportedOperation => (-32004, "This operation is not supported"),
            Self::ContentTypeNotSupported => (-32005, "Incompatible content types"),
            Self::InvalidAgentResponse => (-32006, "Invalid agent response"),
            Self::ExtendedAgentCardNotConfigured => (-32007, "Authenticated Extended Card is not configured"),
            Self::ParseError => (-32700, "Invalid JSON payload"),
            Self::MethodNotFound => (-32601, "Method not found"),
            Self::InvalidParams => (-32602, "Invalid parameters"),
            Self::Internal | Self::TooMuch | Self::Unavailable => (-32603, "Internal error"),
            Self::InvalidRequest
            | Self::ExtensionSupportRequired
            | Self::VersionNotSupported
            | Self::Unauthenticated
            | Self::PermissionDenied
            | Self::MethodNotAllowed
            | Self::TooLarge => (-32600, "Request payload validation error"),
        }
    }
}
