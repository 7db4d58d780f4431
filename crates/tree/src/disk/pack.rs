//! Many contents in one file: a tar whose entries are named by digest, so that other programs can read it too.
//!
//! A content that becomes smaller by it is compressed with zstd, and the name of its entry ends with `.zst`. The digest is always that of the
//! content. The last two entries are `index` (sorted: 32 bytes of the digest, 8 of the offset, 8 of the length in the pack, 8 of the length of
//! the content, which is greater if it is compressed) and `end`, which has the position of the index. A single sync makes all of it
//! durable.
//!
//! Packs of earlier versions (`envoi-pack 1`) have no compressed contents, and their index has one length.

use envoi_contract::digest::Digest;
use std::{
    fs::{self, File},
    io::{self, BufWriter, Read as _, Write},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};
use zstd::{Decoder, bulk::Compressor, zstd_safe::compress_bound};

const BLOCK: usize = 512;
/// The end of a pack, behind the index: the header of `end`, its content, and two empty blocks.
const TAIL_BYTES: u64 = 4 * 512;
const ROW: usize = 56;
/// The size of a row in a pack without compressed contents.
const PLAIN_ROW: usize = 48;
/// The largest index that is read: one of 19 million contents.
const MOST_INDEX_BYTES: u64 = 1 << 30;
/// The level of zstd. A higher one makes a snapshot slower (docs/figures.md), and a content is read more seldom than it is written.
const LEVEL: i32 = 1;
/// Shorter contents stay plain: a pack has a header of 512 bytes for each, and counts in such blocks.
const LEAST_COMPRESSED: usize = 1024;
/// The part of a longer content that is compressed first, as a test.
const TRIED: usize = 64 << 10;

/// A pack that is being written.
pub(crate) struct PackWriter {
    file: BufWriter<File>,
    offset: u64,
    rows: Vec<(Digest, Place)>,
    compressor: Option<Compressor<'static>>,
    compressed: Vec<u8>,
}

impl core::fmt::Debug for PackWriter {
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        to.debug_struct("PackWriter").field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// The position of a content in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    offset: u64,
    /// Its bytes in the pack.
    pub(crate) stored: u64,
    /// The bytes of the content. They are more if it is compressed.
    length: u64,
}

impl PackWriter {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file: BufWriter::with_capacity(1 << 20, file),
            offset: 0,
            rows: Vec::new(),
            compressor: None,
            compressed: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, digest: Digest, content: &[u8]) -> io::Result<()> {
        let name = format!("sha256/{}", digest.hex());
        let (offset, stored) = match self.compress(content)? {
            true => {
                let compressed = core::mem::take(&mut self.compressed);
                let offset = self.entry(&format!("{name}.zst"), &compressed)?;
                let stored = length(&compressed);
                self.compressed = compressed;
                (offset, stored)
            }
            false => (self.entry(&name, content)?, length(content)),
        };
        self.rows.push((digest, Place { offset, stored, length: length(content) }));
        Ok(())
    }

    /// Whether it is worth it: a tenth is saved, and a block of the pack. Then the result is in `compressed`.
    fn compress(&mut self, content: &[u8]) -> io::Result<bool> {
        if content.len() < LEAST_COMPRESSED {
            return Ok(false);
        }
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(LEVEL)?),
        };
        let parts = [content.get(..TRIED).filter(|_| content.len() > 2 * TRIED), Some(content)];
        for part in parts.into_iter().flatten() {
            self.compressed.clear();
            self.compressed.reserve(compress_bound(part.len()));
            let length = compressor.compress_to_buffer(part, &mut self.compressed)?;
            let saves_a_tenth = length < part.len().saturating_sub(part.len() / 10);
            if !saves_a_tenth || length.next_multiple_of(BLOCK) >= part.len().next_multiple_of(BLOCK) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the index. The file is on disk when this returns; its name is not.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.rows.sort_unstable_by_key(|row| row.0);
        let mut index = Vec::with_capacity(self.rows.len().saturating_mul(ROW));
        for (digest, place) in &self.rows {
            index.extend_from_slice(digest.as_bytes());
            for number in [place.offset, place.stored, place.length] {
                index.extend_from_slice(&number.to_be_bytes());
            }
        }
        let offset = self.entry("index", &index)?;
        let end = format!("envoi-pack 2\nindex {offset} {}\n", index.len());
        self.entry("end", end.as_bytes())?;
        self.file.write_all(&[0; 2 * BLOCK])?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Returns the offset of the content.
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
    /// How long a row of the index is.
    row: usize,
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
        let versions = [("envoi-pack 2\nindex ", ROW), ("envoi-pack 1\nindex ", PLAIN_ROW)];
        let version = versions.into_iter().find_map(|(begin, row)| Some((text.strip_prefix(begin)?, row)));
        let (text, row) = version.ok_or_else(broken)?;
        let place = text.split_once('\n');
        let (offset, length) = place.and_then(|(place, _)| place.split_once(' ')).ok_or_else(broken)?;
        let (Ok(offset), Ok(length)) = (offset.parse::<u64>(), length.parse::<u64>()) else {
            return Err(broken());
        };
        let length = usize::try_from(length).ok().filter(|_| length <= MOST_INDEX_BYTES.min(end));
        let length = length.filter(|length| length.is_multiple_of(row)).ok_or_else(broken)?;
        let mut index = vec![0; length];
        file.read_exact_at(&mut index, offset)?;
        Ok(Self { file, index, row })
    }

    /// The position of a content.
    pub(crate) fn find(&self, digest: &Digest) -> Option<Place> {
        let mut low = 0;
        let mut high = self.index.len().checked_div(self.row)?;
        while low < high {
            let middle = low.midpoint(high);
            let row = self.index.get(middle.checked_mul(self.row)?..)?.get(..self.row)?;
            let (name, place) = row.split_at_checked(32)?;
            match name.cmp(digest.as_bytes()) {
                core::cmp::Ordering::Less => low = middle.saturating_add(1),
                core::cmp::Ordering::Greater => high = middle,
                core::cmp::Ordering::Equal => return place_of(place),
            }
        }
        None
    }

    /// Each content, with its position.
    pub(crate) fn rows(&self) -> Vec<(Digest, Place)> {
        let row = |row: &[u8]| {
            let (name, place) = row.split_at_checked(32)?;
            Some((Digest::from_bytes(name.try_into().ok()?), place_of(place)?))
        };
        self.index.chunks_exact(self.row).filter_map(row).collect()
    }

    /// The digests of its contents.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.rows().into_iter().map(|(digest, _)| digest).collect()
    }

    /// The bytes of a content, not verified.
    pub(crate) fn read(&self, place: Place) -> io::Result<Vec<u8>> {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "the pack is broken");
        if place.stored > self.file.metadata()?.len() {
            return Err(broken());
        }
        let mut bytes = vec![0; usize::try_from(place.stored).map_err(|_| broken())?];
        self.file.read_exact_at(&mut bytes, place.offset)?;
        match place.stored == place.length {
            true => Ok(bytes),
            // With any index, no more room is made than there are bytes.
            false => expanded(&bytes, place.length).map_err(|_| broken()),
        }
    }
}

fn expanded(compressed: &[u8], length: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let decoder = Decoder::with_buffer(compressed)?.single_frame();
    decoder.take(length.saturating_add(1)).read_to_end(&mut content)?;
    Ok(content)
}

fn place_of(bytes: &[u8]) -> Option<Place> {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
    let (offset, stored) = (number(bytes.get(..8)?)?, number(bytes.get(8..16)?)?);
    let length = match bytes.get(16..24) {
        Some(length) => number(length)?,
        None => stored,
    };
    Some(Place { offset, stored, length })
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

    /// Bytes that do not become smaller.
    fn noise(length: usize) -> Vec<u8> {
        let blocks = (0_u32..).flat_map(|nth| *Digest::of(&nth.to_be_bytes()).as_bytes());
        blocks.take(length).collect()
    }

    fn text(length: usize) -> Vec<u8> {
        (0_u32..).flat_map(|nth| format!("line {nth}\n").into_bytes()).take(length).collect()
    }

    fn packed(path: &Path, contents: &[Vec<u8>]) -> Pack {
        let mut writer = PackWriter::new(File::create(path).unwrap());
        for content in contents {
            writer.add(Digest::of(content), content).unwrap();
        }
        writer.finish().unwrap();
        Pack::open(path).unwrap()
    }

    #[test]
    fn a_pack_is_read_by_this_program_and_by_tar() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        let contents: Vec<Vec<u8>> = (0_usize..300).map(|nth| vec![b'x'; nth * 7]).collect();
        let pack = packed(&path, &contents);
        for content in &contents {
            let place = pack.find(&Digest::of(content)).unwrap();
            assert_eq!(&pack.read(place).unwrap(), content);
        }
        assert_eq!(pack.find(&Digest::of(b"y")), None);
        let by_tar = |content: &[u8], end: &str| {
            let name = format!("sha256/{}{end}", Digest::of(content).hex());
            Command::new("tar").arg("-xOf").arg(&path).arg(name).output().unwrap().stdout
        };
        assert_eq!(by_tar(&contents[100], ""), contents[100]);
        assert_eq!(zstd::decode_all(by_tar(&contents[299], ".zst").as_slice()).unwrap(), contents[299]);
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 1, 512, 2048, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Pack::open(&path).is_err(), "{length}");
        }
    }

    #[test]
    fn only_what_becomes_smaller_is_compressed() {
        let folder = tempfile::tempdir().unwrap();
        // Noise at the beginning predicts the rest; in the middle it is found at the end.
        let mixed = [noise(3 * TRIED), text(TRIED)].concat();
        let late = [text(2 * TRIED), noise(30 * TRIED)].concat();
        let rows: [(Vec<u8>, bool); 9] = [
            (Vec::new(), false),
            (text(LEAST_COMPRESSED - 1), false),
            (text(LEAST_COMPRESSED), true),
            (noise(LEAST_COMPRESSED), false),
            (noise(5 * TRIED), false),
            (text(5 * TRIED), true),
            (vec![0; 3 << 20], true),
            (mixed, false),
            (late, false),
        ];
        let contents: Vec<Vec<u8>> = rows.iter().map(|(content, _)| content.clone()).collect();
        let pack = packed(&folder.path().join("pack"), &contents);
        for (content, is_smaller) in &rows {
            let place = pack.find(&Digest::of(content)).unwrap();
            assert_eq!(place.length, content.len() as u64);
            assert_eq!(place.stored < place.length, *is_smaller, "{place:?}");
            assert_eq!(&pack.read(place).unwrap(), content);
        }
        assert_eq!(pack.rows().len(), rows.len());
    }

    #[test]
    fn a_pack_of_an_earlier_version_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        let mut contents: Vec<Vec<u8>> = (0..100).map(|nth| text(nth * 50)).collect();
        contents.sort_by_key(|content| *Digest::of(content).as_bytes());
        let mut file = File::create(&path).unwrap();
        let mut index = Vec::new();
        let mut all = Vec::new();
        let entry = |name: &str, content: &[u8], all: &mut Vec<u8>| {
            all.extend_from_slice(&header(name, length(content)));
            let offset = all.len() as u64;
            all.extend_from_slice(content);
            all.resize(all.len().next_multiple_of(BLOCK), 0);
            offset
        };
        for content in &contents {
            let digest = Digest::of(content);
            let offset = entry(&format!("sha256/{}", digest.hex()), content, &mut all);
            index.extend_from_slice(digest.as_bytes());
            index.extend_from_slice(&offset.to_be_bytes());
            index.extend_from_slice(&length(content).to_be_bytes());
        }
        let offset = entry("index", &index, &mut all);
        let end = format!("envoi-pack 1\nindex {offset} {}\n", index.len());
        entry("end", end.as_bytes(), &mut all);
        all.resize(all.len() + 2 * BLOCK, 0);
        file.write_all(&all).unwrap();
        let pack = Pack::open(&path).unwrap();
        for content in &contents {
            let place = pack.find(&Digest::of(content)).unwrap();
            assert_eq!(&pack.read(place).unwrap(), content);
        }
        assert_eq!(pack.rows().len(), contents.len());
    }

    #[test]
    fn damage_of_a_compressed_content_is_seen_and_makes_no_room_for_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        let content = text(5_000);
        let place = packed(&path, std::slice::from_ref(&content)).find(&Digest::of(&content)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for nth in 0..place.stored {
            let mut bytes = whole.clone();
            bytes[usize::try_from(place.offset + nth).unwrap()] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let read = Pack::open(&path).unwrap().read(place);
            assert!(read.is_err() || read.unwrap() != content, "{nth}");
        }
        std::fs::write(&path, &whole).unwrap();
        let pack = Pack::open(&path).unwrap();
        for (stored, length) in
            [(place.stored, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, 1), (place.stored, 1)]
        {
            let read = pack.read(Place { stored, length, ..place });
            assert!(read.is_err() || read.unwrap().len() <= content.len(), "{stored} {length}");
        }
    }
}
