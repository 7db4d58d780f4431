//! Refusals of the bridge: not problems, but the two forms that its clients know.

use crate::{
    http::{problem::Problem, response},
    models::catalog::NoModel,
};
use axum::{
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use envoi_contract::code::Code;
use envoi_preset::protocol::Protocol;
use serde_json::{Value, json};

/// Clients of the OpenAI API retry at once, unless this header forbids it.
pub(crate) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The path for messages with files. All other paths of the bridge are below it.
pub(crate) const TURN_PATH: &str = "/api/llm-bridge";

/// After how many seconds a request may fit that did not fit before.
const BYTES_AGAIN_S: u32 = 2;

/// The paths of Anthropic messages, below it.
const MESSAGES: &str = "/v1/messages";

/// The API that was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorShape {
    /// `POST /api/llm-bridge`.
    Bridge,
    /// The OpenAI API.
    Chat,
    /// Anthropic messages.
    Messages,
}

impl ErrorShape {
    /// The form of errors at this path.
    pub(super) fn of(path: &str) -> Self {
        match path.strip_prefix(TURN_PATH) {
            Some("") => Self::Bridge,
            Some(below) if below.starts_with(MESSAGES) => Self::Messages,
            _ => Self::Chat,
        }
    }
}

/// Why a model was not called, or did not answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The token is missing or not valid. The answer has no details.
    Forbidden,
    /// The body has more bytes than this.
    TooLarge(u64),
    /// With its files the request has more bytes than even a single client may keep.
    TooLargeWithFiles { bytes: u64, most: u64 },
    /// The errors in the body, each with its place.
    Invalid(Vec<(String, String)>),
    /// No model can be called.
    NoModel(NoModel),
    /// The user envelope is not valid.
    Envelope(String),
    /// The run, or the attempt, has used up its budget.
    Exhausted(String),
    /// The caller has the maximum number of calls under way.
    TooMany,
    /// The kept requests of the tenant, or of all tenants, have the maximum number of bytes.
    TooManyBytes,
    /// The run has ended.
    RunOver(String),
    /// The provider was not reached.
    Unreached,
    /// The provider did not answer, or not in the expected form.
    Provider(String),
    /// The server stops, and does not wait for the provider's answer.
    BrokenOff,
    /// A problem of the server, before a provider received the request.
    Problem(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// The path for models of this protocol.
fn path_of(protocol: Protocol) -> String {
    let version = if protocol == Protocol::Messages { "/v1" } else { "" };
    format!("{TURN_PATH}{version}{}", protocol.path())
}

/// The parts of an error.
struct ErrorBody {
    status: u16,
    /// The kind of error in the OpenAI API.
    kind: &'static str,
    code: Code,
    message: String,
    /// The name of the message in the bridge's own shape.
    detail: &'static str,
    /// Whether a retry may succeed and costs no more than one call. For other statuses clients decide by the
    /// status.
    again: bool,
    retry_after_s: Option<u32>,
}

impl Refusal {
    pub(crate) fn one(place: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![(place.to_owned(), message.into())])
    }

    pub(crate) fn into_response(self, shape: ErrorShape) -> Response {
        let error = match self {
            Self::Invalid(issues) if shape == ErrorShape::Bridge => return invalid(issues),
            refusal => refusal.body(),
        };
        let Some(error) = error else {
            return response::json(403, json!({"error": "Forbidden"}).to_string());
        };
        let (status, body) = match shape {
            ErrorShape::Bridge if error.is_internal() => (500, error.internal()),
            ErrorShape::Bridge => (error.status, error.bridge()),
            ErrorShape::Chat => (error.status, error.chat()),
            ErrorShape::Messages => (error.status, error.messages()),
        };
        let mut response = response::json(status, body.to_string());
        if !error.again {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if let Some(seconds) = error.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// `None` if the answer has no details.
    fn body(self) -> Option<ErrorBody> {
        let body = match self {
            Self::Forbidden => return None,
            Self::TooLarge(limit) => {
                ErrorBody::bad(Code::BodyTooLarge, format!("the body is over {limit} bytes"))
            }
            Self::TooLargeWithFiles { bytes, most } => {
                let message = format!(
                    "with its files, and as the provider would get it, the request has {bytes} bytes; at most {most} fit: \
                     name fewer or smaller files"
                );
                ErrorBody::bad(Code::BodyTooLarge, message)
            }
            Self::Invalid(issues) => {
                let issues = issues.iter().map(|(place, message)| format!("`{place}`: {message}"));
                ErrorBody::bad(Code::RequestInvalid, issues.collect::<Vec<_>>().join("; "))
            }
            Self::NoModel(NoModel::Unknown) => {
                ErrorBody::bad(Code::UnknownModelId, "no model of that name is offered here")
            }
            Self::NoModel(NoModel::Speaks(protocol)) => {
                let message =
                    format!("this model is called in the protocol `{protocol}`, at `{}`", path_of(protocol));
                ErrorBody::bad(Code::RequestInvalid, message)
            }
            Self::NoModel(NoModel::NoProvider) => {
                let message = "no provider of models is configured here, or its key is missing";
                ErrorBody::failed(Code::NoLlmProvider, message)
            }
            Self::NoModel(NoModel::NoDefault) => {
                let message =
                    "the request names no model, and none is configured as the usual one (`models.default`)";
                ErrorBody::failed(Code::NoLlmProvider, message)
            }
            Self::Envelope(reason) => {
                ErrorBody { detail: "reason", ..ErrorBody::bad(Code::InvalidUserEnvelope, reason) }
            }
            Self::Exhausted(detail) => {
                let bad = ErrorBody::bad(Code::BudgetExhausted, detail);
                ErrorBody { kind: "insufficient_quota", again: false, ..bad }
            }
            Self::TooMany => {
                let message = "as many calls as may be are under way with this token";
                ErrorBody { kind: "rate_limit_error", ..ErrorBody::bad(Code::TooManyCalls, message) }
            }
            Self::TooManyBytes => {
                let message = "the requests under way have as many bytes as they may have together";
                let bad = ErrorBody::bad(Code::TooManyCalls, message);
                ErrorBody { kind: "rate_limit_error", retry_after_s: Some(BYTES_AGAIN_S), ..bad }
            }
            Self::RunOver(detail) => ErrorBody { again: false, ..ErrorBody::bad(Code::RunOver, detail) },
            Self::Unreached => {
                ErrorBody::failed(Code::ProviderFailed, "the model's provider cannot be reached")
            }
            Self::Provider(detail) => {
                ErrorBody { again: false, ..ErrorBody::failed(Code::ProviderFailed, detail) }
            }
            Self::BrokenOff => {
                let message =
                    "the server is stopping; the provider received the request, and its answer is lost";
                ErrorBody { again: false, ..ErrorBody::failed(Code::EngineStopping, message) }
            }
            // The hints of problems refer to requests with an idempotency key, which the bridge does not
            // have.
            Self::Problem(problem) => {
                let body = match problem.status.is_server_error() {
                    true => ErrorBody::failed(problem.code, problem.detail()),
                    false => ErrorBody::bad(problem.code, problem.detail()),
                };
                let status = problem.status.as_u16();
                ErrorBody { status, retry_after_s: problem.retry_after_s(), ..body }
            }
        };
        Some(body)
    }
}

impl ErrorBody {
    /// An error of the request. The status is that of the code.
    fn bad(code: Code, message: impl Into<String>) -> Self {
        Self {
            status: code.http_status(),
            kind: "invalid_request_error",
            code,
            message: message.into(),
            detail: "detail",
            again: true,
            retry_after_s: None,
        }
    }

    /// An error of the server or the provider. The status is that of the code.
    fn failed(code: Code, message: impl Into<String>) -> Self {
        Self { kind: "api_error", ..Self::bad(code, message) }
    }

    /// Whether contract 5 gives all of these the same answer.
    fn is_internal(&self) -> bool {
        matches!(self.code, Code::ProviderFailed | Code::StoreFailed)
    }

    fn internal(&self) -> Value {
        json!({"error": "Internal server error", "detail": self.message})
    }

    fn bridge(&self) -> Value {
        let word = self.code.as_str().to_ascii_lowercase();
        json!({"error": word, "code": self.code.as_str(), (self.detail): self.message})
    }

    /// With Envoi's code, which clients of that API ignore.
    fn messages(&self) -> Value {
        let Self { kind, code, message, .. } = self;
        let kind = if *kind == "insufficient_quota" { "rate_limit_error" } else { *kind };
        json!({"type": "error", "error": {"type": kind, "message": message, "code": code.as_str()}})
    }

    fn chat(&self) -> Value {
        let Self { kind, code, message, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": null, "code": code.as_str()}})
    }
}

fn invalid(issues: Vec<(String, String)>) -> Response {
    let issues: Vec<Value> =
        issues.into_iter().map(|(path, message)| json!({"path": path, "message": message})).collect();
    response::json(400, json!({"error": "Invalid request body", "issues": issues}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_not_invited_to_retry_where_it_cannot_help() {
        for (refusal, status, retries) in [
            (Refusal::Forbidden, 403, None),
            (Refusal::TooLarge(1), 413, None),
            (Refusal::TooLargeWithFiles { bytes: 2, most: 1 }, 413, None),
            (Refusal::one("a", "b"), 400, None),
            (Refusal::Envelope(String::new()), 400, None),
            (Refusal::NoModel(NoModel::Unknown), 400, None),
            (Refusal::Exhausted(String::new()), 429, Some("false")),
            (Refusal::RunOver(String::new()), 409, Some("false")),
            (Refusal::TooMany, 429, None),
            (Refusal::TooManyBytes, 429, None),
            (Refusal::NoModel(NoModel::NoProvider), 503, None),
            (Refusal::Unreached, 502, None),
            (Refusal::Provider(String::new()), 502, Some("false")),
            (Refusal::BrokenOff, 503, Some("false")),
            (Problem::stopping().into(), 503, None),
        ] {
            let body = format!("{refusal:?}");
            let response = refusal.into_response(ErrorShape::Chat);
            let header = response.headers().get(SHOULD_RETRY).map(|value| value.to_str().unwrap());
            assert_eq!((response.status().as_u16(), header), (status, retries), "{body}");
        }
    }
    #[test]
    fn a_problem_has_the_form_of_its_path_without_hints_that_are_wrong_there() {
        for (path, shape) in [
            (TURN_PATH, ErrorShape::Bridge),
            ("/api/llm-bridge/models", ErrorShape::Chat),
            ("/api/llm-bridge/v1/messages", ErrorShape::Messages),
        ] {
            assert_eq!(ErrorShape::of(path), shape);
            let body = Refusal::from(Problem::stopping()).body().unwrap();
            let body = match shape {
                ErrorShape::Bridge => body.bridge(),
                ErrorShape::Chat => body.chat()["error"].clone(),
                ErrorShape::Messages => body.messages()["error"].clone(),
            };
            assert_eq!(body["code"], "ENGINE_STOPPING", "{body}");
            assert!(!body.to_string().contains("Idempotency-Key"), "{body}");
            let response = Refusal::from(Problem::stopping()).into_response(shape);
            assert_eq!(
                response.headers().get(header::RETRY_AFTER).unwrap(),
                "1",
                "no provider has received the request"
            );
            assert!(response.extensions().get::<Problem>().is_none(), "it is not written as a problem again");
        }
    }
}
