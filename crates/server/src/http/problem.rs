//! Errors in the form of HTTP problems (RFC 9457), with Envoi's code.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use envoi_api::problem;
use envoi_changes::ChangesError;
use envoi_contract::code::Code;
use envoi_engine::protocol::Refused;
use envoi_journal::{BlobError, CommitError, ReadError};

/// An HTTP problem.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: Code,
    pub(crate) detail: String,
    hint: Option<String>,
    /// The token needs one of these scopes.
    scopes: Vec<&'static str>,
    retry_after_s: Option<u32>,
    /// For the server's log, not for the client.
    cause: Option<String>,
}

impl Problem {
    /// A problem with the status of its code.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            detail: detail.into(),
            hint: None,
            scopes: Vec::new(),
            retry_after_s: None,
            cause: None,
        }
    }

    /// The token has none of these scopes. `what` is the beginning of a sentence, up to "needs".
    pub(crate) fn scope_too_small(what: &str, words: impl IntoIterator<Item = &'static str>) -> Self {
        let scopes: Vec<&str> = words.into_iter().collect();
        let detail = format!("{what} needs a token with the scope {}", scopes.join(" or "));
        Self { scopes, ..Self::new(Code::ScopeTooSmall, detail) }
    }

    /// Replaces the status of the code by another one.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The token is missing or not valid; both have the same answer.
    pub(crate) fn unauthenticated() -> Self {
        Self::new(Code::TokenNeeded, "a token that is good is needed")
            .hint("`Authorization: Bearer TOKEN`; `envoi token create` makes one")
    }

    /// The key was used before with another body.
    pub(crate) fn key_reused() -> Self {
        let detail = "this Idempotency-Key came with another body before";
        Self::new(Code::KeyReused, detail).hint("take a new key for another request")
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(Code::RequestInvalid, detail)
    }

    pub(crate) fn too_large(limit: u64) -> Self {
        let detail = format!("the body is over {limit} bytes");
        Self::new(Code::BodyTooLarge, detail)
    }

    pub(crate) fn no_run(run: &str) -> Self {
        Self::new(Code::RunNotFound, format!("there is no run `{run}`"))
    }

    pub(crate) fn no_question(question: &str) -> Self {
        let detail = format!("there is no question `{question}`");
        Self::new(Code::QuestionNotFound, detail)
    }

    pub(crate) fn not_found(what: &str, name: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} `{name}`"))
    }

    /// The engine is stopping; the client may send the request again.
    pub(crate) fn stopping() -> Self {
        Self::new(Code::EngineStopping, "the engine is stopping")
            .hint("ask again; a request with an Idempotency-Key is done once")
            .retry_after(1)
    }

    /// Another process keeps the database locked; the client may send the request again.
    fn store_busy() -> Self {
        Self::new(Code::StoreBusy, "another program keeps the database of the store locked")
            .hint("ask again when it has ended (a backup, a database shell in a transaction); a request with an Idempotency-Key is done once")
            .retry_after(5)
    }

    /// A failure of the server. Its cause is logged and not sent to the client, because it may name data of
    /// others.
    pub(crate) fn internal(cause: impl core::fmt::Display) -> Self {
        let problem =
            Self::new(Code::StoreFailed, "the store or the machine failed; the server's log says more");
        Self { cause: Some(cause.to_string()), ..problem }
    }

    /// Like [`Problem::internal`], for a failure that has its own code.
    fn internal_as(code: Code, cause: String) -> Self {
        let own = match code {
            Code::TreeNotMade => {
                "the tree of the run could not be made or filled; the server's log says more"
            }
            _ => return Self::internal(format!("{code}: {cause}")),
        };
        Self { cause: Some(cause), ..Self::new(code, own) }
    }

    /// A hint for the client, if there is one.
    pub(crate) fn hint_of(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The details of the error.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Seconds after which the request may be sent again.
    pub(crate) const fn retry_after_s(&self) -> Option<u32> {
        self.retry_after_s
    }

    /// The body for the client; `request` is the id of its request.
    pub(crate) fn body(&self, request: &str) -> String {
        let body = problem::Problem {
            kind: format!("urn:envoi:error:{}", self.code),
            title: title(self.code),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code.to_string(),
            hint: self.hint.clone(),
            scopes: self.scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            request_id: request.to_owned(),
        };
        // Its members are texts and a number, so serializing cannot fail.
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// The cause, for the log.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }
}

/// Parts of a refusal that name another run, or a path of the machine, are left out.
impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let Refused { code, message, hint, .. } = refused;
        match code {
            Code::EngineStopping => return Self::stopping(),
            Code::StoreBusy => return Self::store_busy(),
            Code::WorkspaceBusy => {
                return Self::new(code, "another run is at work in the workspace")
                    .hint("start it with `workspace` as `copy` or `shared`, or later")
                    .retry_after(5);
            }
            // The place where runs are decided is not this server, and is unreachable. The message has no
            // secrets, and the problem may be temporary.
            Code::ServerUnreachable => return Self::new(code, message).retry_after(5),
            // The secret is missing at the server, not at the client, so the hint is another one.
            Code::SecretMissing => {
                return Self::new(code, message)
                    .hint("the server needs it: set it where the server is started, and start that again");
            }
            _ => {}
        }
        let problem = Self::new(code, message);
        if problem.status.is_server_error() {
            return Self::internal_as(code, problem.detail);
        }
        Self { hint: hint.filter(|hint| !hint.contains("envoi ")), ..problem }
    }
}

/// Commands in a hint are for the server's machine, so such hints are left out.
impl From<ChangesError> for Problem {
    fn from(error: ChangesError) -> Self {
        let problem = Self::new(error.code(), error.to_string());
        if problem.status.is_server_error() {
            return Self::internal_as(problem.code, problem.detail);
        }
        Self { hint: error.hint().filter(|hint| !hint.contains("envoi ")), ..problem }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Busy => Self::store_busy(),
            error => Self::internal(error),
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error)
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Busy => Self::store_busy(),
            error => Self::internal(error),
        }
    }
}

impl From<BlobError> for Problem {
    fn from(error: BlobError) -> Self {
        Self::internal(error)
    }
}

/// The title of a code: `RUN_NOT_FOUND` in words.
fn title(code: Code) -> String {
    let words = code.as_str().to_ascii_lowercase().replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The response contains the problem itself. [`crate::request_log`] adds the body, which needs the id of the
/// request.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_engine::EngineError;
    use envoi_kernel::ids::RunId;

    #[test]
    fn refusals_have_the_status_that_says_who_has_to_change_what() {
        let rows = [
            (Refused::new(Code::QuestionClosed, "m", None), 409),
            (Refused::new(Code::NotYoursToAnswer, "m", None), 403),
            (Refused::new(Code::WrongAnswer, "m", None), 422),
            (Refused::new(Code::AnswerInvalid, "m", None), 422),
            (Refused::new(Code::RunNotFound, "m", None), 404),
            (Refused::new(Code::EngineStopping, "m", None), 503),
            (Refused::set_aside(&RunId::new("run_a").unwrap(), "RUN_UNREADABLE", "event 3 is damaged"), 409),
            (Refused::failure("/data/x is full"), 500),
            (Refused::new(Code::AmbiguousId, "m", None), 409),
        ];
        for (refused, status) in rows {
            assert_eq!(Problem::from(refused.clone()).status.as_u16(), status, "{refused:?}");
        }
    }

    #[test]
    fn a_locked_store_is_no_failure_of_the_server() {
        let refused = [
            Problem::from(ReadError::Busy),
            Problem::from(CommitError::Busy),
            Problem::from(Refused::from(ReadError::Busy)),
            Problem::from(Refused::from(EngineError::Store(CommitError::Busy))),
        ];
        for problem in refused {
            assert_eq!((problem.code, problem.status.as_u16()), (Code::StoreBusy, 503));
            assert_eq!(problem.retry_after_s(), Some(5));
        }
    }

    #[test]
    fn a_tree_that_was_not_made_has_its_own_code_and_no_path_of_the_machine() {
        let refused = Refused::new(Code::TreeNotMade, "`/data/x/a.txt`: Permission denied", Some("h"));
        let problem = Problem::from(refused);
        assert_eq!((problem.code, problem.status.as_u16()), (Code::TreeNotMade, 500));
        assert!(!problem.detail.contains("/data"), "{problem:?}");
        assert!(problem.cause().is_some_and(|cause| cause.contains("/data/x/a.txt")), "{problem:?}");
    }

    #[test]
    fn a_secret_that_is_missing_is_to_be_set_where_the_server_is() {
        let here = "set it where the command is called; secrets are never stored";
        let refused =
            Refused::new(Code::SecretMissing, "secret `KEY`: the variable `KEY` is not set", Some(here));
        let problem = Problem::from(refused);
        assert!(
            problem.hint_of().is_some_and(|hint| hint.contains("where the server is started")),
            "{problem:?}"
        );
    }

    #[test]
    fn a_client_sees_nothing_of_others() {
        for refused in [
            Refused::failure("/data/x is full"),
            Refused::new(Code::WorkspaceBusy, "run `run_of_another` is at work in `/data/x`", None),
        ] {
            let problem = Problem::from(refused);
            assert!(!problem.detail.contains("/data") && !problem.detail.contains("run_of"), "{problem:?}");
        }
    }

    #[test]
    fn a_code_has_a_title() {
        assert_eq!(title(Code::RunNotFound), "Run not found");
    }
}
