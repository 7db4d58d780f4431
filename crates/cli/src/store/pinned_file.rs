//! Whether the file of a run's flow still matches the flow that the run is pinned to.
//!
//! A run keeps the flow that it was started with. A person who corrects the file must say that the run should
//! follow it.

use super::flow_files::FlowFolder;
use crate::{process::messages::say, text::shell};
use envoi_journal::{Reader, Store};
use envoi_kernel::{Run, ids::RunId};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The sentence about a changed file. `None` if it is unchanged or missing.
pub(crate) fn changed(reader: &Reader, run: &Run) -> Option<String> {
    let started = run.started()?;
    let id = &started.run;
    let shown = shell::word(&started.source);
    match state(reader, run)? {
        FileState::Same => None,
        FileState::Other(changed) => {
            let files: Vec<_> = changed.iter().map(|file| shell::word(&file.to_string_lossy())).collect();
            let (files, have) = match files.len() {
                0 => (shown.to_string(), "has"),
                1 => (files.concat(), "has"),
                _ => (files.join(", "), "have"),
            };
            Some(format!(
                "{files} {have} changed since; the run keeps the flow that it has. To go on with the file: envoi resume {id} --flow {shown}"
            ))
        }
        FileState::Unusable => Some(format!(
            "{shown} has changed since, and cannot be run; the run keeps the flow that it has. `envoi check {shown}` says what is wrong"
        )),
    }
}

/// The arguments of `envoi` that continue a run with its changed file. `None` if the file is unchanged.
pub(crate) fn to_go_on(store: &Arc<Store>) -> impl Fn(&RunId) -> Option<String> + 'static {
    let store = Arc::clone(store);
    move |id| {
        let reader = store.reader().ok()?;
        let run = envoi_engine::load_run(&reader, id).ok()?;
        let source = shell::word(&run.started()?.source);
        matches!(state(&reader, &run)?, FileState::Other(_)).then(|| format!("resume {id} --flow {source}"))
    }
}

/// The present state of the file.
enum FileState {
    /// It is the flow that the run is pinned to.
    Same,
    /// It is another flow, because these files differ. The list is empty if only the version of the language
    /// differs.
    Other(Vec<PathBuf>),
    /// It is not a valid flow.
    Unusable,
}

/// The most bytes of a flow file.
const FLOW_BYTES: u64 = 1024 * 1024;

/// `None` if the file is missing.
fn state(reader: &Reader, run: &Run) -> Option<FileState> {
    let source = Path::new(&run.started()?.source);
    // A step may have put a pipe there, so only a regular file is read.
    let text = envoi_durable::read_plain(source, FLOW_BYTES).ok()??;
    let text = String::from_utf8(text).ok()?;
    let name = source.file_name()?.to_string_lossy();
    Some(match envoi_flow::load_as(run.flow().language, &name, &text, &FlowFolder::of(source)) {
        Ok(loaded) if loaded.flow.digest == run.flow().digest => FileState::Same,
        Ok(loaded) => FileState::Other(differing(reader, run, source, &text, &loaded.parts)),
        Err(_) => FileState::Unusable,
    })
}

/// Prints that the file has changed, below the end of a failed run.
pub(crate) fn remark(store: &Store, run: &RunId, exit_code: u8) {
    let failed = matches!(exit_code, 1 | 4);
    let reader = store.reader().ok().filter(|_| failed);
    let sentence = reader.and_then(|reader| changed(&reader, &envoi_engine::load_run(&reader, run).ok()?));
    if let Some(sentence) = sentence {
        say(&sentence);
    }
}

/// The files of a flow whose texts differ from the pinned flow: its own file, and those of flows that it
/// includes.
fn differing(
    reader: &Reader,
    run: &Run,
    source: &Path,
    text: &str,
    parts: &BTreeMap<String, String>,
) -> Vec<PathBuf> {
    let Some(pinned) = run.started().and_then(|started| reader.pinned(&started.run).ok()) else {
        return Vec::new();
    };
    let folder = source.parent().unwrap_or(Path::new("/"));
    let own = (pinned.text != text).then(|| source.to_owned());
    let all: BTreeSet<&String> = parts.keys().chain(pinned.parts.keys()).collect();
    // A file that is no longer included differs because of the file that included it.
    let others = all.into_iter().filter(|path| {
        parts.get(*path).is_some_and(|text| pinned.parts.get(*path).is_none_or(|pinned| pinned != text))
    });
    own.into_iter().chain(others.map(|path| folder.join(path))).collect()
}
