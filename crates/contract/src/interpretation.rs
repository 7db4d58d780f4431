//! The interpretations of an import: values of another system's envelope or hand-off that are written differently
//! than they were read.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::describe;
use crate::json::{Value, escape_segment};

/// A value that is written differently than it was read: for example an upper-case word, `4096.0`, or a time with two
/// zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpretation {
    /// JSON Pointer of the value.
    pub pointer: String,
    /// The original value, shortened.
    pub read: String,
    /// The new value, shortened; `nothing` if it is left out; an explanation if it is not used.
    pub taken_as: String,
}

/// The differences between a document and its written form. Members that were null or missing do not count.
pub(crate) fn interpretations(read: &Value, written: &Value) -> Vec<Interpretation> {
    let mut found = Vec::new();
    compare("", read, Some(written), &mut found);
    found
}

fn compare(pointer: &str, read: &Value, written: Option<&Value>, found: &mut Vec<Interpretation>) {
    match (read, written) {
        (Value::Null, _) => {}
        (Value::Object(members), Some(Value::Object(kept))) => {
            // Documents in our order are compared without a search.
            let mut rest = kept.iter();
            for (name, member) in members {
                let next = rest.next().filter(|(key, _)| *key == name).map(|(_, value)| value);
                let pointer = format!("{pointer}/{}", escape_segment(name));
                compare(&pointer, member, next.or_else(|| kept.get(name)), found);
            }
        }
        (Value::Array(elements), Some(Value::Array(kept))) => {
            for (index, element) in elements.iter().enumerate() {
                compare(&format!("{pointer}/{index}"), element, kept.get(index), found);
            }
        }
        (read, Some(written)) if read == written => {}
        (read, written) => found.push(Interpretation {
            pointer: pointer.to_string(),
            read: describe(read),
            taken_as: written.map_or_else(|| "nothing".to_string(), describe),
        }),
    }
}
