//! A result: the files and output of a command, as a list in the store, and the rules for keeping it.

use std::io;

use envoi_contract::digest::Digest;
use envoi_contract::skill_report::SkillReport;
use envoi_tree::{ContentError, Entry, Gathered, Order, Tree};

use super::key::{self, Key, NoKey};
use super::outside::{self, Outside};
use super::{Miss, hex};
use crate::attempt::cached::CacheOrder;
use crate::attempt::record::{Change, FileChange, FileRef, Outcome};
use crate::disk::plain;
use crate::supervisor::{Attempt, run::Ended};
use crate::workspace::artifacts::{Digests, Watched};
use crate::workspace::before::Before;

/// Prefix of the artifacts in the list.
const FILES: &[u8] = b"files/";
/// Names of the command's output in the list.
pub(super) const STDOUT: &str = "stdout";
pub(super) const STDERR: &str = "stderr";
pub(super) const OUTPUT: &str = "output";
pub(super) const REPORT: &str = "report.json";
pub(super) const DATA: &str = "data.json";
/// Names of the key's parts in the list.
pub(super) const PARTS: &str = "parts.json";
pub(super) const INPUTS: &str = "inputs";

/// The files and output of a command.
pub(in crate::supervisor) struct Left<'a> {
    pub(in crate::supervisor) ended: &'a Ended,
    pub(in crate::supervisor) before: &'a Before,
    /// The snapshot after the command. `None`: there is none, or another attempt was working in the folder.
    pub(in crate::supervisor) after: Option<&'a Tree>,
    pub(in crate::supervisor) files: &'a [FileChange],
    /// Why the files are not complete: one could not be handed over, or contains a secret.
    pub(in crate::supervisor) incomplete: Option<String>,
    pub(in crate::supervisor) stdout: &'a FileRef,
    pub(in crate::supervisor) stderr: &'a FileRef,
    pub(in crate::supervisor) report: Option<&'a FileRef>,
    /// Whether the report was at `$ENVOI_REPORT`. Otherwise it is a copy of the file behind `--output`.
    pub(in crate::supervisor) report_assigned: bool,
    pub(in crate::supervisor) data: Option<&'a FileRef>,
}

/// Why a result is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotKept {
    #[error("the command has not ended with exit code 0")]
    Failed,
    #[error("processes that it had started were still there when it ended")]
    Leftovers,
    #[error("its output is not whole")]
    Cut,
    #[error("the files after it are not kept")]
    NoSnapshot,
    #[error("files that it reads were changed meanwhile")]
    InputsChanged,
    #[error("it has deleted artifact `{0}`")]
    Deleted(String),
    #[error("{0}")]
    Incomplete(String),
    #[error("artifact `{0}` is too large")]
    TooLarge(String),
    #[error("`{0}` is a link, and only regular files of `artifacts` are kept")]
    Link(String),
    #[error("too many links match `artifacts`")]
    TooManyLinks,
    #[error("the file behind `--output` is a report; one at `$ENVOI_REPORT` is kept")]
    ReportBehindOption,
    #[error(transparent)]
    NoKey(#[from] NoKey),
    #[error(transparent)]
    Outside(#[from] Outside),
    #[error("it cannot be stored: {0}")]
    Store(#[from] io::Error),
}

/// The artifacts of a result, by their path in the workspace.
pub(super) fn files(tree: &Tree) -> Result<Tree, io::Error> {
    let below = |entry: &Entry| {
        let path = entry.path.strip_prefix(FILES)?.to_vec();
        Some(Entry { path, ..entry.clone() })
    };
    Tree::new(tree.entries().iter().filter_map(below).collect()).map_err(io::Error::other)
}

/// Checks that every content is in the store and undamaged, before the restore begins.
pub(super) fn check(order: &Order, tree: &Tree) -> Result<(), Miss> {
    let shelf = order.contents.shelf()?;
    for (digest, _) in tree.entries().iter().filter_map(Entry::content) {
        shelf.read(&digest).map_err(|error: ContentError| Miss::NotWhole(error.into()))?;
    }
    Ok(())
}

/// Keeps the files and output of the command. Returns the digest of their list, and the key of the state
/// after the command.
pub(super) fn keep(
    attempt: &Attempt,
    order: &CacheOrder,
    key: &Key,
    left: &Left<'_>,
) -> Result<(Digest, String), NotKept> {
    let Attempt { spec, dir, .. } = attempt;
    let store = spec.keep.as_ref().ok_or(NotKept::NoSnapshot)?;
    let (Some(before), Some(after)) = (&left.before.tree, left.after) else {
        return Err(NotKept::NoSnapshot);
    };
    match left.ended.outcome {
        Outcome::Exited { code: 0 } => {}
        _ => return Err(NotKept::Failed),
    }
    if left.ended.leftovers > 0 {
        return Err(NotKept::Leftovers);
    }
    let streams = [&left.ended.stdout, &left.ended.stderr];
    if streams.iter().any(|stream| stream.left_out_bytes > 0 || stream.failed.is_some()) {
        return Err(NotKept::Cut);
    }
    if let Some(file) = left.files.iter().find(|file| file.change == Change::Deleted) {
        return Err(NotKept::Deleted(file.path.clone()));
    }
    let most = store.bounds.max_file_bytes;
    let copies = || left.files.iter().filter_map(|file| Some((&file.path, file.file.as_ref()?)));
    if let Some((path, _)) = copies().find(|(_, copy)| copy.bytes > most) {
        return Err(NotKept::TooLarge(path.clone()));
    }
    let is_left =
        |path: &str| left.before.named().any(|named| named == path) || key.inputs.ignored.contains(path);
    outside::look(spec, is_left, before, after, left.ended.started_at_ms)?;
    if let Some(why) = &left.incomplete {
        return Err(NotKept::Incomplete(why.clone()));
    }
    if key::inputs(spec, order, after)? != key.inputs {
        return Err(NotKept::InputsChanged);
    }
    let read = |file: &FileRef| match file.bytes {
        0 => Ok(Vec::new()),
        _ => plain::read_all(plain::open_below(dir.path(), file.path.as_ref())?, most.max(file.bytes)),
    };
    let document = |name: &str, content: io::Result<Vec<u8>>| {
        Ok(Gathered { path: name.as_bytes().to_vec(), mode: 0o600, content: content? })
    };
    let watched = Watched::new(&spec.workspace, &spec.artifacts, &spec.never).map_err(NoKey::from)?;
    if let Some(path) = watched.look().links().ok_or(NotKept::TooManyLinks)?.next() {
        return Err(NotKept::Link(path.to_owned()));
    }
    // Any file may be behind `--output`. A file that is not a report is not restored as a report.
    let report = match left.report {
        Some(copy) if !left.report_assigned => match SkillReport::decode(&read(copy)?) {
            Ok(_) => return Err(NotKept::ReportBehindOption),
            Err(_) => None,
        },
        report => report,
    };
    let stand: Digests = copies().map(|(path, copy)| (path.clone(), Some(copy.sha256.clone()))).collect();
    let modes = key::modes(spec, &stand);
    let artifacts = copies().map(|(path, copy)| {
        let mode = *modes.get(path).ok_or(io::ErrorKind::NotFound)?;
        let content = read(copy)?;
        if hex(Digest::of(&content)) != copy.sha256 {
            return Err(io::Error::other(format!("artifact `{path}` was changed meanwhile")));
        }
        Ok(Gathered { path: [FILES, path.as_bytes()].concat(), mode, content })
    });
    let output = plain::open_if_there(&dir.output())?;
    let output = output.map(|file| document(OUTPUT, plain::read_all(file, most)));
    let others = [(REPORT, report), (DATA, left.data)];
    let others = others.into_iter().filter_map(|(name, file)| Some(document(name, read(file?))));
    let parts = serde_json::to_vec(&key.parts).map_err(io::Error::from);
    let own = [
        document(STDOUT, read(left.stdout)),
        document(STDERR, read(left.stderr)),
        document(PARTS, parts),
        document(INPUTS, Ok(key.inputs.lines.clone().into_bytes())),
    ];
    let all = own.into_iter().chain(others).chain(output).chain(artifacts);
    let (kept, _) = envoi_tree::gather(store, all)?;
    Ok((kept, key.with_artifacts(&stand, &modes)))
}
