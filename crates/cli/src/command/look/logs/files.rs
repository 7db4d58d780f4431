//! The outputs of a run of a store of this machine: files.

use super::{Output, Outputs, PAGE, PIECE_BYTES};
use crate::process::failure::Failure;
use envoi_journal::{Layout, Reader, RunStatus};
use envoi_kernel::{
    Record,
    ids::{AttemptId, RunId, Seq},
};
use envoi_step::plain;
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    time::Duration,
};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// See the module.
pub(super) struct Files {
    pub(super) reader: Reader,
    pub(super) layout: Layout,
    pub(super) run: RunId,
}

impl Outputs for Files {
    fn is_at_rest(&mut self) -> Result<bool, Failure> {
        Ok(self.reader.run(&self.run).map_err(Failure::store)?.status() != RunStatus::Running)
    }

    fn records(&mut self, from: Seq) -> Result<Vec<Record>, Failure> {
        self.reader.records(&self.run, from, None).map_err(Failure::store)
    }

    fn attempts(&mut self, before: Option<Seq>) -> Result<Vec<(Seq, AttemptId)>, Failure> {
        self.reader.attempts_started_before(&self.run, before, PAGE).map_err(Failure::store)
    }

    fn all_attempts(&mut self) -> Result<Vec<AttemptId>, Failure> {
        let all = self.reader.attempts_started(&self.run, 0, u32::MAX).map_err(Failure::store)?;
        Ok(all.into_iter().map(|(_, attempt)| attempt).collect())
    }

    fn output(&mut self, attempt: &AttemptId, stream: &'static str) -> Box<dyn Output> {
        let path = self.layout.attempt(&self.run, attempt).join(stream);
        Box::new(OneFile { path, file: None })
    }

    fn pause(&self) -> Duration {
        PAUSE
    }
}

/// One file; opened once it is there.
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
            // What is no regular file (the command could have put anything there) has nothing that can be shown.
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
