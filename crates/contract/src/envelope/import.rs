//! Reads an envelope of another system, and reports the values that had to be interpreted.

use alloc::format;
use alloc::vec::Vec;

use super::Envelope;
use crate::error::{Diagnostic, describe};
pub use crate::interpretation::Interpretation;
use crate::interpretation::interpretations;
use crate::json::{Object, Value, escape_segment};

impl Envelope {
    /// Reads an envelope like [`Envelope::from_dict`], and lists the interpreted values. A missing or null member
    /// that gets its default is not listed.
    ///
    /// Some systems group the members: `{"identity": {"envelope_id": …}, …}`. Such a group is kept as one unknown
    /// member. Each member in it with the name of a known member is reported.
    ///
    /// # Errors
    /// As [`Envelope::from_dict`].
    pub fn import(value: &Value) -> Result<(Envelope, Vec<Interpretation>), Diagnostic> {
        let envelope = Envelope::from_dict(value)?;
        let known = Envelope::default().to_state_dict();
        let mut found = interpretations(value, &envelope.to_state_dict());
        if let (Value::Object(read), Value::Object(known)) = (value, &known) {
            found.extend(grouped(read, known));
        }
        Ok((envelope, found))
    }
}

/// Known members that are only inside an unknown member.
fn grouped(read: &Object, known: &Object) -> Vec<Interpretation> {
    let mut found = Vec::new();
    for (group, members) in read.iter().filter(|(group, _)| !known.contains_key(group)) {
        let Value::Object(members) = members else { continue };
        for (name, value) in members {
            let is_missing = matches!(read.get(name), None | Some(Value::Null));
            if is_missing && known.contains_key(name) && *value != Value::Null {
                found.push(Interpretation {
                    pointer: format!("/{}/{name}", escape_segment(group)),
                    read: describe(value),
                    taken_as: format!("a part of the unknown member, not `{name}`"),
                });
            }
        }
    }
    found
}
