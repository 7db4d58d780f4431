//! The current task of a run without applying all its events: made from the run's stored state and the few
//! events of the task's history.
//!
//! Pure: names the events to read, and [`super::loader`] reads them. The result is the same task as
//! [`Fold::apply`] makes from all events.

use super::fold::{self, Data, FileVersion, Fold, RunResult};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Record, Run,
    event::{AttemptSettled, Blob, Event},
    ids::VisitId,
};
use std::collections::BTreeMap;

/// The kinds of events in the history.
pub(crate) const CONVERSATION: [&str; 5] =
    ["run_started", "interrupt_raised", "interrupt_answered", "vote_cast", "run_ended"];

/// The kind of events with the texts of steps.
pub(crate) const SETTLED: [&str; 1] = ["attempt_settled"];

/// A run in this state. `shown` are its events of the kinds [`CONVERSATION`], the oldest first; `sizes` are those of its files'
/// content.
pub(crate) fn standing(run: Run, shown: &[Record], sizes: &BTreeMap<Digest, u64>, result: RunResult) -> Fold {
    // A file of unknown size counts as too large to be included.
    let sized = |digest| Blob { digest, size: sizes.get(&digest).copied().unwrap_or(u64::MAX) };
    let made =
        run.files().iter().map(|(path, digest)| FileVersion { path: path.clone(), blob: digest.map(sized) });
    let lists = run
        .manifests()
        .iter()
        .map(|handed| FileVersion { path: handed.path(), blob: Some(handed.list.clone()) });
    let made = made.chain(lists).collect();
    Fold::standing_as(run, shown, made, result)
}

/// The place of the run's last data, if the engine has replaced it by a reference; otherwise empty.
///
/// `before` is as for [`last_text`]. Few runs have such large data, and only their events are read.
///
/// # Errors
/// Those of `before`.
pub(crate) fn place_of_last_data<E>(
    run: &Run,
    mut before: impl FnMut() -> Result<Vec<Record>, E>,
) -> Result<BTreeMap<Digest, Data>, E> {
    let Some(wanted) = fold::last_data(run).as_ref().and_then(fold::digest_of_reference) else {
        return Ok(BTreeMap::new());
    };
    loop {
        let page = before()?;
        if page.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut places = page.iter().filter_map(in_time).filter_map(fold::place_of_large_data);
        if let Some(found) = places.find(|(digest, _)| *digest == wanted) {
            return Ok(BTreeMap::from([found]));
        }
    }
}

/// The text of the step that was concluded last, among the steps that have one.
///
/// `concluded` are the visits whose hand-off was not skipped, the newest first. `before` reads the events of
/// the kind [`SETTLED`] backwards, a page at a time, and returns none at the end. The text of a visit is that
/// of its last attempt.
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
        // Wait for visits whose attempts are not read yet: no earlier visit may replace them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::time::Timestamp;
    use envoi_kernel::ids::AttemptId;

    fn settled(seq: u64, (attempt, text, late): &(&str, &str, bool)) -> Record {
        let event = serde_json::json!({"type": "attempt_settled", "attempt": attempt, "outcome": {"exited": {"code": 0}},
            "ok": true, "error": null, "report": null, "data": "null", "metrics": {}, "files": [], "late": late,
            "text": {"digest": Digest::of(text.as_bytes()).to_string(), "size": text.len()}, "started_at": 0,
            "duration_ms": 1});
        Record { seq, at: Timestamp::from_millis(0), event: serde_json::from_value(event).unwrap() }
    }

    #[test]
    fn the_visit_that_was_concluded_last_speaks_with_its_last_attempt() {
        let on_time = |attempt, text| (attempt, text, false);
        // Visits and attempts, the newest first.
        for (concluded, attempts, text) in [
            (&["b.1", "a.1"][..], &[on_time("b.1.1", "B"), on_time("a.1.1", "A")][..], Some("B")),
            (&["b.1", "a.1"], &[on_time("a.1.1", "A"), on_time("b.1.1", "B")], Some("B")),
            (&["ask.1", "a.1"], &[on_time("a.1.1", "A")], Some("A")),
            (
                &["b.1", "a.1"],
                &[on_time("b.1.2", ""), on_time("b.1.1", "B"), on_time("a.1.1", "A")],
                Some("A"),
            ),
            (&["a.1"], &[("a.1.2", "late", true), on_time("a.1.1", "A")], Some("A")),
            (&["a.1"], &[on_time("a.2.1", "not concluded"), on_time("a.1.1", "A")], Some("A")),
            (&["a.1"], &[on_time("a.1.1", "")], None),
            (&[], &[on_time("a.1.1", "A")], None),
        ] {
            for page in [1, 2, 64] {
                let mut older = (0..).zip(attempts).map(|(seq, attempt)| settled(seq, attempt));
                let visits =
                    concluded.iter().map(|visit| AttemptId::parse(&format!("{visit}.1")).unwrap().visit);
                let before = || Ok::<Vec<Record>, ()>(older.by_ref().take(page).collect());
                let found = last_text(visits, before).unwrap().map(|text| text.digest);
                let expected = text.map(|text| Digest::of(text.as_bytes()));
                assert_eq!(found, expected, "{concluded:?} {attempts:?} by {page}");
            }
        }
    }
}
