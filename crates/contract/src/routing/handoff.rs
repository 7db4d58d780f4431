//! Finds hand-offs in JSON that a text quotes.
//!
//! A step that prints the file at `$ENVOI_HANDOFF` prints the status of the previous step. That status must not be
//! read as its own, because the two would conflict. A hand-off is recognized by the five members that every hand-off
//! has.
//!
//! The work is linear in the length of the text: objects inside an object are found in the same reading. The next
//! reading begins after the last one, or, after a failure, inside the string in which it ended.

use alloc::collections::VecDeque;
use core::ops::Range;

use super::scan::has;
use crate::json::{self, Object, Value};

/// The members that identify a hand-off.
const MEMBERS: [&str; 5] = ["step_id", "flow_key", "run_id", "routing_signal", "summary"];

/// The largest number of objects that are read in a text, not counting the objects inside them.
const READINGS: usize = 32;

/// True if a text is one hand-off.
pub(super) fn is_whole(text: &str) -> bool {
    text.trim_ascii_start().starts_with('{') && may_hold_one(text) && is_handoff(text)
}

/// Finds hand-offs in a text, from its start to its end.
pub(super) struct Finder<'a> {
    text: &'a str,
    readings_left: usize,
    /// The position at which the next reading may begin.
    next: usize,
    /// Found hand-offs that were not returned yet, in order.
    found: VecDeque<Range<usize>>,
    #[cfg(test)]
    bytes_read: usize,
}

impl<'a> Finder<'a> {
    pub(super) fn new(text: &'a str) -> Finder<'a> {
        Finder {
            text,
            readings_left: if may_hold_one(text) { READINGS } else { 0 },
            next: 0,
            found: VecDeque::new(),
            #[cfg(test)]
            bytes_read: 0,
        }
    }

    /// The first hand-off that begins at `start` or later, and before `end`. The offsets must increase from call to
    /// call.
    pub(super) fn first(&mut self, start: usize, end: usize) -> Option<Range<usize>> {
        while self.found.front().is_some_and(|handoff| handoff.start < start) {
            self.found.pop_front();
        }
        while self.found.is_empty() {
            if self.readings_left == 0 {
                return None;
            }
            let opening = self.opening(start.max(self.next), end)?;
            self.readings_left -= 1;
            let search = json::search(self.text, opening, &MEMBERS);
            self.next = search.next;
            self.found.extend(search.found);
            #[cfg(test)]
            {
                self.bytes_read += search.end - opening;
            }
        }
        let begins_here = self.found.front().is_some_and(|handoff| handoff.start < end);
        if begins_here { self.found.pop_front() } else { None }
    }

    /// The first `{` from `start` to `end` that a `"` follows. Other braces, in prose or programs, begin no JSON
    /// object.
    fn opening(&self, start: usize, end: usize) -> Option<usize> {
        let braces = self.text.get(start..end)?.match_indices('{');
        braces.map(|(at, _)| start + at).find(|brace| {
            let inside = self.text.get(brace + 1..).unwrap_or_default();
            inside.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('"')
        })
    }
}

/// A quick check whether a text has a brace and the names of a hand-off, so that most texts need no search.
fn may_hold_one(text: &str) -> bool {
    has(text, b'{') && text.contains("\"routing_signal\"") && text.contains("\"flow_key\"")
}

fn is_handoff(text: &str) -> bool {
    matches!(Value::parse_str(text), Ok(Value::Object(object)) if has_members(&object))
}

fn has_members(object: &Object) -> bool {
    MEMBERS.iter().all(|name| object.contains_key(name))
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    const HANDOFF: &str = r#"{"step_id":"a","flow_key":"b","run_id":"c","routing_signal":{"decision":"advance"},"summary":"d"}"#;

    /// The hand-offs that a search line by line finds, and how many bytes it reads.
    fn find(text: &str) -> (Vec<&str>, usize) {
        let mut finder = Finder::new(text);
        let mut found = Vec::new();
        let mut start = 0;
        while let Some(rest) = text.get(start..) {
            let end = start + rest.find('\n').unwrap_or(rest.len());
            match finder.first(start, end) {
                Some(handoff) => {
                    start = handoff.end;
                    found.push(&text[handoff]);
                }
                None => start = end + 1,
            }
        }
        (found, finder.bytes_read)
    }

    #[test]
    fn a_search_reads_each_byte_a_few_times_whatever_the_text() {
        let names = r#""flow_key" "routing_signal" "#;
        let levels = r#"{"a":"#;
        let rows: [(&str, String); 9] = [
            ("nested", levels.repeat(100) + "1" + &"}".repeat(100)),
            ("nested and open", levels.repeat(126) + "[" + &"1,".repeat(50_000)),
            ("nested too deep", levels.repeat(20_000)),
            ("one line each, open", "{\"a\":\n".repeat(100) + &"[1],\n".repeat(20_000)),
            ("a long string", levels.repeat(120) + "\"" + &"x".repeat(100_000)),
            ("braces in strings", r#"{"a {":["#.repeat(10_000)),
            (
                "lists before a brace in a string",
                (r#"{"a {":"#.to_owned() + &"[1],".repeat(5_000)).repeat(10),
            ),
            ("many objects", "{\"a\": 1}\n".repeat(10_000)),
            ("many hand-offs in one object", [r#"{"a":["#, &[HANDOFF; 500].join(",\n"), "]}"].concat()),
        ];
        for (name, text) in rows {
            let text = [names, &text].concat();
            let (_, bytes_read) = find(&text);
            assert!(bytes_read <= 3 * text.len(), "{name}: read {bytes_read} bytes of {}", text.len());
        }
    }

    #[test]
    fn a_handoff_is_found_wherever_it_stands() {
        let inside = [r#"{"a":[1,{"b":"#, HANDOFF, "}]}"].concat();
        let around = HANDOFF.replace(r#""d""#, HANDOFF);
        let twice = [r#"{"a":"#, HANDOFF, r#","b":"#, HANDOFF, "}"].concat();
        let rows: [(&str, String, &[&str]); 10] = [
            ("alone", HANDOFF.to_owned(), &[HANDOFF]),
            ("inside an object", inside, &[HANDOFF]),
            ("inside another hand-off", around.clone(), &[&around]),
            ("twice in an object", twice.clone(), &[HANDOFF, HANDOFF]),
            ("in an object that is cut short", twice.trim_end_matches('}').to_owned(), &[HANDOFF]),
            ("behind a quoted brace", [r#"It begins with "{" and is "#, HANDOFF].concat(), &[HANDOFF]),
            ("behind an open object", [r#"{"a": {"b": "#, HANDOFF].concat(), &[HANDOFF]),
            ("behind a member twice", [r#"{"a": 1, "a": "#, HANDOFF].concat(), &[HANDOFF]),
            ("in an object of 127 levels", r#"{"a":"#.repeat(125) + HANDOFF, &[HANDOFF]),
            ("in an object of 128 levels", r#"{"a":"#.repeat(126) + HANDOFF, &[]),
        ];
        for (name, text, handoffs) in rows {
            assert_eq!(find(&text).0, handoffs, "{name}");
        }
    }
}
