//! Reading an envelope of another system, with a report of what had to be interpreted.

use alloc::vec::Vec;

use super::Envelope;
use crate::error::Diagnostic;
pub use crate::interpretation::Interpretation;
use crate::interpretation::interpretations;
use crate::json::Value;

impl Envelope {
    /// Reads an envelope as [`Envelope::from_dict`] does, and says what had to be interpreted. Members that were missing or
    /// null and have their defaults now are not among it.
    ///
    /// # Errors
    /// As [`Envelope::from_dict`].
    pub fn import(value: &Value) -> Result<(Envelope, Vec<Interpretation>), Diagnostic> {
        let envelope = Envelope::from_dict(value)?;
        let found = interpretations(value, &envelope.to_state_dict());
        Ok((envelope, found))
    }
}
