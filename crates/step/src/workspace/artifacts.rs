//! The files of the workspace that match a step's globs: which they are, what they were, what changed.
//!
//! Regular files only: a link is neither followed nor an artifact, so that nothing outside the workspace is handed
//! over. A file whose path could not stand in a hand-off is no artifact either; it is left out with a warning. How many
//! there may be: `attempt/record.rs`; how they are copied: `artifact_copy.rs`.

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

/// Digest by path; none for a file that is there and cannot be read.
pub(crate) type Digests = BTreeMap<String, Option<String>>;

/// What matches at one moment.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) digests: Digests,
    /// What matches too and cannot be handed over: the path, readable, and why not.
    pub(crate) left_out: BTreeMap<String, String>,
    /// Folders that cannot be read: what is in them is not known.
    closed: Vec<PathBuf>,
    /// What matches and is no file: the path, and what it is.
    no_files: BTreeMap<String, &'static str>,
}

/// What matches, before any of it is read.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) names: BTreeSet<String>,
    seen: Seen,
}

impl Seen {
    /// Whether it is not known if this file is there.
    fn is_closed(&self, path: &str) -> bool {
        self.closed.iter().any(|folder| Path::new(path).starts_with(folder))
    }
}

/// The most paths that are remembered of what is no file: one for a pattern is enough.
const MOST_NO_FILES: usize = 1_000;

/// Folders whose contents are never artifacts: our own and git's.
const NEVER: [&str; 2] = [".envoi", ".git"];

/// Globs over a workspace.
pub(crate) struct Watched<'a> {
    workspace: &'a Path,
    globs: GlobSet,
    /// Where a match can be at all, relative to the workspace, and how many parts it has at most.
    roots: Vec<(PathBuf, Option<usize>)>,
    /// Folders in which nothing matches, whatever they are called.
    never: BTreeSet<FolderId>,
    /// What no name may hold. None: the caller masks names.
    secrets: Option<&'a Secrets>,
}

/// What a folder is known by: device and inode, however its path is spelt.
type FolderId = (u64, u64);

fn folder_id(path: &Path) -> Option<FolderId> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// A glob that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the artifact pattern `{pattern}` cannot be used: {why}")]
pub(crate) struct PatternError {
    pattern: String,
    why: String,
}

/// Whether a path of the workspace is among those that a step with these patterns may hand over. A pattern that cannot be
/// used matches nothing.
#[must_use]
pub fn is_artifact(patterns: &[String], path: &str) -> bool {
    Watched::new(Path::new(""), patterns, &[]).is_ok_and(|watched| watched.globs.is_match(path))
}

impl<'a> Watched<'a> {
    /// `never` names folders in which nothing matches; one that is not there counts for nothing.
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

    /// From now on a file whose path holds one of these is left out: a path is written down as it is, in many places.
    pub(crate) fn without(mut self, secrets: &'a Secrets) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Looks at all that matches now.
    pub(crate) fn look(&self) -> Seen {
        self.look_with(|_, mut file| pieces::read_through(&mut file, |_| Ok(())))
    }

    /// As [`Watched::look`]; `measure` is given each file, once, to read it.
    pub(crate) fn look_with(&self, measure: impl FnMut(&str, File) -> io::Result<Measure>) -> Seen {
        self.measured(self.find(), measure)
    }

    /// What matches now; no file is read.
    pub(crate) fn find(&self) -> Found {
        let mut found = Found::default();
        for (root, _) in self.roots.iter().filter(|(root, _)| self.reaches(root)) {
            for path in self.below(root, &mut found.seen) {
                match self.name(&path) {
                    // Two patterns may have one root below the other's.
                    Ok(name) => drop(found.names.insert(name.to_owned())),
                    Err(why) => drop(found.seen.left_out.insert(self.readable(&path), why.to_owned())),
                }
            }
        }
        found
    }

    /// Reads what was found: `measure` is given each file, once.
    pub(crate) fn measured(
        &self,
        Found { names, mut seen }: Found,
        mut measure: impl FnMut(&str, File) -> io::Result<Measure>,
    ) -> Seen {
        names.iter().for_each(|name| self.measure(name, &mut seen, &mut measure));
        seen
    }

    /// The bytes of what was found, as far as that is known.
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
            // Gone since it was listed.
            Err(_) if !is_there(&self.workspace.join(path)) => {}
            Err(error) => {
                seen.digests.insert(path.to_owned(), None);
                seen.left_out.insert(self.readable(path.as_ref()), unreadable(&error));
            }
        }
    }

    /// The path of an artifact, or why it is none.
    fn name<'p>(&self, path: &'p Path) -> Result<&'p str, &'static str> {
        let name = name(path)?;
        match self.secrets {
            Some(secrets) if secrets.stand_in(name.as_bytes()) => Err("its name holds a secret"),
            _ => Ok(name),
        }
    }

    /// A path that may be anything, for a person: one line, and not a long one. Masked before it is shortened, as a part of
    /// a secret cannot be found.
    pub(crate) fn readable(&self, path: &Path) -> String {
        let text = path.to_string_lossy();
        readable(&self.secrets.map_or_else(|| text.clone().into_owned(), |secrets| secrets.mask_str(&text)))
    }

    /// The patterns, as they were given, that none of these paths matches.
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

    /// Whether the way to `root` is made of folders, not of links, and of none in which nothing matches.
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

    /// Matching files at or below `root`. Folders that cannot be read, and what is no file, are noted.
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

    /// Notes a folder in which something may match, unless it is gone.
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

    /// What a pattern without a file matches all the same, for a person.
    pub(crate) fn no_file(&self, pattern: &str, seen: &Seen) -> Option<String> {
        let tidy = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(tidy).literal_separator(true).build().ok()?.compile_matcher();
        let (path, kind) = seen.no_files.iter().find(|(path, _)| glob.is_match(path))?;
        Some(format!("`{}` is {kind}, and only regular files are handed over", self.readable(path.as_ref())))
    }
}

/// What this is, unless it is a regular file or a folder.
fn kind(file_type: fs::FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match file_type {
        kind if kind.is_symlink() => Some("a link"),
        kind if kind.is_fifo() => Some("a named pipe"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        _ => Some("a device"),
    }
}

/// The path of a file as hand-offs name it (CONTRACTS §2), or why none can. Hand-offs themselves, and the
/// lists of the files of steps, lie in the same folder: no artifact may be placed over them.
fn name(path: &Path) -> Result<&str, &'static str> {
    let name = path.to_str().ok_or("its name is not UTF-8")?;
    if name.contains('\\') {
        return Err("its name has a backslash");
    }
    if name.chars().any(char::is_control) {
        return Err("its name has a control character");
    }
    if path.starts_with("handoff") {
        return Err("`handoff` is the folder of the hand-offs");
    }
    if is_in_place_of_list(name) {
        return Err("`STEP.files.json` is the name of the list of a step's files");
    }
    Ok(name)
}

/// Whether the path would lie in the place where the list of a step's files may lie: `[scope.]step.files.json` at the top of the
/// flow's folder. Any step counts, because all steps of a flow share that folder, and a step may have many files at a later visit.
fn is_in_place_of_list(name: &str) -> bool {
    let top = name.split('/').next().unwrap_or(name);
    let in_id = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    top.strip_suffix(".files.json").is_some_and(|step| !step.is_empty() && step.bytes().all(in_id))
}

fn readable(path: &str) -> String {
    const LONGEST: usize = 200;
    let mut text: String = path.escape_debug().take(LONGEST + 1).collect();
    if text.chars().count() > LONGEST {
        text.pop();
        text.push('…');
    }
    text
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

/// The leading folders of a glob that have no special characters; the whole path if it has none at all.
fn fixed_part(pattern: &str) -> PathBuf {
    pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\', '!'])).collect()
}

pub(super) fn unreadable(error: &io::Error) -> String {
    format!("it cannot be read: {error}")
}

/// What is not as it was, in the order of the paths; with `unchanged`, also what is. A file that cannot be read now is none
/// of it, nor is one in a folder that cannot be.
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

/// Whether there is a regular file: nothing else is an artifact.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::{Seen, Watched, changes, is_artifact};
    use crate::attempt::record::Change;
    use rustix::{fs::Mode, process::Uid};
    use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

    /// As a user who is not root: permissions count.
    fn as_an_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                if rustix::process::geteuid().is_root() {
                    let nobody = Uid::from_raw(65_534);
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                work()
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_said_and_what_was_in_it_is_not_taken_for_deleted() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for path in ["out/shut/a.txt", "out/open/a.txt", "other/a.txt"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let patterns = ["out/**".to_owned(), "other/*".to_owned()];
        let watched = Watched::new(folder.path(), &patterns, &[]).unwrap();
        let before = watched.look().digests;
        assert_eq!(before.len(), 3);
        fs::create_dir_all(folder.path().join("other/deeper")).unwrap();
        for shut in ["out/shut", "other/deeper"] {
            fs::set_permissions(folder.path().join(shut), fs::Permissions::from_mode(0o000)).unwrap();
        }
        let seen = as_an_ordinary_user(|| watched.look());
        for shut in ["out/shut", "other/deeper"] {
            fs::set_permissions(folder.path().join(shut), fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(seen.digests.keys().collect::<Vec<_>>(), ["other/a.txt", "out/open/a.txt"]);
        let left_out: Vec<_> = seen.left_out.iter().collect();
        assert_eq!(left_out.len(), 1, "nothing matches below `other/deeper`: {left_out:?}");
        assert!(
            left_out[0].0 == "out/shut" && left_out[0].1.starts_with("the folder cannot be read: "),
            "{left_out:?}"
        );
        assert_eq!(changes(&before, &seen, false), []);
    }

    #[test]
    fn a_pattern_that_matches_no_file_says_what_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        std::os::unix::fs::symlink("pipe", at("link")).unwrap();
        fs::create_dir(at("dist")).unwrap();
        let patterns = ["pipe", "li*", "./dist", "none"].map(str::to_owned);
        let watched = Watched::new(folder.path(), &patterns, &[]).unwrap();
        let seen = watched.look();
        let said: Vec<_> = patterns.iter().map(|pattern| watched.no_file(pattern, &seen)).collect();
        let only = |what: &str| Some(format!("{what}, and only regular files are handed over"));
        assert_eq!(
            said,
            [only("`pipe` is a named pipe"), only("`link` is a link"), only("`dist` is a folder"), None]
        );
    }

    #[test]
    fn a_path_is_an_artifact_if_a_pattern_matches_it() {
        for (patterns, path, expected) in [
            (&["*.md"][..], "notes.md", true),
            (&["*.md"], "sub/notes.md", false),
            (&["a", "./sub/**"], "sub/deep/notes.md", true),
            (&["../*"], "notes.md", false),
            (&[], "notes.md", false),
        ] {
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            assert_eq!(is_artifact(&patterns, path), expected, "{patterns:?} {path}");
        }
    }

    #[test]
    fn a_file_that_no_handoff_can_name_is_left_out_and_said_to_be() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sub/handoff")).unwrap();
        fs::create_dir(folder.path().join("handoff")).unwrap();
        let names: [&[u8]; 8] = [
            b"good.txt",
            b"sub/handoff/good.txt",
            b"attempts",
            b"back\\slash",
            b"new\nline",
            b"bad\xff",
            b"handoff/critic.1.json",
            &[b'l'; 255],
        ];
        for name in names {
            fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
        }
        let patterns = ["**/*".to_owned()];
        let seen = Watched::new(folder.path(), &patterns, &[]).unwrap().look();
        let kept: Vec<_> = seen.digests.keys().map(String::as_str).collect();
        assert_eq!(kept, ["attempts", "good.txt", &"l".repeat(255), "sub/handoff/good.txt"]);
        let left_out: Vec<_> = seen.left_out.into_iter().collect();
        let expected = [
            ("back\\\\slash", "its name has a backslash"),
            ("bad\u{fffd}", "its name is not UTF-8"),
            ("handoff/critic.1.json", "`handoff` is the folder of the hand-offs"),
            ("new\\nline", "its name has a control character"),
        ];
        assert_eq!(left_out, expected.map(|(path, why)| (path.to_owned(), why.to_owned())));
    }

    #[test]
    fn a_file_in_the_place_of_the_list_of_any_step_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["sub", "folder.files.json"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let lists = [
            "build.2.work.files.json",
            "folder.files.json/below",
            "other-step.files.json",
            "work.files.json",
        ];
        let others = [".files.json", "files.json", "no id.files.json", "sub/work.files.json", "work.json"];
        for name in others.into_iter().chain(lists) {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let seen = Watched::new(folder.path(), &["**/*".to_owned()], &[]).unwrap().look();
        assert_eq!(seen.digests.keys().map(String::as_str).collect::<Vec<_>>(), others);
        assert_eq!(seen.left_out.keys().map(String::as_str).collect::<Vec<_>>(), lists);
    }

    fn matching(patterns: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "a.py",
            "b.txt",
            "shop/a.py",
            "shop/deep/b.py",
            ".git/a.py",
            "shop/.envoi/a.py",
            "shop/.git/x.py",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a.py"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("a.py"), folder.path().join("link.py")).unwrap();
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let watched = Watched::new(folder.path(), &patterns, &[]).unwrap();
        watched.look().digests.into_keys().collect()
    }

    #[test]
    fn artifacts_are_the_regular_files_of_the_workspace_that_match() {
        let rows: &[(&[&str], &[&str])] = &[
            (&["*.py"], &["a.py"]),
            (&["**/*.py"], &["a.py", "shop/a.py", "shop/deep/b.py"]),
            (&["shop/**"], &["shop/a.py", "shop/deep/b.py"]),
            (&["./shop/*.py", "b.txt"], &["b.txt", "shop/a.py"]),
            (&["shop/{a,b}.py"], &["shop/a.py"]),
            (&["link/*.py", "link.py", "link/a.py"], &[]),
            (&[".git/*", ".git/a.py", "shop/.envoi/*", "shop/.git/**"], &[]),
            (&["missing.txt", "missing/**"], &[]),
            (&[], &[]),
        ];
        for (patterns, expected) in rows {
            assert_eq!(matching(patterns), *expected, "{patterns:?}");
        }
    }

    /// Not even root can read the first page of a process.
    const UNREADABLE: (&str, &str) = ("/proc/self", "mem");

    #[test]
    fn a_file_that_cannot_be_read_is_left_out_and_said_to_be() {
        let workspace = std::path::Path::new(UNREADABLE.0);
        let name = UNREADABLE.1.to_owned();
        let seen = Watched::new(workspace, std::slice::from_ref(&name), &[]).unwrap().look();
        assert_eq!(seen.digests.get(&name), Some(&None));
        assert!(seen.left_out[&name].starts_with("it cannot be read: "), "{:?}", seen.left_out);
    }

    #[test]
    fn nothing_matches_in_a_folder_that_is_shut_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a.db", "store/a.db", "store/runs/r/a.db", "store2/a.db"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        std::os::unix::fs::symlink("store", folder.path().join("other-name")).unwrap();
        let rows: &[(&str, &str, &[&str])] = &[
            ("store", "**/*", &["a.db", "store2/a.db"]),
            ("store", "store/**", &[]),
            ("store", "store/a.db", &[]),
            ("store", "store/runs/r/*.db", &[]),
            ("other-name", "**/*.db", &["a.db", "store2/a.db"]),
            ("store2/../store", "**/*.db", &["a.db", "store2/a.db"]),
            ("", "**/*.db", &[]),
            ("missing", "s*2/*", &["store2/a.db"]),
        ];
        for (never, pattern, expected) in rows {
            let never = [folder.path().join(never)];
            let patterns = [(*pattern).to_owned()];
            let seen = Watched::new(folder.path(), &patterns, &never).unwrap().look();
            assert_eq!(seen.digests.into_keys().collect::<Vec<_>>(), *expected, "{never:?} {pattern}");
        }
        // The workspace of a run that has its own lies in the store itself.
        let own = folder.path().join("store/runs/r");
        let never = [folder.path().join("store")];
        let patterns = ["**/*".to_owned()];
        let seen = Watched::new(&own, &patterns, &never).unwrap().look();
        assert_eq!(seen.digests.into_keys().collect::<Vec<_>>(), ["a.db"]);
    }

    #[test]
    fn a_pattern_that_leads_out_is_refused() {
        for pattern in ["../x", "/etc/passwd", "a/../../b", "a[", ""] {
            let outcome = Watched::new(std::path::Path::new("/"), &[pattern.to_owned()], &[]);
            assert!(outcome.is_err(), "{pattern}");
        }
    }

    #[test]
    fn changes_tell_created_modified_and_deleted() {
        let digests = |rows: &[(&str, &str)]| {
            // `-` cannot be read.
            rows.iter().map(|(a, b)| ((*a).to_owned(), (*b != "-").then(|| (*b).to_owned()))).collect()
        };
        let seen = |rows: &[(&str, &str)], closed: &[&str]| Seen {
            digests: digests(rows),
            closed: closed.iter().map(PathBuf::from).collect(),
            ..Seen::default()
        };
        let found = changes(
            &digests(&[
                ("a", "1"),
                ("b", "1"),
                ("c", "1"),
                ("e", "-"),
                ("f", "-"),
                ("g", "-"),
                ("h", "1"),
                ("shut/k", "1"),
                ("shut2/k", "1"),
            ]),
            &seen(
                &[("a", "1"), ("b", "2"), ("d", "1"), ("e", "-"), ("f", "1"), ("h", "-"), ("i", "-")],
                &["shut"],
            ),
            false,
        );
        let found_changes: Vec<String> =
            found.iter().map(|(path, change)| format!("{path} {change:?}")).collect();
        assert_eq!(
            found_changes,
            ["b Modified", "c Deleted", "d Created", "f Modified", "g Deleted", "shut2/k Deleted"]
        );
        let same = [("a", "1"), ("b", "-")];
        let handed: Vec<_> = changes(&digests(&same), &seen(&same, &[]), true);
        assert_eq!(
            handed,
            [("a".to_owned(), Change::Unchanged)],
            "one that cannot be read is not handed over"
        );
    }
}
