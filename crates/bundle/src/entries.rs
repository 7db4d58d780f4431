//! The entries of a bundle's archive, read once from beginning to end, within size limits.
//!
//! Owns which names an entry may have, and how much of an archive is kept in memory. [`crate::verify`] checks
//! whether the entries belong together.

use crate::{
    manifest::{BLOBS, CHAIN, EVENTS, FLOW, FLOWS, HANDOFFS, LOGS, MANIFEST, README, SIGNATURE, SUMS, TREES},
    named,
    wrong::{Wrong, wrong},
};
use envoi_contract::digest::Digest;
use envoi_kernel::Record;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io::{self, BufRead, Read},
    path::{Component, PathBuf},
};

/// Maximum size of all texts and names together, because they are kept in memory.
pub(crate) const MAX_KEPT_BYTES: u64 = 1 << 30;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 2_000_000;

/// Maximum size of an entry that holds the name of the next one.
const MAX_NAME_BYTES: u64 = 64 * 1024;

/// Maximum number of zeros after the last entry that are read. `tar` fills up to 10 KiB.
const MAX_FILL_BYTES: u64 = 1 << 20;

/// Memory counted for each digest that is kept.
const DIGEST_BYTES: u64 = 64;

/// All entries of a bundle: the sums of all, and the contents of text entries.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) folder: String,
    pub(crate) sums: BTreeMap<String, Digest>,
    pub(crate) sizes: BTreeMap<String, u64>,
    pub(crate) texts: BTreeMap<String, Vec<u8>>,
    /// The contents that the lists of snapshots name. The lists themselves are not kept.
    pub(crate) listed: BTreeSet<Digest>,
}

impl Entries {
    pub(crate) fn text(&self, name: &str) -> Result<&[u8], Wrong> {
        self.texts.get(name).map(Vec::as_slice).ok_or_else(|| wrong(name, "it is missing"))
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Wrong> {
        serde_json::from_slice(self.text(name)?).map_err(|error| wrong(name, error.to_string()))
    }

    /// The names that begin with `folder`, without that prefix.
    pub(crate) fn below<'e>(&'e self, folder: &'e str) -> impl Iterator<Item = &'e str> {
        self.sums.keys().filter_map(move |name| name.strip_prefix(folder))
    }
}

fn of_archive(error: io::Error) -> Wrong {
    wrong("the archive", error.to_string())
}

/// Reads the archive once, and keeps at most `most_bytes` of it.
pub(crate) fn read(source: impl Read, most_bytes: u64) -> Result<Entries, Wrong> {
    // Without this limit, further frames would be read as a part of this archive.
    let decoder = zstd::Decoder::new(source).map_err(of_archive)?.single_frame();
    let mut archive = tar::Archive::new(decoder);
    let mut entries = Entries::default();
    // Lists of artifacts refer to contents. The events, which come first, tell which contents are such lists.
    let mut lists: BTreeSet<String> = BTreeSet::new();
    let mut left_bytes = most_bytes;
    let mut keep = |bytes: u64| -> Result<(), Wrong> {
        let left = left_bytes.checked_sub(bytes);
        left_bytes = left.ok_or_else(|| {
            wrong("the archive", format!("its texts and names have more than {most_bytes} bytes"))
        })?;
        Ok(())
    };
    let mut long_name = None;
    // Raw mode, because otherwise the names of entries would be read whatever their length.
    for entry in archive.entries().map_err(of_archive)?.raw(true) {
        let mut entry = entry.map_err(of_archive)?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
            long_name = name_in(&mut entry)?.or(long_name);
            continue;
        }
        let path = match long_name.take() {
            Some(path) => path,
            None => entry.path().map_err(of_archive)?.into_owned(),
        };
        keep(u64::try_from(path.as_os_str().len()).unwrap_or(u64::MAX))?;
        let shown = path.display().to_string();
        let full = path.to_str().ok_or_else(|| wrong(&shown, "its name is no text"))?;
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || full.contains("//") || full.ends_with('/') || full.contains("/./") {
            return Err(wrong(&shown, "its name leads elsewhere"));
        }
        if let Some(why) = why_no_file(full) {
            return Err(wrong(&shown, why));
        }
        if entry.header().entry_type() != tar::EntryType::Regular {
            return Err(wrong(&shown, "it is no plain file"));
        }
        let (folder, name) = full.split_once('/').ok_or_else(|| wrong(&shown, "it is in no folder"))?;
        if entries.folder.is_empty() {
            entries.folder = folder.to_owned();
        } else if entries.folder != folder {
            return Err(wrong(&shown, "it is in another folder than the first entry"));
        }
        if entries.texts.contains_key(SIGNATURE) || (entries.texts.contains_key(SUMS) && name != SIGNATURE) {
            return Err(wrong(&shown, format!("it comes after {SUMS}")));
        }
        if entries.sums.len() == MAX_ENTRIES {
            return Err(wrong("the archive", format!("it has more than {MAX_ENTRIES} entries")));
        }
        let size = entry.size();
        let is_text = match name {
            README | MANIFEST | FLOW | FLOWS | EVENTS | CHAIN | SUMS | SIGNATURE => true,
            name if name.starts_with(HANDOFFS) || lists.contains(name) => true,
            name if [LOGS, TREES, BLOBS].iter().any(|folder| name.starts_with(folder)) => false,
            _ => return Err(wrong(&shown, "no bundle has such an entry")),
        };
        let digest = if name.starts_with(TREES) {
            if size > named::MAX_LIST_BYTES {
                let most = named::MAX_LIST_BYTES;
                return Err(wrong(&shown, format!("it has {size} bytes, and at most {most} are read")));
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(of_archive)?;
            let listed =
                named::in_snapshot(&bytes).ok_or_else(|| wrong(&shown, "it is no list of a snapshot"))?;
            for content in listed {
                if entries.listed.insert(content) {
                    keep(DIGEST_BYTES)?;
                }
            }
            Digest::of(&bytes)
        } else if is_text {
            keep(size)?;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(of_archive)?;
            let digest = Digest::of(&bytes);
            if name == EVENTS {
                lists = lists_of(&bytes);
            }
            entries.texts.insert(name.to_owned(), bytes);
            digest
        } else {
            let mut sum = Sum(Sha256::new());
            io::copy(&mut entry, &mut sum).map_err(of_archive)?;
            Digest::from_bytes(sum.0.finalize().into())
        };
        entries.sizes.insert(name.to_owned(), size);
        if entries.sums.insert(name.to_owned(), digest).is_some() {
            return Err(wrong(&shown, "it stands there twice"));
        }
    }
    check_end(archive.into_inner())?;
    Ok(entries)
}

/// Maximum length of a file name in usual file systems.
const MAX_FILE_NAME_BYTES: usize = 255;
const MAX_PATH_BYTES: usize = 4095;

/// Why no file with this name can be unpacked, or written by an import.
pub(crate) fn why_no_file(path: &str) -> Option<String> {
    if path.contains('\0') {
        return Some("no file can have its name".to_owned());
    }
    if path.len() > MAX_PATH_BYTES || path.split('/').any(|name| name.len() > MAX_FILE_NAME_BYTES) {
        let most = MAX_FILE_NAME_BYTES;
        return Some(format!(
            "no file can have its name: one has at most {most} bytes, a path {MAX_PATH_BYTES}"
        ));
    }
    None
}

/// After the last entry only zeros may follow that fill up an archive. Otherwise two different files could
/// both be the bundle.
fn check_end(mut decoder: zstd::Decoder<'_, impl BufRead>) -> Result<(), Wrong> {
    let mut rest = Vec::new();
    decoder.by_ref().take(MAX_FILL_BYTES.saturating_add(1)).read_to_end(&mut rest).map_err(of_archive)?;
    let is_short = u64::try_from(rest.len()).is_ok_and(|length| length <= MAX_FILL_BYTES);
    let is_fill = is_short && rest.iter().all(|byte| *byte == 0);
    let mut source = decoder.finish();
    let is_at_end = source.fill_buf().map_err(of_archive)?.is_empty();
    if is_fill && is_at_end { Ok(()) } else { Err(wrong("the archive", "something stands behind its end")) }
}

/// The name of the next entry if it is too long for a header, in the form of GNU tar or POSIX.
fn name_in(entry: &mut tar::Entry<'_, impl Read>) -> Result<Option<PathBuf>, Wrong> {
    use std::os::unix::ffi::OsStringExt as _;
    if entry.size() > MAX_NAME_BYTES {
        let reason =
            format!("the name of an entry has {} bytes, and at most {MAX_NAME_BYTES} are read", entry.size());
        return Err(wrong("the archive", reason));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(of_archive)?;
    let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
    if entry.header().entry_type().is_gnu_longname() {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        bytes.truncate(end);
        return Ok(Some(path(bytes)));
    }
    let mut name = None;
    for extension in tar::PaxExtensions::new(&bytes) {
        let extension = extension.map_err(of_archive)?;
        match extension.key_bytes() {
            b"path" => name = Some(path(extension.value_bytes().to_vec())),
            b"size" => return Err(wrong("the archive", "the size of an entry does not stand in its header")),
            _ => {}
        }
    }
    Ok(name)
}

/// Calls `take` with each entry below the folder of the run: its name there, its size and its content. The
/// bundle must have been verified: names are not checked again.
pub(crate) fn entries<E: From<io::Error>>(
    source: impl Read,
    mut take: impl FnMut(&str, u64, &mut dyn Read) -> Result<(), E>,
) -> Result<(), E> {
    let mut archive = tar::Archive::new(zstd::Decoder::new(source)?);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        if let Some((_, name)) = path.to_str().and_then(|path| path.split_once('/')) {
            let size = entry.size();
            take(name, size, &mut entry)?;
        }
    }
    Ok(())
}

struct Sum(Sha256);

impl io::Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The names of the entries that are lists of artifacts. Unreadable events are ignored here and reported
/// later.
fn lists_of(events: &[u8]) -> BTreeSet<String> {
    let records = lines(events).filter_map(|line| serde_json::from_slice::<Record>(line).ok());
    let lists = records.filter_map(|record| named::contents(&record.event).1);
    lists.map(|digest| format!("{BLOBS}{}", digest.hex())).collect()
}

pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;
    use tar::{Builder, EntryType, Header};

    /// An archive of entries: their kind, name, and content.
    fn archive(entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        for (kind, name, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_path(name).unwrap();
            header.set_size(content.len() as u64);
            header.set_cksum();
            tar.append(&header, *content).unwrap();
        }
        zstd::encode_all(tar.into_inner().unwrap().as_slice(), 1).unwrap()
    }

    fn refused(entries: &[(EntryType, &str, &[u8])]) -> String {
        read(archive(entries).as_slice(), 10_000).err().unwrap().to_string()
    }

    #[test]
    fn nothing_stands_behind_the_end() {
        let whole = archive(&[(EntryType::Regular, "run_a/logs/x", b"a")]);
        let plain = zstd::decode_all(whole.as_slice()).unwrap();
        let packed = |parts: &[&[u8]]| zstd::encode_all(parts.concat().as_slice(), 1).unwrap();
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 1];
        assert!(read(packed(&[&plain, &[0; 9_000]]).as_slice(), 10_000).is_ok());
        for (name, file) in [
            ("bytes", [whole.as_slice(), b"garbage"].concat()),
            ("the file again", [whole.clone(), whole.clone()].concat()),
            ("the archive again in one stream", packed(&[&plain, &plain])),
            ("text in the stream", packed(&[&plain, b"xxxx"])),
            ("many zeros", packed(&[&plain, &vec![0; 2 << 20]])),
            ("a skipped frame behind it", [whole.as_slice(), &skipped].concat()),
            ("a skipped frame before it", [&skipped, whole.as_slice()].concat()),
        ] {
            assert!(read(file.as_slice(), 10_000).is_err(), "{name}");
        }
    }

    #[test]
    fn no_more_of_an_archive_is_kept_than_a_bound() {
        let text = vec![b'x'; 4_000];
        let regular = EntryType::Regular;
        let names = ["run_a/handoff/a.1.json", "run_a/handoff/a.2.json", "run_a/handoff/a.3.json"];
        let texts = names.map(|name| (regular, name, text.as_slice()));
        assert!(read(archive(&texts[..2]).as_slice(), 10_000).is_ok());
        let more = "the archive: its texts and names have more than 10000 bytes";
        assert_eq!(refused(&texts), more);
        let logs: Vec<String> = (0..500).map(|nth| format!("run_a/logs/a.{nth:03}.1/stdout")).collect();
        let logs: Vec<_> = logs.iter().map(|name| (regular, name.as_str(), &b""[..])).collect();
        assert_eq!(refused(&logs), more, "names count");
    }

    #[test]
    fn a_name_that_no_file_can_have_is_refused() {
        let deep = format!("run_a/logs/{}stdout", "folder/".repeat(600));
        let long = format!("run_a/logs/{}/stdout", "a".repeat(256));
        let nul = "run_a/logs/a\0b/stdout".to_owned();
        for path in [deep, long, nul] {
            let extension = format!(" path={path}\n");
            let length = (extension.len()..)
                .find(|length| length.to_string().len() + extension.len() == *length)
                .unwrap();
            let extension = format!("{length}{extension}");
            let entries = [
                (EntryType::XHeader, "name", extension.as_bytes()),
                (EntryType::Regular, "run_a/logs/x", b""),
            ];
            let message = refused(&entries);
            assert!(message.contains(": no file can have its name"), "{message}");
        }
        assert_eq!(why_no_file(&"a".repeat(MAX_FILE_NAME_BYTES)), None);
    }

    #[test]
    fn a_name_in_an_entry_of_its_own_is_read_up_to_a_bound() {
        let long = format!("run_a/logs/{}/stdout", "a".repeat(200));
        let pax = |text: &str| {
            let body = format!(" path={text}\n");
            let length =
                (body.len()..).find(|length| length.to_string().len() + body.len() == *length).unwrap();
            format!("{length}{body}")
        };
        let (gnu, posix) = (format!("{long}\0"), pax(&long));
        for (kind, name) in [(EntryType::GNULongName, &gnu), (EntryType::XHeader, &posix)] {
            let entries =
                [(kind, "name", name.as_bytes()), (EntryType::Regular, "run_a/logs/x", &b"text"[..])];
            let found = read(archive(&entries).as_slice(), 10_000).unwrap();
            assert_eq!(
                found.sums.keys().collect::<Vec<_>>(),
                [long.strip_prefix("run_a/").unwrap()],
                "{kind:?}"
            );
            let huge: Vec<u8> = iter::repeat_n(b'a', 65_537).collect();
            let message = refused(&[(kind, "name", &huge)]);
            assert_eq!(
                message,
                "the archive: the name of an entry has 65537 bytes, and at most 65536 are read"
            );
        }
        let (escape, line) =
            ("run_a/\u{1b}]0;title\u{7}\nrun_a is whole", "run_a/".to_owned() + &"x".repeat(1_000));
        for (name, shown) in
            [(escape, "run_a/\\u{1b}]0;title\\u{7}\\nrun_a is whole: no bundle"), (&line, "xxx…: no file")]
        {
            let message =
                refused(&[(EntryType::GNULongName, "name", name.as_bytes()), (EntryType::Regular, "x", b"")]);
            assert!(message.contains(shown) && message.len() < 600, "{message:?}");
        }
        let size = [(EntryType::XHeader, "name", &b"10 size=1\n"[..])];
        assert_eq!(refused(&size), "the archive: the size of an entry does not stand in its header");
    }
}
