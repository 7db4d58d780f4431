//! A snapshot: the list of a folder and its contents that the store does not have yet, durable.

mod gather;

pub use gather::{Gathered, gather};

use crate::{
    disk::{contents::Contents, intake::Intake},
    look::{
        cache::{self, Cache, Seen},
        stat::{Kind, Stat},
        walk::{self, WalkError, Walked},
    },
    model::{
        bounds::Bounds,
        list::{Entry, LeftOut, Tree, What, ancestors},
        scope::Scope,
        stop::Stop,
    },
};
use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    fs, io,
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// How many characters of a path that is too long a message shows.
const MOST_CHARS_OF_A_PATH: usize = 200;

/// How the snapshots of a store are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The store of the contents.
    pub contents: Contents,
    /// The folder of the caches.
    pub caches: PathBuf,
    /// Folders that are never a part of a snapshot, such as the store.
    pub never: Vec<PathBuf>,
    /// No snapshot is taken of these folders, nor of one above them: the home of the user.
    pub too_wide: Vec<PathBuf>,
    /// The scope of a snapshot.
    #[serde(default)]
    pub scope: Scope,
    /// Bounds.
    pub bounds: Bounds,
    /// Ends the git that lists the files of a folder; then there is no snapshot.
    #[serde(skip)]
    pub stop: Stop,
}

impl Order {
    /// The folder for files that a restore has displaced.
    pub(crate) fn aside(&self) -> PathBuf {
        self.caches.with_file_name("aside")
    }
}

/// A snapshot that was taken. It lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name: the digest of the list.
    pub digest: Digest,
    /// The list.
    pub tree: Tree,
    /// How many bytes were new to the store, the list among them.
    pub new_bytes: u64,
    /// Folders that cannot be read, so that the snapshot has nothing of them.
    pub unlisted: Vec<PathBuf>,
}

impl Kept {
    /// A sentence about what the snapshot does not have.
    #[must_use]
    pub fn lack(&self) -> Option<String> {
        let first = self.unlisted.first()?;
        let first = if first.as_os_str().is_empty() { ".".to_owned() } else { cut(first) };
        Some(match self.unlisted.len() {
            1 => format!("the folder `{first}` cannot be read, so nothing of it is kept"),
            count => format!("{count} folders (`{first}` is one) cannot be read, so nothing of them is kept"),
        })
    }
}

/// Why there is no snapshot. Nothing was changed but, perhaps, the store, which then has contents that nothing names.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    /// The folder is `/`, or the home of the user, or holds it.
    #[error("`{}` is too wide for a snapshot: use a folder of the project", folder.display())]
    TooWide {
        /// The folder.
        folder: PathBuf,
    },
    /// It has too many files.
    #[error(
        "the folder has more than {most} files; `.gitignore` or `.envoiignore` leaves out what need not be kept"
    )]
    TooManyFiles {
        /// The bound.
        most: usize,
    },
    /// The store would grow too much.
    #[error("more than {} MiB of the folder are new to the store; `.gitignore` or `.envoiignore` leaves out what need not be kept", most_bytes >> 20)]
    TooMuchNew {
        /// The bound.
        most_bytes: u64,
    },
    /// The system cannot open a path as a whole, so the file could not be kept.
    #[error(
        "a path in the folder is longer than the system takes, and would be missing in a snapshot; `.gitignore` or `.envoiignore` leaves out what need not be kept: `{}`",
        cut(path)
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// The system failed.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// The beginning of a path that would fill a screen.
fn cut(path: &Path) -> String {
    let shown = path.display().to_string();
    match shown.char_indices().nth(MOST_CHARS_OF_A_PATH) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

/// Takes a snapshot of `folder`.
///
/// # Errors
/// See [`NotKept`].
pub fn keep(folder: &Path, order: &Order) -> Result<Kept, NotKept> {
    keep_with(folder, order, None)
}

/// As [`keep`], including the entries in the way of `target`, although they would not be a part of a snapshot.
pub(crate) fn keep_with(folder: &Path, order: &Order, target: Option<&Tree>) -> Result<Kept, NotKept> {
    let failed = |source| NotKept::Io { path: folder.to_owned(), source };
    refuse_wide(folder, &order.too_wide).map_err(failed)??;
    let began = cache::now();
    let look = || {
        let mut walked = walk::walk(folder, &order.never, order.bounds.max_files, &order.scope, &order.stop)?;
        match target {
            Some(target) => walk::add_in_the_way(folder, &mut walked.found, target, order.bounds.max_files),
            None => Ok(()),
        }?;
        Ok(walked)
    };
    let Walked { mut found, unlisted } = look().map_err(|error| match error {
        WalkError::TooMany => NotKept::TooManyFiles { most: order.bounds.max_files },
        WalkError::TooLong { path } => NotKept::PathTooLong { path },
        WalkError::Io { path, source } => NotKept::Io { path, source },
    })?;
    if unlisted.contains(&[][..]) {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    let is_hidden = |path: &[u8]| ancestors(path).any(|above| unlisted.contains(above));
    // Such a folder may be open to who knows the names in it.
    found.retain(|path, _| !unlisted.contains(path) && !is_hidden(path));
    let unlisted: Vec<&Vec<u8>> = unlisted.iter().filter(|path| !is_hidden(path)).collect();
    let in_store = |source| NotKept::Io { path: order.contents.files.clone(), source };
    fs::create_dir_all(&order.caches).map_err(in_store)?;
    order.contents.create().map_err(in_store)?;
    let place = cache::place(&order.caches, folder).map_err(failed)?;
    let shelf = order.contents.shelf().map_err(in_store)?;
    let mut look = Look {
        folder,
        order,
        intake: Intake::new(&shelf),
        cache: Cache::load(&place),
        entries: Vec::new(),
        seen: Vec::new(),
        known: 0,
    };
    look.entries.extend(unlisted.iter().map(|path| Entry::unlisted(path.to_vec())));
    for (path, stat) in &found {
        look.take(path, *stat)?;
    }
    let Look { mut intake, cache, entries, seen, known, .. } = look;
    let tree = Tree::new(entries).map_err(|error| failed(io::Error::other(error)))?;
    let digest = intake.take(&tree.encode()).map_err(in_store)?;
    let new_bytes = intake.bytes();
    intake.finish().map_err(in_store)?;
    // The cache of a folder in which nothing has changed stays the same.
    if [seen.len(), cache.len()] != [known; 2] {
        // Only now: an entry of the cache means that the store has the content.
        let seen: Vec<_> = seen.iter().map(|(path, stat, seen)| (path.as_slice(), *stat, *seen)).collect();
        Cache::save(&place, &order.contents.temporary, began, &seen).map_err(in_store)?;
    }
    let unlisted = unlisted.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
    Ok(Kept { digest, tree, new_bytes, unlisted })
}

fn refuse_wide(folder: &Path, too_wide: &[PathBuf]) -> io::Result<Result<(), NotKept>> {
    let real = fs::canonicalize(folder)?;
    let is_wide = real.parent().is_none()
        || too_wide.iter().filter_map(|wide| fs::canonicalize(wide).ok()).any(|wide| wide.starts_with(&real));
    Ok(if is_wide { Err(NotKept::TooWide { folder: folder.to_owned() }) } else { Ok(()) })
}

/// A look at each file of the folder.
struct Look<'o> {
    folder: &'o Path,
    order: &'o Order,
    intake: Intake<'o>,
    cache: Cache,
    entries: Vec<Entry>,
    seen: Vec<(Vec<u8>, Stat, Seen)>,
    /// How many of them the cache has.
    known: usize,
}

impl Look<'_> {
    fn take(&mut self, path: &[u8], stat: Stat) -> Result<(), NotKept> {
        let seen = match stat.kind {
            Kind::EmptyFolder => {
                self.entries.push(Entry { path: path.to_vec(), mode: stat.mode, what: What::EmptyFolder });
                return Ok(());
            }
            Kind::File | Kind::Link => match self.known(path, &stat) {
                Some(seen) => {
                    self.known = self.known.saturating_add(1);
                    Some((stat, seen))
                }
                None => self.read(path, stat)?,
            },
        };
        if let Some((stat, seen)) = seen {
            self.entries.push(entry(path, &stat, seen));
            self.seen.push((path.to_vec(), stat, seen));
        }
        if self.intake.bytes() > self.order.bounds.max_new_bytes {
            return Err(NotKept::TooMuchNew { most_bytes: self.order.bounds.max_new_bytes });
        }
        Ok(())
    }

    fn known(&self, path: &[u8], stat: &Stat) -> Option<Seen> {
        match self.cache.get(path, stat)? {
            Seen::Digest(digest)
                if stat.size > self.order.bounds.max_file_bytes || !self.intake.has(&digest, stat.size) =>
            {
                None
            }
            Seen::LeftOut(LeftOut::Large) if stat.size <= self.order.bounds.max_file_bytes => None,
            // Permissions may come from elsewhere, such as the user that looks.
            Seen::LeftOut(LeftOut::Unreadable | LeftOut::Unlisted) => None,
            seen => Some(seen),
        }
    }

    /// `None`: it is gone, or something else by now.
    fn read(&mut self, path: &[u8], stat: Stat) -> Result<Option<(Stat, Seen)>, NotKept> {
        let place = walk::full(self.folder, path);
        let most = self.order.bounds.max_file_bytes;
        let read = match stat.kind {
            Kind::Link => {
                fs::read_link(&place).map(|target| Some((stat, target.as_os_str().as_bytes().to_vec())))
            }
            _ if stat.size > most => return Ok(Some((stat, Seen::LeftOut(LeftOut::Large)))),
            _ => read_file(&place, most),
        };
        match read {
            Ok(Some((stat, content))) => {
                let digest = self.intake.take(&content);
                let digest = digest
                    .map_err(|source| NotKept::Io { path: self.order.contents.files.clone(), source })?;
                let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
                // If a file changes while it is read, the list has what was read.
                Ok(Some((Stat { size: length, ..stat }, Seen::Digest(digest))))
            }
            Ok(None) => Ok(Some((stat, Seen::LeftOut(LeftOut::Large)))),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidData
                | io::ErrorKind::InvalidInput => Ok(None),
                io::ErrorKind::PermissionDenied => Ok(Some((stat, Seen::LeftOut(LeftOut::Unreadable)))),
                _ => Err(NotKept::Io { path: place, source: error }),
            },
        }
    }
}

/// The content of a file, with its metadata from before it was read. `None`: it has more than `most` bytes.
fn read_file(place: &Path, most: u64) -> io::Result<Option<(Stat, Vec<u8>)>> {
    let file = envoi_durable::open_regular(place)?;
    let found = file.metadata()?;
    let mut content = Vec::with_capacity(usize::try_from(found.len().min(most)).unwrap_or(0));
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    let is_whole = u64::try_from(content.len()).is_ok_and(|length| length <= most);
    Ok(is_whole.then(|| (Stat::with(&found, Kind::File), content)))
}

fn entry(path: &[u8], stat: &Stat, seen: Seen) -> Entry {
    let size = stat.size;
    let (mode, what) = match (seen, stat.kind) {
        (Seen::Digest(digest), Kind::Link) => (0, What::Link { digest, size }),
        (Seen::Digest(digest), _) => (stat.mode, What::File { digest, size }),
        (Seen::LeftOut(why), _) => (stat.mode, What::LeftOut { why, size, changed: stat.modified }),
    };
    Entry { path: path.to_vec(), mode, what }
}
