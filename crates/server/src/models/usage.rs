//! The usage of a call, as a provider reports it.

use serde_json::Value;

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
}

/// The member `usage` of a chat completion, or of an event of one; `None` if it is absent or malformed.
pub(crate) fn read(document: &Value) -> Option<Usage> {
    let usage = document.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    Some(Usage { tokens_in: count("prompt_tokens")?, tokens_out: count("completion_tokens").unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_where_it_is_told() {
        for (text, expected) in [
            (r#"{"usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}"#, Some((7, 2))),
            (r#"{"usage": {"prompt_tokens": 7}}"#, Some((7, 0))),
            (r#"{"usage": null}"#, None),
            (r#"{"usage": {"prompt_tokens": -1}}"#, None),
            (r#"{"usage": {"prompt_tokens": "7"}}"#, None),
            (r#"[]"#, None),
        ] {
            let told = read(&serde_json::from_str(text).unwrap());
            assert_eq!(told.map(|usage| (usage.tokens_in, usage.tokens_out)), expected, "{text}");
        }
    }
}
