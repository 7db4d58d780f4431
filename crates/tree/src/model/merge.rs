//! Merges two changes of one text, line by line.
//!
//! Lines that only one side changed are taken from it. If both changed the same lines, or lines that touch, and not in the same way, it is
//! a conflict.

use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::ops::Range;

/// A longer text is not merged: it could take long.
const MOST_BYTES: usize = 4 << 20;

/// Whose lines are taken where both sides changed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The lines of the folder.
    Ours,
    /// The lines of the other side.
    Theirs,
}

/// The beginnings of the marker lines: before the folder's lines, between the sides, and after the lines of the other side.
pub(crate) const OURS: &str = "<<<<<<<";
pub(crate) const BETWEEN: &str = "=======";
pub(crate) const THEIRS: &str = ">>>>>>>";

/// Lines of the base, and the lines of one side in their place.
type Hunk = (Range<usize>, Range<usize>);

/// The text with the changes of both sides. `None`: a conflict that `prefer` does not decide, or no text.
pub(crate) fn merged(base: &[u8], ours: &[u8], theirs: &[u8], prefer: Option<Side>) -> Option<Vec<u8>> {
    merged_with(base, ours, theirs, |one, other| match prefer? {
        Side::Ours => Some(one),
        Side::Theirs => Some(other),
    })
}

/// A text of another side, with its name in the markers.
pub(crate) type Version<'v> = (&'v str, Vec<u8>);

/// The text with the changes of all sides. If several changed the same lines, their versions are between markers, ours first. `None`: it
/// is not a text.
pub(crate) fn marked(base: &[u8], ours: &[u8], theirs: &[Version<'_>]) -> Option<Vec<u8>> {
    if ![base, ours].into_iter().chain(theirs.iter().map(|(_, text)| text.as_slice())).all(is_text) {
        return None;
    }
    let base = lines(base);
    let side_of = |text| {
        let lines = lines(text);
        Lines { left: hunks(&base, &lines), lines }
    };
    let mut ours = side_of(ours);
    let mut others: Vec<(&str, Lines<'_>)> =
        theirs.iter().map(|(name, text)| (*name, side_of(text))).collect();
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        let first = |side: &Lines<'_>| side.left.first().map(|(lines, _)| lines.start);
        let starts = others.iter().map(|(_, side)| side).chain([&ours]).filter_map(first);
        let Some(start) = starts.min() else { break };
        push(&mut text, base.get(at..start)?);
        // Changes that touch are one change.
        let mut end = start;
        loop {
            let reaches = |side: &Lines<'_>| {
                side.left.iter().take_while(|(lines, _)| lines.start <= end).map(|(lines, _)| lines.end).max()
            };
            let furthest = others.iter().map(|(_, side)| side).chain([&ours]).filter_map(reaches).max();
            match furthest.filter(|furthest| *furthest > end) {
                Some(furthest) => end = furthest,
                None => break,
            }
        }
        let whole = start..end;
        let own = ours.take(&base, &whole)?;
        let mut unchanged = Vec::new();
        push(&mut unchanged, base.get(whole.clone())?);
        let stands = own.clone().unwrap_or(unchanged);
        let mut differing = Vec::new();
        for (name, side) in &mut others {
            let changed = side.take(&base, &whole)?.filter(|changed| *changed != stands);
            differing.extend(changed.map(|changed| (*name, changed)));
        }
        match differing.as_slice() {
            [] => text.extend(stands),
            [(_, first), rest @ ..] if own.is_none() && rest.iter().all(|(_, other)| other == first) => {
                text.extend_from_slice(first);
            }
            differing => text.extend(markers(&stands, differing)),
        }
        at = end;
    }
    push(&mut text, base.get(at..)?);
    Some(text)
}

/// All sides between markers, each marker on a line of its own. With one that comes, the markers are those that everybody knows.
pub(crate) fn markers(ours: &[u8], theirs: &[Version<'_>]) -> Vec<u8> {
    let mut text = format!("{OURS} ours\n").into_bytes();
    push_whole_lines(&mut text, ours);
    for (name, other) in theirs {
        let marker = if theirs.len() == 1 { format!("{BETWEEN}\n") } else { format!("{BETWEEN} {name}\n") };
        text.extend_from_slice(marker.as_bytes());
        push_whole_lines(&mut text, other);
    }
    let names: Vec<&str> = theirs.iter().map(|(name, _)| *name).collect();
    text.extend_from_slice(format!("{THEIRS} {}\n", names.join(", ")).as_bytes());
    text
}

/// The lines of one side, and its changes that were not looked at yet.
struct Lines<'t> {
    lines: Vec<&'t [u8]>,
    left: Vec<Hunk>,
}

impl Lines<'_> {
    /// The lines of this side in place of these lines of the base, if it has changed them.
    fn take(&mut self, base: &[&[u8]], whole: &Range<usize>) -> Option<Option<Vec<u8>>> {
        let taken = self.left.iter().take_while(|(lines, _)| lines.start <= whole.end).count();
        let taken: Vec<Hunk> = self.left.drain(..taken).collect();
        if taken.is_empty() {
            return Some(None);
        }
        side(base, &self.lines, whole, taken).map(Some)
    }
}

/// Whether it is merged line by line.
fn is_text(bytes: &[u8]) -> bool {
    bytes.len() <= MOST_BYTES && !bytes.contains(&0)
}

fn push_whole_lines(text: &mut Vec<u8>, lines: &[u8]) {
    text.extend_from_slice(lines);
    if lines.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
}

/// As [`merged`]; `decide` returns the lines where both sides changed the same ones, if it decides.
fn merged_with(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
    decide: impl Fn(Vec<u8>, Vec<u8>) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    if ![base, ours, theirs].into_iter().all(is_text) {
        return None;
    }
    let [base, ours, theirs] = [base, ours, theirs].map(lines);
    let mut left = hunks(&base, &ours);
    let mut right = hunks(&base, &theirs);
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        let next = [left.first(), right.first()].into_iter().flatten().map(|(lines, _)| lines.start).min();
        let Some(start) = next else { break };
        push(&mut text, base.get(at..start)?);
        // Changes that touch are one change.
        let mut end = start;
        let mut taken = (0, 0);
        loop {
            let of = |hunks: &[Hunk], taken: usize| {
                hunks.get(taken).filter(|(lines, _)| lines.start <= end).map(|hunk| hunk.0.end)
            };
            if let Some(more) = of(&left, taken.0) {
                (end, taken.0) = (end.max(more), taken.0.saturating_add(1));
            } else if let Some(more) = of(&right, taken.1) {
                (end, taken.1) = (end.max(more), taken.1.saturating_add(1));
            } else {
                break;
            }
        }
        let whole = start..end;
        let one = side(&base, &ours, &whole, left.drain(..taken.0).collect())?;
        let other = side(&base, &theirs, &whole, right.drain(..taken.1).collect())?;
        text.extend(match taken {
            (0, _) => other,
            (_, 0) => one,
            _ if one == other => one,
            _ => decide(one, other)?,
        });
        at = end;
    }
    push(&mut text, base.get(at..)?);
    Some(text)
}

/// The lines with their ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn push(text: &mut Vec<u8>, lines: &[&[u8]]) {
    lines.iter().for_each(|line| text.extend_from_slice(line));
}

fn hunks(base: &[&[u8]], side: &[&[u8]]) -> Vec<Hunk> {
    let all = capture_diff_slices(Algorithm::Myers, base, side);
    let changed = all.into_iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.map(|op| (op.old_range(), op.new_range())).collect()
}

/// The lines of one side in place of these lines of the base.
fn side(base: &[&[u8]], side: &[&[u8]], whole: &Range<usize>, hunks: Vec<Hunk>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = whole.start;
    for (old, new) in hunks {
        push(&mut text, base.get(at..old.start)?);
        push(&mut text, side.get(new)?);
        at = old.end;
    }
    push(&mut text, base.get(at..whole.end)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(base: &str, ours: &str, theirs: &str, prefer: Option<Side>) -> Option<String> {
        let merged = merged(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), prefer);
        merged.map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn changes_of_different_lines_come_together_and_of_the_same_ones_do_not() {
        let base = "a\nb\nc\nd\ne\n";
        for (ours, theirs, expected) in [
            ("A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", Some("A\nb\nc\nd\nE\n")),
            ("b\nc\nd\ne\n", "a\nb\nc\nd\n", Some("b\nc\nd\n")),
            ("a\nb\nx\nc\nd\ne\n", "a\nb\nc\nd\nE\n", Some("a\nb\nx\nc\nd\nE\n")),
            ("a\nB\nc\nd\ne\n", "a\nB\nc\nd\ne\n", Some("a\nB\nc\nd\ne\n")),
            ("a\nB\nc\nD\ne\n", "a\nB\nc\nd\ne\n", Some("a\nB\nc\nD\ne\n")),
            ("a\nX\nc\nd\ne\n", "a\nY\nc\nd\ne\n", None),
            ("a\nX\nc\nd\ne\n", "a\nb\nY\nd\ne\n", None),
            ("a\nX\nY\nd\ne\n", "a\nb\nZ\nd\ne\n", None),
            ("a\nc\nd\ne\n", "a\nB\nc\nd\ne\n", None),
            ("", "a\nb\nc\nd\ne\nf\n", None),
            (base, "x", Some("x")),
            ("x", base, Some("x")),
        ] {
            assert_eq!(merge(base, ours, theirs, None).as_deref(), expected, "{ours:?} {theirs:?}");
        }
        assert_eq!(merge("", "x\n", "y\n", None), None);
        assert_eq!(merge("a\0", "a\0", "b\0", None), None, "no text");
    }

    #[test]
    fn lines_in_conflict_stand_between_markers_and_the_others_come_together() {
        let marked = |base: &str, ours: &str, theirs: &str| {
            let text = marked(base.as_bytes(), ours.as_bytes(), &[("item 2", theirs.as_bytes().to_vec())])?;
            String::from_utf8(text).ok()
        };
        assert_eq!(
            marked("a\nb\nc\nd\n", "A\nb\nX\nd\n", "a\nb\nY\nd\n").as_deref(),
            Some("A\nb\n<<<<<<< ours\nX\n=======\nY\n>>>>>>> item 2\nd\n")
        );
        assert_eq!(marked("", "x", "y").as_deref(), Some("<<<<<<< ours\nx\n=======\ny\n>>>>>>> item 2\n"));
        assert_eq!(marked("", "x\0", "y"), None);
    }

    #[test]
    fn markers_of_several_versions_never_stand_within_each_other() {
        let marked = |base: &str, ours: &str, theirs: &[(&'static str, &str)]| {
            let theirs: Vec<Version<'_>> =
                theirs.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect();
            String::from_utf8(super::marked(base.as_bytes(), ours.as_bytes(), &theirs)?).ok()
        };
        let base = "a\nb\nc\nd\n";
        assert_eq!(
            marked(base, "a\nX\nc\nd\n", &[("item 2", "a\nY\nc\nd\n"), ("item 3", "a\nZ\nc\nd\n")])
                .as_deref(),
            Some("a\n<<<<<<< ours\nX\n======= item 2\nY\n======= item 3\nZ\n>>>>>>> item 2, item 3\nc\nd\n")
        );
        // Changes that touch are one place, and each side has it whole.
        assert_eq!(
            marked(base, "a\nX\nc\nd\n", &[("item 2", "a\nY\nc\nd\n"), ("item 3", "a\nb\nZ\nD\n")])
                .as_deref(),
            Some(
                "a\n<<<<<<< ours\nX\nc\nd\n======= item 2\nY\nc\nd\n======= item 3\nb\nZ\nD\n>>>>>>> item 2, item 3\n"
            )
        );
        // A change of only one side is taken; so is a change that two others made, and a change that ours has already.
        assert_eq!(
            marked(base, "a\nX\nc\nd\n", &[("item 2", "a\nX\nc\nd\n"), ("item 3", "a\nb\nc\nD\n")])
                .as_deref(),
            Some("a\nX\nc\nD\n")
        );
        assert_eq!(
            marked(base, base, &[("item 2", "A\nb\nc\nd\n"), ("item 3", "B\nb\nc\nd\n")]).as_deref(),
            Some("<<<<<<< ours\na\n======= item 2\nA\n======= item 3\nB\n>>>>>>> item 2, item 3\nb\nc\nd\n")
        );
    }

    #[test]
    fn one_side_decides_only_where_both_changed_the_same_lines() {
        let base = "a\nb\nc\nd\n";
        let ours = "A\nX\nc\nd\n";
        let theirs = "a\nY\nc\nD\n";
        assert_eq!(merge(base, ours, theirs, None), None);
        assert_eq!(merge(base, ours, theirs, Some(Side::Ours)).as_deref(), Some("A\nX\nc\nD\n"));
        assert_eq!(merge(base, ours, theirs, Some(Side::Theirs)).as_deref(), Some("a\nY\nc\nD\n"));
    }
}
