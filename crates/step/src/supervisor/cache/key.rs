//! The key of a result: everything that the command is known to depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use envoi_contract::digest::Digest;
use envoi_tree::{LeftOut, Tree, What};

use crate::attempt::cached::{CacheOrder, CachePart};
use crate::attempt::spec::Spec;
use crate::disk::pieces;
use crate::workspace::artifacts::{Digests, PatternError, Watched, is_artifact};
use crate::workspace::before::Before;

/// Name of the part for the current artifacts.
const ARTIFACTS: &str = "what stands in the place of its artifacts";
/// Name of the part for the files that the command reads.
const INPUTS: &str = "an input";
/// The most files that a sentence names.
const MOST_NAMED: usize = 3;
/// The most words of a command that are checked.
const MOST_WORDS: usize = 1_000;

/// The key of one state.
#[derive(Debug)]
pub(super) struct Key {
    /// In hexadecimal.
    pub(super) name: String,
    /// All parts. The one for the artifacts is the last.
    pub(super) parts: Vec<CachePart>,
    /// The files that the command reads.
    pub(super) inputs: Inputs,
    /// The modes of the artifacts.
    pub(super) modes: Modes,
}

/// The nine permission bits of files, by path. A file that was removed meanwhile has no entry.
pub(super) type Modes = BTreeMap<String, u32>;

/// The files that a command reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inputs {
    /// A line per file: mode, digest and path.
    pub(super) lines: String,
    /// The files among them that no snapshot has.
    pub(super) ignored: BTreeSet<String>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoKey {
    #[error("the files are not kept")]
    NoSnapshot,
    #[error("another attempt was at work in the same folder")]
    Moving,
    #[error("{0}")]
    Lack(String),
    #[error("`{0}` cannot be read")]
    Unreadable(String),
    #[error("no file matches `inputs: {0}`")]
    Unmatched(String),
    #[error("`{0}` is larger than what a snapshot keeps of a file")]
    TooLarge(String),
    #[error("too many links match `inputs`")]
    TooManyLinks,
    #[error("the command has more than {MOST_WORDS} words")]
    TooManyWords,
    #[error(transparent)]
    Patterns(#[from] PatternError),
    #[error("a file of the workspace: {0}")]
    Io(#[from] io::Error),
}

/// The key for the state before the command.
pub(super) fn of(spec: &Spec, order: &CacheOrder, before: &Before) -> Result<Key, NoKey> {
    let tree = before.tree.as_ref().ok_or(NoKey::NoSnapshot)?;
    if before.snapshot.as_ref().is_none_or(|snapshot| snapshot.moving) {
        return Err(NoKey::Moving);
    }
    // If inputs are named, an unreadable folder among them is found below.
    if let Some(lack) = before.lack.clone().filter(|_| order.inputs.is_none()) {
        return Err(NoKey::Lack(lack));
    }
    let inputs = inputs(spec, order, tree)?;
    let mut parts = order.parts.clone();
    parts.push(part("`inputs`", &format!("{:?} {:?}", order.inputs, order.also)));
    parts.extend(named(spec, order)?);
    parts.push(part(INPUTS, &inputs.lines));
    let modes = modes(spec, &before.files);
    parts.push(part(ARTIFACTS, &listed(&before.files, &modes)));
    Ok(Key { name: name(&parts), parts, inputs, modes })
}

/// The current modes of these files.
pub(super) fn modes(spec: &Spec, files: &Digests) -> Modes {
    let mode = |path: &String| {
        let found = fs::symlink_metadata(spec.workspace.join(path)).ok()?;
        Some((path.clone(), found.permissions().mode() & 0o777))
    };
    files.keys().filter_map(mode).collect()
}

fn part(name: &str, value: &str) -> CachePart {
    CachePart { name: name.to_owned(), digest: Digest::of(value.as_bytes()).hex() }
}

fn name(parts: &[CachePart]) -> String {
    let text: String = parts.iter().map(|part| format!("{:?} {}\n", part.name, part.digest)).collect();
    Digest::of(text.as_bytes()).hex()
}

fn listed(files: &Digests, modes: &Modes) -> String {
    let line = |(path, digest): (&String, &Option<String>)| {
        let mode = modes.get(path).map_or_else(|| "gone".to_owned(), |mode| format!("{mode:03o}"));
        format!("{mode} {} {path:?}\n", digest.as_deref().unwrap_or("unreadable"))
    };
    files.iter().map(line).collect()
}

/// Reads the files that the command reads.
pub(super) fn inputs(spec: &Spec, order: &CacheOrder, tree: &Tree) -> Result<Inputs, NoKey> {
    let mut lines = BTreeMap::new();
    let mut ignored = BTreeSet::new();
    let mut found = BTreeSet::new();
    // Its own artifacts have a separate part.
    let own = Watched::new(&spec.workspace, &spec.artifacts, &spec.never)?;
    let globs = order.inputs.as_ref().unwrap_or(&order.also);
    let watched = Watched::new(&spec.workspace, globs, &spec.never)?;
    for entry in tree.entries() {
        let path = String::from_utf8_lossy(&entry.path);
        if order.inputs.is_some() && !watched.names(&path) {
            continue;
        }
        found.insert(path.clone().into_owned());
        if own.names(&path) {
            continue;
        }
        let what = match entry.what {
            What::File { digest, .. } => digest.hex(),
            What::Link { digest, .. } => format!("link {}", digest.hex()),
            What::EmptyFolder => "folder".to_owned(),
            What::LeftOut { why: LeftOut::Large, .. } => return Err(NoKey::TooLarge(entry.shown())),
            What::LeftOut { .. } => return Err(NoKey::Unreadable(entry.shown())),
        };
        // Two names that are not UTF-8 must not get the same text.
        let name = match std::str::from_utf8(&entry.path) {
            Ok(path) => format!("{path:?}"),
            Err(_) => format!("\"{}\"", entry.path.escape_ascii()),
        };
        lines.insert(name, format!("{:03o} {what}", entry.mode));
    }
    // Ignored files, which are in no snapshot.
    let seen = watched.look();
    if let Some(path) = seen.left_out.keys().next() {
        return Err(NoKey::Unreadable(path.clone()));
    }
    let is_new = |path: &str| tree.get(path.as_bytes()).is_none() && !own.names(path);
    for (path, digest) in seen.digests.iter().filter(|(path, _)| is_new(path)) {
        let digest = digest.as_ref().ok_or_else(|| NoKey::Unreadable(path.clone()))?;
        let mode = fs::symlink_metadata(spec.workspace.join(path))?.permissions().mode() & 0o777;
        lines.insert(format!("{path:?}"), format!("{mode:03o} {digest}"));
        ignored.insert(path.clone());
    }
    for path in seen.links().ok_or(NoKey::TooManyLinks)?.filter(|path| is_new(path)) {
        let leads = fs::read_link(spec.workspace.join(path))?;
        let digest = Digest::of(leads.as_os_str().as_bytes()).hex();
        lines.insert(format!("{path:?}"), format!("link {digest}"));
        ignored.insert(path.to_owned());
    }
    found.extend(seen.digests.into_keys());
    let named = order.inputs.as_deref().unwrap_or_default();
    match watched.unmatched(named, found.iter().map(String::as_str)).first() {
        // The pattern may be misspelt, or match behind a link: then a change of the intended file would be
        // missed.
        Some(pattern) => Err(NoKey::Unmatched((*pattern).to_owned())),
        None => {
            let lines = lines.into_iter().map(|(path, what)| format!("{what} {path}\n")).collect();
            Ok(Inputs { lines, ignored })
        }
    }
}

/// A part for each file and each program that a word of the command names.
fn named(spec: &Spec, order: &CacheOrder) -> Result<Vec<CachePart>, NoKey> {
    let mut parts = BTreeMap::new();
    let words: BTreeSet<&String> = order.words.iter().collect();
    if words.len() > MOST_WORDS {
        return Err(NoKey::TooManyWords);
    }
    for word in words {
        if word.is_empty() || word.len() > 1_000 {
            continue;
        }
        let place = spec.cwd.join(word);
        let inside = inside(&spec.workspace, &place);
        // The content of a file outside the workspace counts too, because nothing else shows that it has
        // changed.
        let is_near = inside.is_some() || Path::new(word).is_relative() && word.contains('/');
        if is_near && fs::metadata(&place).is_ok_and(|found| found.is_file()) {
            let path = inside.as_ref().map(|path| path.to_string_lossy());
            if path.is_some_and(|path| is_artifact(&spec.artifacts, &path)) {
                continue;
            }
            let measure = pieces::measure(&fs::canonicalize(&place)?)?;
            parts.insert(format!("file `{word}`"), measure.sha256);
        } else if let Some(program) = program(spec, word) {
            let found = fs::metadata(&program)?;
            let is = format!("{program:?} {} {} {}", found.size(), found.mtime(), found.mtime_nsec());
            parts.insert(format!("program `{word}`"), Digest::of(is.as_bytes()).hex());
        }
    }
    Ok(parts.into_iter().map(|(name, digest)| CachePart { name, digest }).collect())
}

/// The path within the workspace, by its components only: `..` removes the last one, even behind a link.
fn inside(workspace: &Path, place: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in place.components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    path.strip_prefix(workspace).ok().map(Path::to_owned)
}

/// The program that is started for this word, by the system's own search.
fn program(spec: &Spec, word: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if word.contains('/') {
        return Some(Path::new(word).to_owned()).filter(|path| path.is_absolute() && is_program(path));
    }
    let mut folders = spec.variable("PATH").unwrap_or_default().split(':');
    folders.find_map(|folder| Some(spec.cwd.join(folder).join(word)).filter(is_program))
}

impl Key {
    /// The key of the state that has these artifacts and is otherwise the same.
    pub(super) fn with_artifacts(&self, files: &Digests, modes: &Modes) -> String {
        let mut parts = self.parts.clone();
        parts.pop();
        parts.push(part(ARTIFACTS, &listed(files, modes)));
        name(&parts)
    }

    /// The part in which this key differs from that of another result, in words.
    pub(super) fn difference(&self, parts: &[u8], inputs: &[u8]) -> Option<String> {
        let others: Vec<CachePart> = serde_json::from_slice(parts).ok()?;
        let of = |parts: &[CachePart]| -> BTreeMap<String, String> {
            parts.iter().map(|part| (part.name.clone(), part.digest.clone())).collect()
        };
        let (own, others) = (of(&self.parts), of(&others));
        let names: BTreeSet<&String> = own.keys().chain(others.keys()).collect();
        let differing: Vec<&String> =
            names.into_iter().filter(|name| own.get(*name) != others.get(*name)).collect();
        let mut said: Vec<String> =
            differing.iter().filter(|name| **name != INPUTS).map(|name| (*name).clone()).collect();
        if differing.iter().any(|name| *name == INPUTS) {
            said.extend(self.inputs_that_differ(&String::from_utf8_lossy(inputs)));
        }
        let more = said.len().saturating_sub(MOST_NAMED);
        said.truncate(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!said.is_empty())
            .then(|| format!("another key than the newest result of the step: {}{more}", said.join(", ")))
    }

    fn inputs_that_differ(&self, others: &str) -> Vec<String> {
        let own: BTreeSet<&str> = self.inputs.lines.lines().collect();
        let others: BTreeSet<&str> = others.lines().collect();
        let path =
            |line: &&str| line.split_once('"').map_or("", |(_, path)| path.trim_end_matches('"')).to_owned();
        let paths: BTreeSet<String> = own.symmetric_difference(&others).map(path).collect();
        paths.into_iter().map(|path| format!("`{path}`")).collect()
    }
}
