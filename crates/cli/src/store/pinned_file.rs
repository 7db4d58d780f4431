//! Whether the file of a run's flow still says what the run is pinned to.
//!
//! A run keeps the flow that it was started with. A person who corrects the file has to say that the run is meant to follow it.

use super::flow_files::FlowFolder;
use crate::{process::messages::say, text::shell};
use envoi_journal::Store;
use envoi_kernel::{Run, ids::RunId};
use std::{fs, path::Path, sync::Arc};

/// The sentence for a file that says something else; `None` if it says the same, or is not there.
pub(crate) fn changed(run: &Run) -> Option<String> {
    let started = run.started()?;
    let id = &started.run;
    let shown = shell::word(&started.source);
    match state(run)? {
        FileState::Same => None,
        FileState::Other => Some(format!(
            "{shown} has changed since; the run keeps the flow that it has. To go on with the file: envoi resume {id} --flow {shown}"
        )),
        FileState::Unusable => Some(format!(
            "{shown} has changed since, and cannot be run; the run keeps the flow that it has. `envoi check {shown}` says what is wrong"
        )),
    }
}

/// What is to be given to `envoi` so that a run goes on with its file, which has changed; `None` if it has not.
pub(crate) fn to_go_on(store: &Arc<Store>) -> impl Fn(&RunId) -> Option<String> + 'static {
    let store = Arc::clone(store);
    move |id| {
        let run = envoi_engine::load_run(&store.reader().ok()?, id).ok()?;
        let source = shell::word(&run.started()?.source);
        matches!(state(&run)?, FileState::Other).then(|| format!("resume {id} --flow {source}"))
    }
}

/// What the file of a run's flow says by now.
enum FileState {
    /// What the run is pinned to.
    Same,
    /// Another flow.
    Other,
    /// Nothing that could be run.
    Unusable,
}

/// `None` if the file is not there.
fn state(run: &Run) -> Option<FileState> {
    let source = Path::new(&run.started()?.source);
    let text = fs::read_to_string(source).ok()?;
    let name = source.file_name()?.to_string_lossy();
    Some(match envoi_flow::load_as(run.flow().language, &name, &text, &FlowFolder::of(source)) {
        Ok(loaded) if loaded.flow.digest == run.flow().digest => FileState::Same,
        Ok(_) => FileState::Other,
        Err(_) => FileState::Unusable,
    })
}

/// Says so below the end of a run that failed.
pub(crate) fn remark(store: &Store, run: &RunId, exit_code: u8) {
    let failed = matches!(exit_code, 1 | 4);
    let reader = store.reader().ok().filter(|_| failed);
    let run = reader.and_then(|reader| envoi_engine::load_run(&reader, run).ok());
    if let Some(sentence) = run.and_then(|run| changed(&run)) {
        say(&sentence);
    }
}
