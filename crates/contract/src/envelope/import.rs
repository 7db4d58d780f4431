//! Reading an envelope of another system, with a report of what had to be interpreted.

use alloc::format;
use alloc::vec::Vec;

use super::Envelope;
use crate::error::{Diagnostic, describe};
pub use crate::interpretation::Interpretation;
use crate::interpretation::interpretations;
use crate::json::{Object, Value, escape_segment};

impl Envelope {
    /// Reads an envelope as [`Envelope::from_dict`] does, and lists what it interprets. A member that is missing or null
    /// and gets its default is not in the list.
    ///
    /// Some systems group the members: `{"identity": {"envelope_id": …}, …}`. Such a group stays one unknown member. Each
    /// member in it that has the name of one of ours is reported.
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

/// Members of ours that stand inside an unknown member, and nowhere else.
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
