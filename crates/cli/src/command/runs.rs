//! `envoi runs`: the runs of the store, newest first.

mod follow;

use crate::{failure::Failure, home::Home, output};
use envoi_journal::{RunFilter, RunRow};
pub(crate) use follow::follow;
use serde_json::json;

pub(crate) fn runs(home: &Home, unfinished: bool, limit: u32) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let rows = reader.runs(RunFilter { unfinished, limit: Some(limit) }).map_err(Failure::store)?;
    print(&rows, home.json)
}

/// Prints these runs.
pub(crate) fn print(rows: &[RunRow], json: bool) -> Result<u8, Failure> {
    let text = if json {
        format!("{}\n", serde_json::Value::from(rows.iter().map(as_json).collect::<Vec<_>>()))
    } else {
        let header = ["RUN", "FLOW", "STATUS", "STEP", "STARTED", "BY"].map(str::to_owned).to_vec();
        output::table(&std::iter::once(header).chain(rows.iter().map(as_cells)).collect::<Vec<_>>())
    };
    output::data(&text).map(|()| 0)
}

fn as_cells(row: &RunRow) -> Vec<String> {
    let others = match row.live_attempts {
        0 | 1 => String::new(),
        several => format!(", {several} attempts"),
    };
    let in_doubt = if row.in_doubt > 0 { " (in doubt)" } else { "" };
    vec![
        row.run.to_string(),
        row.flow.to_string(),
        format!("{}{in_doubt}", row.status().word()),
        format!("{}{others}", row.step.as_ref().map_or("-", |step| step.as_str())),
        row.started_at.to_string(),
        row.actor.clone()
            + &row.forked_from.as_ref().map_or_else(String::new, |from| format!(" (fork of {from})")),
    ]
}

fn as_json(row: &RunRow) -> serde_json::Value {
    json!({
        "run": row.run.as_str(),
        "flow": row.flow.as_str(),
        "flow_digest": row.flow_digest.to_string(),
        "status": row.status().word(),
        "in_doubt": row.in_doubt > 0,
        "step": row.step.as_ref().map(ToString::to_string),
        "workspace": row.workspace,
        "tenant": row.tenant,
        "actor": row.actor,
        "started_at": row.started_at.to_string(),
        "updated_at": row.updated_at.to_string(),
        "events": row.next_seq,
        "live_attempts": row.live_attempts,
        "open_interrupts": row.open_interrupts,
        "terminal_reason": row.ended.as_ref().map(|ended| ended.terminal_reason.clone()),
        "forked_from": row.forked_from.as_ref().map(ToString::to_string),
        "root": row.root.as_ref().map(ToString::to_string),
        "reason": row.ended.as_ref().map(|ended| ended.reason.clone()),
    })
}
