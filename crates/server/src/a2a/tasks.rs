//! Operations on tasks: show one, list a page of them, cancel one.

use super::{
    client::{Client, read},
    task::{
        loader::{self, LoadedTask, ReplyBudget},
        state,
    },
    wait::{self, on_run_thread},
};
use crate::{
    auth::scope::Scope,
    commands::submit::{caller_of_run, submit},
    http::problem::Problem,
    state::app::App,
};
use envoi_a2a::{
    fault::{Fault, Kind},
    model::{Task, TaskState},
    request::{ListQuery, TaskPage, TaskQuery},
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_engine::protocol::Request;
use envoi_journal::{RunRow, RunStatus};
use envoi_kernel::ids::RunId;
use std::sync::Arc;

/// `GetTask`.
pub(crate) fn get(app: &App, client: &Client, query: &TaskQuery) -> Result<Task, Fault> {
    let run = loader::run_of(app, client, &query.id)?;
    let mut task = loader::load(app, &run)?.task(app, &client.base, true);
    task.limit_history(query.history_length);
    Ok(task)
}

/// `ListTasks`: the most recently changed task comes first.
pub(crate) fn list(app: &App, client: &Client, query: &ListQuery) -> Result<TaskPage, Fault> {
    let behind = query.page_token.as_deref().map(page_position).transpose()?;
    let mut page = envoi_journal::TaskPage {
        tenant: client.bearer.tenant.clone(),
        context: query.context_id.clone(),
        flow: client.flow.clone(),
        statuses: Vec::new(),
        // The query means "then or later"; the journal's filter is "after".
        changed_after: query.status_after.map(|at| Timestamp::from_millis(at.as_millis().saturating_sub(1))),
        behind,
        limit: query.page_size,
    };
    if let Some(state) = query.state {
        page.statuses = words(state).iter().map(|word| (*word).to_owned()).collect();
        if page.statuses.is_empty() {
            // Runs never have this state.
            return Ok(TaskPage {
                tasks: Vec::new(),
                next_page_token: String::new(),
                page_size: query.page_size,
                total_size: 0,
            });
        }
    }
    let (rows, total_size) = read(app, |reader| reader.task_page(&page))?;
    let full = u32::try_from(rows.len()).is_ok_and(|found| found == query.page_size);
    let next_page_token = rows.last().filter(|_| full).map(page_token).unwrap_or_default();
    let budget = ReplyBudget::default();
    let tasks = rows.iter().map(|row| listed(app, client, query, row, &budget)).collect::<Result<_, _>>()?;
    Ok(TaskPage { tasks, next_page_token, page_size: query.page_size, total_size })
}

fn listed(
    app: &App,
    client: &Client,
    query: &ListQuery,
    row: &RunRow,
    budget: &ReplyBudget,
) -> Result<Task, Fault> {
    let seen = loader::load(app, &row.run)?;
    let mut task = seen.task_within(app, &client.base, query.include_artifacts, budget);
    task.limit_history(query.history_length);
    // The row matched the filter, so the list shows the state of the row, even if the run has continued
    // since.
    if query.state.is_some_and(|state| state != task.status.state) {
        (task.status.state, task.status.message) = (state::of_row(row), None);
    }
    task.status.timestamp = Some(row.updated_at);
    Ok(task)
}

/// The statuses of [`envoi_journal::TaskPage`] that have this state in A2A.
fn words(state: TaskState) -> &'static [&'static str] {
    match state {
        TaskState::Working => &["running"],
        TaskState::InputRequired => &["waiting"],
        TaskState::Completed => &["succeeded"],
        TaskState::Failed => &["failed", "exhausted"],
        TaskState::Canceled => &["cancelled"],
        TaskState::Submitted | TaskState::AuthRequired | TaskState::Rejected => &[],
    }
}

/// The position after a task in a list, as opaque text.
fn page_token(row: &RunRow) -> String {
    format!("{:x}.{}", row.updated_at.as_millis(), row.run)
}

fn page_position(token: &str) -> Result<(Timestamp, RunId), Fault> {
    let read = || {
        let (at, run) = token.split_once('.')?;
        let at = i64::from_str_radix(at, 16).ok()?;
        Some((Timestamp::from_millis(at), RunId::new(run).ok()?))
    };
    read().ok_or_else(|| Fault::violation("pageToken", "Must be the nextPageToken of a page."))
}

/// `CancelTask`: returns once the run has ended, or after the time limit of a request.
pub(crate) async fn cancel(app: &Arc<App>, client: &Client, id: &str) -> Result<Task, Fault> {
    client.require(&[Scope::Run])?;
    let owned = client.clone();
    let id = id.to_owned();
    let shared = Arc::clone(app);
    let run = wait::on_thread(move || request_cancel(&shared, &owned, &id)).await?;
    let seen = tokio::time::timeout(app.settings.limits.request, wait::until(app, &run, at_end)).await;
    let seen = match seen {
        Ok(seen) => seen?,
        // The run is being cancelled, but its steps need more time.
        Err(_) => on_run_thread(app, &run, loader::load).await?,
    };
    let shared = Arc::clone(app);
    let base = client.base.clone();
    wait::on_thread(move || Ok(seen.task(&shared, &base, true))).await
}

fn request_cancel(app: &App, client: &Client, id: &str) -> Result<RunId, Fault> {
    let run = loader::run_of(app, client, id)?;
    let refused = |word: &str| {
        let detail = format!("it is over ({word})");
        Fault::new(Kind::TaskNotCancelable).detail(detail).code(Code::RunOver).note("taskId", id)
    };
    let row = read(app, |reader| reader.run(&run))?;
    if let RunStatus::Ended(_) = row.status() {
        return Err(refused(row.status().word()));
    }
    let caller = caller_of_run(app, &run)?;
    let request = Request::Cancel { run: run.clone(), by: client.principal(), caller: Box::new(caller) };
    submit(app, request).map(drop).map_err(|problem: Problem| match problem.code {
        Code::RunOver => refused("in the meantime"),
        _ => {
            app.note(&problem);
            problem.into()
        }
    })?;
    Ok(run)
}

/// The task once its run has ended or was set aside, or when the server stops.
fn at_end(app: &App, run: &RunId, stops: bool) -> Result<Option<LoadedTask>, Fault> {
    let row = read(app, |reader| reader.run(run))?;
    let rests = row.ended.is_some() || row.aside.is_some();
    if rests || stops { loader::load(app, run).map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_a_run_is_one_state_and_tokens_of_pages_read_what_they_write() {
        for word in ["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"] {
            let states = TaskState::ALL.into_iter().filter(|state| words(*state).contains(&word));
            assert_eq!(states.count(), 1, "{word}");
        }
        let run = RunId::new("run_1").unwrap();
        assert_eq!(page_position("ff.run_1").ok(), Some((Timestamp::from_millis(255), run)));
        for bad in ["", ".", "ff", "ff.", "ff.x", "x.run_1", "ff.run_1.run_2"] {
            assert!(page_position(bad).is_err(), "{bad}");
        }
    }
}
