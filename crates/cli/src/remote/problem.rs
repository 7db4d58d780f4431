//! What the server did not do, as a command says it: the code, the words and the hint are the server's, the exit code is the
//! one that the same refusal has here.

use super::call::Reply;
use crate::process::failure::{BAD_INPUT, Failure, MACHINE};
use serde::Deserialize;

/// Exit code of what makes no sense now, or is not allowed.
const REFUSED: u8 = 6;

/// RFC 9457, as far as it is needed.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
    #[serde(default)]
    hint: Option<String>,
}

/// What an answer that is no success says.
pub(crate) fn failure(reply: &Reply) -> Failure {
    let is_code = |code: &str| !code.is_empty() && code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    match serde_json::from_slice::<Problem>(&reply.body) {
        Ok(problem) if is_code(&problem.code) => {
            let failure = Failure::new(exit_code(reply.status, &problem.code), &problem.code, problem.detail);
            match problem.hint.or_else(|| hint(&problem.code)) {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
        _ => not_understood(format!("it answered {} and did not say why", reply.status)),
    }
}

/// What came is not what an Envoi server sends.
pub(crate) fn not_understood(what: impl std::fmt::Display) -> Failure {
    Failure::new(MACHINE, "SERVER_NOT_UNDERSTOOD", format!("the server is not understood: {what}"))
        .hint("is it an Envoi server of this version, and nothing else between?")
}

/// As the same refusal exits where the store is.
fn exit_code(status: u16, code: &str) -> u8 {
    match (status, code) {
        (_, "WRONG_ANSWER") => REFUSED,
        (_, "WORKSPACE_MISSING" | "SECRET_MISSING") => BAD_INPUT,
        (400 | 404 | 405 | 413 | 416 | 421 | 422, _) => BAD_INPUT,
        (_, "RUN_SET_ASIDE") | (500.., _) => MACHINE,
        _ => REFUSED,
    }
}

/// What to do here, where the server does not say it.
fn hint(code: &str) -> Option<String> {
    let hint = match code {
        "RUN_NOT_FOUND" | "QUESTION_NOT_FOUND" => "`envoi runs` and `envoi inbox` list them",
        "SCOPE_TOO_SMALL" => "another token: `envoi token create --scope`, at the server",
        "TOO_MANY_CONNECTIONS" | "TOO_MANY_REQUESTS" | "TOO_MANY_STARTS" | "TOO_MANY_STREAMS" => {
            "try again in a moment"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &str) -> Reply {
        Reply { status, retry_after: None, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_refusal_exits_as_it_does_where_the_store_is() {
        for (status, code, exit) in [
            (400, "REQUEST_INVALID", 2),
            (401, "TOKEN_NEEDED", 6),
            (403, "SCOPE_TOO_SMALL", 6),
            (403, "NOT_YOURS_TO_ANSWER", 6),
            (404, "RUN_NOT_FOUND", 2),
            (409, "RUN_SET_ASIDE", 8),
            (409, "QUESTION_CLOSED", 6),
            (409, "WORKSPACE_BUSY", 6),
            (409, "SECRET_MISSING", 2),
            (413, "BODY_TOO_LARGE", 2),
            (422, "ANSWER_INVALID", 2),
            (422, "WRONG_ANSWER", 6),
            (429, "TOO_MANY_STARTS", 6),
            (500, "STORE_FAILED", 8),
            (503, "ENGINE_STOPPING", 8),
        ] {
            let body = format!(r#"{{"code": "{code}", "detail": "d", "hint": "h", "more": 1}}"#);
            let failure = failure(&reply(status, &body));
            assert_eq!((failure.code.as_str(), failure.exit_code), (code, exit));
            assert_eq!((failure.message.as_str(), failure.hint.as_deref()), ("d", Some("h")));
        }
    }

    #[test]
    fn what_is_no_problem_of_ours_is_said_to_be_none() {
        for body in ["<html>", "{}", r#"{"code": "no such code", "detail": "d"}"#, ""] {
            let failure = failure(&reply(502, body));
            assert_eq!((failure.code.as_str(), failure.exit_code), ("SERVER_NOT_UNDERSTOOD", 8), "{body}");
            assert!(failure.message.contains("502"), "{}", failure.message);
        }
    }
}
