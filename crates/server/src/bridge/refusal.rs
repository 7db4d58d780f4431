//! How the bridge says no: not as problems, but in the two shapes that its clients know.

use super::models::NoModel;
use crate::{problem::Problem, reply};
use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

/// Clients of the OpenAI API ask again at once, unless they are told not to.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Which of the two ways in was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `POST /api/llm-bridge`.
    Bridge,
    /// The OpenAI API.
    Chat,
}

/// Why a model was not called, or did not answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no good token. Nothing else is said, whatever was asked.
    Forbidden,
    /// The body has more bytes than this.
    TooLarge(u64),
    /// What is wrong with the body, each with its place.
    Invalid(Vec<(String, String)>),
    /// No model can be called.
    NoModel(NoModel),
    /// The user envelope is none.
    Envelope(String),
    /// The run, or the attempt, may use no more.
    Exhausted(String),
    /// Whoever asks has as many calls under way as it may.
    TooMany,
    /// The run is over.
    RunOver(String),
    /// The provider did not answer, or not as it should.
    Provider(String),
    /// Something of ours.
    Problem(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// What is said of a refusal.
struct Told {
    status: u16,
    /// As the OpenAI API calls the kind of it.
    kind: &'static str,
    code: &'static str,
    message: String,
    /// Whose name in the bridge's own shape.
    detail: &'static str,
}

impl Refusal {
    pub(crate) fn one(place: &str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![(place.to_owned(), message.into())])
    }

    pub(crate) fn into_response(self, shape: Shape) -> Response {
        let told = match (self, shape) {
            (Self::Forbidden, _) => return reply::json(403, json!({"error": "Forbidden"}).to_string()),
            (Self::Problem(problem), _) if problem.status.as_u16() != 500 => return problem.into_response(),
            (Self::Problem(_), Shape::Bridge) => return internal("the store or the machine failed"),
            (Self::Provider(detail), Shape::Bridge) => return internal(&detail),
            (Self::Invalid(issues), Shape::Bridge) => return invalid(issues),
            (refusal, _) => refusal.told(),
        };
        let body = match shape {
            Shape::Bridge => told.bridge(),
            Shape::Chat => told.chat(),
        };
        let mut response = reply::json(told.status, body.to_string());
        if !told.may_help_later() {
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }

    fn told(self) -> Told {
        let bad = |code, message: String, detail| Told {
            status: 400,
            kind: "invalid_request_error",
            code,
            message,
            detail,
        };
        match self {
            Self::TooLarge(limit) => Told {
                status: 413,
                ..bad("BODY_TOO_LARGE", format!("the body is over {limit} bytes"), "detail")
            },
            Self::Invalid(issues) => {
                let told = issues.iter().map(|(place, message)| format!("`{place}`: {message}"));
                bad("REQUEST_INVALID", told.collect::<Vec<_>>().join("; "), "detail")
            }
            Self::NoModel(NoModel::Unknown) => {
                bad("UNKNOWN_MODEL_ID", "no model of that name is offered here".to_owned(), "detail")
            }
            Self::NoModel(NoModel::NoProvider) => {
                let message = "no provider of models is configured here, or its key is missing";
                let bad = bad("NO_LLM_PROVIDER", message.to_owned(), "detail");
                Told { status: 503, kind: "api_error", ..bad }
            }
            Self::NoModel(NoModel::NoDefault) => {
                let message =
                    "the request names no model, and none is configured as the usual one (`models.default`)";
                let bad = bad("NO_LLM_PROVIDER", message.to_owned(), "detail");
                Told { status: 503, kind: "api_error", ..bad }
            }
            Self::Envelope(reason) => bad("INVALID_USER_ENVELOPE", reason, "reason"),
            Self::Exhausted(detail) => {
                let bad = bad("BUDGET_EXHAUSTED", detail, "detail");
                Told { status: 429, kind: "insufficient_quota", ..bad }
            }
            Self::TooMany => {
                let message = "as many calls as may be are under way with this token";
                let bad = bad("TOO_MANY_CALLS", message.to_owned(), "detail");
                Told { status: 429, kind: "rate_limit_error", ..bad }
            }
            Self::RunOver(detail) => Told { status: 409, ..bad("RUN_OVER", detail, "detail") },
            Self::Provider(detail) => {
                Told { status: 502, kind: "api_error", ..bad("PROVIDER_FAILED", detail, "detail") }
            }
            Self::Forbidden | Self::Problem(_) => {
                let message = "the store or the machine failed".to_owned();
                Told { status: 500, kind: "api_error", ..bad("STORE_FAILED", message, "detail") }
            }
        }
    }
}

impl Told {
    /// Whether it may be otherwise when the same is asked again. Of other statuses clients know it.
    fn may_help_later(&self) -> bool {
        !matches!(self.code, "BUDGET_EXHAUSTED" | "RUN_OVER")
    }

    fn bridge(&self) -> Value {
        let word = self.code.to_ascii_lowercase();
        json!({"error": word, "code": self.code, (self.detail): self.message})
    }

    fn chat(&self) -> Value {
        let Self { kind, code, message, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
    }
}

fn internal(detail: &str) -> Response {
    reply::json(500, json!({"error": "Internal server error", "detail": detail}).to_string())
}

fn invalid(issues: Vec<(String, String)>) -> Response {
    let issues: Vec<Value> =
        issues.into_iter().map(|(path, message)| json!({"path": path, "message": message})).collect();
    reply::json(400, json!({"error": "Invalid request body", "issues": issues}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_not_to_ask_again_where_it_cannot_help() {
        for (refusal, status, said) in [
            (Refusal::Exhausted(String::new()), 429, Some("false")),
            (Refusal::RunOver(String::new()), 409, Some("false")),
            (Refusal::TooMany, 429, None),
            (Refusal::NoModel(NoModel::NoProvider), 503, None),
        ] {
            let told = format!("{refusal:?}");
            let response = refusal.into_response(Shape::Chat);
            let header = response.headers().get(SHOULD_RETRY).map(|value| value.to_str().unwrap());
            assert_eq!((response.status().as_u16(), header), (status, said), "{told}");
        }
    }
}
