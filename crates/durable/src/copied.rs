//! Copies of files that other programs made, with their holes, new files that get holes, and what such a file weighs.
//!
//! Disks of virtual machines and databases may say that they are hundreds of gigabytes long, and hold few. A copy that wrote every zero would
//! fill the disk.

use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io::{self, Read as _},
    os::unix::fs::{FileExt as _, MetadataExt as _},
};

/// The unit in which the system counts what a file takes of a disk.
const BLOCK: u64 = 512;

/// Copies the content of `from` into the empty file `to`. What was never written there is not written here either, as far as the file system
/// says so. Where it can, both files share their blocks until one of them is written to (XFS, Btrfs). Not synced.
///
/// # Errors
/// One of them cannot be read or written.
pub fn copy_content(from: &File, to: &File) -> io::Result<()> {
    match shares_blocks(from, to) {
        true => Ok(()),
        false => copy_bytes(from, to),
    }
}

/// Whether `to` has the content of `from` now, without a copy of it. It may not because of the file system, or because they are on two:
/// whatever the reason, nothing was written then, and a copy shows what is wrong.
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
            // What was added since is copied too.
            None => io::copy(&mut from, &mut to)?,
        };
        let Some(end) = end.filter(|end| *end < length) else { break };
        place = end;
    }
    // One that has become shorter meanwhile is not made longer again.
    let length = length.min(from.metadata()?.len());
    if to.metadata()?.len() < length {
        to.set_len(length)?;
    }
    Ok(())
}

/// Where the next data from `place` on begins, and where it ends if that is known; `None`: there is none.
fn next_data(file: &File, place: u64) -> io::Result<Option<(u64, Option<u64>)>> {
    match seek(file, SeekFrom::Data(place)) {
        Ok(start) => Ok(Some((start, seek(file, SeekFrom::Hole(start)).ok()))),
        Err(Errno::NXIO) => Ok(None),
        // The file system knows no holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some((place, None))),
        Err(errno) => Err(errno.into()),
    }
}

/// An empty file that is written from its beginning. Pieces of nothing but zeros become holes. Only after [`Sparse::finish`] it is as long as
/// what was written.
pub struct Sparse<'f> {
    file: &'f File,
    bytes: u64,
}

/// What is no hole: looked for in pieces that are not longer.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The shortest hole: a file system has no shorter one.
const SHORTEST_HOLE: usize = 4096;

impl<'f> Sparse<'f> {
    /// `file` is empty.
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

/// The bytes of a file that take room: all of it, but for its holes.
#[must_use]
pub fn without_holes(file: &Metadata) -> u64 {
    file.len().min(file.blocks().saturating_mul(BLOCK))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;
    use std::{fs, io::Write as _};

    /// Where it stands, and what.
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
