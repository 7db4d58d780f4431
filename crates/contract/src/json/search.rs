//! Finds JSON objects by their members in a text that is not JSON as a whole.

use alloc::vec::Vec;
use core::ops::Range;

use super::read::Reader;

/// The result of one reading.
pub(crate) struct Search {
    /// The objects with the wanted members: in order, none inside another.
    pub(crate) found: Vec<Range<usize>>,
    /// Where the next search begins. All searches of a text together then read each byte at most three times.
    pub(crate) next: usize,
    /// How far the reading has come.
    #[cfg(test)]
    pub(crate) end: usize,
}

/// Reads the object that begins at `start`, and finds it or objects in it that have all of the members `wanted`.
///
/// If the reading fails, it still finds the objects that are complete by then. The next search begins behind the object. After a
/// failure it begins inside the last string: an object can only begin there or behind it, since it begins with `{` and `"`.
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
