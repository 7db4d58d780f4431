//! Reads files, however large, and stops when the attempt is cancelled.

use std::fs;
use std::io::{self, Read};

use crate::attempt::dir::AttemptDir;

/// Checks for a cancel each time so many bytes have been read.
pub(crate) const LOOK_BYTES: usize = 16 * 1024 * 1024;

/// The message of an early end.
pub(crate) const CANCELLED: &str = "the attempt is cancelled";

/// A reader that fails with [`CANCELLED`] once the attempt is cancelled.
pub(crate) struct Cancellable<'a, R> {
    dir: &'a AttemptDir,
    from: R,
    until_look: usize,
}

impl<'a, R: Read> Cancellable<'a, R> {
    /// Checks first after [`LOOK_BYTES`], so that a file of usual size is read to its end.
    pub(crate) fn large(dir: &'a AttemptDir, from: R) -> Self {
        Self { dir, from, until_look: LOOK_BYTES }
    }

    /// Checks before the first byte too.
    pub(crate) fn any(dir: &'a AttemptDir, from: R) -> Self {
        Self { dir, from, until_look: 0 }
    }
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until_look == 0 {
            if fs::symlink_metadata(self.dir.cancel()).is_ok() {
                return Err(io::Error::other(CANCELLED));
            }
            self.until_look = LOOK_BYTES;
        }
        let read = self.from.read(buffer)?;
        self.until_look = self.until_look.saturating_sub(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_ends_within_a_look_of_the_wish() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path());
        let mut endless = Cancellable::large(&dir, io::repeat(1));
        let mut buffer = vec![0; 64 * 1024];
        fs::write(dir.cancel(), "").unwrap();
        assert!(Cancellable::any(&dir, io::repeat(1)).read(&mut buffer).is_err());
        let mut read = 0;
        let error = loop {
            match endless.read(&mut buffer) {
                Ok(more) => read += more,
                Err(error) => break error,
            }
        };
        assert_eq!((error.to_string().as_str(), read), (CANCELLED, LOOK_BYTES));
    }
}
