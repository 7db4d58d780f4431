//! The events of a run, a page at a time: an entry of a bundle contains all of them and is never in memory as
//! a whole.
//!
//! Limits the memory: one page, and the output for one event.

use envoi_journal::{EventText, ReadError};
use envoi_kernel::ids::Seq;
use std::{
    io::{self, Read},
    vec,
};

/// Maximum number of events of a page.
pub(crate) const MOST_EVENTS: u32 = 10_000;

/// Size at which a page ends, in bytes.
pub(crate) const MOST_BYTES: usize = 16 << 20;

/// The events before `until`, in order. `fetch` returns the events from a sequence number on, with a maximum
/// number and a size limit.
pub(crate) struct EventPages<F> {
    fetch: F,
    next: Seq,
    until: Seq,
    page: vec::IntoIter<EventText>,
}

impl<F: FnMut(Seq, u32, usize) -> Result<Vec<EventText>, ReadError>> EventPages<F> {
    pub(crate) fn new(fetch: F, until: Seq) -> Self {
        Self { fetch, next: 0, until, page: Vec::new().into_iter() }
    }

    /// The next event; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<EventText>, ReadError> {
        if self.page.len() == 0 && self.next < self.until {
            // Frees the previous page before the next one is read.
            self.page = Vec::new().into_iter();
            self.page = (self.fetch)(self.next, MOST_EVENTS, MOST_BYTES)?.into_iter();
        }
        let Some(event) = self.page.next().filter(|event| event.seq < self.until) else { return Ok(None) };
        self.next = event.seq.saturating_add(1);
        Ok(Some(event))
    }

    /// A reader of the bytes that `write` makes of each event.
    pub(crate) fn read_as<W: FnMut(&EventText, &mut Vec<u8>)>(self, write: W) -> Written<F, W> {
        Written { pages: self, write, made: Vec::new(), read: 0 }
    }
}

/// A reader of the output for all events.
pub(crate) struct Written<F, W> {
    pages: EventPages<F>,
    write: W,
    /// The output for the last event, and how much of it was read.
    made: Vec<u8>,
    read: usize,
}

impl<F, W> Read for Written<F, W>
where
    F: FnMut(Seq, u32, usize) -> Result<Vec<EventText>, ReadError>,
    W: FnMut(&EventText, &mut Vec<u8>),
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read >= self.made.len() {
            let Some(event) = self.pages.next().map_err(io::Error::other)? else { return Ok(0) };
            self.made.clear();
            self.read = 0;
            (self.write)(&event, &mut self.made);
        }
        let count = self.made.get(self.read..).unwrap_or_default().read(buffer)?;
        self.read = self.read.saturating_add(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn event(seq: Seq) -> EventText {
        EventText { seq, name: "timer_fired".to_owned(), json: format!("{{\"seq\":{seq}}}") }
    }

    #[test]
    fn all_events_come_and_no_more_than_a_page_is_held() {
        let (there, until) = (25_007_u64, 25_003_u64);
        let asked = RefCell::new(Vec::new());
        let fetch = |from: Seq, limit: u32, bytes: usize| {
            asked.borrow_mut().push((from, limit, bytes));
            Ok((from..there).take(usize::try_from(limit).unwrap()).map(event).collect())
        };
        let mut text = String::new();
        let write = |event: &EventText, made: &mut Vec<u8>| made.extend(format!("{}\n", event.json).bytes());
        EventPages::new(fetch, until).read_as(write).read_to_string(&mut text).unwrap();
        let expected: String = (0..until).map(|seq| format!("{}\n", event(seq).json)).collect();
        assert!(text == expected, "{} bytes in place of {}", text.len(), expected.len());
        let page = |from| (from, MOST_EVENTS, MOST_BYTES);
        assert_eq!(*asked.borrow(), [page(0), page(10_000), page(20_000)], "a page at a time, each once");
    }

    #[test]
    fn a_page_that_ends_early_is_followed_by_the_next_one_and_a_run_without_events_by_none() {
        let fetch = |from: Seq, _: u32, _: usize| Ok(vec![event(from)]);
        let mut pages = EventPages::new(fetch, 3);
        let seqs = std::iter::from_fn(|| pages.next().unwrap()).map(|event| event.seq);
        assert_eq!(seqs.collect::<Vec<_>>(), [0, 1, 2]);
        let never = |_: Seq, _: u32, _: usize| panic!("nothing is asked for");
        assert!(EventPages::new(never, 0).next().unwrap().is_none());
    }
}
