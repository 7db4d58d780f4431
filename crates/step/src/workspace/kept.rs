//! The contents of the watched files before the command, kept as long as the command runs.
//!
//! One packed file without a name: the system frees it when the supervisor ends in any way, so no other
//! process finds it. No problem here is worth a warning or fails an attempt: a content that cannot be kept is
//! treated like one that is too large.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::attempt::dir::AttemptDir;
use crate::attempt::record::FileRef;
use crate::disk::pieces::{self, Measure};
use crate::disk::plain;
use crate::mask::Secrets;
use crate::workspace::artifacts::Digests;
use crate::workspace::cancellable::Cancellable;

/// Larger files are not kept: a person reads the difference, and a difference of so many lines is not
/// readable.
const LARGEST_FILE_BYTES: usize = 256 * 1024;

/// The most that is kept for one attempt: some thousand sources of usual size. Little disk space, however
/// many attempts run at the same time.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// The old contents, by path.
#[derive(Default)]
pub(crate) struct Kept {
    /// Made for the first file that is not empty.
    pack: Option<File>,
    places: BTreeMap<String, PackRange>,
}

/// The place of a content in the pack.
struct PackRange {
    from: u64,
    bytes: usize,
}

/// Reads files for their digests, and packs their contents at the same time.
pub(crate) struct Keeper<'a> {
    dir: &'a AttemptDir,
    pack: Option<BufWriter<File>>,
    places: BTreeMap<String, PackRange>,
    packed_bytes: u64,
    /// The file that is being read, as far as it can be kept.
    content: Vec<u8>,
    /// A write failed, so the place of the next content is not known.
    failed: bool,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(dir: &'a AttemptDir) -> Self {
        let pack = None;
        let places = BTreeMap::new();
        let content = Vec::new();
        Self { dir, pack, places, packed_bytes: 0, content, failed: false }
    }

    /// Measures `file`.
    ///
    /// # Errors
    /// The file cannot be read, or the attempt is cancelled: then nothing more is read, however large the
    /// file is.
    pub(crate) fn measure(&mut self, path: &str, file: impl Read) -> io::Result<Measure> {
        self.content.clear();
        let mut fits = !self.failed;
        let measure = pieces::read_through(&mut Cancellable::any(self.dir, file), |piece| {
            fits = fits && self.content.len().saturating_add(piece.len()) <= LARGEST_FILE_BYTES;
            if fits {
                self.content.extend_from_slice(piece);
            }
            Ok(())
        })?;
        if fits && self.packed_bytes.saturating_add(measure.bytes) <= MOST_BYTES {
            self.failed = self.keep(path, measure.bytes).is_err();
        }
        Ok(measure)
    }

    fn keep(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        if !self.content.is_empty() {
            let pack = match &mut self.pack {
                Some(pack) => pack,
                none => none.insert(BufWriter::with_capacity(pieces::CHUNK_BYTES, nameless(self.dir)?)),
            };
            pack.write_all(&self.content)?;
        }
        let place = PackRange { from: self.packed_bytes, bytes: self.content.len() };
        self.places.insert(path.to_owned(), place);
        self.packed_bytes = self.packed_bytes.saturating_add(bytes);
        Ok(())
    }

    /// Everything that was kept; nothing if the last write fails.
    pub(crate) fn finish(self) -> Kept {
        let Some(pack) = self.pack else { return Kept { pack: None, places: self.places } };
        match pack.into_inner() {
            Ok(pack) => Kept { pack: Some(pack), places: self.places },
            Err(_) => Kept::default(),
        }
    }
}

/// Makes a file that only this process can reach. If an earlier supervisor was killed here and left one, it
/// is replaced.
fn nameless(dir: &AttemptDir) -> io::Result<File> {
    let path = dir.path().join("before.pack");
    let file = plain::create_private(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

impl Kept {
    /// Writes the old content of `path` to a file below `before/` (on disk after
    /// [`envoi_durable::sync_files`]). `None` if it was not kept, differs from its digest in `known`, or
    /// contains a secret.
    pub(crate) fn hand_over(
        &self,
        dir: &AttemptDir,
        path: &str,
        known: &Digests,
        secrets: &Secrets,
    ) -> Option<FileRef> {
        let content = self.content(path)?;
        let measure = pieces::read_through(&mut content.as_slice(), |_| Ok(())).ok()?;
        if known.get(path)?.as_ref() != Some(&measure.sha256) || secrets.stand_in(&content) {
            return None;
        }
        let target = dir.before_files().join(path);
        if write(dir, path, &content).is_err() {
            // Nothing refers to this file.
            drop(fs::remove_file(&target));
            return None;
        }
        Some(FileRef { path: format!("before/{path}"), bytes: measure.bytes, sha256: measure.sha256 })
    }

    /// Whether a content of `path` was kept.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        let place = self.places.get(path)?;
        let mut content = vec![0; place.bytes];
        if let Some(pack) = &self.pack {
            pack.read_exact_at(&mut content, place.from).ok()?;
        }
        Some(content)
    }
}

fn write(dir: &AttemptDir, path: &str, content: &[u8]) -> io::Result<()> {
    plain::create_below(dir.path(), &Path::new("before").join(path))?.write_all(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::cancellable::LOOK_BYTES;

    /// The attempt's folder, and what `Keeper` kept of these files.
    fn keep(folder: &Path, files: &[(&str, &[u8])]) -> (AttemptDir, Kept, Digests) {
        let dir = AttemptDir::new(folder.join("a.1.1"));
        dir.create().unwrap();
        let mut keeper = Keeper::new(&dir);
        let mut known = Digests::new();
        for (name, content) in files {
            let path = folder.join("file");
            fs::write(&path, content).unwrap();
            let measure = keeper.measure(name, File::open(&path).unwrap()).unwrap();
            assert_eq!(measure, pieces::measure(&path).unwrap(), "{name}");
            known.insert((*name).to_owned(), Some(measure.sha256));
        }
        let kept = keeper.finish();
        (dir, kept, known)
    }

    fn handed_over(folder: &Path, files: &[(&str, &[u8])], secrets: &Secrets) -> Vec<String> {
        let (dir, kept, known) = keep(folder, files);
        let hand_over = |name: &str| kept.hand_over(&dir, name, &known, secrets);
        let handed = files.iter().filter_map(|(name, content)| Some((hand_over(name)?, *content)));
        let whole = |(file, content): (FileRef, &[u8])| {
            assert_eq!(fs::read(dir.path().join(&file.path)).unwrap(), content, "{}", file.path);
            assert_eq!(file.bytes, content.len() as u64);
            assert_eq!(pieces::measure(&dir.path().join(&file.path)).unwrap().sha256, file.sha256);
            file.path
        };
        handed.map(whole).collect()
    }

    #[test]
    fn a_content_is_handed_over_as_it_was_if_it_is_not_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let (largest, larger) = (vec![b'l'; LARGEST_FILE_BYTES], vec![b'l'; LARGEST_FILE_BYTES + 1]);
        let files: [(&str, &[u8]); 6] = [
            ("empty", b""),
            ("text", b"one\ntwo\n"),
            ("larger", &larger),
            ("sub/largest", &largest),
            ("sub/binary", b"\0\xff\x1b"),
            ("empty too", b""),
        ];
        let expected =
            ["before/empty", "before/text", "before/sub/largest", "before/sub/binary", "before/empty too"];
        assert_eq!(handed_over(folder.path(), &files, &Secrets::new(&[])), expected);
    }

    #[test]
    fn of_many_files_those_are_kept_that_fit() {
        let folder = tempfile::tempdir().unwrap();
        let full = vec![b'x'; LARGEST_FILE_BYTES];
        let names: Vec<String> = (10..41).map(|number| number.to_string()).collect();
        let mut files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &full[..])).collect();
        // The pack has room for one more byte, then for none.
        files.extend([("almost", &full[1..]), ("two", b"xx"), ("one", b"x"), ("none", b"x"), ("empty", b"")]);
        let (_, kept, _) = keep(folder.path(), &files);
        assert!(names.iter().all(|name| kept.places.contains_key(name)), "31 of 32 times 256 KiB");
        let others: Vec<_> = kept.places.keys().filter(|name| !names.contains(name)).collect();
        assert_eq!(others, ["almost", "empty", "one"]);
    }

    #[test]
    fn what_is_not_what_was_measured_or_has_a_secret_is_not_handed_over() {
        let folder = tempfile::tempdir().unwrap();
        let files: [(&str, &[u8]); 3] = [("a", b"plain"), ("b", b"my hunter2"), ("c", b"plain too")];
        let (dir, kept, mut known) = keep(folder.path(), &files);
        known.insert("c".to_owned(), known["a"].clone());
        let secrets = Secrets::new(&["hunter2".to_owned()]);
        let handed = |name| kept.hand_over(&dir, name, &known, &secrets).is_some();
        assert_eq!(["a", "b", "c", "d"].map(handed), [true, false, false, false]);
        let there = fs::read_dir(dir.before_files()).unwrap().count();
        assert_eq!(there, 1, "nothing is written of what is not handed over");
    }

    #[test]
    fn nothing_is_found_of_the_pack_and_nothing_is_made_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, kept, _) = keep(folder.path(), &[("empty", b"")]);
        assert!(kept.pack.is_none());
        fs::write(dir.path().join("before.pack"), "of a supervisor that was killed").unwrap();
        let (dir, kept, known) = keep(folder.path(), &[("a", b"text")]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(kept.hand_over(&dir, "a", &known, &Secrets::new(&[])).unwrap().bytes, 4);
    }

    #[test]
    fn a_disk_that_takes_nothing_costs_the_contents_and_not_the_digests() {
        let folder = tempfile::tempdir().unwrap();
        let gone = AttemptDir::new(folder.path().join("gone"));
        fs::write(folder.path().join("file"), "text").unwrap();
        let mut keeper = Keeper::new(&gone);
        for name in ["a", "b"] {
            let measure = keeper.measure(name, File::open(folder.path().join("file")).unwrap());
            assert_eq!(measure.unwrap().bytes, 4);
        }
        fs::write(folder.path().join("file"), "").unwrap();
        keeper.measure("nothing more is tried", File::open(folder.path().join("file")).unwrap()).unwrap();
        assert!(keeper.finish().places.is_empty());
        fs::write(folder.path().join("file"), "text").unwrap();
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut keeper = Keeper { pack: Some(BufWriter::new(full)), ..Keeper::new(&gone) };
        keeper.measure("a", File::open(folder.path().join("file")).unwrap()).unwrap();
        assert!(keeper.finish().places.is_empty(), "it is noticed at the end");
    }

    #[test]
    fn a_cancelled_attempt_reads_no_file_to_its_end() {
        /// Zeros. The first read writes the request to cancel.
        struct Zeros(AttemptDir, usize);
        impl Read for Zeros {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                fs::write(self.0.cancel(), "").unwrap();
                self.1 = self.1.saturating_sub(buffer.len());
                Ok(if self.1 == 0 { 0 } else { buffer.len() })
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path().join("a.1.1"));
        dir.create().unwrap();
        fs::write(folder.path().join("file"), "text").unwrap();
        let small = || File::open(folder.path().join("file")).unwrap();
        let mut keeper = Keeper::new(&dir);
        assert!(keeper.measure("small", small()).is_ok());
        let mut large = Zeros(AttemptDir::new(dir.path()), 4 * LOOK_BYTES);
        assert!(keeper.measure("large", &mut large).is_err());
        assert!(large.1 >= LOOK_BYTES, "the rest is not read");
        assert!(keeper.measure("another", small()).is_err());
        assert_eq!(keeper.finish().places.into_keys().collect::<Vec<_>>(), ["small"]);
    }

    #[test]
    fn what_has_no_place_in_the_folder_is_not_handed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, kept, known) = keep(folder.path(), &[("a", b"text"), ("a/b", b"text")]);
        let handed = |name| kept.hand_over(&dir, name, &known, &Secrets::new(&[])).is_some();
        assert_eq!(["a", "a/b"].map(handed), [true, false]);
    }
}
