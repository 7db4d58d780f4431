//! `envoi diff`: shows the differences between two states of a run's workspace.

use crate::{
    process::{environment, failure::Failure, interrupts, invocation, messages, output, pager},
    store::{config, home::Home, select},
    text::diff,
};
use envoi_api::file::FileDifference;
use envoi_changes::{Comparison, Folder};
use envoi_engine::snapshots::{self, Taken};
use envoi_journal::{Reader, Store};
use envoi_kernel::{Event, Record, ids::RunId};
use envoi_tree::Stop;
use std::path::Path;

/// Selects what is printed.
pub(crate) struct View<'a> {
    /// Only below this path.
    pub(crate) path: Option<&'a str>,
    /// A line per file instead of the changed lines.
    pub(crate) stat: bool,
}

pub(crate) fn diff(
    home: &Home,
    run: Option<&str>,
    range: Option<&str>,
    view: &View<'_>,
) -> Result<u8, Failure> {
    interrupts::end_git_with_this_process();
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run).map_err(|failure| run_comes_first(failure, run, range))?;
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let taken = snapshots::taken(&records);
    let compared = compare(&store, &reader, &id, &taken, range)?;
    let found = compared.differences(view.path);
    say_what_is_outside(&records);
    if home.json || view.stat {
        let by = compared.authors()?;
        let rows = found.iter().map(|difference| compared.row(difference, &by));
        return print_rows(&rows.collect::<Result<Vec<_>, _>>()?, home.json);
    }
    let mut text = String::new();
    for difference in &found {
        text.push_str(&compared.text(difference)?);
    }
    print(&diff::lines(&text))
}

/// Compares two states of a run's workspace: see [`Comparison::of`].
pub(super) fn compare<'r>(
    store: &Store,
    reader: &Reader,
    id: &RunId,
    taken: &'r [Taken],
    range: Option<&str>,
) -> Result<Comparison<'r>, Failure> {
    let workspace = reader.run(id).map_err(Failure::store)?.workspace;
    let bounds = config::snapshot_bounds(store.layout())?;
    let too_wide = environment::home_folder().into_iter().collect();
    let scope = snapshots::scope_in(&reader.records(id, 0, Some(1)).map_err(Failure::store)?);
    let order = snapshots::order(store.layout(), too_wide, bounds, scope);
    let shelf = order.contents.shelf().map_err(Failure::store)?;
    let folder = Folder { workspace: Path::new(&workspace), order: &order };
    Ok(Comparison::of(shelf, taken, range, Some(folder))?)
}

/// Adds a hint if the caller gave the states where the run should be.
pub(crate) fn run_comes_first(failure: Failure, run: Option<&str>, range: Option<&str>) -> Failure {
    match run {
        Some(states) if range.is_none() && states.contains("..") => {
            failure.hint(format!("the run comes first: `{} diff RUN {states}`", invocation::envoi()))
        }
        _ => failure,
    }
}

/// Prints which files a run has changed outside of its workspace. No state includes them.
pub(super) fn say_what_is_outside(records: &[Record]) {
    let Some(Event::RunStarted(started)) = records.first().map(|record| &record.event) else { return };
    let note = match envoi_engine::changed_outside(started, &Stop::default()) {
        Ok(found) => {
            found.and_then(|found| found.sentence(|path| diff::printable(&String::from_utf8_lossy(path))))
        }
        Err(unknown) => Some(diff::printable(&unknown.to_string())),
    };
    note.into_iter().for_each(|note| messages::say(&format!("note: {note}")));
}

/// Prints the rows as JSON, or one line per file.
pub(crate) fn print_rows(rows: &[FileDifference], json: bool) -> Result<u8, Failure> {
    if json {
        return output::row(&rows).map(|()| 0);
    }
    let cells = |row: &FileDifference| {
        let what = match (&row.before, &row.after) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "changed",
        };
        vec![
            diff::printable(&row.path),
            what.to_owned(),
            format!("+{} -{}", row.added, row.removed),
            row.by.join(", "),
        ]
    };
    print(&output::list(&rows.iter().map(cells).collect::<Vec<_>>(), &[], &[0, 3]))
}

/// Prints a text. A person at a terminal gets it in a pager.
pub(crate) fn print(text: &str) -> Result<u8, Failure> {
    if pager::shows(text) {
        return Ok(0);
    }
    output::data(text).map(|()| 0)
}
