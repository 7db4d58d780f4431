//! Values of options that several commands take.

use clap::ValueEnum;
use envoi_kernel::ledger::Cost;

/// `--files` of `fork` and `resume`: the files of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Files {
    /// As they are
    Now,
    /// As they were. What stands there is kept: `envoi restore RUN --undo` brings it back
    Then,
}

/// Dollars, such as `0.50`.
pub(crate) fn dollars(text: &str) -> Result<Cost, String> {
    Cost::parse(text).ok_or_else(|| "expected dollars such as 5 or 0.50".to_owned())
}

/// Milliseconds of a duration such as `30m`.
pub(crate) fn duration(text: &str) -> Result<u64, String> {
    envoi_flow::parse_duration(text).ok_or_else(|| "expected a duration such as 90s, 30m or 2h".to_owned())
}
