//! The contents that an attempt has left: from its folder into the store, verified against the record of its supervisor.
//!
//! Owns what is stored before the commit and what travels with it, and how many files can be handed over. [`super`] owns the outcome
//! of the attempt.

use envoi_contract::digest::Digest;
use envoi_journal::{BlobError, Blobs, INLINE_MAX_BYTES, ReadError, Writer, manifest, with_causes};
use envoi_kernel::{
    event::{Blob, Change, FileChange},
    files::{Changed, MOST_FILES, Manifest, Many, are_listed},
};
use envoi_step::{AttemptDir, Doubt, FileRef, plain};
use std::{collections::BTreeSet, fs::File, io};

/// Texts and reports have a smaller bound each; no record of a supervisor asks for more.
const LARGEST_READ_BYTES: u64 = 64 * 1024 * 1024;

/// Why an attempt that has a record of its end cannot be committed.
pub(in crate::attempts) enum Unsettled {
    /// A file differs from the record, so it is unknown what the attempt left.
    Record(Doubt),
    /// The machine failed, and may not the next time.
    Machine(String),
}

impl From<ReadError> for Unsettled {
    fn from(error: ReadError) -> Self {
        Self::Machine(with_causes(&error))
    }
}

/// The files of an attempt, for its event.
#[derive(Default)]
pub(super) struct Handed {
    pub(super) files: Vec<FileChange>,
    pub(super) many: Option<Many>,
    /// Why they cannot be handed over: they are too many.
    pub(super) excess: Option<String>,
}

/// Why so many files cannot be handed over.
fn excess(total: u64) -> String {
    format!(
        "the step hands over {total} files, and at most {MOST_FILES} can be, whose list has at most 224 MiB; pack them, or narrow \
         `artifacts`"
    )
}

/// The contents of an attempt, on their way into the store.
pub(super) struct Carried<'a> {
    blobs: &'a Blobs,
    dir: &'a AttemptDir,
    /// Small contents that travel with the commit.
    inline: Vec<(Digest, Vec<u8>)>,
    /// Their digests.
    known: BTreeSet<Digest>,
}

impl<'a> Carried<'a> {
    pub(super) const fn of(blobs: &'a Blobs, dir: &'a AttemptDir) -> Self {
        Self { blobs, dir, inline: Vec::new(), known: BTreeSet::new() }
    }

    /// The small contents, which are to travel with the commit.
    pub(super) fn into_inline(self) -> Vec<(Digest, Vec<u8>)> {
        self.inline
    }

    /// Few files are listed. The contents of many are stored here, by the attempt's own thread and a portion at a time, so that
    /// neither the loop nor the commits of other runs wait for them; what travels with the commit is the digest of their list.
    pub(super) fn files(
        &mut self,
        files: &[envoi_step::FileChange],
        too_many: Option<u64>,
        writer: Option<&Writer>,
    ) -> Result<Handed, Unsettled> {
        if let Some(total) = too_many {
            return Ok(Handed { excess: Some(excess(total)), ..Handed::default() });
        }
        let path_bytes = files.iter().fold(0_usize, |sum, file| sum.saturating_add(file.path.len()));
        let Some(writer) = writer.filter(|_| !are_listed(files.len(), path_bytes)) else {
            let files = files.iter().map(|change| self.change(change)).collect::<Result<_, _>>()?;
            return Ok(Handed { files, ..Handed::default() });
        };
        if files.len() > MOST_FILES {
            let excess = excess(u64::try_from(files.len()).unwrap_or(u64::MAX));
            return Ok(Handed { excess: Some(excess), ..Handed::default() });
        }
        for portion in files.chunks(PORTION) {
            self.store(portion, writer)?;
        }
        let listed: Vec<_> = files.iter().map(changed).collect::<Result<_, _>>()?;
        let all = self.manifest(&listed)?;
        let changed: Vec<_> = listed.into_iter().filter(|file| file.change != Change::Unchanged).collect();
        // Whether the attempt has succeeded is judged later, from its report and its flow.
        let path_bytes = changed.iter().fold(0_usize, |sum, file| sum.saturating_add(file.path.len()));
        let changed = match u64::try_from(changed.len()) {
            _ if are_listed(changed.len(), path_bytes) => Changed::Listed(changed),
            Ok(total) if total == all.total => Changed::Manifest(all.clone()),
            _ => Changed::Manifest(self.manifest(&changed)?),
        };
        Ok(Handed { many: Some(Many { all, changed }), ..Handed::default() })
    }

    /// Stores the list of these files, durably.
    fn manifest(&self, files: &[FileChange]) -> Result<Manifest, Unsettled> {
        let (manifest, list) =
            manifest::write(files).map_err(|error| Unsettled::Machine(with_causes(&error)))?;
        self.blobs.put(&list).map_err(|error| Unsettled::Machine(with_causes(&error)))?;
        Ok(manifest)
    }

    /// Stores the contents of some files, durably.
    fn store(&self, files: &[envoi_step::FileChange], writer: &Writer) -> Result<(), Unsettled> {
        let mut small = Vec::new();
        let mut large = Vec::new();
        for file in files.iter().flat_map(|change| change.file.iter().chain(&change.before)) {
            let digest = digest_of(file)?;
            match is_small(file) {
                true => small.push((digest, self.content(file, digest)?)),
                false => large.push((file, digest)),
            }
        }
        // Only so many files are open at once.
        for portion in large.chunks(MOST_OPEN) {
            let open = |(file, digest): &(&FileRef, Digest)| {
                Ok((open(self.dir, file)?, self.dir.path().join(&file.path), *digest, file.bytes))
            };
            let sources = portion.iter().map(open).collect::<Result<Vec<_>, Unsettled>>()?;
            self.blobs.put_all(sources).map_err(|error| match error {
                BlobError::Mismatch { path, .. } => Unsettled::Record(Doubt::FileDiffers {
                    path: path.strip_prefix(self.dir.path()).unwrap_or(&path).display().to_string(),
                }),
                error => Unsettled::Machine(with_causes(&error)),
            })?;
        }
        writer.put(small).map_err(|error| Unsettled::Machine(with_causes(&error)))
    }

    /// Puts the content of one file into the store, or among those that travel with the commit.
    pub(super) fn keep(&mut self, file: &FileRef) -> Result<Blob, Unsettled> {
        let digest = digest_of(file)?;
        if !is_small(file) {
            let source = open(self.dir, file)?;
            let path = self.dir.path().join(&file.path);
            self.blobs.put_open(source, &path, digest, file.bytes).map_err(|error| match error {
                BlobError::Mismatch { .. } => differs(file),
                error => Unsettled::Machine(format!("`{}`: {}", path.display(), with_causes(&error))),
            })?;
        } else if self.known.insert(digest) {
            let bytes = self.content(file, digest)?;
            self.inline.push((digest, bytes));
        }
        Ok(Blob { digest, size: file.bytes })
    }

    fn content(&self, file: &FileRef, digest: Digest) -> Result<Vec<u8>, Unsettled> {
        let bytes = read(self.dir, file)?;
        if Digest::of(&bytes) == digest { Ok(bytes) } else { Err(differs(file)) }
    }

    fn change(&mut self, change: &envoi_step::FileChange) -> Result<FileChange, Unsettled> {
        change.file.iter().chain(&change.before).try_for_each(|file| self.keep(file).map(drop))?;
        changed(change)
    }
}

/// How many files are stored together: enough for their syncs to weigh little, few enough for their contents to fit into memory.
const PORTION: usize = 512;

/// How many large files are read at once, each by its descriptor.
const MOST_OPEN: usize = 64;

fn is_small(file: &FileRef) -> bool {
    usize::try_from(file.bytes).is_ok_and(|bytes| bytes <= INLINE_MAX_BYTES)
}

fn digest_of(file: &FileRef) -> Result<Digest, Unsettled> {
    Digest::parse(&format!("sha256:{}", file.sha256)).ok_or(Unsettled::Record(Doubt::Damaged))
}

fn changed(change: &envoi_step::FileChange) -> Result<FileChange, Unsettled> {
    let blob = |file: &FileRef| Ok::<_, Unsettled>(Blob { digest: digest_of(file)?, size: file.bytes });
    Ok(FileChange {
        path: change.path.clone(),
        change: match change.change {
            envoi_step::Change::Created => Change::Created,
            envoi_step::Change::Modified => Change::Modified,
            envoi_step::Change::Deleted => Change::Deleted,
            envoi_step::Change::Unchanged => Change::Unchanged,
        },
        blob: change.file.as_ref().map(blob).transpose()?,
        before: change.before.as_ref().map(blob).transpose()?,
    })
}

/// The file of an attempt, which may be gone, or something else by now.
fn open(dir: &AttemptDir, file: &FileRef) -> Result<File, Unsettled> {
    plain::open_below(dir.path(), file.path.as_ref()).map_err(|error| unreadable(dir, file, &error))
}

/// The whole of it; no more is read than the record's length. An empty stream needs no file.
pub(super) fn read(dir: &AttemptDir, file: &FileRef) -> Result<Vec<u8>, Unsettled> {
    if file.bytes == 0 {
        return Ok(Vec::new());
    }
    plain::read_all(open(dir, file)?, file.bytes.min(LARGEST_READ_BYTES))
        .map_err(|error| unreadable(dir, file, &error))
}

fn unreadable(dir: &AttemptDir, file: &FileRef, error: &io::Error) -> Unsettled {
    let path = dir.path().join(&file.path);
    let sentence = format!("`{}` cannot be read: {error}", path.display());
    match plain::is_of_machine(error) {
        true => Unsettled::Machine(sentence),
        false => Unsettled::Record(Doubt::Unusable { reason: sentence }),
    }
}

fn differs(file: &FileRef) -> Unsettled {
    Unsettled::Record(Doubt::FileDiffers { path: file.path.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::{Layout, Store};
    use std::fs;

    fn file(dir: &AttemptDir, path: &str, content: &[u8]) -> FileRef {
        let place = dir.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, content).unwrap();
        let sha256 = Digest::of(content).to_string().replace("sha256:", "");
        FileRef { path: path.to_owned(), bytes: content.len() as u64, sha256 }
    }

    /// Many files of one content, so many of them changed.
    fn handed_over(changed: usize, unchanged: usize, too_many: Option<u64>) -> Handed {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(root.path().join("store"))).unwrap();
        let blobs = store.blobs();
        let dir = AttemptDir::new(root.path().join("a.1.1"));
        let writer = store.writer(store.take_epoch().unwrap()).unwrap();
        let mut carried = Carried::of(&blobs, &dir);
        let copy = file(&dir, "files/copy", b"content");
        let change = |nth| envoi_step::FileChange {
            path: format!("{nth:04}"),
            change: if nth < changed { envoi_step::Change::Created } else { envoi_step::Change::Unchanged },
            file: Some(copy.clone()),
            before: None,
        };
        let files: Vec<_> = (0..changed + unchanged).map(change).collect();
        let handed = carried.files(&files, too_many, Some(&writer)).ok().unwrap();
        let many = handed.many.iter();
        let lists = many.flat_map(|many| match &many.changed {
            Changed::Listed(_) => vec![many.all.clone()],
            Changed::Manifest(changed) => vec![many.all.clone(), changed.clone()],
        });
        for manifest in lists {
            let list = manifest::read(&blobs.get(&manifest.list.digest).unwrap()).unwrap();
            assert_eq!(u64::try_from(list.len()).unwrap(), manifest.total, "it is in the store");
        }
        handed
    }

    #[test]
    fn a_manifest_is_made_of_all_files_and_of_those_that_changed() {
        let many = handed_over(1001, 0, None).many.unwrap();
        assert_eq!(many.changed, Changed::Manifest(many.all));
        let many = handed_over(1001, 2, None).many.unwrap();
        let Changed::Manifest(changed) = many.changed else { unreachable!("they are many") };
        assert_eq!((many.all.total, changed.total), (1003, 1001));
        let many = handed_over(2, 1001, None).many.unwrap();
        let Changed::Listed(changed) = many.changed else { unreachable!("they are few") };
        let paths: Vec<_> = changed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((many.all.total, paths), (1003, vec!["0000", "0001"]));
    }

    #[test]
    fn more_files_than_a_record_can_list_are_a_value_too_large_and_no_doubt() {
        let handed = handed_over(0, 0, Some(1_000_001));
        assert!(handed.excess.unwrap().contains("1000001 files"));
        assert_eq!((handed.files, handed.many), (Vec::new(), None));
        assert!(handed_over(0, 1, None).excess.is_none());
    }

    #[test]
    fn what_a_file_was_is_kept_as_what_it_is() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(root.path().join("store"))).unwrap();
        let blobs = store.blobs();
        let dir = AttemptDir::new(root.path().join("a.1.1"));
        let mut carried = Carried::of(&blobs, &dir);
        let small = vec![b's'; INLINE_MAX_BYTES];
        let large = vec![b'l'; INLINE_MAX_BYTES + 1];
        let before = Some(file(&dir, "before/a", &small));
        let modified = envoi_step::FileChange {
            path: "a".to_owned(),
            change: envoi_step::Change::Modified,
            file: Some(file(&dir, "files/a", b"after")),
            before,
        };
        let modified = carried.change(&modified).ok().unwrap();
        assert_eq!(modified.before, Some(Blob { digest: Digest::of(&small), size: small.len() as u64 }));
        assert_eq!(modified.blob, Some(Blob { digest: Digest::of(b"after"), size: 5 }));
        let deleted = envoi_step::FileChange {
            path: "b".to_owned(),
            change: envoi_step::Change::Deleted,
            file: None,
            before: Some(file(&dir, "before/b", &large)),
        };
        let kept = carried.change(&deleted).ok().unwrap();
        assert_eq!((kept.blob, kept.before.unwrap().digest), (None, Digest::of(&large)));
        let inline: Vec<_> = carried.inline.iter().map(|(_, content)| content.as_slice()).collect();
        assert_eq!(inline, [&b"after"[..], &small]);
        assert_eq!(blobs.get(&Digest::of(&large)).unwrap(), large);

        fs::write(dir.path().join("before/b"), vec![b'x'; large.len()]).unwrap();
        fs::remove_file(store.layout().blob(&Digest::of(&large))).unwrap();
        assert!(
            matches!(carried.change(&deleted), Err(Unsettled::Record(_))),
            "it is not what the supervisor wrote"
        );
    }
}
