//! `envoi logs --follow`: prints the output of a run's attempts as it arrives, until the run is at rest.
//!
//! Works beside any engine. It reads the journal to find the attempts, and reads each file from its last
//! offset. It prints only complete lines. Output without a newline is printed when its attempt is settled.
//! Past half of a stream's cap, the supervisor keeps the end of the output elsewhere until the attempt has
//! ended; that part is printed then.

use super::{Output, Outputs, PIECE_BYTES, View};
use crate::process::{failure::Failure, output};
use envoi_kernel::{Event, Record, ids::AttemptId};
use std::{collections::BTreeMap, thread};

pub(super) fn follow(outputs: &mut dyn Outputs, view: &View) -> Result<u8, Failure> {
    let mut next = 0;
    let mut live: BTreeMap<AttemptId, Vec<Stream>> = BTreeMap::new();
    loop {
        // Read before the records: if the run is at rest, all its records are already there.
        let is_at_rest = outputs.is_at_rest()?;
        for record in outputs.records(next)? {
            next = record.seq.saturating_add(1);
            if let Some(attempt) = view.started(&record) {
                let streams =
                    view.streams().iter().map(|name| Stream::new(name, outputs.output(attempt, name)));
                live.insert(attempt.clone(), streams.collect());
            }
            let Some(attempt) = settled(&record) else { continue };
            for stream in live.remove(attempt).into_iter().flatten() {
                stream.finish(attempt, view)?;
            }
        }
        let mut more = false;
        for (attempt, streams) in &mut live {
            for stream in streams {
                more |= stream.print(attempt, view)?;
            }
        }
        if is_at_rest {
            return live
                .into_iter()
                .try_for_each(|(attempt, streams)| {
                    streams.into_iter().try_for_each(|stream| stream.finish(&attempt, view))
                })
                .map(|()| 0);
        }
        if !more {
            thread::sleep(outputs.pause());
        }
    }
}

fn settled(record: &Record) -> Option<&AttemptId> {
    match &record.event {
        Event::AttemptSettled(settled) => Some(&settled.attempt),
        _ => None,
    }
}

/// An output of an attempt, with the offset of the next read.
struct Stream {
    name: &'static str,
    output: Box<dyn Output>,
    read: u64,
    /// Bytes that were read and are not a complete line yet.
    open: Vec<u8>,
}

impl Stream {
    fn new(name: &'static str, output: Box<dyn Output>) -> Self {
        Self { name, output, read: 0, open: Vec::new() }
    }

    /// Prints the complete lines. Returns whether there may be more.
    fn print(&mut self, attempt: &AttemptId, view: &View) -> Result<bool, Failure> {
        let length = self.output.read(self.read, &mut self.open)?;
        self.read = self.read.saturating_add(length as u64);
        let newline = self.open.iter().rposition(|byte| *byte == b'\n').map(|at| at.saturating_add(1));
        let is_full = self.open.len() as u64 >= PIECE_BYTES;
        let whole = newline.or_else(|| is_full.then_some(self.open.len())).unwrap_or(0);
        let rest = self.open.split_off(whole.min(self.open.len()));
        let lines = core::mem::replace(&mut self.open, rest);
        self.say(attempt, view, &lines)?;
        Ok(length > 0)
    }

    /// Prints the rest.
    fn finish(mut self, attempt: &AttemptId, view: &View) -> Result<(), Failure> {
        while self.print(attempt, view)? {}
        let rest = core::mem::take(&mut self.open);
        self.say(attempt, view, &rest)
    }

    fn say(&self, attempt: &AttemptId, view: &View, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(bytes);
        output::data(&text.lines().map(|line| view.line(attempt, self.name, line)).collect::<String>())
    }
}
