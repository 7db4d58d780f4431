//! A location in a run: how a person names a step, an item, a part of an inner flow, a visit or an attempt.
//!
//! Owns the meaning of the spellings. A spelling is a part of an attempt's id that contains a name, such as
//! `test`, `0.test`, `test.2`, `build.2.compile` or the whole id; or names only, as in `build.compile`, for
//! all visits and items.

use envoi_kernel::ids::{AttemptId, VisitId};

/// A location in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    segments: Vec<String>,
}

impl Location {
    /// Parses a location. `/` means the same as `.`, because the envelope writes it so.
    pub fn new(text: &str) -> Self {
        Self { segments: text.split(['.', '/']).map(str::to_owned).collect() }
    }

    /// Whether an attempt is at this location: it belongs to that step, or to a part of it.
    pub fn has_attempt(&self, attempt: &AttemptId) -> bool {
        self.is_in(&attempt.to_string())
    }

    /// Like [`Location::has_attempt`], for a visit. If the location names an attempt, its visit counts.
    pub fn has_visit(&self, visit: &VisitId) -> bool {
        let without_attempt = || {
            let (_, rest) = self.segments.split_last()?;
            let text = self.segments.join(".");
            AttemptId::parse(&text).is_ok().then(|| Self { segments: rest.to_vec() })
        };
        let id = visit.to_string();
        self.is_in(&id) || without_attempt().is_some_and(|place| place.is_in(&id))
    }

    /// Whether the location names a visit itself, and not only something around it.
    pub fn names(&self, visit: &VisitId) -> bool {
        let is_name = |text: &&String| is_name(text);
        self.has_visit(visit)
            && self.segments.iter().rfind(is_name).is_some_and(|name| *name == visit.step.as_str())
    }

    fn is_in(&self, id: &str) -> bool {
        let all: Vec<&str> = id.split('.').collect();
        if !self.segments.iter().any(|segment| is_name(segment)) {
            return false;
        }
        let names: Vec<&str> = all.iter().copied().filter(|segment| is_name(segment)).collect();
        // A number at the beginning is an item; a number after a name is a visit.
        let begins_well = |whole: &[&str], at: usize| {
            let before = at.checked_sub(1).and_then(|at| whole.get(at));
            self.segments.first().is_some_and(|first| is_name(first))
                || !before.is_some_and(|before| is_name(before))
        };
        let within = |whole: &[&str]| {
            let mut parts = whole.windows(self.segments.len()).enumerate();
            parts.any(|(at, part)| part == self.segments && begins_well(whole, at))
        };
        within(&all) || within(&names)
    }
}

/// Names begin with a letter; items, visits and attempts are numbers.
fn is_name(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(text: &str) -> Vec<&'static str> {
        let all = [
            "test.1.1",
            "test.2.1",
            "0.test.1.1",
            "1.test.1.2",
            "build.2.compile.1.1",
            "0.build.2.7.compile.1.3",
        ];
        let is_there = |id: &&str| Location::new(text).has_attempt(&AttemptId::parse(id).unwrap());
        all.into_iter().filter(is_there).collect()
    }

    #[test]
    fn a_piece_of_an_id_that_has_a_name_in_it_says_where() {
        for (text, expected) in [
            ("test", &["test.1.1", "test.2.1", "0.test.1.1", "1.test.1.2"][..]),
            ("test.1", &["test.1.1", "0.test.1.1", "1.test.1.2"]),
            ("0.test", &["0.test.1.1"]),
            ("1.test.1.2", &["1.test.1.2"]),
            ("build", &["build.2.compile.1.1", "0.build.2.7.compile.1.3"]),
            ("build.2", &["build.2.compile.1.1", "0.build.2.7.compile.1.3"]),
            ("build.2.compile", &["build.2.compile.1.1"]),
            ("build.compile", &["build.2.compile.1.1", "0.build.2.7.compile.1.3"]),
            ("build/compile", &["build.2.compile.1.1", "0.build.2.7.compile.1.3"]),
            ("7.compile", &["0.build.2.7.compile.1.3"]),
            ("compile.1.1", &["build.2.compile.1.1"]),
            ("2.compile", &[]),
            ("1.1", &[]),
            ("tes", &[]),
            ("", &[]),
            ("build.3", &[]),
        ] {
            assert_eq!(attempts(text), expected, "{text}");
        }
    }

    #[test]
    fn a_visit_is_named_by_itself_and_by_its_attempts_and_not_by_what_is_around_it() {
        for (text, visit, has, names) in [
            ("compile", "build.2.compile.1", true, true),
            ("build.2.compile.1.4", "build.2.compile.1", true, true),
            ("build", "build.2.compile.1", true, false),
            ("build.2", "build.2", true, true),
            ("build.2.1", "build.2", true, true),
            ("build.2.1", "build.1", false, false),
            ("build.3", "build.2.compile.1", false, false),
        ] {
            let place = Location::new(text);
            let visit = AttemptId::parse(&format!("{visit}.1")).unwrap().visit;
            assert_eq!((place.has_visit(&visit), place.names(&visit)), (has, names), "{text} {visit}");
        }
    }
}
