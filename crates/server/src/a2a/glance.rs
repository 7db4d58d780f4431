//! A task as it stands, without hearing again all that has led there: from the state of its run, which the journal keeps, and the
//! few of its events in which something was said.
//!
//! Pure: what is to be read of a journal is said here, and read by [`super::look`]. It is the same task as [`Fold::hear`] makes of
//! all events.

use super::fold::{Fold, Made};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Record, Run,
    event::{AttemptSettled, Blob, Event},
    ids::VisitId,
};
use std::collections::BTreeMap;

/// The kinds of events that history is made of.
pub(crate) const SAID: [&str; 5] =
    ["run_started", "interrupt_raised", "interrupt_answered", "vote_cast", "run_ended"];

/// The kind of events that have the texts of steps.
pub(crate) const SETTLED: [&str; 1] = ["attempt_settled"];

/// A run in this state, whose events of the kinds [`SAID`] are `said`, the oldest first; `sizes` are those of its files' content.
pub(crate) fn fold(
    run: Run,
    said: &[Record],
    sizes: &BTreeMap<Digest, u64>,
    last_text: Option<Blob>,
) -> Fold {
    // What has no known size is too large to be carried.
    let sized = |digest| Blob { digest, size: sizes.get(&digest).copied().unwrap_or(u64::MAX) };
    let made = run.files().iter().map(|(path, digest)| Made { path: path.clone(), blob: digest.map(sized) });
    let made = made.collect();
    Fold::standing_as(run, said, made, last_text)
}

/// What the step that was concluded last has said, of those that said something.
///
/// `concluded` are the visits whose hand-off was not skipped, the newest first; `before` reads the events of the kind
/// [`SETTLED`] backwards, a page at a time, none when there are no more. A visit says what its last attempt has said.
///
/// # Errors
/// Those of `before`.
pub(crate) fn last_text<E>(
    concluded: impl IntoIterator<Item = VisitId>,
    mut before: impl FnMut() -> Result<Vec<Record>, E>,
) -> Result<Option<Blob>, E> {
    let mut texts: BTreeMap<VisitId, Option<Blob>> = BTreeMap::new();
    let mut concluded = concluded.into_iter().peekable();
    loop {
        let page = before()?;
        let over = page.is_empty();
        for AttemptSettled { attempt, text, .. } in page.iter().filter_map(in_time) {
            let text = || text.clone().filter(|text| text.size > 0);
            texts.entry(attempt.visit.clone()).or_insert_with(text);
        }
        // One whose attempts are not read yet is waited for: none behind it may speak first.
        while let Some(visit) = concluded.next_if(|visit| over || texts.contains_key(visit)) {
            if let Some(Some(text)) = texts.remove(&visit) {
                return Ok(Some(text));
            }
        }
        if over || concluded.peek().is_none() {
            return Ok(None);
        }
    }
}

fn in_time(record: &Record) -> Option<&AttemptSettled> {
    match &record.event {
        Event::AttemptSettled(settled) if !settled.late => Some(settled),
        _ => None,
    }
}
