//! Diagnostics as JSON for programs.

use super::{Diagnostic, Place, Report};
use envoi_contract::json::{Object, Value};

impl Report {
    /// For programs: a list with one object a diagnostic, members `code, file, line, column, end_line, end_column,
    /// message, expected, help` (the last two null where there is nothing to say). Lines and columns count from 1, columns
    /// in Unicode scalar values; the end is exclusive.
    #[must_use]
    pub fn to_json(&self) -> Value {
        Value::Array(self.all().collect())
    }

    /// Its own, then those of the files that it names.
    fn all(&self) -> Box<dyn Iterator<Item = Value> + '_> {
        let own = self.diagnostics.iter().map(|diagnostic| self.one_to_json(diagnostic));
        Box::new(own.chain(self.others.iter().flat_map(Report::all)))
    }

    fn one_to_json(&self, diagnostic: &Diagnostic) -> Value {
        let span = diagnostic.span.shown(&self.text);
        let (start, end) = (Place::of(&self.text, span.start), Place::of(&self.text, span.end));
        let number = |count: usize| Value::from(u64::try_from(count).unwrap_or(u64::MAX));
        Value::Object(Object::from([
            ("code", Value::from(diagnostic.code.as_str())),
            ("file", Value::from(self.file.as_str())),
            ("line", number(start.line)),
            ("column", number(start.column)),
            ("end_line", number(end.line)),
            ("end_column", number(end.column)),
            ("message", Value::from(diagnostic.message.as_str())),
            ("expected", Value::from(diagnostic.expected.clone())),
            ("help", Value::from(diagnostic.help.clone())),
        ]))
    }
}
