//! Error replies: the class of the failure, and the time until which the account is limited.

use crate::{
    failure::{Class, Failure, of_status, of_wording},
    member::{Masking, one_line, text},
};
use envoi_contract::{json::Value, time::Timestamp};

/// Error codes and types that are more precise than the status.
const KINDS: &[(&str, Class)] = &[
    ("insufficient_quota", Class::Billing),
    ("billing_hard_limit_reached", Class::Billing),
    ("billing_error", Class::Billing),
    ("context_length_exceeded", Class::TooLong),
    ("exceed_context_size_error", Class::TooLong),
    ("request_too_large", Class::TooLong),
    ("model_not_found", Class::Model),
    ("not_found_error", Class::Model),
    ("invalid_api_key", Class::Auth),
    ("authentication_error", Class::Auth),
    ("permission_error", Class::Auth),
    ("usage_limit_reached", Class::Throttled),
    ("rate_limit_exceeded", Class::Throttled),
    ("rate_limit_error", Class::Throttled),
    ("overloaded_error", Class::Overloaded),
];

/// Error types that say no more than a status from 400 to 499. With such a status the wording can be more precise.
const REFUSALS: &[&str] = &["invalid_request_error", "invalid_prompt"];

/// The failure in a reply with status 200, if there is one.
#[must_use]
pub fn stated(body: &Value, masking: Masking<'_>) -> Option<Failure> {
    let is_error = body.get("error").is_some_and(|error| !error.is_null());
    (is_error || text(body, &["type"]) == Some("error"))
        .then(|| failure(200, body.compact().as_bytes(), masking))
}

/// The failure in a reply with this status and body. The three protocols put errors in the same location, and some
/// servers send errors with the status of a success.
#[must_use]
pub fn failure(status: u16, body: &[u8], masking: Masking<'_>) -> Failure {
    let parsed = Value::parse(body).ok();
    let of = |path: &[&str]| parsed.as_ref().and_then(|body| text(body, path));
    let kinds = [of(&["error", "code"]), of(&["error", "type"])];
    let message = of(&["error", "message"]).or(of(&["error"])).or(of(&["message"])).or(of(&["detail"]));
    let stated = kinds
        .iter()
        .flatten()
        .find_map(|kind| KINDS.iter().find(|(word, _)| word == kind).map(|(_, class)| *class));
    // Status 400 is not precise: only the wording tells missing credit from too much input.
    let worded = || message.filter(|_| status == 200 || (400..500).contains(&status)).and_then(of_wording);
    let by_status = of_status(u64::from(status));
    let class = match (stated, by_status) {
        (Some(class), _) => class,
        (None, Some(Class::Refused)) => worded().unwrap_or(Class::Refused),
        (None, Some(class)) => class,
        (None, None) => match worded() {
            Some(class) => class,
            None if kinds.iter().flatten().any(|kind| REFUSALS.contains(kind)) => Class::Refused,
            None => Class::Overloaded,
        },
    };
    let reason = match message {
        Some(message) => one_line(message, masking),
        None => one_line(&String::from_utf8_lossy(body), masking),
    };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Failure::new(class, format!("the provider answered with status {status}{reason}"))
}

/// The time at which the provider says that the limit ends. `header` finds a response header by its name in lower
/// case.
#[must_use]
pub fn reset<'h>(header: impl Fn(&str) -> Option<&'h str>, body: &[u8], now: Timestamp) -> Option<Timestamp> {
    let number = |name: &str| header(name).and_then(|value| value.trim().parse::<f64>().ok());
    let after = number("retry-after-ms").or(number("retry-after").map(|seconds| seconds * 1_000.0));
    if let Some(after) = after.and_then(millis) {
        return Some(now.saturating_add_ms(after));
    }
    let stated =
        Value::parse(body).ok().and_then(|body| crate::member::count(&body, &["error", "resets_at"]));
    let unified =
        header("anthropic-ratelimit-unified-reset").and_then(|value| value.trim().parse::<u64>().ok());
    if let Some(seconds) = stated.or(unified) {
        return Some(Timestamp::from_millis(i64::try_from(seconds).ok()?.checked_mul(1_000)?));
    }
    // Only limits that are used up count, and of these the latest reset.
    let is_used_up = |name: String| number(&name).is_none_or(|left| left <= 0.0);
    let of_messages =
        ["requests", "tokens", "input-tokens", "output-tokens"].into_iter().filter_map(|what| {
            let at = Timestamp::parse(header(&format!("anthropic-ratelimit-{what}-reset"))?.trim())?;
            is_used_up(format!("anthropic-ratelimit-{what}-remaining")).then_some(at)
        });
    let of_openai = ["requests", "tokens"].into_iter().filter_map(|what| {
        let after = span(header(&format!("x-ratelimit-reset-{what}"))?.trim())?;
        is_used_up(format!("x-ratelimit-remaining-{what}")).then(|| now.saturating_add_ms(after))
    });
    of_messages.chain(of_openai).max()
}

/// Converts a number of milliseconds in a header.
fn millis(after: f64) -> Option<u64> {
    /// About a year. A larger number is not plausible.
    const MAX_MS: f64 = 366.0 * 86_400_000.0;
    if !(0.0..=MAX_MS).contains(&after) {
        return None;
    }
    format!("{:.0}", after.ceil()).parse().ok()
}

/// Parses a duration such as `6m0s`, `1.5s` or `20ms`, in milliseconds.
fn span(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let unit_ms = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        sum = sum.saturating_add(millis(number.parse::<f64>().ok()? * unit_ms)?);
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_class_by_its_code_its_status_or_its_words() {
        for (status, body, class) in [
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
                Class::Auth,
            ),
            (403, r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#, Class::Auth),
            (402, "{}", Class::Billing),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
                Class::Billing,
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                Class::Billing,
            ),
            (429, r#"{"error":{"type":"rate_limit_error","message":"Too many requests"}}"#, Class::Throttled),
            (
                404,
                r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
                Class::Model,
            ),
            (404, "not here", Class::Model),
            (
                400,
                r#"{"error":{"message":"too many tokens","code":"context_length_exceeded"}}"#,
                Class::TooLong,
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens"}}"#,
                Class::TooLong,
            ),
            (400, r#"{"error":{"message":"unknown member `x`"}}"#, Class::Refused),
            (422, "{}", Class::Refused),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Class::Overloaded,
            ),
            (500, "", Class::Overloaded),
            (502, "<html>bad gateway</html>", Class::Overloaded),
            (302, "", Class::Overloaded),
        ] {
            assert_eq!(failure(status, body.as_bytes(), Masking::default()).class, class, "{status} {body}");
        }
        let message = failure(400, br#"{"error":{"message":"unknown\nmember"}}"#, Masking::default()).message;
        assert_eq!(message, "the provider answered with status 400: unknown member");
    }

    #[test]
    fn an_error_with_the_status_of_an_answer_has_its_class_and_its_words() {
        for (body, class, words) in [
            (r#"{"error":{"message":"overloaded","type":"server_error"}}"#, Class::Overloaded, "overloaded"),
            (
                r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#,
                Class::Throttled,
                "slow down",
            ),
            (r#"{"error":{"message":"boom"},"choices":[]}"#, Class::Overloaded, "boom"),
            (r#"{"error":"rate limit reached"}"#, Class::Throttled, "rate limit reached"),
            (
                r#"{"status":"failed","error":{"code":"server_error","message":"boom"},"output":[]}"#,
                Class::Overloaded,
                "boom",
            ),
            (r#"{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}"#, Class::Refused, "no"),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Class::Overloaded,
                "Overloaded",
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"later"}}"#,
                Class::Throttled,
                "later",
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"credit balance is too low"}}"#,
                Class::Billing,
                "credit balance is too low",
            ),
        ] {
            let found = stated(&Value::parse_str(body).unwrap(), Masking::default());
            let message = format!("the provider answered with status 200: {words}");
            assert_eq!(found, Some(Failure::new(class, message)), "{body}");
        }
        for body in [r#"{"error":null,"output":[]}"#, r#"{"choices":[]}"#, "[]"] {
            assert_eq!(stated(&Value::parse_str(body).unwrap(), Masking::default()), None, "{body}");
        }
    }

    #[test]
    fn a_reset_is_read_where_a_provider_states_one() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let after = |ms: u64| Some(now.saturating_add_ms(ms));
        let later = now.saturating_add_ms(90_000).to_string();
        for (headers, body, expected) in [
            (vec![("retry-after", "2")], "", after(2_000)),
            (vec![("retry-after-ms", "1500"), ("retry-after", "2")], "", after(1_500)),
            (vec![("retry-after", "-2")], "", None),
            (vec![("retry-after", "soon")], "", None),
            (
                vec![("x-ratelimit-reset-requests", "6m0s"), ("x-ratelimit-remaining-requests", "0")],
                "",
                after(360_000),
            ),
            (
                vec![("x-ratelimit-reset-tokens", "20ms"), ("x-ratelimit-reset-requests", "1h2m3.5s")],
                "",
                after(3_723_500),
            ),
            (vec![("x-ratelimit-reset-requests", "1h"), ("x-ratelimit-remaining-requests", "7")], "", None),
            (vec![("x-ratelimit-reset-requests", "1x")], "", None),
            (vec![("anthropic-ratelimit-tokens-reset", later.as_str())], "", after(90_000)),
            (vec![("anthropic-ratelimit-unified-reset", "1000000060")], "", after(60_000)),
            (vec![], r#"{"error":{"resets_at":1000000060}}"#, after(60_000)),
            (vec![], "", None),
        ] {
            let header =
                |name: &str| headers.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
            assert_eq!(reset(header, body.as_bytes(), now), expected, "{headers:?} {body}");
        }
    }
}
