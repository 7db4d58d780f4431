//! The entries of the cache of steps: a result is known to later runs once it is committed as a success.
//!
//! An entry only names what an event names, and the contents are kept with the run. An entry that is lost, or whose contents are gone, is a
//! miss.

use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_journal::Layout;
use envoi_kernel::{
    Event, Record,
    event::Outcome,
    ids::{AttemptId, FlowId, RunId, StepId},
};
use envoi_step::{CacheEntry, CachedFrom};
use envoi_tree::{Contents, Shelf, Tree};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};
use tracing::warn;

/// No entry is kept for longer, and `cache` allows none that is older.
const MOST_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

/// The most entries of a tenant that a collection leaves. Each has some hundred bytes.
const MOST_ENTRIES: usize = 20_000;

/// The name of the newest entry of a step.
pub(crate) fn newest(flow: &FlowId, step: &StepId) -> String {
    format!("newest-{}", Digest::of(format!("{flow}\0{step}").as_bytes()).hex())
}

/// Makes the result of a committed success known to later runs of the tenant.
pub(super) fn make_known(layout: &Layout, tenant: &str, run: &RunId, flow: &FlowId, record: &Record) {
    let Event::AttemptSettled(settled) = &record.event else { return };
    let Some(cache) = settled.cache.as_deref().filter(|cache| cache.from.is_none()) else { return };
    let is_success = settled.ok && !settled.late && settled.outcome == Outcome::Exited { code: 0 };
    let Some(kept) = cache.kept.filter(|_| is_success) else { return };
    let from = CachedFrom { run: run.to_string(), attempt: settled.attempt.to_string() };
    let keys = [cache.key.clone()].into_iter().chain(cache.again.clone()).collect();
    let at_ms = u64::try_from(record.at.as_millis()).unwrap_or(0);
    let step = newest(settled.flow.as_ref().unwrap_or(flow), &settled.attempt.visit.step);
    let entry = CacheEntry::new(keys, from, at_ms, kept.to_string());
    if let Err(error) = entry.write(&layout.step_cache(tenant), &step) {
        warn!(run = run.as_str(), error = error.to_string(), "a result is not in the cache");
    }
}

/// Removes entries whose contents no run names any more, files that are no entries, entries that are too old, and the
/// oldest of too many.
///
/// # Errors
/// A folder cannot be read. An entry that could not be removed stays, and is a miss.
pub(crate) fn collect(layout: &Layout, named: &BTreeSet<Digest>, now_ms: u64) -> io::Result<()> {
    for tenant in entries(&layout.step_caches())? {
        let mut kept: Vec<(u64, PathBuf)> = Vec::new();
        for path in entries(&tenant)? {
            match lasts(&path, named, now_ms) {
                Some(at_ms) => kept.push((at_ms, path)),
                None => drop(fs::remove_file(&path)),
            }
        }
        kept.sort();
        let more = kept.len().saturating_sub(MOST_ENTRIES);
        for (_, path) in kept.into_iter().take(more) {
            drop(fs::remove_file(&path));
        }
    }
    Ok(())
}

/// When it was made, if it stays.
fn lasts(path: &Path, named: &BTreeSet<Digest>, now_ms: u64) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    let entry = CacheEntry::read(path.parent()?, name).ok()?;
    let is_named = Digest::parse(&entry.kept).is_some_and(|kept| named.contains(&kept));
    (is_named && now_ms.saturating_sub(entry.at_ms) <= MOST_MS).then_some(entry.at_ms)
}

/// A result that later runs may get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedResult {
    /// Its keys: that of the state before the command, and that of the state after it.
    pub keys: Vec<String>,
    /// The run that has made it.
    pub run: RunId,
    /// The attempt that has made it.
    pub attempt: AttemptId,
    /// The time.
    pub at: Timestamp,
    /// How many files it has; `None`: its list is not there, so that it is a miss.
    pub files: Option<u64>,
    /// How many bytes these have.
    pub bytes: Option<u64>,
    /// The files of its entry.
    places: Vec<PathBuf>,
}

/// All results of all tenants, the newest first. `contents` are those of the store.
///
/// # Errors
/// A folder cannot be read.
pub fn cached_results(layout: &Layout, contents: &Contents) -> io::Result<Vec<CachedResult>> {
    let shelf = contents.shelf()?;
    let mut found: BTreeMap<(PathBuf, RunId, AttemptId), CachedResult> = BTreeMap::new();
    for tenant in entries(&layout.step_caches())? {
        for path in entries(&tenant)? {
            let Some((entry, run, attempt)) = entry_at(&path) else { continue };
            let result = found.entry((tenant.clone(), run.clone(), attempt.clone())).or_insert_with(|| {
                let sizes = Digest::parse(&entry.kept).and_then(|kept| sizes(&shelf, &kept));
                let at = Timestamp::from_millis(i64::try_from(entry.at_ms).unwrap_or(i64::MAX));
                let (files, bytes) = (sizes.map(|sizes| sizes.0), sizes.map(|sizes| sizes.1));
                CachedResult { keys: Vec::new(), run, attempt, at, files, bytes, places: Vec::new() }
            });
            // That of a key. The newest of a step lies beside them under a name of its own.
            let keys = entry.keys.iter().filter(|key| CacheEntry::place(&tenant, key) == path);
            result.keys.extend(keys.cloned());
            result.places.push(path);
        }
    }
    let mut all: Vec<CachedResult> = found.into_values().filter(|result| !result.keys.is_empty()).collect();
    all.sort_by(|one, other| other.at.cmp(&one.at).then_with(|| one.keys.cmp(&other.keys)));
    Ok(all)
}

/// Removes results: the next lookup of them is a miss. Their contents stay with their runs.
///
/// # Errors
/// An entry cannot be removed. The entries before it are gone.
pub fn remove_cached(results: &[CachedResult]) -> io::Result<()> {
    for place in results.iter().flat_map(|result| &result.places) {
        match fs::remove_file(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn entry_at(path: &Path) -> Option<(CacheEntry, RunId, AttemptId)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    let entry = CacheEntry::read(path.parent()?, name).ok()?;
    let run = RunId::new(entry.from.run.clone()).ok()?;
    let attempt = AttemptId::parse(&entry.from.attempt).ok()?;
    Some((entry, run, attempt))
}

/// How many artifacts a result has, and how many bytes.
fn sizes(shelf: &Shelf, kept: &Digest) -> Option<(u64, u64)> {
    let tree = Tree::parse(&shelf.read(kept).ok()?).ok()?;
    let files = tree.entries().iter().filter(|entry| entry.path.starts_with(b"files/"));
    let sizes: Vec<u64> = files.filter_map(|entry| Some(entry.content()?.1)).collect();
    let bytes = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
    Some((u64::try_from(sizes.len()).unwrap_or(u64::MAX), bytes))
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
        Ok(found) => found.map(|entry| Ok(entry?.path())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stays_as_long_as_its_contents_and_no_longer() {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::new(root.path().join(".envoi"));
        let folder = layout.step_cache("local");
        let kept = |name: &str| Digest::of(name.as_bytes());
        let now_ms = 2 * MOST_MS;
        let put = |name: &str, at_ms: u64| {
            let from = CachedFrom { run: "run_1".to_owned(), attempt: "a.1.1".to_owned() };
            let entry = CacheEntry::new(vec![name.to_owned()], from, at_ms, kept(name).to_string());
            entry.write(&folder, &format!("newest-{name}")).unwrap();
        };
        put("named", now_ms - 1);
        put("gone", now_ms - 1);
        put("old", now_ms - MOST_MS - 1);
        fs::write(folder.join("half.json"), "{").unwrap();
        fs::write(folder.join("other"), "").unwrap();
        let named = ["named", "old"].map(kept).into();
        collect(&layout, &named, now_ms).unwrap();
        let mut left: Vec<_> = entries(&folder).unwrap();
        left.sort();
        assert_eq!(left, [folder.join("named.json"), folder.join("newest-named.json")]);
        assert_ne!(
            layout.step_cache("local"),
            layout.step_cache("other"),
            "another tenant has another folder"
        );
        collect(&Layout::new(root.path().join("none")), &BTreeSet::new(), now_ms).unwrap();
    }
}
