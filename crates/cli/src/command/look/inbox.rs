//! `envoi inbox`: lists the questions that wait for a person, oldest first.
//!
//! A wide terminal gets a table. On a narrower one each question has its own lines, broken between words. The
//! question, its possible answers and its deadline are never cut.

use crate::process::stderr;
use crate::{
    process::{clock, failure::Failure, output, terminal},
    store::{home::Home, select},
    text::{
        columns::{Charset, clip, width, wrapped},
        diff,
        duration::between,
    },
    view::questions::{has_lapsed, stands},
};
use envoi_api::{question::Question, words::head};
use envoi_contract::time::Timestamp;
use envoi_journal::{InboxFilter, InboxRow, InterruptState, Reader};
use envoi_kernel::{Run, ids::InterruptId};
use std::{collections::BTreeMap, thread, time::Duration};

/// How often `--follow` polls the inbox.
const EVERY: Duration = Duration::from_millis(300);

/// The most characters of a question in a narrow list. `envoi show` prints all of it.
const MOST_OF_QUESTION: usize = 600;

/// The most questions that people see without `--limit`.
const MOST_SHOWN: usize = 200;

pub(crate) fn inbox(home: &Home, run: Option<&str>, all: bool, limit: Option<usize>) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let run = run.map(|run| select::run(&reader, run)).transpose()?;
    let rows = reader.inbox(&InboxFilter { run, closed: all }).map_err(Failure::store)?;
    print(&reader, &rows, limit, home.json)
}

/// Lists questions as they open and close, until Ctrl-C.
pub(crate) fn follow(home: &Home, run: Option<&str>) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let run = run.map(|run| select::run(&reader, run)).transpose()?;
    go_on_listing(home, &reader, &InboxFilter { run, closed: true })
}

/// Prints the first of these questions. `reader` has the runs whose questions were answered.
pub(crate) fn print(
    reader: &Reader,
    rows: &[InboxRow],
    limit: Option<usize>,
    json: bool,
) -> Result<u8, Failure> {
    let now = envoi_engine::now();
    let most = limit.unwrap_or(if json { usize::MAX } else { MOST_SHOWN });
    let left = rows.len().saturating_sub(most);
    let rows = rows.get(..most).unwrap_or(rows);
    if left > 0 {
        stderr::line(format_args!("{left} later questions are left out; --limit N shows more"));
    }
    if json {
        return output::row(&rows.iter().map(|row| Question::of(row, now)).collect::<Vec<_>>()).map(|()| 0);
    }
    let text = if rows.is_empty() {
        stderr::line(format_args!("nothing waits for a person"));
        String::new()
    } else {
        let header = ["QUESTION", "KIND", "STEP", "ASKED", "STATE", "RUN", ""].map(str::to_owned).to_vec();
        let cells = rows.iter().map(|row| as_cells(reader, row, now));
        let table = output::table(&std::iter::once(header).chain(cells).collect::<Vec<_>>());
        match terminal::columns_of_stdout().filter(|most| table.lines().any(|line| width(line) > *most)) {
            Some(columns) => rows.iter().map(|row| as_entry(reader, row, now, columns)).collect(),
            None => table,
        }
    };
    output::data(&text).map(|()| 0)
}

/// Prints every question when it opens (open ones at once), and again when it closes.
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

/// Prints a question on one line.
pub(crate) fn print_line(reader: &Reader, row: &InboxRow, json: bool) -> Result<(), Failure> {
    let now = envoi_engine::now();
    match json {
        true => output::row(&Question::of(row, now)),
        false => output::data(&(diff::printable(&as_cells(reader, row, now).join("  ")) + "\n")),
    }
}

/// Formats a question as lines of at most this many columns.
fn as_entry(reader: &Reader, row: &InboxRow, now: Timestamp, columns: usize) -> String {
    let answers = if row.state == InterruptState::Open && !has_lapsed(row, now) {
        match envoi_engine::load_run(reader, &row.run) {
            Ok(run) => words_of_answers(&run, row),
            Err(refused) => format!("answers: not known: {}", refused.message),
        }
    } else {
        String::new()
    };
    let since = format!("asked {} ago, {}", between(row.raised_at, now), standing(reader, row, now));
    let question = row.question.split_whitespace().collect::<Vec<_>>().join(" ");
    let question = clip(&question, MOST_OF_QUESTION, Charset::Unicode);
    let place = format!("{} of {}", row.visit, row.run);
    let mut lines = wrapped(&format!("{}  {place}", row.interrupt), "", "  ", columns);
    for text in [question, answers, since].into_iter().filter(|text| !text.trim().is_empty()) {
        lines.extend(wrapped(&text, "  ", "    ", columns));
    }
    lines.into_iter().map(|line| diff::printable(&line) + "\n").collect()
}

/// The words that this question accepts as an answer.
fn words_of_answers(run: &Run, row: &InboxRow) -> String {
    let raised = run.interrupts().find(|raised| raised.interrupt == row.interrupt);
    let words: Vec<&str> = raised
        .map(|raised| run.accepts(raised))
        .unwrap_or_default()
        .iter()
        .map(|choice| choice.word())
        .collect();
    if words.is_empty() { String::new() } else { format!("answers: {}", words.join(", ")) }
}

/// The state of a question, and its answer.
fn standing(reader: &Reader, row: &InboxRow, now: Timestamp) -> String {
    match (row.state == InterruptState::Answered).then(|| reader.answer(&row.run, row)) {
        Some(Ok((at, answer))) => {
            format!("{} ({}) at {}", stands(row, now), answer.channel, clock::local_short(at))
        }
        Some(Err(error)) => format!("{}, and the answer cannot be read: {error}", stands(row, now)),
        None => stands(row, now),
    }
}

fn as_cells(reader: &Reader, row: &InboxRow, now: Timestamp) -> Vec<String> {
    vec![
        row.interrupt.to_string(),
        row.kind.word().to_owned(),
        row.visit.to_string(),
        format!("{} ago", between(row.raised_at, now)),
        standing(reader, row, now),
        row.run.to_string(),
        head(&row.question),
    ]
}
