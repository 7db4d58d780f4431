//! The obstacles of a run that is to go on or to be forked, and the facts to know before.
//!
//! A look and the command itself both use it: the words are the same before and after. Changes nothing.

use crate::model::protocol::Refused;
use envoi_contract::code::Code;
use envoi_journal::{ReadError, Reader, RunRow, files::digest_of};
use envoi_kernel::{
    Record,
    ids::{RunId, Seq},
};
use std::path::Path;

/// The most files that a sentence names.
const MAX_NAMED: usize = 8;

/// The refusal if one of these runs of a family is not over, unless it is `but`.
///
/// # Errors
/// `FAMILY_BUSY`, with the run that is under way.
pub fn check_family_over(family: &[RunRow], but: Option<&RunId>) -> Result<(), Refused> {
    let Some(row) = family.iter().find(|row| row.ended.is_none() && Some(&row.run) != but) else {
        return Ok(());
    };
    let message = format!(
        "run `{}` is {}: runs that were forked from one another share their bounds, and one goes on at a time",
        row.run,
        row.status().word()
    );
    let hint = format!("let it come to its end, or `envoi cancel {}`", row.run);
    Err(Refused::new(Code::FamilyBusy, message, Some(&hint)))
}

/// The files that attempts handed over up to the event `last` and that lie otherwise in the workspace now, in words; none: all lie as
/// they were left.
///
/// # Errors
/// As [`Reader::newest_files`].
pub fn files_otherwise(
    reader: &Reader,
    lived: &[Record],
    last: Seq,
    workspace: &Path,
) -> Result<Option<String>, ReadError> {
    let then = reader.newest_files(lived.iter().take_while(|record| record.seq <= last))?;
    let other = then.iter().filter(|(path, digest)| digest_of(&workspace.join(path)) != **digest);
    let names: Vec<String> = other.map(|(path, _)| format!("`{path}`")).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let more = names.len().saturating_sub(MAX_NAMED);
    let shown = names.get(..MAX_NAMED).unwrap_or(&names).join(", ");
    Ok(Some(if more > 0 { format!("{shown} and {more} more") } else { shown }))
}
