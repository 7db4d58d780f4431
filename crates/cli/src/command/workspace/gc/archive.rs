//! The bundle of a run that is about to go.

use crate::command::archive::export::ENDING;
use envoi_journal::{Layout, Reader};
use envoi_kernel::ids::{RunId, Seq};
use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A run that is about to go.
pub(super) struct Of<'o> {
    pub(super) layout: &'o Layout,
    pub(super) reader: &'o Reader,
    pub(super) run: &'o RunId,
    /// Nobody wants its result, so that its bundle need not have it.
    pub(super) is_dropped: bool,
}

impl Of<'_> {
    /// Writes the bundle of the run into a folder and checks it, unless it is there. Returns the place of the run's next event.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub(super) fn keep(&self, folder: &Path) -> Result<Seq, String> {
        let machine = |error: io::Error| format!("`{}`: {error}", folder.display());
        let place = self.place(folder);
        if let Some(events) = self.is_kept(&place)? {
            return Ok(events);
        }
        fs::create_dir_all(folder).map_err(machine)?;
        let aside = NamedTempFile::with_prefix_in(".archive-", folder).map_err(machine)?;
        let version = env!("CARGO_PKG_VERSION");
        let made =
            envoi_bundle::export(self.layout, self.reader, self.run, version, None, BufWriter::new(aside));
        let (manifest, target) = made.map_err(|error| error.to_string())?;
        let aside = target.into_inner().map_err(|error| machine(error.into_error()))?;
        aside.as_file().sync_all().map_err(machine)?;
        let whole = verified(aside.path())?;
        if whole.manifest != manifest {
            return Err("what was written is not what is read".to_owned());
        }
        aside.persist_noclobber(&place).map_err(|error| machine(error.error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(machine)?;
        Ok(manifest.events)
    }

    /// As [`Of::keep`], and writes nothing.
    ///
    /// # Errors
    /// As [`Of::keep`], as far as that can be known.
    pub(super) fn can_be_kept(&self, folder: &Path) -> Result<Seq, String> {
        match self.is_kept(&self.place(folder))? {
            Some(events) => Ok(events),
            None => Ok(self.reader.run(self.run).map_err(|error| error.to_string())?.next_seq),
        }
    }

    fn place(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}{ENDING}", self.run))
    }

    /// The events of the bundle that is there already; `None`: there is none.
    fn is_kept(&self, place: &Path) -> Result<Option<Seq>, String> {
        let lacks = envoi_bundle::not_in_bundle(self.layout, self.reader, self.run);
        if let Some(digest) = lacks.map_err(|error| error.to_string())?.filter(|_| !self.is_dropped) {
            return Err(format!("a bundle does not have `{digest}`, such as a snapshot of its workspace"));
        }
        match fs::symlink_metadata(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("`{}`: {error}", place.display())),
            Ok(_) => {}
        }
        let whole = verified(place)?;
        let head = self.reader.head(self.run).map_err(|error| error.to_string())?;
        match whole.manifest.head == head {
            true => Ok(Some(whole.manifest.events)),
            false => Err(format!("`{}` is of other events", place.display())),
        }
    }
}

fn verified(place: &Path) -> Result<envoi_bundle::Whole, String> {
    let file = File::open(place).map_err(|error| format!("`{}`: {error}", place.display()))?;
    envoi_bundle::verify(BufReader::new(file)).map_err(|wrong| format!("`{}`: {wrong}", place.display()))
}
