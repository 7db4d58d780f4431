//! Many contents in one file: a plain tar whose entries are named by digest, so that other programs can read it too.
//!
//! Its last two entries are `index` (sorted: 32 bytes of the digest, 8 of the offset, 8 of the length) and `end`, which says where the
//! index stands. One sync makes all of it last.

use envoi_contract::digest::Digest;
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

const BLOCK: usize = 512;
/// What stands behind the index: the header of `end`, its content, and two empty blocks.
const TAIL_BYTES: u64 = 4 * 512;
const ROW: usize = 48;
/// The largest index that is read: one of 20 million contents.
const MOST_INDEX_BYTES: u64 = 1 << 30;

/// A pack that is being written.
#[derive(Debug)]
pub(crate) struct PackWriter {
    file: BufWriter<File>,
    offset: u64,
    rows: Vec<(Digest, u64, u64)>,
}

impl PackWriter {
    pub(crate) fn new(file: File) -> Self {
        Self { file: BufWriter::with_capacity(1 << 20, file), offset: 0, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, digest: Digest, content: &[u8]) -> io::Result<()> {
        let offset = self.entry(&format!("sha256/{}", digest.hex()), content)?;
        self.rows.push((digest, offset, length(content)));
        Ok(())
    }

    /// Writes the index. The file is on disk when this returns; its name is not.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.rows.sort_unstable_by_key(|row| row.0);
        let mut index = Vec::with_capacity(self.rows.len().saturating_mul(ROW));
        for (digest, offset, length) in &self.rows {
            index.extend_from_slice(digest.as_bytes());
            index.extend_from_slice(&offset.to_be_bytes());
            index.extend_from_slice(&length.to_be_bytes());
        }
        let offset = self.entry("index", &index)?;
        let end = format!("envoi-pack 1\nindex {offset} {}\n", index.len());
        self.entry("end", end.as_bytes())?;
        self.file.write_all(&[0; 2 * BLOCK])?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Returns where the content stands.
    fn entry(&mut self, name: &str, content: &[u8]) -> io::Result<u64> {
        self.file.write_all(&header(name, length(content)))?;
        self.file.write_all(content)?;
        let padding = content.len().next_multiple_of(BLOCK).saturating_sub(content.len());
        self.file.write_all(&vec![0; padding])?;
        let offset = self.offset.saturating_add(BLOCK as u64);
        self.offset = offset.saturating_add(length(content)).saturating_add(padding as u64);
        Ok(offset)
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A header of the `ustar` form.
fn header(name: &str, size: u64) -> [u8; BLOCK] {
    let fields: [(usize, String); 9] = [
        (0, name.to_owned()),
        (100, "0000400\0".to_owned()),
        (108, "0000000\0".to_owned()),
        (116, "0000000\0".to_owned()),
        (124, format!("{size:011o}\0")),
        (136, "00000000000\0".to_owned()),
        // The sum is computed with blanks in its place.
        (148, "        ".to_owned()),
        (156, "0".to_owned()),
        (257, "ustar\x0000".to_owned()),
    ];
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &str| {
        for (to, from) in block.iter_mut().skip(at).zip(text.bytes()) {
            *to = from;
        }
    };
    for (at, text) in &fields {
        put(*at, text);
    }
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let text = format!("{sum:06o}\0 ");
    for (to, from) in block.iter_mut().skip(148).zip(text.bytes()) {
        *to = from;
    }
    block
}

/// A pack that is read.
#[derive(Debug)]
pub(crate) struct Pack {
    file: File,
    index: Vec<u8>,
}

impl Pack {
    /// # Errors
    /// It cannot be read, or is none ([`io::ErrorKind::InvalidData`]).
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = envoi_durable::open_regular(path)?;
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "it is not a whole pack");
        let end = file.metadata()?.len();
        let mut block = [0; BLOCK];
        let at = end.checked_sub(TAIL_BYTES - BLOCK as u64).ok_or_else(broken)?;
        file.read_exact_at(&mut block, at)?;
        let text = core::str::from_utf8(&block).map_err(|_| broken())?;
        let place = text.strip_prefix("envoi-pack 1\nindex ").and_then(|text| text.split_once('\n'));
        let (offset, length) = place.and_then(|(place, _)| place.split_once(' ')).ok_or_else(broken)?;
        let (Ok(offset), Ok(length)) = (offset.parse::<u64>(), length.parse::<u64>()) else {
            return Err(broken());
        };
        if length > MOST_INDEX_BYTES.min(end) || length % ROW as u64 != 0 {
            return Err(broken());
        }
        let mut index = vec![0; usize::try_from(length).map_err(|_| broken())?];
        file.read_exact_at(&mut index, offset)?;
        Ok(Self { file, index })
    }

    /// Where a content stands, and its length.
    pub(crate) fn find(&self, digest: &Digest) -> Option<(u64, u64)> {
        let rows = self.index.chunks_exact(ROW);
        let mut low = 0;
        let mut high = rows.len();
        while low < high {
            let middle = low.midpoint(high);
            let row = self.index.get(middle.checked_mul(ROW)?..)?.get(..ROW)?;
            let (name, place) = row.split_at_checked(32)?;
            match name.cmp(digest.as_bytes()) {
                core::cmp::Ordering::Less => low = middle.saturating_add(1),
                core::cmp::Ordering::Greater => high = middle,
                core::cmp::Ordering::Equal => {
                    let (offset, length) = place.split_at_checked(8)?;
                    return Some((
                        u64::from_be_bytes(offset.try_into().ok()?),
                        u64::from_be_bytes(length.try_into().ok()?),
                    ));
                }
            }
        }
        None
    }

    /// Each content, with where it stands and its length.
    pub(crate) fn rows(&self) -> Vec<(Digest, u64, u64)> {
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
        let row = |row: &[u8]| {
            let digest = row.get(..32)?.try_into().ok().map(Digest::from_bytes)?;
            Some((digest, number(row.get(32..40)?)?, number(row.get(40..ROW)?)?))
        };
        self.index.chunks_exact(ROW).filter_map(row).collect()
    }

    /// The digests of its contents.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.rows().into_iter().map(|(digest, ..)| digest).collect()
    }

    /// The bytes of a content, not verified.
    pub(crate) fn read(&self, (offset, length): (u64, u64)) -> io::Result<Vec<u8>> {
        let broken = |_| io::Error::new(io::ErrorKind::InvalidData, "the pack is broken");
        if length > self.file.metadata()?.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the pack is broken"));
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(broken)?];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

/// The packs in a folder, in the order of their names.
pub(crate) fn pack_paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tar") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_pack_is_read_by_this_program_and_by_tar() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        let contents: Vec<Vec<u8>> = (0_usize..300).map(|nth| vec![b'x'; nth * 7]).collect();
        let mut writer = PackWriter::new(File::create(&path).unwrap());
        for content in &contents {
            writer.add(Digest::of(content), content).unwrap();
        }
        writer.finish().unwrap();
        let pack = Pack::open(&path).unwrap();
        for content in &contents {
            let place = pack.find(&Digest::of(content)).unwrap();
            assert_eq!(&pack.read(place).unwrap(), content);
        }
        assert_eq!(pack.find(&Digest::of(b"y")), None);
        let name = format!("sha256/{}", Digest::of(&contents[299]).hex());
        let tar = Command::new("tar").arg("-xOf").arg(&path).arg(name).output().unwrap();
        assert_eq!(tar.stdout, contents[299]);
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 1, 512, 2048, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Pack::open(&path).is_err(), "{length}");
        }
    }
}
