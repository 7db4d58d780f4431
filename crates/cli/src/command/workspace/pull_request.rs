//! `envoi apply --pr`: writes the title and text of a pull request, in Markdown.
//!
//! It uses what the run has kept: the results of its steps, the changed files, its usage. Nothing is sent
//! anywhere. The text of a step appears unchanged only in the first paragraphs, because agents write
//! Markdown. Everywhere else it is code, so that it is not markup and `@name` in it notifies no person.

use super::{
    diff::{compare, say_what_is_outside},
    patch::NOT_OVER,
};
use crate::{
    command::show::accounts,
    process::{failure::Failure, interrupts, messages, output},
    store::{home::Home, select},
    text::diff::printable,
};
use envoi_api::{file::FileDifference, output::PullRequest, step::StepRow, step::StepRows};
use envoi_engine::snapshots;
use envoi_kernel::{
    Event, Record, Run, Status,
    flow::StepKind,
    ids::{AttemptId, RunId, VisitId},
};
use std::collections::BTreeSet;

/// The most files that are named. The text counts the others.
const MOST_FILES: usize = 100;

/// The most characters of a step's result.
const MOST_OF_A_STEP: usize = 120;

pub(crate) fn pull_request(home: &Home, run: Option<&str>, title: Option<String>) -> Result<u8, Failure> {
    interrupts::end_git_with_this_process();
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    let loaded = envoi_engine::load_run(&reader, &id)?;
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let mut rows = StepRows::default();
    records.iter().for_each(|record| rows.take(record));
    let taken = snapshots::taken(&records);
    let compared = compare(&store, &reader, &id, &taken, None)?;
    let by = compared.authors()?;
    let files = compared.differences(None);
    let files: Vec<FileDifference> =
        files.iter().map(|difference| compared.row(difference, &by)).collect::<Result<_, _>>()?;
    say_what_is_outside(&records);
    if !matches!(loaded.status(), Status::Ended(_)) {
        messages::say(NOT_OVER);
    }
    let rows = rows.all(&loaded, &|_| false);
    let flow = loaded.flow();
    let title = title.unwrap_or_else(|| flow.title.clone().unwrap_or_else(|| flow.id.to_string()));
    let row = PullRequest { title: one_line(&title), text: text(&id, &loaded, &records, &rows, &files) };
    if home.json {
        return output::row(&row).map(|()| 0);
    }
    output::data(&format!("{}\n\n{}", row.title, row.text)).map(|()| 0)
}

/// The text: paragraphs and tables of Markdown that GitHub, GitLab and Forgejo render.
fn text(id: &RunId, run: &Run, records: &[Record], rows: &[StepRow], files: &[FileDifference]) -> String {
    let made = format!("Made by run {} of the flow {}.", code(id.as_str()), code(run.flow().id.as_str()));
    let used = accounts::in_a_line(run);
    let used = if used.is_empty() { made } else { format!("{made} Used: {used}.") };
    let parts = said_last(run, records, files).into_iter().chain([steps(run, rows), changed(files), used]);
    parts.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// The text of the last step that asked an agent or a model. In a flow without such a step, that of the last
/// step that changed a file.
fn said_last(run: &Run, records: &[Record], files: &[FileDifference]) -> Option<String> {
    let authors: BTreeSet<VisitId> = files
        .iter()
        .flat_map(|file| &file.by)
        .filter_map(|by| Some(AttemptId::parse(by).ok()?.visit))
        .collect();
    let said = |is_meant: &dyn Fn(&VisitId, &StepKind) -> bool| {
        records.iter().rev().find_map(|record| match &record.event {
            Event::HandoffWritten(written) if written.visit.scope.is_empty() => {
                let step = run.step(&written.visit)?;
                let words = written.handoff.summary.trim();
                (is_meant(&written.visit, &step.kind) && !words.is_empty()).then(|| lines(words))
            }
            _ => None,
        })
    };
    said(&|_, kind| matches!(kind, StepKind::Agent(_) | StepKind::Model(_)))
        .or_else(|| said(&|visit, _| authors.contains(visit)))
}

/// A table with the result of each step of the run's own flow, in the order of the flow.
fn steps(run: &Run, rows: &[StepRow]) -> String {
    let mut text = "| Step | Came to | In a line |\n| --- | --- | --- |".to_owned();
    for step in &run.flow().steps {
        let is_own = |row: &&StepRow| row.scope.is_empty() && row.item.is_none() && row.step == step.id;
        let visits = rows.iter().filter(is_own).count();
        let Some(newest) = rows.iter().filter(is_own).max_by_key(|row| row.visit) else { continue };
        let times = if visits > 1 { format!(", visit {visits}") } else { String::new() };
        let words: String = one_line(&newest.summary).chars().take(MOST_OF_A_STEP).collect();
        let words = if words.is_empty() { words } else { code(&words) };
        text += &format!("\n| {} | {}{times} | {words} |", code(step.id.as_str()), newest.state.spoken());
    }
    text
}

/// The files that the run has changed.
fn changed(files: &[FileDifference]) -> String {
    let sum = |of: fn(&FileDifference) -> u64| files.iter().map(of).fold(0, u64::saturating_add);
    let noun = if files.len() == 1 { "file" } else { "files" };
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    let head = format!("{} {noun} changed: {added} lines added, {removed} removed.", files.len());
    if files.is_empty() {
        return "No file changed.".to_owned();
    }
    let rows = files.iter().take(MOST_FILES).map(|file| {
        let what = match (&file.before, &file.after) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "changed",
        };
        format!("\n| {} | {what} | +{} -{} |", code(&file.path), file.added, file.removed)
    });
    let more = match files.len().checked_sub(MOST_FILES) {
        Some(more @ 1..) => format!("\n\n{more} more files are not listed."),
        _ => String::new(),
    };
    format!("{head}\n\n| File | | Lines |\n| --- | --- | --- |{}{more}", rows.collect::<String>())
}

/// Formats text as inline code for a line or cell: it is not markup, and `@name` notifies no person.
fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1));
    // A backtick at an end would become part of the fence. A pipe is escaped because Markdown splits cells
    // before it reads code.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", text.replace('|', "\\|"))
}

/// Removes characters that control a terminal.
fn lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_stands_in_code_stays_there() {
        for (text, expected) in [
            ("notes.md", "`notes.md`"),
            ("a|b", "`a\\|b`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("two\nlines  here", "`two lines here`"),
            ("@everyone <b>", "`@everyone <b>`"),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn of_many_files_the_first_hundred_are_listed_and_the_rest_is_counted() {
        let file = |nth: usize| FileDifference {
            path: format!("{nth:03}"),
            before: None,
            after: None,
            added: 2,
            removed: 1,
            by: Vec::new(),
        };
        let text = changed(&(0..102).map(file).collect::<Vec<_>>());
        assert!(text.starts_with("102 files changed: 204 lines added, 102 removed.\n\n| File |"), "{text}");
        assert!(text.contains("| `099` |") && !text.contains("`100`"), "{text}");
        assert!(text.ends_with("\n\n2 more files are not listed."), "{text}");
        assert_eq!(changed(&[]), "No file changed.");
    }
}
