//! `envoi inbox`: the questions that wait for a person, oldest first.

use crate::{diff, failure::Failure, home::Home, narrate::head, output, select};
use envoi_contract::time::Timestamp;
use envoi_journal::{InboxFilter, InboxRow, InterruptState, Reader};
use envoi_kernel::ids::InterruptId;
use serde_json::json;
use std::{collections::BTreeMap, thread, time::Duration};

/// How often a list that goes on looks again.
const EVERY: Duration = Duration::from_millis(300);

pub(crate) fn inbox(home: &Home, run: Option<&str>, follow: bool, all: bool) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let run = run.map(|run| select::run(&reader, run)).transpose()?;
    let filter = InboxFilter { run, closed: all || follow };
    if follow {
        return go_on_listing(home, &reader, &filter);
    }
    let rows = reader.inbox(&filter).map_err(Failure::store)?;
    print(&reader, &rows, home.json)
}

/// Prints these questions; `reader` knows the runs of those that were answered.
pub(crate) fn print(reader: &Reader, rows: &[InboxRow], json: bool) -> Result<u8, Failure> {
    let now = envoi_engine::now();
    let text = if json {
        let rows: Vec<_> = rows.iter().map(|row| as_json(row, now)).collect();
        format!("{}\n", serde_json::Value::from(rows))
    } else if rows.is_empty() {
        eprintln!("nothing waits for a person");
        String::new()
    } else {
        let header = ["QUESTION", "KIND", "STEP", "ASKED", "STATE", "RUN", ""].map(str::to_owned).to_vec();
        output::table(
            &std::iter::once(header)
                .chain(rows.iter().map(|row| as_cells(reader, row, now)))
                .collect::<Vec<_>>(),
        )
    };
    output::data(&text).map(|()| 0)
}

/// Every question once when it is asked (those open now at once), and once when it is closed.
fn go_on_listing(home: &Home, reader: &Reader, filter: &InboxFilter) -> Result<u8, Failure> {
    let mut known: BTreeMap<InterruptId, InterruptState> = BTreeMap::new();
    let mut first = true;
    loop {
        for row in reader.inbox(filter).map_err(Failure::store)? {
            let before = known.insert(row.interrupt.clone(), row.state);
            let news =
                before.map_or(!first || row.state == InterruptState::Open, |before| before != row.state);
            if news {
                print_line(reader, &row, home.json)?;
            }
        }
        first = false;
        thread::sleep(EVERY);
    }
}

/// Prints a question in a line.
pub(crate) fn print_line(reader: &Reader, row: &InboxRow, json: bool) -> Result<(), Failure> {
    let now = envoi_engine::now();
    let line = match json {
        true => as_json(row, now).to_string(),
        false => diff::printable(&as_cells(reader, row, now).join("  ")),
    };
    output::data(&(line + "\n"))
}

/// Open, but its time is over: nobody can answer it any more.
pub(crate) fn has_lapsed(row: &InboxRow, now: Timestamp) -> bool {
    row.state == InterruptState::Open && row.expires_at.is_some_and(|at| now >= at)
}

/// How a question stands, for people.
pub(crate) fn stands(row: &InboxRow, now: Timestamp) -> String {
    if has_lapsed(row, now) {
        return format!("expired; `envoi resume {}` goes on", row.run);
    }
    match (row.state, row.expires_at, &row.closed) {
        (InterruptState::Open, Some(at), _) => format!("expires in {}", span(at, now)),
        (InterruptState::Open, None, _) => "open".to_owned(),
        (state, _, Some(closed)) => {
            let told = [closed.answer.as_deref(), closed.by.as_deref()].into_iter().flatten();
            let told = told.collect::<Vec<_>>().join(" by ");
            if told.is_empty() { state.word().to_owned() } else { format!("{}: {told}", state.word()) }
        }
        (state, _, None) => state.word().to_owned(),
    }
}

/// The time from one moment to a later one, for people.
pub(crate) fn span(later: Timestamp, earlier: Timestamp) -> String {
    let ms = later.as_millis().saturating_sub(earlier.as_millis()).max(0);
    let (s, min, h, d) = (ms / 1_000, ms / 60_000, ms / 3_600_000, ms / 86_400_000);
    match (d, h, min) {
        (0, 0, 0) => format!("{s} s"),
        (0, 0, _) => format!("{min} min"),
        (0, _, _) => format!("{h} h {} min", min % 60),
        _ => format!("{d} d {} h", h % 24),
    }
}

fn as_cells(reader: &Reader, row: &InboxRow, now: Timestamp) -> Vec<String> {
    let answer = (row.state == InterruptState::Answered).then(|| reader.answer(&row.run, row).ok()).flatten();
    let stands = match answer {
        Some((at, answer)) => format!("{} ({}) at {at}", stands(row, now), answer.channel),
        None => stands(row, now),
    };
    vec![
        row.interrupt.to_string(),
        row.kind.word().to_owned(),
        row.visit.to_string(),
        format!("{} ago", span(now, row.raised_at)),
        stands,
        row.run.to_string(),
        head(&row.question),
    ]
}

pub(crate) fn as_json(row: &InboxRow, now: Timestamp) -> serde_json::Value {
    json!({
        "interrupt": row.interrupt.as_str(),
        "run": row.run.as_str(),
        "about": row.about,
        "kind": row.kind.word(),
        "scope": row.visit.scope,
        "step": row.visit.step.as_str(),
        "visit": row.visit.visit,
        "question": row.question,
        "raised_at": row.raised_at.to_string(),
        "expires_at": row.expires_at.map(|at| at.to_string()),
        "state": if has_lapsed(row, now) { "lapsed" } else { row.state.word() },
        "closed_at": row.closed.as_ref().map(|closed| closed.at.to_string()),
        "answer": row.closed.as_ref().and_then(|closed| closed.answer.clone()),
        "answered_by": row.closed.as_ref().and_then(|closed| closed.by.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_two_units_at_most() {
        let rows = [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_660_000, "1 h 1 min"),
            (90_000_000, "1 d 1 h"),
            (-5, "0 s"),
        ];
        for (ms, told) in rows {
            assert_eq!(span(Timestamp::from_millis(ms), Timestamp::from_millis(0)), told);
        }
    }
}
