//! Reads the outputs of a run from the files of a local store.

use super::{Output, Outputs, PAGE, PIECE_BYTES};
use crate::process::failure::Failure;
use envoi_journal::{Layout, Reader, RunStatus};
use envoi_kernel::{
    Record,
    ids::{AttemptId, RunId, Seq},
};
use envoi_step::plain;
use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    time::Duration,
};

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(100);

/// The outputs of one run in a local store.
pub(super) struct Files {
    pub(super) reader: Reader,
    pub(super) layout: Layout,
    pub(super) run: RunId,
}

impl Files {
    /// Whether any attempt of the run has left output. If not, the events need not be read for attempts.
    fn has_outputs(&self) -> bool {
        let attempts = fs::read_dir(self.layout.run(&self.run).join("attempts"));
        // An unreadable folder is reported later, when one of its files is opened.
        attempts.map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |mut all| all.next().is_some())
    }
}

impl Outputs for Files {
    fn is_at_rest(&mut self) -> Result<bool, Failure> {
        Ok(self.reader.run(&self.run).map_err(Failure::store)?.status() != RunStatus::Running)
    }

    fn records(&mut self, from: Seq) -> Result<Vec<Record>, Failure> {
        self.reader.records(&self.run, from, None).map_err(Failure::store)
    }

    fn attempts(&mut self, before: Option<Seq>) -> Result<Vec<(Seq, AttemptId)>, Failure> {
        if !self.has_outputs() {
            return Ok(Vec::new());
        }
        self.reader.attempts_started_before(&self.run, before, PAGE).map_err(Failure::store)
    }

    fn attempts_from(&mut self, from: Seq) -> Result<Vec<(Seq, AttemptId)>, Failure> {
        if !self.has_outputs() {
            return Ok(Vec::new());
        }
        self.reader.attempts_started(&self.run, from, PAGE).map_err(Failure::store)
    }

    fn output(&mut self, attempt: &AttemptId, stream: &'static str) -> Box<dyn Output> {
        let path = self.layout.attempt(&self.run, attempt).join(stream);
        Box::new(OneFile { path, file: None })
    }

    fn pause(&self) -> Duration {
        PAUSE
    }
}

/// An output file. It is opened as soon as it exists.
struct OneFile {
    path: PathBuf,
    file: Option<File>,
}

impl Output for OneFile {
    fn read(&mut self, from: u64, into: &mut Vec<u8>) -> Result<usize, Failure> {
        self.piece(from, into).map_err(|error| Failure::machine(self.path.display(), error))
    }
}

impl OneFile {
    fn piece(&mut self, from: u64, into: &mut Vec<u8>) -> io::Result<usize> {
        if self.file.is_none() {
            // A command could have put anything here. Only a regular file has content to show.
            self.file = match plain::open_if_there(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(0),
                opened => opened?,
            };
        }
        let Some(file) = &mut self.file else { return Ok(0) };
        file.seek(SeekFrom::Start(from))?;
        file.take(PIECE_BYTES).read_to_end(into)
    }
}
