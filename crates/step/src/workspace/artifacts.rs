//! The files of the workspace that match a step's globs: which they are, what they contained, what changed.
//!
//! Regular files only: a link is neither followed nor an artifact, so that nothing outside the workspace is
//! handed over. A file whose path is not allowed in a hand-off is not an artifact either; it is left out with
//! a warning. `attempt/record.rs` bounds their number, and `artifact_copy.rs` copies them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

use crate::attempt::record::Change;
use crate::disk::pieces::{self, Measure};
use crate::disk::plain;
use crate::mask::Secrets;
use crate::workspace::artifact_name;

/// Digest by path. `None` for an existing file that cannot be read.
pub(crate) type Digests = BTreeMap<String, Option<String>>;

/// The matching files at one moment.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) digests: Digests,
    /// Matching files that cannot be handed over: the path in readable form, and why not.
    pub(crate) left_out: BTreeMap<String, String>,
    /// Folders that cannot be read, so their content is not known.
    closed: Vec<PathBuf>,
    /// Matching paths that are neither a file nor a link, each with its kind.
    no_files: BTreeMap<String, &'static str>,
    /// Matching links.
    links: BTreeSet<String>,
}

/// The matching paths, before any file is read.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) names: BTreeSet<String>,
    seen: Seen,
}

impl Seen {
    /// Matching links. `None`: there are more than are recorded.
    pub(crate) fn links(&self) -> Option<impl Iterator<Item = &str>> {
        (self.links.len() < MOST_NO_FILES).then(|| self.links.iter().map(String::as_str))
    }

    /// Whether the file is in an unreadable folder, so that its existence is not known.
    fn is_closed(&self, path: &str) -> bool {
        self.closed.iter().any(|folder| Path::new(path).starts_with(folder))
    }
}

/// The most paths that are recorded of links, and of other things that are not files: one for a pattern is
/// enough.
const MOST_NO_FILES: usize = 1_000;

/// Folders whose content is never an artifact: Envoi's own and git's.
const NEVER: [&str; 2] = [".envoi", ".git"];

/// Globs over a workspace.
pub(crate) struct Watched<'a> {
    workspace: &'a Path,
    globs: GlobSet,
    /// The folders where a match is possible, relative to the workspace, and the most components that a match
    /// has.
    roots: Vec<(PathBuf, Option<usize>)>,
    /// Folders in which nothing matches, by identity.
    never: BTreeSet<FolderId>,
    /// Secrets that no name may contain. `None`: the caller masks names.
    secrets: Option<&'a Secrets>,
}

/// Identity of a folder: device and inode. It does not depend on the spelling of the path.
type FolderId = (u64, u64);

fn folder_id(path: &Path) -> Option<FolderId> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// An invalid glob.
#[derive(Debug, thiserror::Error)]
#[error("the artifact pattern `{pattern}` cannot be used: {why}")]
pub(crate) struct PatternError {
    pattern: String,
    why: String,
}

/// Whether a step with these patterns may hand over this path of the workspace. An invalid pattern matches
/// nothing.
#[must_use]
pub fn is_artifact(patterns: &[String], path: &str) -> bool {
    Watched::new(Path::new(""), patterns, &[]).is_ok_and(|watched| watched.globs.is_match(path))
}

impl<'a> Watched<'a> {
    /// `never` names folders in which nothing matches. A missing one is ignored.
    pub(crate) fn new(
        workspace: &'a Path,
        patterns: &[String],
        never: &[PathBuf],
    ) -> Result<Self, PatternError> {
        let mut globs = GlobSetBuilder::new();
        let mut roots = Vec::new();
        for pattern in patterns {
            let refuse = |why: String| PatternError { pattern: pattern.clone(), why };
            let tidy = pattern.strip_prefix("./").unwrap_or(pattern);
            if !stays_inside(tidy) {
                return Err(refuse("it leads out of the workspace".to_owned()));
            }
            let glob = GlobBuilder::new(tidy).literal_separator(true).build();
            globs.add(glob.map_err(|error| refuse(error.kind().to_string()))?);
            let parts = (!tidy.contains("**")).then(|| tidy.split('/').count());
            roots.push((fixed_part(tidy), parts));
        }
        let globs = globs
            .build()
            .map_err(|error| PatternError { pattern: patterns.join(", "), why: error.kind().to_string() })?;
        let never = never.iter().filter_map(|folder| folder_id(folder)).collect();
        Ok(Self { workspace, globs, roots, never, secrets: None })
    }

    /// From now on a file whose path contains one of the secrets is left out: a path is written to many
    /// places unmasked.
    pub(crate) fn without(mut self, secrets: &'a Secrets) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Reads all files that match now.
    pub(crate) fn look(&self) -> Seen {
        self.look_with(|_, mut file| pieces::read_through(&mut file, |_| Ok(())))
    }

    /// Like [`Watched::look`]; `measure` gets each file once and reads it.
    pub(crate) fn look_with(&self, measure: impl FnMut(&str, File) -> io::Result<Measure>) -> Seen {
        self.measured(self.find(), measure)
    }

    /// Lists the paths that match now, without reading a file.
    pub(crate) fn find(&self) -> Found {
        let mut found = Found::default();
        for (root, _) in self.roots.iter().filter(|(root, _)| self.reaches(root)) {
            for path in self.below(root, &mut found.seen) {
                match self.name(&path) {
                    // Two patterns may have one root below the other's, so a path can come twice.
                    Ok(name) => drop(found.names.insert(name.to_owned())),
                    Err(why) => drop(found.seen.left_out.insert(self.readable(&path), why.to_owned())),
                }
            }
        }
        found
    }

    /// Reads the found files: `measure` gets each file once.
    pub(crate) fn measured(
        &self,
        Found { names, mut seen }: Found,
        mut measure: impl FnMut(&str, File) -> io::Result<Measure>,
    ) -> Seen {
        names.iter().for_each(|name| self.measure(name, &mut seen, &mut measure));
        seen
    }

    /// The size of the found files in bytes, as far as it is known.
    pub(crate) fn size_of(&self, found: &Found) -> u64 {
        let sizes = found.names.iter().filter_map(|name| self.workspace.join(name).symlink_metadata().ok());
        sizes.fold(0, |sum, file| sum.saturating_add(file.len()))
    }

    fn measure(
        &self,
        path: &str,
        seen: &mut Seen,
        measure: &mut impl FnMut(&str, File) -> io::Result<Measure>,
    ) {
        match plain::open_below(self.workspace, Path::new(path)).and_then(|file| measure(path, file)) {
            Ok(measure) => drop(seen.digests.insert(path.to_owned(), Some(measure.sha256))),
            // The file was removed since it was listed.
            Err(_) if !is_there(&self.workspace.join(path)) => {}
            Err(error) => {
                seen.digests.insert(path.to_owned(), None);
                seen.left_out.insert(self.readable(path.as_ref()), unreadable(&error));
            }
        }
    }

    /// The path of an artifact, or why it is not one.
    fn name<'p>(&self, path: &'p Path) -> Result<&'p str, &'static str> {
        let name = artifact_name::of(path)?;
        match self.secrets {
            Some(secrets) if secrets.stand_in(name.as_bytes()) => Err("its name holds a secret"),
            _ => Ok(name),
        }
    }

    /// An arbitrary path, for a person: one line, and not long. Masked before it is shortened, because a part
    /// of a secret is not found.
    pub(crate) fn readable(&self, path: &Path) -> String {
        let text = path.to_string_lossy();
        artifact_name::readable(
            &self.secrets.map_or_else(|| text.clone().into_owned(), |secrets| secrets.mask_str(&text)),
        )
    }

    /// The patterns, as given, that match none of these paths.
    pub(crate) fn unmatched<'p>(
        &self,
        patterns: &'p [String],
        paths: impl Iterator<Item = &'p str>,
    ) -> Vec<&'p str> {
        let mut matched = vec![false; patterns.len()];
        for index in paths.flat_map(|path| self.globs.matches(path)) {
            if let Some(matched) = matched.get_mut(index) {
                *matched = true;
            }
        }
        patterns
            .iter()
            .zip(matched)
            .filter(|(_, matched)| !matched)
            .map(|(pattern, _)| pattern.as_str())
            .collect()
    }

    /// Whether a path of the workspace matches.
    pub(crate) fn names(&self, path: &str) -> bool {
        self.globs.is_match(path)
    }

    /// Whether all components of `root` are folders, not links, and none is a folder in which nothing
    /// matches.
    fn reaches(&self, root: &Path) -> bool {
        root.ancestors().map(|part| self.workspace.join(part)).all(|part| {
            let no_link = || fs::symlink_metadata(&part).is_ok_and(|metadata| !metadata.is_symlink());
            (part == self.workspace || no_link()) && !self.is_never(&part)
        })
    }

    fn is_never(&self, folder: &Path) -> bool {
        !self.never.is_empty() && folder_id(folder).is_some_and(|id| self.never.contains(&id))
    }

    fn is_open(&self, entry: &DirEntry) -> bool {
        !entry.file_type().is_dir() || !(is_private(entry) || self.is_never(entry.path()))
    }

    /// Matching files at or below `root`. Records folders that cannot be read, and matches that are not
    /// files.
    fn below(&self, root: &Path, seen: &mut Seen) -> Vec<PathBuf> {
        let walk = WalkDir::new(self.workspace.join(root)).sort_by_file_name();
        let mut files = Vec::new();
        for entry in walk.into_iter().filter_entry(|entry| self.is_open(entry)) {
            match entry {
                Ok(entry) => {
                    let Some(path) = self.relative(entry.path()).filter(|path| self.is_match(path)) else {
                        continue;
                    };
                    match kind(entry.file_type()) {
                        None => files.push(path),
                        Some(LINK) => {
                            if seen.links.len() < MOST_NO_FILES {
                                seen.links.insert(path.to_string_lossy().into_owned());
                            }
                        }
                        Some(kind) if seen.no_files.len() < MOST_NO_FILES => {
                            seen.no_files.insert(path.to_string_lossy().into_owned(), kind);
                        }
                        Some(_) => {}
                    }
                }
                Err(error) => self.closed(&error, seen),
            }
        }
        files
    }

    fn relative(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(self.workspace).ok().map(Path::to_owned)
    }

    fn is_match(&self, path: &Path) -> bool {
        self.globs.is_match(path) && !path.iter().any(|part| NEVER.iter().any(|never| part == *never))
    }

    /// Records an unreadable folder in which something may match, unless it was removed.
    fn closed(&self, error: &walkdir::Error, seen: &mut Seen) {
        let Some(why) = error.io_error().filter(|error| error.kind() != io::ErrorKind::NotFound) else {
            return;
        };
        let Some(folder) = error.path().and_then(|path| self.relative(path)) else { return };
        let parts = folder.iter().count();
        let may_match = |(root, most): &(PathBuf, Option<usize>)| {
            folder.starts_with(root) && most.is_none_or(|most| parts < most)
        };
        if self.roots.iter().any(may_match) {
            seen.left_out.insert(self.readable(&folder), format!("the folder cannot be read: {why}"));
            seen.closed.push(folder);
        }
    }

    /// For a pattern without a file: what it matches instead, for a person.
    pub(crate) fn no_file(&self, pattern: &str, seen: &Seen) -> Option<String> {
        let tidy = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(tidy).literal_separator(true).build().ok()?.compile_matcher();
        let links = seen.links.iter().map(|path| (path, &LINK));
        let (path, kind) = seen.no_files.iter().chain(links).find(|(path, _)| glob.is_match(path))?;
        Some(format!("`{}` is {kind}, and only regular files are handed over", self.readable(path.as_ref())))
    }
}

/// The word for a symbolic link.
const LINK: &str = "a link";

/// The kind, unless it is a regular file or a folder.
fn kind(file_type: fs::FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match file_type {
        kind if kind.is_symlink() => Some(LINK),
        kind if kind.is_fifo() => Some("a named pipe"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        _ => Some("a device"),
    }
}

fn is_private(entry: &DirEntry) -> bool {
    entry.depth() > 0 && NEVER.iter().any(|never| entry.file_name() == *never)
}

fn stays_inside(pattern: &str) -> bool {
    !pattern.is_empty()
        && Path::new(pattern)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The leading components of a glob without special characters; the whole path if it has none.
fn fixed_part(pattern: &str) -> PathBuf {
    pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\', '!'])).collect()
}

pub(super) fn unreadable(error: &io::Error) -> String {
    format!("it cannot be read: {error}")
}

/// The changed files, in the order of the paths; with `unchanged`, also the unchanged ones. A file that
/// cannot be read now, or is in an unreadable folder, is left out.
pub(crate) fn changes(before: &Digests, after: &Seen, unchanged: bool) -> Vec<(String, Change)> {
    let is_gone = |path: &&String| !after.digests.contains_key(*path) && !after.is_closed(path);
    let gone = before.keys().filter(is_gone).map(|path| (path.clone(), Change::Deleted));
    let there = after.digests.iter().filter_map(|(path, digest)| match before.get(path) {
        _ if digest.is_none() => None,
        None => Some((path.clone(), Change::Created)),
        Some(old) if old != digest => Some((path.clone(), Change::Modified)),
        Some(_) => unchanged.then(|| (path.clone(), Change::Unchanged)),
    });
    let mut all: Vec<_> = gone.chain(there).collect();
    all.sort();
    all
}

/// Whether there is a regular file: only such a file can be an artifact.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests;
