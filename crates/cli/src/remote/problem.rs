//! Converts a refusal of the server into a failure of the command: code, message and hint come from the
//! server, and the exit code is the same as locally.

use crate::process::failure::{BAD_INPUT, Failure, FailureCode, MACHINE, REFUSED};
use envoi_contract::code::Code;
use serde::Deserialize;

/// The needed fields of RFC 9457.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
    #[serde(default)]
    hint: Option<String>,
}

/// The failure in an unsuccessful response, from its status and body.
pub(crate) fn failure(status: u16, body: &[u8]) -> Failure {
    let is_code = |code: &str| !code.is_empty() && code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) if is_code(&problem.code) => {
            let code = FailureCode::received(problem.code);
            let hint = problem.hint.or_else(|| code.known().and_then(hint));
            let failure = Failure::received(code.clone(), exit_code(status, code.known()), problem.detail);
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
        _ => not_understood(format!("it answered {status} without a reason")),
    }
}

/// The response is not one of an Envoi server.
pub(crate) fn not_understood(what: impl std::fmt::Display) -> Failure {
    Failure::new(Code::ServerNotUnderstood, format!("the server is not understood: {what}")).hint(
        "check that the address is an Envoi server of this version, and that no proxy changes its answers",
    )
}

/// The exit code that the same refusal has locally. The status decides if the server uses another status for
/// the code, or if the code is of another version.
fn exit_code(status: u16, code: Option<Code>) -> u8 {
    match (status, code) {
        (500.., _) => MACHINE,
        (_, Some(code)) if code.http_status() == status => code.exit_code(),
        (400 | 404 | 405 | 413 | 416 | 421 | 422, _) => BAD_INPUT,
        _ => REFUSED,
    }
}

/// A local remedy, if the server gives none.
fn hint(code: Code) -> Option<String> {
    let hint = match code {
        Code::RunNotFound | Code::QuestionNotFound => "`envoi runs` and `envoi inbox` list them",
        Code::ScopeTooSmall => "another token: `envoi token create --scope`, at the server",
        Code::TooManyConnections | Code::TooManyRequests | Code::TooManyStarts | Code::TooManyStreams => {
            "try again in a moment"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_exits_as_it_does_where_the_store_is() {
        for (status, code, exit) in [
            (400, "REQUEST_INVALID", 2),
            (401, "TOKEN_NEEDED", 6),
            (403, "SCOPE_TOO_SMALL", 6),
            (403, "NOT_YOURS_TO_ANSWER", 6),
            (404, "RUN_NOT_FOUND", 2),
            (409, "RUN_SET_ASIDE", 8),
            (409, "RUN_UNREADABLE", 8),
            (409, "AMBIGUOUS_ID", 6),
            (422, "KEY_REUSED", 6),
            (422, "OF_ANOTHER_VERSION", 2),
            (409, "OF_ANOTHER_VERSION", 6),
            (409, "QUESTION_CLOSED", 6),
            (409, "WORKSPACE_BUSY", 6),
            (409, "SECRET_MISSING", 6),
            (413, "BODY_TOO_LARGE", 2),
            (422, "ANSWER_INVALID", 2),
            (422, "WRONG_ANSWER", 6),
            (429, "TOO_MANY_STARTS", 6),
            (500, "STORE_FAILED", 8),
            (503, "ENGINE_STOPPING", 8),
        ] {
            let body = format!(r#"{{"code": "{code}", "detail": "d", "hint": "h", "more": 1}}"#);
            let failure = failure(status, body.as_bytes());
            assert_eq!((failure.code.as_str(), failure.exit_code), (code, exit));
            assert_eq!((failure.message.as_str(), failure.hint.as_deref()), ("d", Some("h")));
        }
    }

    #[test]
    fn an_error_body_of_another_program_is_recognised() {
        for body in ["<html>", "{}", r#"{"code": "no such code", "detail": "d"}"#, ""] {
            let failure = failure(502, body.as_bytes());
            assert_eq!((failure.code.as_str(), failure.exit_code), ("SERVER_NOT_UNDERSTOOD", 8), "{body}");
            assert!(failure.message.contains("502"), "{}", failure.message);
        }
    }
}
