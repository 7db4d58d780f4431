//! New contents on their way into the store: a few become files, more become one pack. All last once it is finished.

use crate::disk::{
    contents::{Contents, Shelf},
    pack::PackWriter,
};
use envoi_contract::digest::Digest;
use envoi_durable::Temporary;
use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// The most contents that become files of their own.
const FEW: usize = 64;
/// The most bytes of them that are held in memory.
const FEW_BYTES: u64 = 32 << 20;
/// At most so many files are synced one by one; more with their file system.
const SYNCED_ALONE: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Intake<'s> {
    shelf: &'s Shelf,
    taken: BTreeSet<Digest>,
    few: Vec<(Digest, Vec<u8>)>,
    bytes: u64,
    pack: Option<(Temporary, PackWriter)>,
}

impl<'s> Intake<'s> {
    pub(crate) fn new(shelf: &'s Shelf) -> Self {
        Self { shelf, taken: BTreeSet::new(), few: Vec::new(), bytes: 0, pack: None }
    }

    /// How many bytes are new to the store.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the content, which has so many bytes, is in the store, or on its way there.
    pub(crate) fn has(&self, digest: &Digest, bytes: u64) -> bool {
        self.taken.contains(digest) || self.shelf.has_whole(digest, bytes)
    }

    /// Takes a content, unless the store has it.
    pub(crate) fn take(&mut self, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(content);
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if self.has(&digest, bytes) {
            return Ok(digest);
        }
        self.taken.insert(digest);
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some((_, pack)) = &mut self.pack {
            pack.add(digest, content)?;
            return Ok(digest);
        }
        self.few.push((digest, content.to_vec()));
        if self.few.len() > FEW || self.bytes > FEW_BYTES {
            let contents = self.shelf.contents();
            contents.create()?;
            let (temporary, file) = Temporary::create(&contents.temporary)?;
            let mut pack = PackWriter::new(file);
            for (digest, content) in self.few.drain(..) {
                pack.add(digest, &content)?;
            }
            self.pack = Some((temporary, pack));
        }
        Ok(digest)
    }

    /// All that was taken lasts when this returns.
    pub(crate) fn finish(self) -> io::Result<()> {
        let contents = self.shelf.contents();
        match self.pack {
            Some((temporary, pack)) => {
                pack.finish()?;
                name_pack(contents, temporary)
            }
            None => put_files(contents, &self.few),
        }
    }
}

pub(crate) fn name_pack(contents: &Contents, temporary: Temporary) -> io::Result<()> {
    fs::set_permissions(temporary.path(), Permissions::from_mode(0o400))?;
    let mut random = [0; 16];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut random)?;
    temporary.rename(&contents.packs.join(format!("{}.tar", envoi_contract::digest::hex(&random))))?;
    envoi_durable::sync_folder(&contents.packs)
}

fn put_files(contents: &Contents, few: &[(Digest, Vec<u8>)]) -> io::Result<()> {
    if few.is_empty() {
        return Ok(());
    }
    contents.create()?;
    let is_alone = few.len() <= SYNCED_ALONE;
    let mut written = Vec::new();
    for (digest, content) in few {
        let (temporary, mut file) = Temporary::create(&contents.temporary)?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(0o400))?;
        if is_alone {
            file.sync_data()?;
        }
        written.push((temporary, contents.file(digest)));
    }
    if !is_alone {
        // The contents before the names: a name must never exist for bytes that are not on disk.
        envoi_durable::sync_file_system(&contents.temporary)?;
    }
    let mut folders = BTreeSet::new();
    for (temporary, place) in written {
        let folder = place.parent().unwrap_or(&contents.files).to_owned();
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        temporary.rename(&place)?;
        folders.insert(folder);
    }
    match is_alone {
        true => folders
            .iter()
            .map(AsRef::<Path>::as_ref)
            .chain([contents.files.as_path()])
            .try_for_each(envoi_durable::sync_folder),
        false => envoi_durable::sync_file_system(&contents.files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> (tempfile::TempDir, Contents) {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let contents = Contents { files: place("sha256"), temporary: place("tmp"), packs: place("packs") };
        (folder, contents)
    }

    fn put(contents: &Contents, all: &[Vec<u8>]) {
        let shelf = contents.shelf().unwrap();
        let mut intake = Intake::new(&shelf);
        for content in all {
            assert_eq!(intake.take(content).unwrap(), Digest::of(content));
        }
        intake.finish().unwrap();
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    #[test]
    fn few_contents_become_files_and_many_one_pack() {
        for (count, files, packs) in [(0, 0, 0), (4, 4, 0), (FEW, FEW, 0), (FEW + 1, 0, 1)] {
            let (_folder, contents) = contents();
            let all: Vec<Vec<u8>> = (0..count).map(|nth| nth.to_string().into_bytes()).collect();
            put(&contents, &all);
            // A content that is there is not stored again.
            put(&contents, &all);
            let shelf = contents.shelf().unwrap();
            for content in &all {
                assert_eq!(&shelf.read(&Digest::of(content)).unwrap(), content);
            }
            let single = all.iter().filter(|content| contents.file(&Digest::of(content)).is_file()).count();
            assert_eq!(
                (single, names(&contents.packs), names(&contents.temporary)),
                (files, packs, 0),
                "{count}"
            );
        }
    }

    #[test]
    fn damage_is_seen_and_what_is_not_finished_is_not_there() {
        let (_folder, contents) = contents();
        put(&contents, &[b"text".to_vec()]);
        let digest = Digest::of(b"text");
        fs::remove_file(contents.file(&digest)).unwrap();
        let error = contents.shelf().unwrap().read(&digest).unwrap_err();
        assert!(matches!(error, crate::ContentError::Missing { .. }));
        fs::write(contents.file(&digest), "other").unwrap();
        let error = contents.shelf().unwrap().read(&digest).unwrap_err();
        assert!(matches!(error, crate::ContentError::Damaged { .. }));
        let shelf = contents.shelf().unwrap();
        let mut intake = Intake::new(&shelf);
        for nth in 0..100 {
            intake.take(format!("new {nth}").as_bytes()).unwrap();
        }
        drop(intake);
        assert_eq!((names(&contents.packs), names(&contents.temporary)), (0, 0));
    }
}
