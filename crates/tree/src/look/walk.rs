//! The files of a folder: those that git does not ignore, if git answers, else those that `.gitignore` and `.envoiignore` do not
//! name.
//!
//! A repository within the folder has its own rules. No link is followed. `.git`, `.envoi` and the folders that the caller
//! names are never entered.

use crate::{
    look::{
        git::{Asking, Listed},
        stat::{Kind, Stat},
    },
    model::{
        list::{Entry, Tree, What, ancestors, is_never},
        scope::{Also, Scope},
        stop::Stop,
    },
};
use envoi_durable::{is_too_large, read_regular};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

/// The entries found, by path.
pub(crate) type Found = BTreeMap<Vec<u8>, Stat>;

/// The result of a look at a folder.
pub(crate) struct Walked {
    pub(crate) found: Found,
    /// Folders that cannot be listed: nothing of them was found.
    pub(crate) unlisted: BTreeSet<Vec<u8>>,
}

/// The longest `.gitignore` or `.envoiignore` that is read outside of git.
const MOST_BYTES_OF_RULES: u64 = 1 << 20;

/// Why a folder cannot be looked at.
#[derive(Debug)]
pub(crate) enum WalkError {
    TooMany,
    /// Its content would be left out of the list.
    TooLong {
        path: PathBuf,
    },
    Io {
        path: PathBuf,
        source: io::Error,
    },
}

/// Looks at `root`, and at no more than `most` files of it.
pub(crate) fn walk(
    root: &Path,
    never: &[PathBuf],
    most: usize,
    scope: &Scope,
    stop: &Stop,
) -> Result<Walked, WalkError> {
    let identity = |path: &PathBuf| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let never = never.iter().filter_map(identity).collect();
    let git = Asking::new(stop);
    let mut walk = Walk {
        root,
        never,
        most,
        scope,
        git,
        found: Found::new(),
        folders: HashMap::new(),
        too_long: OnceCell::new(),
        unlisted: RefCell::default(),
    };
    walk.folders.insert(Vec::new(), true);
    walk.enter(Vec::new())?;
    let also = Also::of(scope);
    if !also.is_empty() {
        walk.read_also(Vec::new(), &also)?;
    }
    match walk.too_long.into_inner() {
        Some(path) => Err(WalkError::TooLong { path }),
        None => Ok(Walked { found: walk.found, unlisted: walk.unlisted.into_inner() }),
    }
}

/// The full path of a path in a list.
pub(crate) fn full(root: &Path, path: &[u8]) -> PathBuf {
    match path.is_empty() {
        true => root.to_owned(),
        false => root.join(OsStr::from_bytes(path)),
    }
}

/// A path below another one.
fn below(folder: &[u8], name: &[u8]) -> Vec<u8> {
    match folder.is_empty() {
        true => name.to_vec(),
        false => [folder, b"/", name].concat(),
    }
}

struct Walk<'r> {
    root: &'r Path,
    /// Devices and inodes of folders that are not entered.
    never: BTreeSet<(u64, u64)>,
    most: usize,
    scope: &'r Scope,
    git: Asking<'r>,
    found: Found,
    /// Whether a path is a folder that is entered: no link, and nothing that is left out, in its last place or on the way.
    folders: HashMap<Vec<u8>, bool>,
    /// A path that the system cannot open as a whole.
    too_long: OnceCell<PathBuf>,
    unlisted: RefCell<BTreeSet<Vec<u8>>>,
}

impl Walk<'_> {
    fn failed(&self, path: &[u8], source: io::Error) -> WalkError {
        WalkError::Io { path: full(self.root, path), source }
    }

    /// The entry at a path. `None`: there is none, or it cannot be looked at.
    fn stat(&self, path: &[u8]) -> Option<fs::Metadata> {
        let place = full(self.root, path);
        match fs::symlink_metadata(&place) {
            Err(error) if is_name_too_long(&error) => {
                self.too_long.get_or_init(|| place);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.unlisted.borrow_mut().insert(parent(path).to_vec());
                None
            }
            found => found.ok(),
        }
    }

    /// As [`Self::stat`] for what is not ignored. `None`: it is ignored, too.
    fn stat_unless(&self, path: &[u8], is_ignored: impl Fn(bool) -> bool) -> Option<fs::Metadata> {
        let place = full(self.root, path);
        match fs::symlink_metadata(&place) {
            Err(_) if is_ignored(is_folder_in_its_folder(&place)) => None,
            Ok(found) if is_ignored(found.is_dir()) => None,
            _ => self.stat(path),
        }
    }

    /// A folder that may be a repository: the root, or one with `.git`.
    fn enter(&mut self, folder: Vec<u8>) -> Result<(), WalkError> {
        let path = full(self.root, &folder);
        let is_top = fs::symlink_metadata(path.join(".git")).is_ok();
        // A folder that is not a repository of its own within the root is listed by the surrounding one.
        let listed = match is_top || folder.is_empty() {
            true => self.git.list(&path, is_top).map_err(|error| match is_name_too_long(&error) {
                true => WalkError::TooLong { path: path.join(error.to_string()) },
                false => self.failed(&folder, error),
            })?,
            false => None,
        };
        match listed {
            Some(Listed { paths, unlisted }) => {
                // Our folders and git's are in no list, also where another user has closed them.
                let is_ours = |path: &Vec<u8>| path.split(|byte| *byte == b'/').any(is_never);
                let unlisted = unlisted.iter().map(|path| below(&folder, path)).filter(|path| !is_ours(path));
                self.unlisted.borrow_mut().extend(unlisted);
                self.take_listed(&folder, paths)
            }
            None => self.read(folder, &[]),
        }
    }

    fn take_listed(&mut self, folder: &[u8], paths: Vec<Vec<u8>>) -> Result<(), WalkError> {
        let mut repositories = BTreeSet::new();
        let mut folders = Vec::new();
        let mut around = BTreeSet::from([folder.to_vec()]);
        for path in paths {
            let path = below(folder, path.strip_suffix(b"/").unwrap_or(&path));
            let parent = parent(&path).to_vec();
            if !self.is_entered(&parent) || path.split(|byte| *byte == b'/').any(is_never) {
                continue;
            }
            let mut above = parent;
            while above.len() > folder.len() && around.insert(above.clone()) {
                above = self::parent(&above).to_vec();
            }
            match self.stat(&path) {
                // Listed, and removed since; or taken away while this looks.
                None => {}
                Some(found) if found.is_dir() && !self.is_repository(&path) => folders.push(path),
                Some(found) if found.is_dir() => {
                    repositories.insert(path);
                }
                Some(found) => self.take(path, Stat::of(&found))?,
            }
        }
        for repository in &repositories {
            self.enter(repository.clone())?;
        }
        if self.scope.submodules {
            self.read_submodules(folder, &folders)?;
        }
        // Git does not list folders without files.
        for folder in around {
            self.refuse_long_rules(&folder)?;
            self.find_empty(&folder)?;
        }
        Ok(())
    }

    /// Submodules whose repository is not there, such as those in the tree of a run. Git lists anything else in the place of a file.
    fn read_submodules(&mut self, folder: &[u8], folders: &[Vec<u8>]) -> Result<(), WalkError> {
        if folders.is_empty() {
            return Ok(());
        }
        let place = full(self.root, folder);
        let known = self.git.submodules(&place).map_err(|error| self.failed(folder, error))?;
        let known: BTreeSet<Vec<u8>> = known.iter().map(|path| below(folder, path)).collect();
        for path in folders.iter().filter(|path| known.contains(*path)) {
            // An empty submodule is found like other empty folders. A submodule that may not be listed is known as such.
            let is_empty = self.entries(path).is_ok_and(|inside| inside.is_empty());
            if !is_empty && self.is_entered(path) {
                self.read(path.clone(), &[])?;
            }
        }
        Ok(())
    }

    /// Paths that the order names although a rule ignores them.
    fn read_also(&mut self, folder: Vec<u8>, also: &Also) -> Result<(), WalkError> {
        let Some(names) = self.names_if_readable(&folder)? else { return Ok(()) };
        for name in names {
            let path = below(&folder, &name);
            if is_never(&name) || self.found.contains_key(&path) {
                continue;
            }
            let Ok(found) = fs::symlink_metadata(full(self.root, &path)) else { continue };
            let is_named = also.names(&path, found.is_dir());
            if !found.is_dir() {
                if is_named {
                    self.take(path, Stat::of(&found))?;
                }
            } else if (is_named || also.may_be_below(&path)) && self.is_entered(&path) {
                let is_empty =
                    fs::read_dir(full(self.root, &path)).is_ok_and(|mut inside| inside.next().is_none());
                match is_named && is_empty {
                    true => self.take(path, Some(Stat::with(&found, Kind::EmptyFolder)))?,
                    false => self.read_also(path, also)?,
                }
            }
        }
        Ok(())
    }

    /// Whether a folder is a repository of its own, and is entered.
    fn is_repository(&mut self, folder: &[u8]) -> bool {
        fs::symlink_metadata(full(self.root, folder).join(".git")).is_ok() && self.is_entered(folder)
    }

    /// Git passes over rules that are too long, and lists what they would leave out.
    fn refuse_long_rules(&self, folder: &[u8]) -> Result<(), WalkError> {
        let path = full(self.root, &below(folder, b".gitignore"));
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() > crate::git::MOST_BYTES_OF_RULES => {
                Err(WalkError::Io { path, source: io::ErrorKind::FileTooLarge.into() })
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, path: Vec<u8>, stat: Option<Stat>) -> Result<(), WalkError> {
        if let Some(stat) = stat {
            self.found.insert(path, stat);
        }
        if self.found.len() > self.most { Err(WalkError::TooMany) } else { Ok(()) }
    }

    /// Whether `folder` is a real folder below the root, and nothing on the way to it is a link.
    fn is_entered(&mut self, folder: &[u8]) -> bool {
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let is_entered = !is_never(name(folder)) && self.is_entered(parent(folder)) && {
            let found = self.stat(folder);
            found.is_some_and(|found| found.is_dir() && !self.never.contains(&(found.dev(), found.ino())))
        };
        self.folders.insert(folder.to_vec(), is_entered);
        is_entered
    }

    /// Empty folders directly in a folder whose files git has listed, and in folders that hold nothing but folders. A folder that
    /// cannot be read is an error: without its files the snapshot would mean that they were deleted.
    fn find_empty(&mut self, folder: &[u8]) -> Result<(), WalkError> {
        // The list of the folder has the kind of each entry: its files were looked at before.
        for (name, is_folder) in self.entries(folder)? {
            let path = below(folder, &name);
            if !is_folder || self.folders.contains_key(&path) || is_never(&name) {
                continue;
            }
            let Ok(found) = fs::symlink_metadata(full(self.root, &path)) else { continue };
            if !found.is_dir() || !self.is_entered(&path) {
                continue;
            }
            let Ok(inside) = self.entries(&path) else { continue };
            if inside.is_empty() {
                self.take(path, Some(Stat::with(&found, Kind::EmptyFolder)))?;
                continue;
            }
            // A folder with files that git does not list is ignored.
            if inside.iter().all(|(_, is_folder)| *is_folder) {
                self.find_empty(&path)?;
            }
        }
        Ok(())
    }

    /// The names in a folder, and whether each is that of a folder.
    fn entries(&self, folder: &[u8]) -> Result<Vec<(Vec<u8>, bool)>, WalkError> {
        let read = || {
            fs::read_dir(full(self.root, folder))?
                .map(|entry| {
                    let entry = entry?;
                    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                    Ok((entry.file_name().into_vec(), is_folder))
                })
                .collect::<io::Result<Vec<_>>>()
        };
        read().map_err(|error| self.failed(folder, error))
    }

    fn names(&self, folder: &[u8]) -> Result<Vec<Vec<u8>>, WalkError> {
        let read = || {
            fs::read_dir(full(self.root, folder))?
                .map(|entry| Ok(entry?.file_name().into_vec()))
                .collect::<io::Result<Vec<_>>>()
        };
        read().map_err(|error| self.failed(folder, error))
    }

    /// As [`Self::names`]. `None`: a folder of another user, which is passed over; the root is not.
    fn names_if_readable(&self, folder: &[u8]) -> Result<Option<Vec<Vec<u8>>>, WalkError> {
        match self.names(folder) {
            Err(WalkError::Io { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied && !folder.is_empty() =>
            {
                self.unlisted.borrow_mut().insert(folder.to_vec());
                Ok(None)
            }
            names => names.map(Some),
        }
    }

    /// A folder that git does not list. `above` are the rules of the folders around it, the outermost first.
    fn read(&mut self, folder: Vec<u8>, above: &[Arc<Gitignore>]) -> Result<(), WalkError> {
        let Some(names) = self.names_if_readable(&folder)? else { return Ok(()) };
        let mut rules = above.to_vec();
        rules.extend(self.rules(&folder, &names)?);
        for name in names {
            let path = below(&folder, &name);
            let place = full(self.root, &path);
            if is_never(&name) {
                continue;
            }
            let Some(found) = self.stat_unless(&path, |is_folder| is_ignored(&rules, &place, is_folder))
            else {
                continue;
            };
            if !found.is_dir() {
                self.take(path, Stat::of(&found))?;
                continue;
            }
            if !self.is_entered(&path) {
                continue;
            }
            if fs::symlink_metadata(place.join(".git")).is_ok() {
                self.enter(path)?;
            } else if fs::read_dir(&place).is_ok_and(|mut inside| inside.next().is_none()) {
                self.take(path, Some(Stat::with(&found, Kind::EmptyFolder)))?;
            } else {
                self.read(path, &rules)?;
            }
        }
        Ok(())
    }

    /// The rules in a folder. A file of rules that cannot be read ignores nothing. A file of rules that is too long is refused:
    /// without its rules, the snapshot would have files that a person has left out.
    fn rules(&self, folder: &[u8], names: &[Vec<u8>]) -> Result<Option<Arc<Gitignore>>, WalkError> {
        let place = full(self.root, folder);
        let mut builder = GitignoreBuilder::new(&place);
        let mut any = false;
        for name in [".gitignore", ".envoiignore"] {
            if !names.iter().any(|found| found == name.as_bytes()) {
                continue;
            }
            let path = place.join(name);
            let text = match read_regular(&path, MOST_BYTES_OF_RULES) {
                Ok(text) => text,
                Err(source) if is_too_large(&source) => {
                    return Err(WalkError::Io { path, source });
                }
                Err(_) => continue,
            };
            for line in String::from_utf8_lossy(&text).lines() {
                builder.add_line(None, line).ok();
            }
            any = true;
        }
        Ok(if any { builder.build().ok().map(Arc::new) } else { None })
    }
}

/// The innermost rule that matches counts.
fn is_ignored(rules: &[Arc<Gitignore>], place: &Path, is_folder: bool) -> bool {
    let rule = rules.iter().rev().map(|rules| rules.matched(place, is_folder)).find(|rule| !rule.is_none());
    rule.is_some_and(|rule| rule.is_ignore())
}

/// Adds the entries at the paths of files of `target` that are to come, or on the way there, even if a rule ignores them.
pub(crate) fn add_in_the_way(
    root: &Path,
    found: &mut Found,
    target: &Tree,
    most: usize,
) -> Result<(), WalkError> {
    let comes = |entry: &&Entry| !matches!(entry.what, What::LeftOut { .. });
    for entry in target.entries().iter().filter(comes) {
        let mut way: Vec<&[u8]> = ancestors(&entry.path).collect();
        way.reverse();
        way.push(&entry.path);
        for path in way {
            let Ok(there) = fs::symlink_metadata(full(root, path)) else { break };
            if there.is_dir() && path == entry.path && entry.what != What::EmptyFolder {
                add_all(root, path, found, most)?;
            } else if !there.is_dir() {
                if let Some(stat) = Stat::of(&there) {
                    found.entry(path.to_vec()).or_insert(stat);
                }
                break;
            }
        }
    }
    if found.len() > most { Err(WalkError::TooMany) } else { Ok(()) }
}

/// Every file of a folder that is to make room. Files that no snapshot keeps are refused elsewhere.
fn add_all(root: &Path, folder: &[u8], found: &mut Found, most: usize) -> Result<(), WalkError> {
    let failed = |source| WalkError::Io { path: full(root, folder), source };
    for entry in fs::read_dir(full(root, folder)).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if is_never(name.as_bytes()) {
            continue;
        }
        let path = below(folder, name.as_bytes());
        let there = match fs::symlink_metadata(full(root, &path)) {
            Err(error) if is_name_too_long(&error) => {
                return Err(WalkError::TooLong { path: full(root, &path) });
            }
            Err(_) => continue,
            Ok(there) => there,
        };
        if there.is_dir() {
            add_all(root, &path, found, most)?;
        } else if let Some(stat) = Stat::of(&there) {
            found.entry(path).or_insert(stat);
        }
        if found.len() > most {
            return Err(WalkError::TooMany);
        }
    }
    Ok(())
}

/// Whether there is a folder at a path that is too long to be looked at as a whole, or in a folder that may only be listed.
fn is_folder_in_its_folder(place: &Path) -> bool {
    let entries = place.parent().and_then(|folder| fs::read_dir(folder).ok());
    let mut entries = entries.into_iter().flatten().flatten();
    let entry = entries.find(|entry| Some(entry.file_name().as_os_str()) == place.file_name());
    entry.is_some_and(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

fn is_name_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidFilename
}

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').and_then(|end| path.get(..end)).unwrap_or_default()
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
