//! `envoi cache`: lists and removes the results of steps that later runs may reuse.

use crate::{
    process::{
        args::{CacheCommand, CachedOf},
        clock,
        failure::Failure,
        output, stderr,
    },
    store::home::Home,
};
use envoi_api::cache::CachedStep;
use envoi_contract::code::Code;
use envoi_engine::{CachedResult, cached_results, remove_cached, snapshots};
use envoi_journal::{Reader, Store};

/// The most rows that are shown to people.
const SHOWN: usize = 200;

/// How many characters of a key are shown to people: enough to distinguish some thousand results.
const KEY_SHOWN: usize = 16;

/// A result, and its row.
type Found = (CachedResult, CachedStep);

pub(crate) fn cache(home: &Home, command: &CacheCommand) -> Result<u8, Failure> {
    match command {
        CacheCommand::Ls { of, limit } => {
            let (store, reader) = home.reader()?;
            let found = of.among(all(&store, &reader)?);
            let mut rows: Vec<CachedStep> = found.into_iter().map(|(_, row)| row).collect();
            let most = limit.unwrap_or(if home.json { usize::MAX } else { SHOWN });
            let left = rows.len().saturating_sub(most);
            rows.truncate(most);
            print(&rows, home.json)?;
            if left > 0 {
                stderr::line(format_args!("{left} older results are left out; --limit N shows more"));
            }
        }
        CacheCommand::Rm { keys, of, all: _ } => {
            // A command that changes the store is refused in a copy and in another user's store.
            let (store, reader) = home.store()?;
            let found = named(of.among(all(&store, &reader)?), keys)?;
            let (results, rows): (Vec<CachedResult>, Vec<CachedStep>) = found.into_iter().unzip();
            remove_cached(&results).map_err(|error| Failure::machine("the cache", error))?;
            if home.json {
                print(&rows, true)?;
            } else {
                let what = if rows.len() == 1 { "result" } else { "results" };
                output::data(&format!("removed {} {what}\n", rows.len()))?;
            }
        }
    }
    Ok(0)
}

impl CachedOf {
    fn among(&self, mut all: Vec<Found>) -> Vec<Found> {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        all.retain(|(_, row)| {
            is(&self.step, Some(row.step.as_str()))
                && is(&self.flow, row.flow.as_ref().map(|flow| flow.as_str()))
        });
        all
    }
}

/// All results of the store. The flow is that of the run, also for a step of an inner flow.
fn all(store: &Store, reader: &Reader) -> Result<Vec<Found>, Failure> {
    let results = cached_results(store.layout(), &snapshots::contents(store.layout()))
        .map_err(|error| Failure::machine("the cache", error))?;
    let row = |result: CachedResult| {
        let row = CachedStep {
            key: result.keys.first().cloned().unwrap_or_default(),
            step: result.attempt.visit.step.clone(),
            // If the run cannot be read, its flow is unknown.
            flow: reader.run(&result.run).ok().map(|run| run.flow),
            run: result.run.clone(),
            attempt: result.attempt.clone(),
            made_at: result.at.into(),
            files: result.files,
            size_bytes: result.bytes,
        };
        (result, row)
    };
    Ok(results.into_iter().map(row).collect())
}

/// Returns the results with these keys, or all results if no key is given.
fn named(all: Vec<Found>, keys: &[String]) -> Result<Vec<Found>, Failure> {
    if keys.is_empty() {
        return Ok(all);
    }
    let begins =
        |result: &CachedResult, key: &String| result.keys.iter().any(|known| known.starts_with(key.as_str()));
    for key in keys {
        match all.iter().filter(|(result, _)| begins(result, key)).count() {
            0 => {
                let message = format!("no result in the cache has the key `{key}`");
                return Err(Failure::new(Code::RequestInvalid, message).hint("`envoi cache ls` lists them"));
            }
            1 => {}
            several => {
                let message = format!("{several} results have keys that begin with `{key}`");
                return Err(Failure::new(Code::AmbiguousId, message).hint("give more of the key"));
            }
        }
    }
    let is_named = |(result, _): &Found| keys.iter().any(|key| begins(result, key));
    Ok(all.into_iter().filter(is_named).collect())
}

fn print(rows: &[CachedStep], json: bool) -> Result<(), Failure> {
    if json {
        return output::row(&rows);
    }
    if rows.is_empty() {
        stderr::line(format_args!("the cache has no such result"));
        return Ok(());
    }
    let header = ["KEY", "STEP", "FLOW", "MADE", "BY", "FILES", "BYTES"].map(str::to_owned).to_vec();
    let cells = |row: &CachedStep| {
        let number =
            |number: Option<u64>| number.map_or_else(|| "gone".to_owned(), |number| number.to_string());
        vec![
            row.key.chars().take(KEY_SHOWN).collect(),
            row.step.to_string(),
            row.flow.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            clock::local_short(row.made_at.0),
            format!("{} of {}", row.attempt, row.run),
            number(row.files),
            number(row.size_bytes),
        ]
    };
    let table: Vec<Vec<String>> = std::iter::once(header).chain(rows.iter().map(cells)).collect();
    output::data(&output::list(&table, &[], &[1, 2, 4]))
}
