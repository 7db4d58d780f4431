//! Values of options that several commands take.

use clap::ValueEnum;
use core::fmt;
use envoi_kernel::ledger::Cost;

/// `--files` of `fork` and `resume`: the files of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Files {
    /// As they are
    Now,
    /// As they were. What stands there is kept: `envoi restore RUN --undo` brings it back
    Then,
}

/// The expected form of the value of an option.
#[derive(Debug)]
pub(crate) struct Expected(&'static str);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0)
    }
}

impl std::error::Error for Expected {}

/// Dollars, such as `0.50`.
pub(crate) fn dollars(text: &str) -> Result<Cost, Expected> {
    Cost::parse(text).ok_or(Expected("dollars such as 5 or 0.50"))
}

/// Bytes of a size such as `5GiB`.
pub(crate) fn size(text: &str) -> Result<u64, Expected> {
    envoi_flow::parse_size(text).ok_or(Expected("a size such as 500MiB or 5GiB"))
}

/// Milliseconds of a duration such as `30m`.
pub(crate) fn duration(text: &str) -> Result<u64, Expected> {
    envoi_flow::parse_duration(text).ok_or(Expected("a duration such as 90s, 30m or 2h"))
}
