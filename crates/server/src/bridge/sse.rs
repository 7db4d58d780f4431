//! The events of a streamed answer, in each protocol: passed on unchanged, and read for the usage of the call.
//!
//! Pure. An event ends with an empty line, however the network cuts the bytes.

use crate::models::usage::{self, Usage};
use bytes::{Bytes, BytesMut};
use serde_json::Value;

/// Maximum size of an event, in bytes. An event may contain an image.
const MAX_EVENT: usize = 16 * 1024 * 1024;

/// Splits a streamed answer into events.
#[derive(Default)]
pub(crate) struct SseReader {
    unread: BytesMut,
    /// How many bytes of `unread` were searched for the end of an event.
    looked: usize,
}

/// An event, with the empty line that ends it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) bytes: Bytes,
    pub(crate) usage: Option<Usage>,
    /// Whether it contains only usage. A client that did not request usage does not get it.
    pub(crate) only_usage: bool,
    /// Whether it contains a part of the answer.
    pub(crate) words: bool,
    /// Whether it is the last event.
    pub(crate) last: bool,
    /// Whether it reports that the call has failed.
    pub(crate) failed: bool,
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

impl SseReader {
    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next complete event.
    pub(crate) fn next(&mut self) -> Result<Option<SseEvent>, EventTooLong> {
        let Some(end) = self.end() else {
            self.looked = self.unread.len().saturating_sub(3);
            return if self.unread.len() > MAX_EVENT { Err(EventTooLong) } else { Ok(None) };
        };
        self.looked = 0;
        Ok(Some(SseEvent::of(self.unread.split_to(end).freeze())))
    }

    /// The remaining bytes, which are not a complete event.
    pub(crate) fn rest(&mut self) -> Option<SseEvent> {
        let rest = self.unread.split().freeze();
        (!rest.is_empty()).then(|| SseEvent::of(rest))
    }

    /// The end of the first event. A line ends with CR LF, LF or CR; a CR as the last byte may be half of CR
    /// LF.
    fn end(&self) -> Option<usize> {
        let bytes = self.unread.get(self.looked..)?;
        for (place, byte) in bytes.iter().enumerate() {
            let after = bytes.get(place + 1..).unwrap_or_default();
            let empty = match (byte, after) {
                (b'\n', [b'\r', b'\n', ..]) => 2,
                (b'\n', [b'\n', ..] | [b'\r', _, ..]) => 1,
                // Two CRs end two lines, whatever follows. Do not wait for the next byte, which may come
                // late.
                (b'\r', [b'\r', ..]) => 1,
                _ => continue,
            };
            return Some(self.looked + place + 1 + empty);
        }
        None
    }
}

impl SseEvent {
    fn of(bytes: Bytes) -> Self {
        let data = data(&bytes);
        let document = serde_json::from_slice::<Value>(&data).unwrap_or(Value::Null);
        let usage = usage::read(&document);
        let choices = document.get("choices").and_then(Value::as_array);
        let only_usage = usage.is_some() && choices.is_some_and(Vec::is_empty);
        let kind = document.get("type").and_then(Value::as_str).unwrap_or("");
        let words = choices.is_some_and(|choices| !choices.is_empty())
            || kind == "content_block_delta"
            || (kind.starts_with("response.") && kind.ends_with(".delta"));
        let failed = matches!(kind, "error" | "response.failed");
        let closes = matches!(kind, "message_stop" | "response.completed" | "response.incomplete");
        let last = failed || closes || data.trim_ascii() == b"[DONE]";
        Self { last, failed, bytes, usage, only_usage, words }
    }
}

/// The data lines of an event.
fn data(event: &[u8]) -> Vec<u8> {
    // CR LF splits into an extra empty line, which is not data.
    let lines = event.split(|byte| matches!(byte, b'\n' | b'\r'));
    let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    data.map(|line| line.strip_prefix(b" ").unwrap_or(line)).collect::<Vec<_>>().join(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\\n\\nb\"}}],\"usage\":null}\n\n: alive\r\n\r\nevent: \
                          x\ndata: {\"choices\":[],\ndata: \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: \
                          [DONE]\n\n";

    fn all(stream: &str, at_once: usize) -> Vec<SseEvent> {
        let mut pieces = SseReader::default();
        let mut all = Vec::new();
        for part in stream.as_bytes().chunks(at_once) {
            pieces.push(part);
            while let Some(piece) = pieces.next().unwrap() {
                all.push(piece);
            }
        }
        all.extend(pieces.rest());
        all
    }

    #[test]
    fn events_are_found_however_they_are_cut_and_nothing_is_lost() {
        let whole = all(STREAM, STREAM.len());
        for at_once in 1..STREAM.len() {
            assert_eq!(all(STREAM, at_once), whole, "{at_once}");
        }
        let bytes: Vec<u8> = whole.iter().flat_map(|piece| piece.bytes.to_vec()).collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), STREAM);
        let events: Vec<_> =
            whole.iter().map(|piece| (piece.usage.is_some(), piece.only_usage, piece.last)).collect();
        let plain = (false, false, false);
        assert_eq!(events, [plain, plain, (true, true, false), (false, false, true)]);
    }

    #[test]
    fn lines_may_end_with_a_carriage_return_alone() {
        let stream = "data: {\"type\":\rdata: \"message_stop\"}\r\r: alive\r\rdata: [DONE]\r\r";
        let whole = all(stream, stream.len());
        let last: Vec<_> = whole.iter().map(|event| event.last).collect();
        assert_eq!(last, [true, false, true]);
        for at_once in 1..stream.len() {
            assert_eq!(all(stream, at_once), whole, "{at_once}");
        }
        let mut first = SseReader::default();
        first.push(b"data: a\r\r");
        assert!(first.next().unwrap().is_some(), "it waits for nothing more");
        let mixed: Vec<_> = all("a\n\rb\r\n\r\nc\r\r\n", 1).iter().map(|event| event.bytes.clone()).collect();
        assert_eq!(mixed, ["a\n\r", "b\r\n\r\n", "c\r\r", "\n"].map(Bytes::from));
    }

    #[test]
    fn use_that_comes_with_the_last_words_is_not_hidden() {
        let text = "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n";
        let piece = all(text, 5).pop().unwrap();
        assert_eq!((piece.usage.is_some(), piece.only_usage), (true, false));
    }

    #[test]
    fn an_interrupted_stream_is_passed_on_as_far_as_it_came() {
        let pieces = all("data: {\"a\": 1}\n\ndata: {\"b\"", 4);
        assert_eq!(pieces.iter().map(|piece| piece.bytes.len()).collect::<Vec<_>>(), [16, 10]);
        assert!(all("", 1).is_empty());
    }

    #[test]
    fn an_event_that_never_ends_is_not_kept() {
        let mut pieces = SseReader::default();
        let part = vec![b'x'; 1024 * 1024];
        let ended = (0..20).any(|_| {
            pieces.push(&part);
            pieces.next() == Err(EventTooLong)
        });
        assert!(ended);
    }

    #[test]
    fn the_end_of_a_stream_is_known_in_each_protocol() {
        let event = |data: &str| all(&format!("event: x\ndata: {data}\n\n"), 7).pop().unwrap();
        for (data, last, failed, words) in [
            (r#"{"type":"message_start","message":{"usage":{"input_tokens":7}}}"#, false, false, false),
            (r#"{"type":"content_block_delta","delta":{"text":"a"}}"#, false, false, true),
            (r#"{"type":"message_stop"}"#, true, false, false),
            (r#"{"type":"error","error":{"type":"overloaded_error"}}"#, true, true, false),
            (r#"{"type":"response.output_text.delta","delta":"a"}"#, false, false, true),
            (r#"{"type":"response.completed","response":{"usage":{"input_tokens":7}}}"#, true, false, false),
            (r#"{"type":"response.failed","response":{}}"#, true, true, false),
        ] {
            let event = event(data);
            assert_eq!((event.last, event.failed, event.words), (last, failed, words), "{data}");
        }
    }
}
