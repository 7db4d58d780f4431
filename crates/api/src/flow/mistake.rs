//! The mistakes that `check` and `import` find in a file. Lines and columns count from 1, columns in Unicode scalar
//! values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mistake {
    /// The error code; `envoi explain CODE` says more.
    pub code: String,
    /// The file.
    pub file: String,
    /// The line in which it begins.
    pub line: u64,
    /// The column at which it begins.
    pub column: u64,
    /// The line in which it ends.
    pub end_line: u64,
    /// The column after its end.
    pub end_column: u64,
    /// What is wrong.
    pub message: String,
    /// What would be accepted there; null if there is nothing to say.
    pub expected: Option<String>,
    /// What to do; null if there is nothing to say.
    pub hint: Option<String>,
}

/// Something that an imported flow does not have as its source has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportFinding {
    /// The file of the source.
    pub file: String,
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
    /// What it is: a key, an id, a value.
    pub what: String,
    /// What it has become; null if it is lost.
    pub carried_as: Option<String>,
    /// Why.
    pub reason: String,
}
