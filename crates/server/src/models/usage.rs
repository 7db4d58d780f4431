//! The usage of a call, as a provider reports it.

use serde_json::Value;

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// All tokens of the input.
    pub(crate) tokens_in: u64,
    /// Tokens of the input that were read from the provider's prompt cache.
    pub(crate) cache_read: u64,
    /// Tokens of the input that were written to that cache.
    pub(crate) cache_write: u64,
    pub(crate) tokens_out: u64,
}

impl Usage {
    /// Combines both. The events of a stream report sums, and not every event reports all values.
    pub(crate) fn and(self, later: Self) -> Self {
        Self {
            tokens_in: self.tokens_in.max(later.tokens_in),
            cache_read: self.cache_read.max(later.cache_read),
            cache_write: self.cache_write.max(later.cache_write),
            tokens_out: self.tokens_out.max(later.tokens_out),
        }
    }
}

/// The usage in an answer of any protocol, or in an event of one; `None` if it is missing or malformed.
pub(crate) fn read(document: &Value) -> Option<Usage> {
    let within = |name: &str| document.get(name).and_then(|inner| inner.get("usage"));
    // Events of Responses and of Messages contain it one level deeper.
    let usage = document.get("usage").or(within("response")).or(within("message"))?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached = |details: &str| {
        let details = usage.get(details)?;
        details.get("cached_tokens").and_then(Value::as_u64)
    };
    if let Some(tokens_in) = count("prompt_tokens") {
        let cache_read = cached("prompt_tokens_details").unwrap_or(0);
        let tokens_out = count("completion_tokens").unwrap_or(0);
        return Some(Usage { tokens_in, cache_read, cache_write: 0, tokens_out });
    }
    // In Messages, `input_tokens` does not include tokens that were read from a cache or written to it.
    let given = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map(count);
    let tokens_out = count("output_tokens");
    if tokens_out.is_none() && given.iter().all(Option::is_none) {
        return None;
    }
    let [_, written, read] = given;
    Some(Usage {
        tokens_in: given.into_iter().flatten().fold(0, u64::saturating_add),
        cache_read: read.or_else(|| cached("input_tokens_details")).unwrap_or(0),
        cache_write: written.unwrap_or(0),
        tokens_out: tokens_out.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_where_it_is_reported() {
        for (text, expected) in [
            (r#"{"usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}"#, Some((7, 2))),
            (r#"{"usage": {"prompt_tokens": 7}}"#, Some((7, 0))),
            (r#"{"usage": null}"#, None),
            (r#"{"usage": {"prompt_tokens": -1}}"#, None),
            (r#"{"usage": {"prompt_tokens": "7"}}"#, None),
            (r#"[]"#, None),
            (
                r#"{"usage": {"input_tokens": 70, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 10}}"#,
                Some((100, 0)),
            ),
            (
                r#"{"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}"#,
                Some((7, 1)),
            ),
            (r#"{"type": "message_delta", "usage": {"output_tokens": 9}}"#, Some((0, 9))),
            (
                r#"{"type": "response.completed", "response": {"usage": {"input_tokens": 7, "output_tokens": 2}}}"#,
                Some((7, 2)),
            ),
        ] {
            let usage = read(&serde_json::from_str(text).unwrap());
            assert_eq!(usage.map(|usage| (usage.tokens_in, usage.tokens_out)), expected, "{text}");
        }
    }

    #[test]
    fn the_events_of_a_stream_together_say_what_was_used() {
        let usage = |tokens_in, tokens_out| Usage { tokens_in, tokens_out, ..Usage::default() };
        assert_eq!(usage(100, 1).and(usage(0, 9)), usage(100, 9));
        let begun = Usage { cache_read: 80, cache_write: 10, ..usage(100, 1) };
        assert_eq!(begun.and(usage(0, 9)), Usage { tokens_out: 9, ..begun });
    }

    #[test]
    fn the_tokens_of_the_prompt_cache_are_counted_apart() {
        for (text, expected) in [
            (
                r#"{"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}}}"#,
                (100, 80, 0),
            ),
            (r#"{"usage": {"prompt_tokens": 100, "prompt_tokens_details": null}}"#, (100, 0, 0)),
            (
                r#"{"usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}}}"#,
                (100, 80, 0),
            ),
            (
                r#"{"usage": {"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10}}"#,
                (100, 80, 10),
            ),
        ] {
            let usage = read(&serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!((usage.tokens_in, usage.cache_read, usage.cache_write), expected, "{text}");
        }
    }
}
