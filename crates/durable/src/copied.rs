//! Sparse files: copying them with their holes, writing new ones, and measuring them.
//!
//! Disks of virtual machines and databases may have a length of hundreds of gigabytes and contain few. A copy
//! that wrote every zero would fill the disk.

use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io::{self, Read as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
};

/// The unit in which the system counts the disk space of a file.
const BLOCK: u64 = 512;

/// Copies the content of `from` into the empty file `to`. Holes stay holes, as far as the file system reports
/// them. If the file system supports it (XFS, Btrfs), both files share their blocks until one of them is
/// written to. Not synced.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_content(from: &File, to: &File) -> io::Result<()> {
    match shares_blocks(from, to) {
        true => Ok(()),
        false => copy_bytes(from, to),
    }
}

/// Tries to give `to` the content of `from` by sharing blocks. Returns whether it did. It can fail because of
/// the file system, or because the files are on two of them. In any case nothing was written then, and a copy
/// will show the error.
#[cfg(target_os = "linux")]
fn shares_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn shares_blocks(_: &File, _: &File) -> bool {
    false
}

fn copy_bytes(mut from: &File, mut to: &File) -> io::Result<()> {
    let length = from.metadata()?.len();
    let mut place = 0;
    while let Some((start, end)) = next_data(from, place)? {
        seek(from, SeekFrom::Start(start))?;
        seek(to, SeekFrom::Start(start))?;
        match end {
            Some(end) => io::copy(&mut from.take(end.saturating_sub(start)), &mut to)?,
            // Data that were appended meanwhile are copied too.
            None => io::copy(&mut from, &mut to)?,
        };
        let Some(end) = end.filter(|end| *end < length) else { break };
        place = end;
    }
    // If `from` has become shorter meanwhile, `to` is not made longer again.
    let length = length.min(from.metadata()?.len());
    if to.metadata()?.len() < length {
        to.set_len(length)?;
    }
    Ok(())
}

/// The beginning of the next data from `place` on, and their end if it is known; `None`: there are no more
/// data.
fn next_data(file: &File, place: u64) -> io::Result<Option<(u64, Option<u64>)>> {
    match seek(file, SeekFrom::Data(place)) {
        Ok(start) => Ok(Some((start, seek(file, SeekFrom::Hole(start)).ok()))),
        Err(Errno::NXIO) => Ok(None),
        // The file system does not support holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some((place, None))),
        Err(errno) => Err(errno.into()),
    }
}

/// An empty file that is written from its beginning. Pieces that consist of zeros become holes. The file has
/// its full length only after [`Sparse::finish`].
pub struct Sparse<'f> {
    file: &'f File,
    bytes: u64,
}

/// Zeros for comparison with pieces of at most this length.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The shortest hole: a file system has no shorter one.
const SHORTEST_HOLE: usize = 4096;

impl<'f> Sparse<'f> {
    /// `file` must be empty.
    #[must_use]
    pub const fn new(file: &'f File) -> Self {
        Self { file, bytes: 0 }
    }

    /// Gives the file its length. Not synced.
    ///
    /// # Errors
    /// It cannot be made so long.
    pub fn finish(self) -> io::Result<()> {
        self.file.set_len(self.bytes)
    }
}

impl io::Write for Sparse<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let piece = piece.get(..ZEROS.len()).unwrap_or(piece);
        let is_hole = piece.len() >= SHORTEST_HOLE && ZEROS.get(..piece.len()) == Some(piece);
        if !is_hole {
            self.file.write_all_at(piece, self.bytes)?;
        }
        self.bytes = self.bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The size of a file without its holes, in bytes.
#[must_use]
pub fn without_holes(file: &Metadata) -> u64 {
    file.len().min(file.blocks().saturating_mul(BLOCK))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;
    use std::{fs, io::Write as _};

    /// Offset and content.
    type Piece<'p> = (u64, &'p [u8]);

    #[test]
    fn a_copy_has_the_same_content_and_does_not_fill_the_disk_with_holes() {
        let folder = tempfile::tempdir().unwrap();
        let mib = 1024 * 1024;
        let rows: [(u64, &[Piece]); 5] = [
            (0, &[]),
            (5, &[(0, b"words")]),
            (1024 * mib, &[]),
            (1024 * mib, &[(0, b"first"), (300 * mib + 7, b"middle"), (1024 * mib - 4, b"last")]),
            (64 * mib, &[(40 * mib, b"then a hole")]),
        ];
        for (length, pieces) in rows {
            let at = |name: &str| folder.path().join(name);
            let from =
                File::options().read(true).write(true).create(true).truncate(true).open(at("from")).unwrap();
            from.set_len(length).unwrap();
            pieces.iter().for_each(|(place, bytes)| from.write_all_at(bytes, *place).unwrap());
            // Also where the file system of the test can share blocks.
            copy_bytes(&from, &File::create(at("to")).unwrap()).unwrap();
            copy_content(&from, &File::create(at("shared")).unwrap()).unwrap();
            assert_eq!(File::open(at("shared")).unwrap().metadata().unwrap().len(), length);
            let copy = File::open(at("to")).unwrap();
            assert_eq!(copy.metadata().unwrap().len(), length);
            let written = copy.metadata().unwrap().blocks() * 512;
            assert!(written <= 2 * mib, "{length}: {written} bytes on the disk");
            for (place, bytes) in pieces {
                let mut found = vec![0; bytes.len()];
                copy.read_exact_at(&mut found, *place).unwrap();
                assert_eq!(found, *bytes);
            }
            if length <= 64 * mib {
                assert!(fs::read(at("from")).unwrap() == fs::read(at("to")).unwrap(), "{length}");
            }
        }
    }

    #[test]
    fn zeros_become_holes_and_the_file_has_its_whole_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let zeros = vec![0; 1 << 20];
        let rows: [&[&[u8]]; 5] = [
            &[],
            &[b"", b"words"],
            &[&zeros, &zeros],
            &[b"first", &zeros, b"last"],
            &[&zeros[..4095], b"\0", &zeros],
        ];
        for pieces in rows {
            let file = File::create(&path).unwrap();
            let mut sparse = Sparse::new(&file);
            pieces.iter().for_each(|piece| sparse.write_all(piece).unwrap());
            sparse.finish().unwrap();
            assert!(fs::read(&path).unwrap() == pieces.concat());
            let written = file.metadata().unwrap().blocks() * BLOCK;
            assert!(written <= 128 * 1024, "{written}");
        }
    }
}
