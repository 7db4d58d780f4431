//! `envoi-tree 1`: the list of the files of a folder. Its SHA-256 is the name of the snapshot.
//!
//! ```text
//! envoi-tree 1
//! 100755 sha256:9f86d0… 48213<TAB>src/run.sh<NUL>
//! 120000 sha256:2c26b4… 12<TAB>link<NUL>
//! 040755 - 0<TAB>empty<NUL>
//! 100644 large@1700000000.000000000 99999999999<TAB>video.mov<NUL>
//! 040000 unlisted 0<TAB>shut<NUL>
//! ```
//!
//! Sorted by the bytes of the path. A link has its target as content. A folder is listed only if it is empty. A file that is too large
//! or cannot be read is listed with its size and the time of its last change, and is not kept. A folder that cannot be listed is `unlisted`:
//! nothing is known of what is below it.

use envoi_contract::digest::Digest;
use std::collections::BTreeSet;

const HEADER: &[u8] = b"envoi-tree 1\n";

/// The permission bits that a list keeps.
pub(crate) const MODE_BITS: u32 = 0o777;

/// The list of a folder: sorted, without two entries of one path, and without an entry below another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    entries: Vec<Entry>,
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the folder, with `/`; any bytes but NUL.
    pub path: Vec<u8>,
    /// The nine permission bits; 0 for a link.
    pub mode: u32,
    /// The entry at the path.
    pub what: What,
}

/// The entry at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File {
        /// The digest of its content.
        digest: Digest,
        /// The size of its content, in bytes.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// The digest of its target.
        digest: Digest,
        /// The size of its target, in bytes.
        size: u64,
    },
    /// A folder with nothing in it.
    EmptyFolder,
    /// A file whose content is not kept, or a folder that cannot be listed.
    LeftOut {
        /// Why not.
        why: LeftOut,
        /// In bytes; 0 for a folder.
        size: u64,
        /// Seconds and nanoseconds of its last change; 0 for a folder.
        changed: (i64, u32),
    },
}

const UNLISTED: What = What::LeftOut { why: LeftOut::Unlisted, size: 0, changed: (0, 0) };

/// Why the content of a file is not kept, or nothing of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// It is larger than [`crate::Bounds::max_file_bytes`].
    Large,
    /// The system does not let it be read.
    Unreadable,
    /// A folder that the system does not let be listed: its contents are not known.
    Unlisted,
}

impl LeftOut {
    /// The word in the list.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Large => "large",
            Self::Unreadable => "unreadable",
            Self::Unlisted => "unlisted",
        }
    }
}

impl Entry {
    /// A folder that could not be listed.
    #[must_use]
    pub(crate) fn unlisted(path: Vec<u8>) -> Self {
        Self { path, mode: 0, what: UNLISTED }
    }

    /// Whether it is a folder that could not be listed.
    #[must_use]
    pub fn is_unlisted(&self) -> bool {
        self.what == UNLISTED
    }

    /// Digest and size of the content that is kept.
    #[must_use]
    pub fn content(&self) -> Option<(Digest, u64)> {
        match self.what {
            What::File { digest, size } | What::Link { digest, size } => Some((digest, size)),
            What::EmptyFolder | What::LeftOut { .. } => None,
        }
    }

    /// The path for a person: bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    fn write(&self, to: &mut Vec<u8>) {
        let (kind, content, size) = match &self.what {
            What::File { digest, size } => ("100", digest.to_string(), *size),
            What::Link { digest, size } => ("120", digest.to_string(), *size),
            What::EmptyFolder => ("040", "-".to_owned(), 0),
            What::LeftOut { why: LeftOut::Unlisted, .. } => ("040", LeftOut::Unlisted.word().to_owned(), 0),
            What::LeftOut { why, size, changed: (seconds, nanos) } => {
                ("100", format!("{}@{seconds}.{nanos:09}", why.word()), *size)
            }
        };
        to.extend_from_slice(format!("{kind}{:03o} {content} {size}\t", self.mode).as_bytes());
        to.extend_from_slice(&self.path);
        to.push(0);
    }

    fn read(line: &[u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = line.split_at_checked(tab)?;
        let path = path.get(1..)?.to_vec();
        let mut words = core::str::from_utf8(head).ok()?.split(' ');
        let mode = words.next()?;
        let content = words.next()?;
        let size = words.next()?.parse().ok()?;
        let (kind, bits) = mode.split_at_checked(3)?;
        let mode = u32::from_str_radix(bits, 8).ok()?;
        let what = match (kind, content) {
            ("040", "-") => What::EmptyFolder,
            ("040", why) if why == LeftOut::Unlisted.word() => UNLISTED,
            ("120", digest) => What::Link { digest: Digest::parse(digest)?, size },
            ("100", content) => match content.split_once('@') {
                None => What::File { digest: Digest::parse(content)?, size },
                Some((why, time)) => {
                    let why =
                        [LeftOut::Large, LeftOut::Unreadable].into_iter().find(|it| it.word() == why)?;
                    let (seconds, nanos) = time.split_once('.')?;
                    What::LeftOut { why, size, changed: (seconds.parse().ok()?, nanos.parse().ok()?) }
                }
            },
            _ => return None,
        };
        let entry = Self { path, mode, what };
        // Only what is written is read: no sign, no leading zero, no further word.
        let mut again = Vec::new();
        entry.write(&mut again);
        (again.strip_suffix(&[0]) == Some(line)).then_some(entry)
    }
}

/// Why bytes are no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The first line is another one.
    #[error("it does not begin with `envoi-tree 1`")]
    Header,
    /// A line has another form.
    #[error("entry {nth} is not `mode digest size path`")]
    Entry {
        /// From 0.
        nth: usize,
    },
    /// A path leads out of the folder, or into what is never part of a list.
    #[error("entry {nth} has the path `{path}`, which is not one below the folder")]
    Path {
        /// From 0.
        nth: usize,
        /// As a person reads it.
        path: String,
    },
    /// Entries are not in order, or one is there twice or below another.
    #[error("entry {nth}, `{path}`, is not in its place")]
    Order {
        /// From 0.
        nth: usize,
        /// As a person reads it.
        path: String,
    },
}

impl Tree {
    /// From entries in any order.
    ///
    /// # Errors
    /// [`ListError::Path`] and [`ListError::Order`]: two entries exclude each other.
    pub fn new(mut entries: Vec<Entry>) -> Result<Self, ListError> {
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Self::checked(entries)
    }

    /// Reads what [`Tree::encode`] has written, and nothing else.
    ///
    /// # Errors
    /// See [`ListError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ListError> {
        let body = bytes.strip_prefix(HEADER).ok_or(ListError::Header)?;
        let mut entries = Vec::new();
        let mut lines = body.split(|byte| *byte == 0);
        // The part after the last NUL.
        let rest = lines.next_back().unwrap_or_default();
        for (nth, line) in lines.enumerate() {
            entries.push(Entry::read(line).ok_or(ListError::Entry { nth })?);
        }
        match rest.is_empty() {
            true => Self::checked(entries),
            false => Err(ListError::Entry { nth: entries.len() }),
        }
    }

    fn checked(entries: Vec<Entry>) -> Result<Self, ListError> {
        let shown = |entry: &Entry| entry.shown();
        let mut last: Option<&Entry> = None;
        let paths: BTreeSet<&[u8]> = entries.iter().map(|entry| entry.path.as_slice()).collect();
        for (nth, entry) in entries.iter().enumerate() {
            if !is_plain(&entry.path) {
                return Err(ListError::Path { nth, path: shown(entry) });
            }
            let follows = last.is_none_or(|last| last.path < entry.path);
            if !follows || ancestors(&entry.path).any(|folder| paths.contains(folder)) {
                return Err(ListError::Order { nth, path: shown(entry) });
            }
            last = Some(entry);
        }
        Ok(Self { entries })
    }

    /// The entries, by the bytes of their paths.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of this path.
    #[must_use]
    pub fn get(&self, path: &[u8]) -> Option<&Entry> {
        let place = self.entries.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
        self.entries.get(place)
    }

    /// Whether there is an entry below this path.
    #[must_use]
    pub fn has_below(&self, path: &[u8]) -> bool {
        let mut prefix = path.to_vec();
        prefix.push(b'/');
        let place = self.entries.partition_point(|entry| entry.path < prefix);
        self.entries.get(place).is_some_and(|entry| entry.path.starts_with(&prefix))
    }

    /// Whether nothing is known of this path, because a folder above it could not be listed.
    #[must_use]
    pub fn hides(&self, path: &[u8]) -> bool {
        ancestors(path).any(|folder| self.get(folder).is_some_and(Entry::is_unlisted))
    }

    /// The bytes whose digest is the name of the snapshot.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        self.entries.iter().for_each(|entry| entry.write(&mut bytes));
        bytes
    }
}

/// The folders above a path, the nearest first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut end = path.len();
    core::iter::from_fn(move || {
        let above = path.get(..end)?;
        end = above.iter().rposition(|byte| *byte == b'/')?;
        path.get(..end)
    })
}

/// Names that are in no list: those that git, this program and a restore keep for themselves.
pub(crate) fn is_never(name: &[u8]) -> bool {
    [b".git".as_slice(), b".envoi", ASIDE.as_bytes()].contains(&name)
}

/// The folder for displaced files in the root of a folder that is on another file system than the store.
pub(crate) const ASIDE: &str = ".envoi-aside";

/// Whether a path leads to something below the folder that may be in a list.
pub(crate) fn is_plain(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !name.is_empty() && name != b"." && name != b".." && !is_never(name);
    !path.contains(&0) && path.split(|byte| *byte == b'/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> Entry {
        let what = What::File { digest: Digest::of(content.as_bytes()), size: content.len() as u64 };
        Entry { path: path.into(), mode: 0o644, what }
    }

    #[test]
    fn a_list_is_sorted_by_bytes_and_read_back() {
        let link = Entry {
            path: b"l\xff\n\t".to_vec(),
            mode: 0,
            what: What::Link { digest: Digest::of(b"x"), size: 1 },
        };
        let folder = Entry { path: b"a/e".to_vec(), mode: 0o755, what: What::EmptyFolder };
        let what = What::LeftOut { why: LeftOut::Large, size: 1 << 40, changed: (-1, 7) };
        let large = Entry { path: b"z".to_vec(), mode: 0o600, what };
        let tree =
            Tree::new(vec![large, link, file("a/b", "1"), folder, file("a-b", "2"), file("A", "")]).unwrap();
        let paths: Vec<_> = tree.entries().iter().map(Entry::shown).collect();
        assert_eq!(paths, ["A", "a-b", "a/b", "a/e", "l\u{fffd}\n\t", "z"]);
        assert_eq!(Tree::parse(&tree.encode()).unwrap(), tree);
        assert!(tree.has_below(b"a") && !tree.has_below(b"A") && !tree.has_below(b"a/b"));
        assert_eq!(tree.get(b"a/b"), Some(&file("a/b", "1")));
        let text = tree.encode();
        let begin = "envoi-tree 1\n100644 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0\tA\0";
        assert!(text.starts_with(begin.as_bytes()));
    }

    #[test]
    fn what_cannot_stand_in_a_folder_is_refused() {
        for path in ["", "/a", "a/", "a//b", "../a", "a/./b", ".git/config", "a/.git", ".envoi/x", "a\0b"] {
            assert!(matches!(Tree::new(vec![file(path, "")]), Err(ListError::Path { .. })), "{path:?}");
        }
        for paths in [["a", "a"], ["a", "a/b"], ["a/b/c", "a"]] {
            let entries = paths.iter().map(|path| file(path, "")).collect();
            assert!(matches!(Tree::new(entries), Err(ListError::Order { .. })), "{paths:?}");
        }
    }

    #[test]
    fn bytes_that_were_not_written_so_are_refused() {
        let whole = Tree::new(vec![file("a", "1"), file("b", "2")]).unwrap().encode();
        for (from, to) in [
            ("envoi-tree 1", "envoi-tree 2"),
            ("100644", "100 44"),
            ("100644", "160000"),
            ("sha256", "sha512"),
            (" 1\ta", " 01\ta"),
            (" 1\ta", " +1\ta"),
            ("\ta\0", "\tc\0"),
            ("\tb\0", "\tb"),
        ] {
            let text = String::from_utf8(whole.clone()).unwrap().replacen(from, to, 1);
            assert!(Tree::parse(text.as_bytes()).is_err(), "{from:?} as {to:?}");
        }
        for length in 0..whole.len() {
            let cut = whole.get(..length).unwrap();
            let whole_lines = cut.ends_with(&[0]) || cut == HEADER;
            assert_eq!(Tree::parse(cut).is_ok(), whole_lines, "{length}");
        }
    }
}
