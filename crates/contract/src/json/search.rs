//! Finds JSON objects by their members in a text that is not JSON as a whole.

use alloc::vec::Vec;
use core::ops::Range;

use super::read::Reader;

/// The result of one search.
pub(crate) struct Search {
    /// The objects with the wanted members, in order. None is inside another.
    pub(crate) found: Vec<Range<usize>>,
    /// The offset at which the next search begins. All searches of a text together read each byte at most three
    /// times.
    pub(crate) next: usize,
    /// The offset at which the reading ended.
    #[cfg(test)]
    pub(crate) end: usize,
}

/// Reads the object at `start`. Returns it, or the objects in it, if they have all members in `wanted`.
///
/// If the reading fails, the objects that were complete by then are returned. The next search begins after the
/// object. After a failure it begins inside the last string, because an object begins with `{` and `"` and can
/// therefore begin only there or later.
pub(crate) fn search(text: &str, start: usize, wanted: &'static [&'static str]) -> Search {
    let mut reader = Reader::searching(text, start, wanted);
    let complete = reader.value().is_ok();
    let end = reader.offset();
    let next = if complete { end } else { reader.last_string() + 1 };
    Search {
        found: reader.into_found(),
        next,
        #[cfg(test)]
        end,
    }
}
