//! `envoi doctor`: checks this machine and the store.

mod keys;
mod programs;
mod runs;
mod size;
mod snapshots;

use crate::{
    process::{failure::Failure, invocation, output},
    session::accounts,
    store::{
        config,
        home::{self, Found, Home},
    },
    text::duration::{between, since},
};
use core::{convert::Infallible, fmt::Display};
use envoi_api::store::{AgentProgram, Checkup};
use envoi_contract::time::Timestamp;
use envoi_engine::protocol::Refused;
use envoi_journal::{
    DamagedContent, DamagedRow, Layout, Lease, OpenError, ReadError, Reader, RunFilter, Standing, Store,
    Taken, Undelivered, with_causes,
};
use rustix::fs::{Access, AtFlags};
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

struct Finding {
    what: &'static str,
    ok: bool,
    detail: String,
    /// The agent program that was looked for.
    agent: Option<AgentProgram>,
    /// A problem that needs attention and is not a fault.
    is_warning: bool,
}

impl Finding {
    /// The first column for people. An unusable program is not a fault, but it is not marked as fine.
    fn mark(&self) -> &'static str {
        let is_unusable = self.agent.as_ref().is_some_and(|agent| agent.version.is_none());
        match (self.ok, is_unusable || self.is_warning) {
            (false, _) => "BAD",
            (true, true) => "-",
            (true, false) => "ok",
        }
    }
}

pub(crate) fn doctor(home: &Home) -> Result<u8, Failure> {
    let mut findings = vec![boot(), supervisor(), socket(), git()];
    findings.extend(programs::look());
    findings.extend(store(home)?);
    let sound = findings.iter().all(|finding| finding.ok);
    let text = if home.json {
        let row = |f: &Finding| Checkup {
            check: f.what.to_owned(),
            ok: f.ok,
            detail: f.detail.clone(),
            agent: f.agent.clone(),
        };
        output::line(&findings.iter().map(row).collect::<Vec<_>>())
    } else {
        let row = |f: &Finding| vec![f.mark().to_owned(), f.what.to_owned(), f.detail.clone()];
        output::table(&findings.iter().map(row).collect::<Vec<_>>())
    };
    output::data(&text)?;
    Ok(if sound { 0 } else { crate::process::failure::MACHINE })
}

/// Returns the problems of the runs, rows and folders of a store, one sentence each. `repair` uses this, so that
/// it does not call a store whole while a problem is left.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn left(store: &Store) -> Result<Vec<String>, ReadError> {
    let reader = store.reader()?;
    let mut findings = runs::look(&reader, store.layout())?.findings;
    findings.extend(damaged_rows(reader.damaged_rows()));
    findings.extend(folders(store.layout()));
    let bad = findings.into_iter().filter(|finding| !finding.ok);
    Ok(bad.map(|finding| format!("{}: {}", finding.what, finding.detail)).collect())
}

fn finding<E: Display>(what: &'static str, result: Result<String, E>) -> Finding {
    match result {
        Ok(detail) => Finding { what, ok: true, detail, agent: None, is_warning: false },
        Err(error) => Finding { what, ok: false, detail: error.to_string(), agent: None, is_warning: false },
    }
}

fn boot() -> Finding {
    finding("identity of the boot", envoi_step::boot_id())
}

fn supervisor() -> Finding {
    let found = if cfg!(target_os = "linux") {
        Ok("Linux: commands are ended with everything they started".to_owned())
    } else {
        Ok("not Linux: a daemon that leaves its session may outlive its step".to_owned())
    };
    finding::<Infallible>("supervision", found)
}

fn socket() -> Finding {
    let dirs = crate::process::environment::socket_dirs();
    let made = dirs.iter().find(|dir| tempfile_in(dir).is_ok()).map(|dir| dir.display().to_string());
    finding("folder of the socket", made.ok_or_else(|| format!("none of {dirs:?} can be written to")))
}

/// Git is not part of Envoi. Only isolated runs in a repository need it.
fn git() -> Finding {
    match envoi_engine::git_version() {
        Ok(version) => finding::<Infallible>("git", Ok(version)),
        Err(error) => {
            let detail =
                format!("{error}; a run with `isolate: tree` or `--isolate` in a repository is refused");
            Finding { is_warning: true, ..finding::<Infallible>("git", Ok(detail)) }
        }
    }
}

fn tempfile_in(dir: &Path) -> io::Result<()> {
    let probe = dir.join(format!("envoi-doctor-{}", std::process::id()));
    std::fs::create_dir(&probe)?;
    std::fs::remove_dir(&probe)
}

fn store(home: &Home) -> Result<Vec<Finding>, Failure> {
    let dir = home.dir()?;
    match home::find(&dir) {
        Found::Store => {}
        Found::Nothing => {
            return Ok(vec![finding::<Infallible>("store", Ok(format!("none yet at {}", dir.display())))]);
        }
        Found::Other(what) => return Ok(vec![finding("store", Err(format!("{}: {what}", dir.display())))]),
    }
    // A copied store can be examined. A store that cannot be written may still be readable.
    let store = match Store::open_any(Layout::new(&dir)) {
        Ok(store) => store,
        Err(error) => return Ok(vec![finding("store", Err(why_closed(&dir, &error)))]),
    };
    let place = finding("place", place(&store));
    let clock = store.reader().and_then(|reader| reader.runs(RunFilter::default()));
    let clock = clock.map_err(ClockError::Unread).and_then(|rows| {
        let newest = rows.iter().map(|row| row.updated_at).max();
        clock_beside(newest, envoi_engine::now())
    });
    let runs = store.reader().and_then(|reader| runs::look(&reader, store.layout()));
    let (counted, damaged) = match runs {
        Ok(runs::Seen { unfinished, events, findings }) => {
            let counted = format!("{}: {unfinished} unfinished runs, {events} events read", dir.display());
            (Ok(counted), findings)
        }
        Err(error) => (Err(with_causes(&error)), Vec::new()),
    };
    let rows = store.reader().and_then(|reader| reader.damaged_rows());
    let notices = store
        .reader()
        .and_then(|reader| reader.undelivered())
        .map(|counts| describe(&counts))
        .map_err(|error| error.to_string());
    // The first line is enough: the command that the configuration stops shows the locations.
    let configured = config::load(store.layout())
        .map_err(|failure| failure.message.lines().next().unwrap_or("").to_owned());
    let accounts = configured.as_ref().ok().filter(|config| !config.accounts.is_empty());
    let accounts = accounts.map(|config| {
        let accounts = config.accounts.iter().map(|(name, account)| {
            let found = accounts::of(name, account, store.layout().root());
            found.map_or_else(
                |error| format!("{error}, so it cannot be used"),
                |account| format!("{name} (of {})", account.preset),
            )
        });
        // This is no fault: flows that name no account need none.
        finding::<Infallible>("accounts of agents", Ok(accounts.collect::<Vec<_>>().join("; ")))
    });
    let config = configured.map(|config| match config.notify.len() {
        0 => "no target for every run".to_owned(),
        count => format!("{count} targets for every run"),
    });
    let trees = store
        .reader()
        .map_err(|error| Refused::failure(with_causes(&error)))
        .and_then(|reader| trees_there(&reader));
    let engine = match Lease::try_take(store.layout()) {
        Ok(Taken::Lease(lease)) => {
            lease.release();
            Ok("none is at work".to_owned())
        }
        Ok(Taken::Held(Some(holder))) => Ok(format!("process {} holds the store", holder.pid)),
        Ok(Taken::Held(None)) => Ok("one is just coming up".to_owned()),
        Err(error) => Err(format!("{error}; {}", cure_of(&error.source))),
    };
    let notices = finding("notices", notices);
    let mut findings = vec![
        finding("store", counted),
        finding("room", room(store.layout().root())),
        place,
        finding("clock", clock),
        finding("engine", engine),
        finding("configuration", config),
        notices,
        finding("trees", trees.map_err(|refused| refused.message)),
        size::look(&store),
    ];
    findings.extend(accounts);
    findings.extend(folders(store.layout()));
    findings.extend(keys::look(store.layout()));
    findings.extend(damaged);
    // A content in the database is also a row, so it is not reported twice.
    let in_rows = |line: &str| rows.iter().flatten().any(|row| row.reason == line);
    let contents = damaged_contents(&store, in_rows);
    findings.extend(damaged_rows(rows));
    findings.extend(contents);
    findings.extend(snapshots::look(&store));
    Ok(findings)
}

/// The clocks of machines that use a store in turn differ by less than this.
const CLOCK_SLACK_MS: u64 = 60_000;

/// A problem with the clock.
#[derive(Debug, thiserror::Error)]
enum ClockError {
    /// The newest event cannot be read, so there is nothing to compare.
    #[error("{}", with_causes(.0))]
    Unread(ReadError),
    /// It was set back by this much.
    #[error(
        "it is {0} behind the newest event of the store, so it was set back: retries and questions that expire may wait that much longer; set \
         the clock right"
    )]
    Behind(String),
}

/// Checks that the clock is not behind the newest event of the store. After a clock is set back, timers fire
/// late.
fn clock_beside(newest: Option<Timestamp>, now: Timestamp) -> Result<String, ClockError> {
    match newest.filter(|newest| since(now, *newest) > CLOCK_SLACK_MS) {
        None => Ok("not behind the events of the store".to_owned()),
        Some(newest) => Err(ClockError::Behind(between(now, newest))),
    }
}

/// `doctor` checks that the disk has room for this much, which every command writes sooner or later.
const PROBE_BYTES: usize = 1024 * 1024;

/// Checks that a file can be written to the folder of the store.
fn room(root: &Path) -> Result<String, NoRoom> {
    let probe = root.join(format!("doctor-{}.tmp", std::process::id()));
    let written = File::create(&probe).and_then(|mut file| fill(&mut file));
    let removed = std::fs::remove_file(&probe);
    let done = written.and(removed);
    done.map_err(|source| NoRoom { root: root.to_owned(), source })?;
    Ok("its folder takes files".to_owned())
}

/// The error if a file cannot be written to the store.
#[derive(Debug, thiserror::Error)]
#[error("{} takes no files: {source}; nothing can be written to the store until that is mended", root.display())]
struct NoRoom {
    root: PathBuf,
    source: io::Error,
}

fn fill(file: &mut impl Write) -> io::Result<()> {
    file.write_all(&vec![0; PROBE_BYTES])?;
    file.flush()
}

/// Counts the trees of isolated runs.
fn trees_there(reader: &Reader) -> Result<String, Refused> {
    let (count, bytes) = envoi_engine::trees::count(reader)?;
    Ok(match count {
        0 => "none".to_owned(),
        1 => format!(
            "1, {} MiB: `{} gc` removes it if it is no longer needed",
            bytes >> 20,
            invocation::envoi()
        ),
        count => format!(
            "{count}, {} MiB: `{} gc` removes those that are no longer needed",
            bytes >> 20,
            invocation::envoi()
        ),
    })
}

/// Reports the folders of the store that cannot be written: another kind of file is there, or permissions are
/// missing.
fn folders(layout: &Layout) -> Vec<Finding> {
    let artifacts = layout.artifacts();
    let parent = artifacts.parent().map(Path::to_owned);
    let folders = [Some(layout.runs()), parent, Some(layout.artifacts()), Some(layout.temporary())];
    let all = folders.into_iter().flatten();
    all.filter_map(|path| Some(finding("folder of the store", Err(unusable(&path, may_use(&path))?))))
        .collect()
}

/// Checks that this process may list, write and enter a folder.
fn may_use(path: &Path) -> io::Result<()> {
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::accessat(rustix::fs::CWD, path, all, AtFlags::EACCESS)?)
}

/// Returns why a folder of the store cannot be written, or `None`. `may` is the result of the permission
/// check.
fn unusable(path: &Path, may: io::Result<()>) -> Option<String> {
    let path_shown = path.display();
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let error = may.err()?;
            Some(format!("{path_shown} may not be used: {error}; {}", cure_of(&error)))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Some(format!("{path_shown} cannot be looked at: {error}"))
        }
        _ => Some(format!("{path_shown} is no folder, or a link to one: remove it; it is made again")),
    }
}

/// The remedy for a permission error.
fn cure_of(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => {
            "its file system is mounted read-only: mount it so that it can be written"
        }
        _ => "give it to the user of the store, with `chown` or `chmod`",
    }
}

/// Reports each content that is damaged or missing, unless it is already `known`.
fn damaged_contents(store: &Store, known: impl Fn(&str) -> bool) -> Vec<Finding> {
    match envoi_journal::damaged_contents(store) {
        Err(error) => vec![finding("content that is damaged", Err(with_causes(&error)))],
        Ok(contents) => {
            let unknown = contents.into_iter().filter(|content| !known(&content.line));
            unknown
                .map(|DamagedContent { line, is_denied }| match is_denied {
                    true => finding(
                        "content that may not be read",
                        Err(format!(
                            "{line}; give its file to the user of the store, with `chown` or `chmod`"
                        )),
                    ),
                    false => finding(
                        "content that is damaged",
                        Err(format!("{line}; it can only be restored from a backup")),
                    ),
                })
                .collect()
        }
    }
}

/// Reports each damaged row outside of the events, with its remedy.
fn damaged_rows(rows: Result<Vec<DamagedRow>, ReadError>) -> Vec<Finding> {
    let what = "row that is damaged";
    match rows {
        Err(error) => vec![finding(what, Err(with_causes(&error)))],
        Ok(rows) => rows
            .into_iter()
            .map(|row| {
                let cure = match row.cure {
                    Some(cure) => format!("{} repair: {cure}", invocation::envoi()),
                    None => "it can only be restored from a backup".to_owned(),
                };
                finding(what, Err(format!("{row}; {cure}")))
            })
            .collect(),
    }
}

/// Describes why the store cannot be opened, and what to do.
fn why_closed(dir: &Path, error: &OpenError) -> String {
    let failure = crate::store::home::cannot_open(dir, error);
    let readable = match Store::open_read_only(Layout::new(dir)) {
        Ok(_) => "; it can be read: `runs`, `show` and `logs` work",
        Err(_) => "",
    };
    let hint = failure.hint.map_or_else(String::new, |hint| format!("; {hint}"));
    format!("{}{readable}{hint}", failure.message)
}

/// Checks whether the store is still in the same folder.
fn place(store: &Store) -> Result<String, OpenError> {
    Ok(match store.standing()? {
        Standing::Home => "where it was last".to_owned(),
        Standing::Moved { from: Some(from), .. } if from != store.layout().root() => {
            format!("moved from {}: the next command that uses it takes note", from.display())
        }
        Standing::Moved { .. } => "new, or restored from a backup".to_owned(),
        Standing::Copy { of } => format!(
            "a copy of {}: it can be read; `envoi store adopt` makes it a store of its own, to be used",
            of.display()
        ),
    })
}

/// This is never a fault of the store: `doctor` cannot repair a missing receiver.
fn describe(counts: &Undelivered) -> String {
    let Undelivered { open, failing, given_up } = counts;
    format!(
        "{open} not delivered yet ({failing} of them failed, or their engine ended meanwhile, and are tried again), {given_up} given up"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_is_reported() {
        let at = |minutes: i64| Timestamp::from_millis(1_764_000_000_000 + minutes * 60_000);
        for newest in [None, Some(at(-600)), Some(at(1))] {
            assert!(clock_beside(newest, at(0)).is_ok(), "{newest:?}");
        }
        let message = clock_beside(Some(at(61)), at(0)).unwrap_err().to_string();
        assert!(message.starts_with("it is 1h 1m behind the newest event of the store"), "{message}");
    }

    #[test]
    fn a_folder_that_may_not_be_used_is_no_folder_of_a_store() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        assert_eq!(unusable(folder, may_use(folder)), None);
        let read_only = unusable(folder, Err(rustix::io::Errno::ROFS.into())).unwrap();
        assert!(read_only.contains("mounted read-only") && !read_only.contains("chown"), "{read_only}");
        let denied = || Err(io::ErrorKind::PermissionDenied.into());
        let text = unusable(folder, denied()).unwrap();
        assert!(text.starts_with(&format!("{} may not be used: ", folder.display())), "{text}");
        std::fs::write(folder.join("file"), "").unwrap();
        std::os::unix::fs::symlink(folder, folder.join("link")).unwrap();
        for name in ["file", "link", "nothing"] {
            let text = unusable(&folder.join(name), Ok(())).unwrap();
            assert!(text.ends_with("is no folder, or a link to one: remove it; it is made again"), "{text}");
        }
        assert!(unusable(&folder.join("file/below"), Ok(())).unwrap().contains("cannot be looked at"));
        assert!(may_use(&folder.join("nothing")).is_err());
    }

    #[test]
    fn a_disk_without_room_is_no_room() {
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(fill(&mut full).unwrap_err().kind(), io::ErrorKind::StorageFull);
        let folder = std::env::temp_dir();
        assert_eq!(room(&folder).unwrap(), "its folder takes files");
        let nowhere = folder.join(format!("envoi-nowhere-{}", std::process::id()));
        let message = room(&nowhere).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{} takes no files: ", nowhere.display())), "{message}");
    }
}
