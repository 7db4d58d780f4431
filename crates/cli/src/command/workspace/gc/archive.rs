//! The bundle of a run that is about to be deleted.

use crate::{command::archive::export::ENDING, process::files};
use envoi_bundle::{ExportError, Manifest, Wanted, Whole, Wrong};
use envoi_contract::digest::Digest;
use envoi_durable::Temporary;
use envoi_journal::{Layout, ReadError, Reader};
use envoi_kernel::ids::{RunId, Seq};
use std::{
    fs,
    io::{self, BufReader, BufWriter},
    path::{Path, PathBuf},
};

/// Why a run cannot be archived.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotArchived {
    /// The bundle would lack a content that the run names.
    #[error("the bundle does not have `{0}`, which the run names and the store has")]
    Lacks(Digest),
    /// Another bundle already has this name.
    #[error("`{}` is a bundle with other events of this run", .0.display())]
    OfOtherEvents(PathBuf),
    /// The existing file is not a complete bundle.
    #[error("`{}`: {wrong}", place.display())]
    Wrong { place: PathBuf, wrong: Wrong },
    /// The bundle that was read back differs from the one that was written.
    #[error("the archive differs from what was written: check the disk")]
    Changed,
    #[error("`{}`: {error}", place.display())]
    Machine { place: PathBuf, error: io::Error },
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Store(#[from] ReadError),
}

/// A run that is about to be deleted.
pub(super) struct Of<'o> {
    pub(super) layout: &'o Layout,
    pub(super) reader: &'o Reader,
    pub(super) run: &'o RunId,
    /// `gc --drop` has named the run, so its bundle need not include its result.
    pub(super) is_dropped: bool,
}

impl Of<'_> {
    /// Writes the bundle of the run into a folder and checks it, unless it already exists. Returns the
    /// sequence number of the run's next event.
    ///
    /// # Errors
    /// [`NotArchived`]
    pub(super) fn keep(&self, folder: &Path) -> Result<Seq, NotArchived> {
        let machine = |error: io::Error| NotArchived::Machine { place: folder.to_owned(), error };
        self.check_nothing_lacks(None)?;
        let place = self.place(folder);
        if let Some(events) = self.found_at(&place)? {
            return Ok(events);
        }
        fs::create_dir_all(folder).map_err(machine)?;
        let (aside, target) = Temporary::create(folder).map_err(machine)?;
        let version = env!("CARGO_PKG_VERSION");
        let wanted = Wanted { made_by: version, ..Wanted::default() };
        let (manifest, target) =
            envoi_bundle::export(self.layout, self.reader, self.run, wanted, BufWriter::new(target))?;
        let target = target.into_inner().map_err(|error| machine(error.into_error()))?;
        target.sync_all().map_err(machine)?;
        if verified(aside.path())?.manifest != manifest {
            return Err(NotArchived::Changed);
        }
        self.check_nothing_lacks(Some(&manifest))?;
        if !aside.publish(&place).map_err(machine)? {
            return Err(machine(io::ErrorKind::AlreadyExists.into()));
        }
        Ok(manifest.events)
    }

    /// As [`Of::keep`], but writes nothing.
    ///
    /// # Errors
    /// As [`Of::keep`], if the error can be known without writing.
    pub(super) fn can_be_kept(&self, folder: &Path) -> Result<Seq, NotArchived> {
        self.check_nothing_lacks(None)?;
        match self.found_at(&self.place(folder))? {
            Some(events) => Ok(events),
            None => Ok(self.reader.run(self.run)?.next_seq),
        }
    }

    fn place(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}{ENDING}", self.run))
    }

    /// Checks that a bundle (the given one, or one made now) has everything that the run names. A dropped run
    /// may lack its result.
    fn check_nothing_lacks(&self, bundle: Option<&Manifest>) -> Result<(), NotArchived> {
        match envoi_bundle::not_in_bundle(self.layout, self.reader, self.run, bundle)? {
            Some(digest) if !self.is_dropped => Err(NotArchived::Lacks(digest)),
            _ => Ok(()),
        }
    }

    /// How many events the existing bundle has. `None` if there is no bundle.
    fn found_at(&self, place: &Path) -> Result<Option<Seq>, NotArchived> {
        match fs::symlink_metadata(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(NotArchived::Machine { place: place.to_owned(), error }),
            Ok(_) => {}
        }
        let whole = verified(place)?;
        if whole.manifest.head != self.reader.head(self.run)? {
            return Err(NotArchived::OfOtherEvents(place.to_owned()));
        }
        self.check_nothing_lacks(Some(&whole.manifest))?;
        Ok(Some(whole.manifest.events))
    }
}

fn verified(place: &Path) -> Result<Whole, NotArchived> {
    let file = files::open(place).map_err(|error| NotArchived::Machine { place: place.to_owned(), error })?;
    envoi_bundle::verify(BufReader::new(file))
        .map_err(|wrong| NotArchived::Wrong { place: place.to_owned(), wrong })
}
