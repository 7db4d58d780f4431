//! Waits until a task comes to rest: at its end, at a question, or because its run is set aside, which only
//! an operator can change.
//!
//! No thread is blocked meanwhile. A commit of the run wakes the wait. If the client disconnects, the wait
//! ends; if the server stops, the current task is returned.

use super::{
    client::read,
    task::{
        loader::{self, LoadedTask},
        state,
    },
};
use crate::{
    http::{problem::Problem, work::blocking},
    limits::concurrency_limit::Permit,
    state::app::App,
};
use envoi_a2a::{fault::Fault, model::TaskState};
use envoi_kernel::ids::RunId;
use std::sync::Arc;

/// The task once it is neither submitted nor working. The permit is held until then.
pub(crate) async fn until_rest(app: &Arc<App>, run: &RunId, _permit: Permit) -> Result<LoadedTask, Fault> {
    until(app, run, at_rest).await
}

/// Calls `look` after each commit of a run, until it returns something. The last argument of `look` is
/// whether the server stops: then it must return something.
pub(crate) async fn until<T: Send + 'static>(
    app: &Arc<App>,
    run: &RunId,
    look: fn(&App, &RunId, bool) -> Result<Option<T>, Fault>,
) -> Result<T, Fault> {
    let mut commits = app.commits.of_run(run);
    let mut stopping = app.stopping.clone();
    loop {
        // Marked as seen before `look`, so that a commit during `look` wakes the wait at once.
        commits.borrow_and_update();
        let stops = *stopping.borrow_and_update();
        if let Some(found) = on_run_thread(app, run, move |app, run| look(app, run, stops)).await? {
            return Ok(found);
        }
        tokio::select! {
            _ = commits.changed() => {}
            _ = stopping.changed() => {}
        }
    }
}

fn at_rest(app: &App, run: &RunId, whatever: bool) -> Result<Option<LoadedTask>, Fault> {
    let row = read(app, |reader| reader.run(run))?;
    let whatever = whatever || row.aside.is_some();
    if state::of_row(&row) == TaskState::Working && !whatever {
        return Ok(None);
    }
    let seen = loader::load(app, run)?;
    // The row does not show whether steps only wait for a free slot.
    let works = seen.unreadable.is_none()
        && matches!(seen.fold.standing().state, TaskState::Working | TaskState::Submitted);
    Ok((!works || whatever).then_some(seen))
}

/// Does blocking work on a run on a blocking thread.
pub(crate) async fn on_run_thread<T: Send + 'static>(
    app: &Arc<App>,
    run: &RunId,
    work: impl FnOnce(&App, &RunId) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let shared = Arc::clone(app);
    let run = run.clone();
    on_thread(move || work(&shared, &run)).await
}

/// Does blocking work on a blocking thread. A panic becomes an internal error.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    blocking(move || Ok::<_, Problem>(work())).await.map_err(Fault::from)?
}
