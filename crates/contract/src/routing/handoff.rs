//! Finds hand-offs in JSON that a text quotes.
//!
//! A step that prints the file at `$ENVOI_HANDOFF` prints the status of the step before; read as its own, the two would
//! conflict. A hand-off is known by the five members that every one has.

use crate::json::{Object, Value};

/// The members by which a hand-off is known.
const MEMBERS: [&str; 5] = ["step_id", "flow_key", "run_id", "routing_signal", "summary"];

/// So many objects of a text are tried. Each may cost a reading of the rest of the text, so that the number has to be bounded.
const ATTEMPTS: usize = 32;

/// Whether a text is one hand-off.
pub(super) fn is_whole(text: &str) -> bool {
    text.trim_ascii_start().starts_with('{') && may_hold_one(text) && is_handoff(text)
}

/// Looks for hand-offs from the start of a text to its end.
pub(super) struct Finder {
    attempts: usize,
}

impl Finder {
    pub(super) fn new(text: &str) -> Finder {
        Finder { attempts: if may_hold_one(text) { ATTEMPTS } else { 0 } }
    }

    /// The first hand-off in `rest` that begins before `end`: what stands before it, and behind it.
    pub(super) fn first<'a>(&mut self, rest: &'a str, end: usize) -> Option<(&'a str, &'a str)> {
        let starts = rest.get(..end)?.match_indices('{').map(|(start, _)| start);
        for start in starts {
            if self.attempts == 0 {
                return None;
            }
            let (before, from) = rest.split_at_checked(start)?;
            // Braces of prose and of programs are not tried.
            let inside = from.get(1..).unwrap_or_default();
            if !inside.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('"') {
                continue;
            }
            self.attempts -= 1;
            if let Some((object, behind)) =
                object_length(from).and_then(|length| from.split_at_checked(length))
                && is_handoff(object)
            {
                return Some((before, behind));
            }
        }
        None
    }
}

/// Whether the names of a hand-off stand in a text, so that most texts are not searched at all.
fn may_hold_one(text: &str) -> bool {
    text.contains("\"routing_signal\"") && text.contains("\"flow_key\"")
}

fn is_handoff(text: &str) -> bool {
    matches!(Value::parse_str(text), Ok(Value::Object(object)) if has_members(&object))
}

fn has_members(object: &Object) -> bool {
    MEMBERS.iter().all(|name| object.contains_key(name))
}

/// The length of what begins with `{` and ends with the brace that closes it; braces inside strings do not count.
fn object_length(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
