//! The states of a run's workspace, as a person names them: `start`, `end`, `now`, `STEP`, `STEP.N`,
//! `before:STEP.N`.
//!
//! Owns which snapshot a name means. `comparison` compares two of them.

use crate::{error::ChangesError, location::Location};
use envoi_engine::snapshots::Taken;
use envoi_journal::Reader;
use envoi_kernel::{
    Event, Record,
    event::Snapshot,
    ids::{RunId, Seq},
};

/// How many events are read at a time.
const PAGE: u32 = 500;

/// The most visits in the error message about an unknown state.
const MOST_NAMED: usize = 20;

/// A state of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// A snapshot, and how many states of the run are before it: two for each attempt.
    Kept {
        /// The snapshot.
        snapshot: Snapshot,
        /// Number of states before it.
        place: usize,
    },
    /// The current folder.
    Now,
}

/// The start of a run, and its events that name snapshots of the workspace: all that
/// [`envoi_engine::snapshots::taken`] uses. The other events of a long run are in memory only page by page.
///
/// # Errors
/// The store cannot be read.
pub fn records(reader: &Reader, run: &RunId) -> Result<Vec<Record>, ChangesError> {
    let mut kept = Vec::new();
    let mut next: Seq = 0;
    loop {
        let page = reader.records(run, next, Some(PAGE))?;
        let Some(last) = page.last() else { return Ok(kept) };
        next = last.seq.saturating_add(1);
        kept.extend(page.into_iter().filter(|record| match &record.event {
            Event::RunStarted(_) => true,
            Event::AttemptStarted(started) => started.tree.is_some(),
            Event::AttemptSettled(settled) => {
                settled.workspace_before.is_some() || settled.workspace_digest.is_some()
            }
            _ => false,
        }));
    }
}

/// The two ends of a range: `A..B`, or the changes of one visit. Without a text, from the start to the end.
///
/// # Errors
/// There is no such state.
pub fn range(taken: &[Taken], text: Option<&str>) -> Result<(Point, Point), ChangesError> {
    match text.map(|text| (text, text.split_once(".."))) {
        None => Ok((point(taken, "start")?, point(taken, "end")?)),
        Some((_, Some((from, to)))) => {
            let or =
                |text: &str, otherwise: &str| point(taken, if text.is_empty() { otherwise } else { text });
            Ok((or(from, "start")?, or(to, "end")?))
        }
        Some((visit @ ("start" | "end" | "now"), None)) => {
            Err(ChangesError::OneState { state: visit.to_owned() })
        }
        Some((visit, None)) => Ok((point(taken, &format!("before:{visit}"))?, point(taken, visit)?)),
    }
}

/// The state with this name.
///
/// # Errors
/// There is no such state.
pub fn point(taken: &[Taken], text: &str) -> Result<Point, ChangesError> {
    // States of the items' own trees are not states of the workspace.
    let states = |apart: bool| {
        let of = |(nth, taken): (usize, &Taken)| {
            let place = nth.saturating_mul(2);
            [taken.before.map(|it| (place, it)), taken.after.map(|it| (place.saturating_add(1), it))]
        };
        taken
            .iter()
            .enumerate()
            .filter(move |(_, taken)| taken.apart == apart)
            .flat_map(of)
            .flatten()
            .map(|(place, snapshot)| Point::Kept { snapshot, place })
    };
    let found = match text {
        "now" => return Ok(Point::Now),
        "start" => states(false).next(),
        "end" => states(false).next_back(),
        _ => {
            let (name, is_before) = match text.strip_prefix("before:") {
                Some(name) => (name, true),
                None => (text, false),
            };
            let place = Location::new(name);
            let of_place = || taken.iter().enumerate().filter(|(_, taken)| place.has_attempt(&taken.attempt));
            let Some((_, last)) = of_place().next_back() else {
                return Err(not_kept(taken, text));
            };
            // Before the first attempt of the visit, or after its last one.
            let first = of_place().find(|(_, taken)| taken.attempt.visit == last.attempt.visit);
            match is_before {
                true => first.and_then(|(nth, taken)| {
                    taken.before.map(|snapshot| Point::Kept { snapshot, place: nth.saturating_mul(2) })
                }),
                false => of_place().next_back().and_then(|(nth, taken)| {
                    let place = nth.saturating_mul(2).saturating_add(1);
                    taken.after.map(|snapshot| Point::Kept { snapshot, place })
                }),
            }
        }
    };
    found.ok_or_else(|| not_kept(taken, text))
}

fn not_kept(taken: &[Taken], text: &str) -> ChangesError {
    if taken.is_empty() {
        return ChangesError::NoSnapshot;
    }
    let mut known: Vec<String> = Vec::new();
    for visit in taken.iter().map(|taken| format!("`{}`", taken.attempt.visit)) {
        if !known.contains(&visit) {
            known.push(visit);
        }
    }
    let known = known.split_off(known.len().saturating_sub(MOST_NAMED));
    ChangesError::NoState { state: text.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::digest::Digest;
    use envoi_kernel::ids::AttemptId;

    fn taken(rows: &[(&str, Option<&str>, Option<&str>)]) -> Vec<Taken> {
        let snapshot = |text: &str| Snapshot { digest: Digest::of(text.as_bytes()), moving: false };
        let of = |(attempt, before, after): &(&str, Option<&str>, Option<&str>)| Taken {
            attempt: AttemptId::parse(attempt).unwrap(),
            set_back_from: None,
            restored: Vec::new(),
            before: before.map(snapshot),
            after: after.map(snapshot),
            apart: attempt.starts_with("0."),
        };
        rows.iter().map(of).collect()
    }

    #[test]
    fn a_name_means_one_state() {
        let taken = taken(&[
            ("fix.1.1", Some("a"), Some("b")),
            ("fix.1.2", Some("b"), None),
            ("fix.1.3", Some("c"), Some("d")),
            ("test.1.1", Some("e"), Some("f")),
            ("fix.2.1", Some("g"), Some("h")),
            ("0.each.1.1", Some("of an item"), Some("left by it")),
        ]);
        let digest = |text: &str| Digest::of(text.as_bytes());
        for (name, expected) in [
            ("start", "a"),
            ("end", "h"),
            ("fix", "h"),
            ("fix.1", "d"),
            ("before:fix.1", "a"),
            ("fix.1.1", "b"),
            ("before:fix", "g"),
            ("test", "f"),
            ("before:test.1", "e"),
            ("0.each.1", "left by it"),
        ] {
            let found = point(&taken, name).unwrap();
            assert!(
                matches!(found, Point::Kept { snapshot, .. } if snapshot.digest == digest(expected)),
                "{name}"
            );
        }
        assert_eq!(point(&taken, "now").unwrap(), Point::Now);
        for name in ["other", "fix.3", "fix.1.2", "before:other"] {
            assert!(point(&taken, name).is_err(), "{name}");
        }
        let of = |text: Option<&str>| {
            let (from, to) = range(&taken, text).unwrap();
            [from, to].map(|point| match point {
                Point::Kept { snapshot, .. } => Some(snapshot.digest),
                Point::Now => None,
            })
        };
        assert_eq!(of(None), [Some(digest("a")), Some(digest("h"))]);
        assert_eq!(of(Some("fix.1")), [Some(digest("a")), Some(digest("d"))]);
        assert_eq!(of(Some("test..now")), [Some(digest("f")), None]);
        assert_eq!(of(Some("..test")), [Some(digest("a")), Some(digest("f"))]);
        assert_eq!(of(Some("test..")), [Some(digest("f")), Some(digest("h"))]);
        assert!(range(&taken, Some("end")).is_err());
    }
}
