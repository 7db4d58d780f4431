//! Packs that nothing names: laid aside, from where they can still be read, brought back, and removed.
//!
//! Owns the treatment of a pack of which only some contents are named. The caller finds out which contents are named. As with contents in
//! files of their own, a pack first gets another place, in which it is read and not written to: a snapshot that is taken meanwhile puts its
//! contents anew.

use crate::disk::{
    contents::Contents,
    intake::name_pack,
    pack::{Pack, PackWriter, pack_paths},
};
use envoi_contract::digest::Digest;
use envoi_durable::Temporary;
use std::{
    collections::BTreeSet,
    fs::{self, File, FileTimes},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

/// The packs that were swept, or would be, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweptPacks {
    /// Laid aside.
    pub aside: (u64, u64),
    /// Brought back.
    pub back: (u64, u64),
    /// Removed, of those that were laid aside.
    pub removed: (u64, u64),
    /// Bytes that are written anew, of packs that are laid aside.
    pub written_bytes: u64,
}

impl Contents {
    /// Looks through the packs. `is_done` returns, for the moment when a pack was laid aside, whether all processes that could have seen it
    /// before are over.
    ///
    /// # Errors
    /// Errors of the system. Every content is in one of the two places.
    pub fn sweep_packs(
        &self,
        named: &BTreeSet<Digest>,
        now: impl Fn() -> SystemTime,
        is_done: impl Fn(SystemTime) -> bool,
        does: bool,
    ) -> io::Result<SweptPacks> {
        let mut swept = SweptPacks::default();
        // The target of a link does not belong to the store.
        let is_own = |folder: &Path| fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
        if !is_own(&self.packs) {
            return Ok(swept);
        }
        let shelf = self.shelf()?;
        let old = if is_own(&self.old_packs()) { pack_paths(&self.old_packs())? } else { Vec::new() };
        for path in old {
            let found = fs::symlink_metadata(&path)?;
            // A pack that cannot be read now may have a wanted content.
            let Ok(pack) = Pack::open(&path) else { continue };
            let digests = pack.digests();
            let is_wanted = digests.iter().any(|digest| named.contains(digest) && !shelf.has(digest));
            if is_wanted {
                count(&mut swept.back, found.len());
                if does {
                    fs::rename(&path, self.packs.join(file_name(&path)))?;
                    envoi_durable::sync_folder(&self.packs)?;
                }
            } else if is_done(found.modified()?) {
                count(&mut swept.removed, found.len());
                if does {
                    fs::remove_file(&path)?;
                }
            }
        }
        drop(shelf);
        for path in self.pack_paths()? {
            let Ok(pack) = Pack::open(&path) else { continue };
            let bytes = fs::symlink_metadata(&path)?.len();
            let rows = pack.rows();
            let wanted: Vec<_> = rows.iter().filter(|(digest, _)| named.contains(digest)).collect();
            let wanted_bytes: u64 = wanted.iter().map(|(_, place)| place.stored).sum();
            let all_bytes: u64 = rows.iter().map(|(_, place)| place.stored).sum();
            // Few unwanted bytes are not worth writing the others again.
            if !wanted.is_empty() && wanted_bytes.saturating_mul(2) >= all_bytes {
                continue;
            }
            if does && !wanted.is_empty() {
                let (temporary, file) = Temporary::create(&self.temporary)?;
                let mut writer = PackWriter::new(file);
                let mut is_whole = true;
                for (digest, place) in wanted {
                    let content = pack.read(*place)?;
                    is_whole = is_whole && Digest::of(&content) == *digest;
                    writer.add(*digest, &content)?;
                }
                if !is_whole {
                    // `envoi doctor` names it.
                    continue;
                }
                writer.finish()?;
                name_pack(self, temporary)?;
            }
            count(&mut swept.aside, bytes);
            swept.written_bytes = swept.written_bytes.saturating_add(wanted_bytes);
            if does {
                fs::create_dir_all(self.old_packs())?;
                if !is_own(&self.old_packs()) {
                    let reason = format!("`{}` is no folder of the store", self.old_packs().display());
                    return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
                }
                // It has waited since it is there. Killed in between, it waits longer, and not as if it had been there since it was made.
                set_time(&path, now() + FAR)?;
                let place = self.old_packs().join(file_name(&path));
                fs::rename(&path, &place)?;
                set_time(&place, now())?;
            }
        }
        Ok(swept)
    }
}

/// An hour.
const FAR: Duration = Duration::from_secs(3_600);

fn set_time(path: &Path, time: SystemTime) -> io::Result<()> {
    File::open(path)?.set_times(FileTimes::new().set_modified(time))
}

fn count((number, all): &mut (u64, u64), bytes: u64) {
    *number = number.saturating_add(1);
    *all = all.saturating_add(bytes);
}

fn file_name(path: &Path) -> &Path {
    path.file_name().map(Path::new).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::intake::Intake;
    use std::time::UNIX_EPOCH;

    fn contents() -> (tempfile::TempDir, Contents) {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join("artifacts").join(name);
        let contents = Contents { files: place("sha256"), temporary: place("tmp"), packs: place("packs") };
        contents.create().unwrap();
        (folder, contents)
    }

    /// A pack of 100 contents of 1,000 bytes.
    fn put(contents: &Contents) -> Vec<Digest> {
        let shelf = contents.shelf().unwrap();
        let mut intake = Intake::new(&shelf);
        let digests = (0..100_u8).map(|nth| intake.take(&[nth; 1_000]).unwrap()).collect();
        intake.finish().unwrap();
        digests
    }

    fn are_readable(contents: &Contents, digests: &[Digest]) -> bool {
        let shelf = contents.shelf().unwrap();
        digests.iter().all(|digest| shelf.read(digest).is_ok())
    }

    #[test]
    fn a_pack_goes_when_nothing_names_it_and_all_that_saw_it_are_over() {
        let (_folder, contents) = contents();
        let digests = put(&contents);
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let none = BTreeSet::new();
        let sweep = |named: &BTreeSet<Digest>, done: bool, does: bool| {
            let is_done = move |since| {
                assert_eq!(since, now);
                done
            };
            contents.sweep_packs(named, || now, is_done, does).unwrap()
        };
        let all: BTreeSet<_> = digests.iter().copied().collect();
        assert_eq!(sweep(&all, true, true), SweptPacks::default());
        let planned = sweep(&none, true, false);
        assert_eq!((planned.aside.0, planned.written_bytes), (1, 0));
        assert_eq!(sweep(&none, true, true), planned);
        // It is read from there, but a new snapshot does not rely on it.
        assert!(are_readable(&contents, &digests));
        assert!(!contents.shelf().unwrap().has(&digests[0]));
        assert_eq!(sweep(&none, false, true), SweptPacks::default());
        // Something named one of them just before.
        let one = BTreeSet::from([digests[7]]);
        assert_eq!(sweep(&one, true, true).back.0, 1);
        assert!(contents.shelf().unwrap().has(&digests[7]));
        // The others of that pack were laid aside again with it.
        assert!(are_readable(&contents, &digests));
        assert_eq!(sweep(&none, false, true).aside.0, 1);
        assert_eq!(sweep(&none, true, true).removed.0, 2);
        assert!(!are_readable(&contents, &digests[..1]));
    }

    #[test]
    fn what_is_named_of_a_pack_stays_and_the_rest_goes() {
        let (_folder, contents) = contents();
        let digests = put(&contents);
        let (kept, others) = digests.split_at(3);
        let named: BTreeSet<_> = kept.iter().copied().collect();
        let now = SystemTime::now;
        let swept = contents.sweep_packs(&named, now, |_| true, true).unwrap();
        assert_eq!((swept.aside.0, swept.written_bytes), (1, 3_000));
        assert!(are_readable(&contents, &digests));
        let swept = contents.sweep_packs(&named, now, |_| true, true).unwrap();
        assert_eq!((swept.aside.0, swept.removed.0), (0, 1));
        assert!(are_readable(&contents, kept));
        assert!(others.iter().all(|digest| contents.shelf().unwrap().read(digest).is_err()));
    }

    #[test]
    fn what_a_link_leads_to_is_left_alone() {
        let (folder, contents) = contents();
        let digests = put(&contents);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&contents.packs, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &contents.packs).unwrap();
        let swept = contents.sweep_packs(&BTreeSet::new(), SystemTime::now, |_| true, true).unwrap();
        assert_eq!(swept, SweptPacks::default());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
        assert!(are_readable(&contents, &digests));
    }

    #[test]
    fn a_shelf_is_whole_or_there_is_none() {
        let (_folder, contents) = contents();
        put(&contents);
        assert!(contents.whole_shelf().is_ok());
        fs::write(contents.packs.join("broken.tar"), "no pack").unwrap();
        assert!(contents.shelf().is_ok());
        let error = contents.whole_shelf().unwrap_err().to_string();
        assert!(error.contains("broken.tar"), "{error}");
    }
}
