//! The arguments of `envoi gc`.

use super::options::{duration, size};
use clap::Args;

/// `envoi gc`.
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// List what would be removed, with the reason and the bytes, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Discard the result of this run: remove its tree, whatever it contains; may be given more than once
    #[arg(long, value_name = "RUN")]
    pub(crate) drop: Vec<String>,
    /// Delete runs that ended at least this long ago, such as 30d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older: Option<u64>,
    /// Delete runs, except the N newest of each flow
    #[arg(long, value_name = "N")]
    pub(crate) keep_last: Option<u32>,
    /// While the store is larger than this, such as 5GiB, delete the oldest runs
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<u64>,
    /// Delete only runs of this tenant
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Keep contents that nothing refers to aside for this long before they are removed [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) trash: Option<u64>,
    /// Afterwards, shrink the database file. No other process may use the store while this runs
    #[arg(long)]
    pub(crate) compact: bool,
}
