//! `envoi logs --follow`: the output of a run's attempts as it comes, until the run comes to rest.
//!
//! Works beside whatever engine there is: it reads the journal, to know which attempts there are, and each file from
//! where it stopped. Whole lines only; what has no newline comes when its attempt is settled. Past half of a stream's
//! cap the supervisor keeps the end elsewhere until the attempt is over: it comes then.

use super::View;
use crate::{failure::Failure, output};
use envoi_journal::{Layout, Reader, RunStatus};
use envoi_kernel::{
    Event, Record,
    ids::{AttemptId, RunId},
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Most bytes of a file that are read before the next file gets its turn; a longer line is broken there.
const PIECE_BYTES: u64 = 256 * 1024;

pub(super) fn follow(reader: &Reader, layout: &Layout, run: &RunId, view: &View) -> Result<u8, Failure> {
    let mut next = 0;
    let mut live: BTreeMap<AttemptId, Vec<Stream>> = BTreeMap::new();
    loop {
        // Looked at before the records: at rest then means that they are all there.
        let is_at_rest = reader.run(run).map_err(Failure::store)?.status() != RunStatus::Running;
        for record in reader.records(run, next, None).map_err(Failure::store)? {
            next = record.seq.saturating_add(1);
            if let Some(attempt) = view.started(&record) {
                let dir = layout.attempt(run, attempt);
                let streams = view.streams().iter().map(|name| Stream::new(&dir, name));
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
            thread::sleep(PAUSE);
        }
    }
}

fn settled(record: &Record) -> Option<&AttemptId> {
    match &record.event {
        Event::AttemptSettled(settled) => Some(&settled.attempt),
        _ => None,
    }
}

/// One output of one attempt, up to where it was read.
struct Stream {
    name: &'static str,
    path: PathBuf,
    file: Option<File>,
    read: u64,
    /// What has been read and is no whole line yet.
    open: Vec<u8>,
}

impl Stream {
    fn new(dir: &Path, name: &'static str) -> Self {
        Self { name, path: dir.join(name), file: None, read: 0, open: Vec::new() }
    }

    /// Prints the lines that have become whole; says whether there may be more.
    fn print(&mut self, attempt: &AttemptId, view: &View) -> Result<bool, Failure> {
        let length = self.read().map_err(|error| Failure::machine(self.path.display(), error))?;
        let newline = self.open.iter().rposition(|byte| *byte == b'\n').map(|at| at.saturating_add(1));
        let is_full = self.open.len() as u64 >= PIECE_BYTES;
        let whole = newline.or_else(|| is_full.then_some(self.open.len())).unwrap_or(0);
        let rest = self.open.split_off(whole.min(self.open.len()));
        let lines = core::mem::replace(&mut self.open, rest);
        self.say(attempt, view, &lines)?;
        Ok(length > 0)
    }

    /// Prints all that is left.
    fn finish(mut self, attempt: &AttemptId, view: &View) -> Result<(), Failure> {
        while self.print(attempt, view)? {}
        let rest = core::mem::take(&mut self.open);
        self.say(attempt, view, &rest)
    }

    fn read(&mut self) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
                opened => Some(opened?),
            };
        }
        let Some(file) = &mut self.file else { return Ok(0) };
        file.seek(SeekFrom::Start(self.read))?;
        let length = file.take(PIECE_BYTES).read_to_end(&mut self.open)?;
        self.read = self.read.saturating_add(length as u64);
        Ok(length)
    }

    fn say(&self, attempt: &AttemptId, view: &View, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(bytes);
        output::data(&text.lines().map(|line| view.line(attempt, self.name, line)).collect::<String>())
    }
}
