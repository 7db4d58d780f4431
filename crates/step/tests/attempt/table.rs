//! Replaces each file that is read of an attempt by each kind of thing: the attempt always ends with a known
//! or unknown result, and is never started again. Each row is tried with a live supervisor, with a killed
//! one, and after a reboot.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use envoi_step::{Given, Outcome, Probe, Spec, boot_id, end_leftovers, evidence, mask_lost, probe};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::stage::{ATTEMPT, Stage, kill, read, start_in, wait_for};

const SECRET: &str = "hunter22hunter22";

/// The folder of the attempt itself, or of its workspace.
const ITSELF: &str = ".";

/// Paths in the attempt's folder: those that the command gets, and those of its supervisor and the engine.
const OF_ATTEMPT: &[&str] = &[
    ITSELF,
    "output",
    "report.json",
    "data.json",
    "lock",
    "started.json",
    "exit.json",
    "file-work.json",
    "before.json",
    "before.pack",
    "cached.json",
    "stdout",
    "stderr",
    "stdout.ring",
    "text",
    "files",
    "before",
    "cancel",
    "lease",
    "supervisor.log",
    // Files that the engine writes for its own processes (agent programs, models, other agents, merges), and
    // files that these keep.
    "agent.json",
    "events.jsonl",
    "session",
    "used.json",
    "schema.json",
    "model.json",
    "calls",
    "unanswered",
    "prompt.txt",
    "a2a.json",
    "merge.json",
    "edit",
    "envelope.json",
    "feedback.txt",
    "failed-command.txt",
];

/// Paths in the workspace: artifacts, and a folder on the way to one.
const OF_WORKSPACE: &[&str] = &[ITSELF, "out", "out/made.txt", "kept.txt"];

/// The kind of thing in the place of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    Pipe,
    Socket,
    Device,
    Link,
    LinkToFolder,
    Loop,
    /// For a user who is not root ([`an_attempt_of_an_ordinary_user_ends_whatever_that_user_may_not_read`]).
    Unreadable,
    /// A folder that its owner may not read; root may.
    Closed,
    /// 5 GB without data. Artifacts are read to their end, so theirs are smaller.
    Sparse,
    Vanished,
    /// Another content, another file or no file, again and again.
    Changing,
}

const KINDS: [Kind; 12] = [
    Kind::Folder,
    Kind::Pipe,
    Kind::Socket,
    Kind::Device,
    Kind::Link,
    Kind::LinkToFolder,
    Kind::Loop,
    Kind::Unreadable,
    Kind::Closed,
    Kind::Sparse,
    Kind::Vanished,
    Kind::Changing,
];

/// A path with one kind of thing.
#[derive(Debug, Clone, Copy)]
struct Row {
    in_workspace: bool,
    place: &'static str,
    kind: Kind,
}

fn rows() -> Vec<Row> {
    let of = |in_workspace: bool, places: &'static [&'static str]| {
        places.iter().flat_map(move |place| KINDS.map(|kind| Row { in_workspace, place, kind }))
    };
    of(false, OF_ATTEMPT).chain(of(true, OF_WORKSPACE)).collect()
}

impl Row {
    fn path(self, stage: &Stage) -> PathBuf {
        let folder = if self.in_workspace { stage.workspace() } else { stage.dir.path().to_owned() };
        if self.place == ITSELF { folder } else { folder.join(self.place) }
    }

    /// Replaces the path by the thing. A live supervisor may write there at the same moment, so it may take
    /// several tries.
    fn put(self, stage: &Stage) {
        let path = self.path(stage);
        let outside = stage.run_base().with_file_name("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("theirs"), "of others").unwrap();
        wait_for(&format!("the place of {self:?}"), || {
            remove(&path);
            if path.parent().is_none_or(|parent| !parent.is_dir()) {
                return Some(());
            }
            self.make(&path, &outside).ok()
        });
    }

    fn make(self, path: &Path, outside: &Path) -> io::Result<()> {
        match self.kind {
            Kind::Folder => fs::create_dir_all(path.join("in/it")),
            Kind::Pipe => Ok(mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0)?),
            Kind::Socket => UnixListener::bind(path).map(drop),
            // If only a link to a device can be made, a command cannot make more either.
            Kind::Device => mknodat(CWD, path, FileType::CharacterDevice, Mode::RWXU, makedev(1, 5))
                .map_err(io::Error::from)
                .or_else(|_| symlink("/dev/zero", path)),
            Kind::Link => symlink(outside.join("theirs"), path),
            Kind::LinkToFolder => symlink(outside, path),
            Kind::Loop => symlink(path, path),
            Kind::Unreadable => {
                fs::write(path, "not for you")?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o000))
            }
            Kind::Closed => {
                fs::create_dir_all(path.join("in/it"))?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o000))
            }
            Kind::Sparse => {
                let bytes = if self.in_workspace { 16 << 20 } else { 5 << 30 };
                File::create(path)?.set_len(bytes)
            }
            Kind::Vanished => Ok(()),
            Kind::Changing => fs::write(path, "first"),
        }
    }

    /// Runs `then` while the thing is there, or keeps changing.
    fn with<T>(self, stage: &Stage, then: impl FnOnce() -> T) -> T {
        self.put(stage);
        if self.kind != Kind::Changing {
            return then();
        }
        let (over, path) = (AtomicBool::new(false), self.path(stage));
        thread::scope(|scope| {
            scope.spawn(|| {
                for content in ["second, and longer", "", "{", "third"].iter().cycle() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    // A change that fails now may succeed in the next round.
                    drop(File::create(&path).and_then(|mut file| file.write_all(content.as_bytes())));
                    drop(fs::remove_file(&path));
                }
            });
            // Stops the thread even if an assertion fails.
            let _stop = Stop(&over);
            then()
        })
    }

    /// Nothing outside was changed, and nothing has filled the disk.
    fn check(self, stage: &Stage) {
        let outside = stage.run_base().with_file_name("outside");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{self:?}");
        assert_eq!(fs::read(outside.join("theirs")).unwrap(), b"of others", "{self:?}");
        let used = used_bytes(&stage.run_base());
        assert!(used < 150 << 20, "{self:?}: {used} bytes");
    }
}

/// Ends the thread that changes a file.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        // Its owner may have closed it.
        drop(fs::set_permissions(path, fs::Permissions::from_mode(0o700)));
        drop(fs::remove_dir_all(path));
    } else {
        drop(fs::remove_file(path));
    }
}

/// The disk space that a folder takes.
fn used_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => used_bytes(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

/// An attempt that does everything that leaves a file, and then waits for `go`.
fn stage() -> (Stage, envoi_step::Spec) {
    let stage = Stage::new();
    fs::write(stage.workspace().join("kept.txt"), "before").unwrap();
    let go = stage.run_base().with_file_name("go");
    let mut spec = stage.shell(&format!(
        "echo ran >> {ran}; mkdir out; echo made > out/made.txt; echo after > kept.txt; echo said; echo $SECRET >&2; \
         echo text > $ENVOI_OUTPUT; echo '{{}}' > $ENVOI_REPORT; echo ready > ready; while [ ! -e {go} ]; do sleep 0.01; done",
        ran = ran(&stage).display(),
        go = go.display(),
    ));
    spec.artifacts = vec!["out/**".to_owned(), "*.txt".to_owned()];
    spec.secrets = vec![SECRET.to_owned()];
    spec.env.push(("SECRET".to_owned(), SECRET.to_owned()));
    (stage, spec)
}

fn ran(stage: &Stage) -> PathBuf {
    stage.run_base().with_file_name("ran")
}

/// Runs several rows at the same time: most of each is waiting for processes.
fn each(rows: Vec<Row>, test: impl Fn(Row) + Sync) {
    let rows = Mutex::new(rows.into_iter());
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let next = rows.lock().unwrap().next();
                    let Some(row) = next else { return };
                    test(row);
                }
            });
        }
    });
}

/// Probes like an engine. The attempt has ended, and never counts as not started.
fn look(stage: &Stage, row: Row, current_boot: &str) {
    let started_in = boot_id().unwrap();
    // A child that another row's thread has just forked may hold the lock for a moment too.
    let found = wait_for(&format!("the lock: {row:?}"), || {
        let found = probe(&stage.dir, Given::Maybe, start_in(&started_in), current_boot);
        (!matches!(found, Ok(Probe::Running))).then_some(found)
    });
    match found {
        Ok(Probe::Settled(exit)) => {
            // The engine reads nothing that others have left.
            assert!(!matches!(exit.outcome, Outcome::CannotStart { .. }), "{row:?}");
        }
        Ok(Probe::Lost(found)) => {
            assert_eq!(end_leftovers(ATTEMPT, &stage.run_base()).unwrap(), 0, "{row:?}");
            if row.kind != Kind::Sparse || current_boot == started_in {
                mask_lost(&stage.dir, &[SECRET.to_owned()], Spec::STREAM_CAP_BYTES);
            }
            evidence(&stage.dir, found);
        }
        other => panic!("{row:?}: {other:?}"),
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A new file of the folder needs a row above.
pub(crate) fn the_places_above_are_all_that_an_attempt_has() {
    let (stage, spec) = stage();
    let supervisor = stage.spawn(&spec);
    stage.told("ready");
    let mut found = names(stage.dir.path());
    assert!(found.contains("started.json"), "while it lives: {found:?}");
    fs::write(stage.run_base().with_file_name("go"), "").unwrap();
    supervisor.wait().unwrap();
    found.append(&mut names(stage.dir.path()));
    assert!(found.contains("exit.json"), "and after its end: {found:?}");
    found.retain(|name| !OF_ATTEMPT.contains(&name.as_str()));
    assert!(found.is_empty(), "{found:?}");
}

pub(crate) fn an_attempt_whose_supervisor_lives_ends_whatever_stands_in_its_files() {
    each(rows(), supervised);
}

fn supervised(row: Row) {
    let (stage, spec) = stage();
    let supervisor = stage.spawn(&spec);
    stage.told("ready");
    row.with(&stage, || {
        fs::write(stage.run_base().with_file_name("go"), "").unwrap();
        let waiting = thread::spawn(move || supervisor.wait().unwrap());
        wait_for(&format!("the supervisor's end: {row:?}"), || waiting.is_finished().then_some(()));
        waiting.join().unwrap();
        end_leftovers(ATTEMPT, &stage.run_base()).unwrap();
        look(&stage, row, &boot_id().unwrap());
    });
    // And once more, as if the machine had been rebooted.
    row.with(&stage, || look(&stage, row, "a later boot"));
    row.check(&stage);
    assert_eq!(read(&ran(&stage)), "ran\n", "{row:?}");
}

pub(crate) fn an_attempt_whose_supervisor_was_killed_ends_whatever_stands_in_its_files() {
    each(rows(), lost);
}

fn lost(row: Row) {
    let (stage, spec) = stage();
    let supervisor = stage.spawn(&spec);
    stage.told("ready");
    kill(supervisor.pid(), "KILL");
    supervisor.wait().unwrap();
    assert!(end_leftovers(ATTEMPT, &stage.run_base()).unwrap() > 0);
    row.with(&stage, || look(&stage, row, &boot_id().unwrap()));
    row.with(&stage, || look(&stage, row, "a later boot"));
    row.check(&stage);
    assert_eq!(read(&ran(&stage)), "ran\n", "{row:?}");
}

/// Root may read everything, so only another user shows the effect of an unreadable file. If these tests run
/// as root, this program is started again as that user.
pub(crate) fn an_attempt_of_an_ordinary_user_ends_whatever_that_user_may_not_read() {
    const ORDINARY: u32 = 65534;
    if rustix::process::geteuid().is_root() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(place.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
        let name = "forked::table::an_attempt_of_an_ordinary_user_ends_whatever_that_user_may_not_read";
        let mut again = Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", name])
            .env("TMPDIR", place.path())
            .current_dir("/")
            .uid(ORDINARY)
            .gid(ORDINARY);
        let done = again.output().unwrap();
        let out = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && out.contains("1 passed"), "{done:?}");
        return;
    }
    let closed =
        || rows().into_iter().filter(|row| matches!(row.kind, Kind::Unreadable | Kind::Closed)).collect();
    each(closed(), supervised);
    each(closed(), lost);
}

/// A cancel must end the command even if the request cannot be written to its folder: the engine then ends
/// its processes by their marks.
pub(crate) fn an_attempt_can_be_cancelled_whatever_stands_in_its_files() {
    let kinds = [Kind::Folder, Kind::Pipe, Kind::LinkToFolder, Kind::Vanished];
    let some = rows().into_iter().filter(|row| !row.in_workspace && kinds.contains(&row.kind));
    each(some.collect(), |row| {
        let (stage, spec) = stage();
        let supervisor = stage.spawn(&spec);
        stage.told("ready");
        row.put(&stage);
        if !matches!(envoi_step::cancel(&stage.dir), Ok(envoi_step::Cancelled::Signalled)) {
            end_leftovers(ATTEMPT, &stage.run_base()).unwrap();
        }
        let waiting = thread::spawn(move || supervisor.wait().unwrap());
        wait_for(&format!("the supervisor's end: {row:?}"), || waiting.is_finished().then_some(()));
        waiting.join().unwrap();
        look(&stage, row, &boot_id().unwrap());
        row.check(&stage);
    });
}

/// Any process may lock the file of a finished attempt: its record counts.
pub(crate) fn a_settled_attempt_is_settled_though_another_process_holds_its_lock() {
    let stage = Stage::new();
    let exit = stage.run(&stage.shell("true"));
    let lock = stage.dir.try_lock().unwrap().unwrap();
    assert!(matches!(stage.probe(), Probe::Settled(found) if *found == exit));
    envoi_step::wait_until_free(&stage.dir).unwrap();
    drop(lock);
}
