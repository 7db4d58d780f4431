//! Masks files that a command leaves in the run's folder (`$ENVOI_RUN_BASE`), outside the folder of its own
//! attempt.
//!
//! A step may keep files there for later steps. Files that have changed since the attempt began and contain a
//! secret are masked, whichever step wrote them: the steps of a run have the same secrets.
//!
//! Left alone are:
//! - contents that are kept byte for byte: artifacts, hand-offs and files of answers, which the engine makes
//!   read-only and can recognize, and the copies in the folders of other attempts;
//! - the copy of a workspace;
//! - the folders of live attempts, which their supervisors mask.

use crate::{
    attempt::dir::AttemptDir,
    disk::{closed_to_owner::Opened, plain},
    mask::Secrets,
    output::{cleaning, closed, strays},
};
use rustix::fs::{Mode, OFlags};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::fd::AsRawFd as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    rc::Rc,
    time::{SystemTime, UNIX_EPOCH},
};

/// The most names that are visited. A longer walk would make every attempt of a long run slow.
const MOST_NAMES: usize = 20_000;

/// The most bytes that are searched.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// The most read-only files that are named to the engine, which checks each of them.
const MOST_CLOSED: usize = 1000;

/// A longer list of starts was not written by an engine.
const LARGEST_LIST_BYTES: u64 = 16 * 1024 * 1024;

/// File times lag behind the clock by less than this.
const LAG_MS: i128 = 1000;

/// Permissions of the engine's own files in the folder.
const OF_ENGINE: u32 = 0o400;

/// The start of the attempt, Unix time in milliseconds. Files that changed later count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since(i128);

impl Since {
    /// For an attempt that began at this time.
    pub(crate) fn at(unix_ms: u64) -> Self {
        Self(i128::from(unix_ms).saturating_sub(LAG_MS))
    }

    /// For an attempt that began `duration_ms` ago, at `unix_ms` by the clock of that time. The clock may
    /// have been set in between, so the earlier of both counts.
    pub(crate) fn began(unix_ms: u64, duration_ms: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
        let now = i128::try_from(now).unwrap_or(i128::MAX);
        let by_length = now.saturating_sub(i128::from(duration_ms)).saturating_sub(LAG_MS);
        Self(Self::at(unix_ms).0.min(by_length))
    }

    /// Content, name or permissions have changed since. A command can set the other times of a file, but not this one.
    fn is_before(self, found: &fs::Metadata) -> bool {
        let changed_ms = i128::from(found.ctime())
            .saturating_mul(1000)
            .saturating_add(i128::from(found.ctime_nsec() / 1_000_000));
        changed_ms >= self.0
    }
}

/// The result of the search in the run's folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// Notes for a person, a sentence each, masked.
    pub(crate) notes: Vec<String>,
    /// Read-only files that contain a secret, relative to the folder: see [`crate::output::closed`].
    pub(crate) closed: Vec<String>,
}

/// Masks everything in the run's folder that has changed `since`. Does nothing if there are no secrets.
pub(crate) fn mask(dir: &AttemptDir, secrets: &Secrets, since: Since) -> Looked {
    let Some(base) = base_of(dir) else { return Looked::default() };
    if secrets.is_empty() || !dir.is_real() {
        return Looked::default();
    }
    let notes = Vec::new();
    let closed = Vec::new();
    let mut walk = Walk {
        base,
        secrets,
        since,
        names: 0,
        bytes: 0,
        unread: 0,
        notes,
        closed,
        opened: Opened::default(),
    };
    let own = dir.path().to_owned();
    walk.top(&own);
    if walk.names > MOST_NAMES {
        let more = format!(
            "`$ENVOI_RUN_BASE` has more than {MOST_NAMES} names: secrets in the others are not masked"
        );
        walk.notes.push(more);
    }
    if walk.unread > 0 {
        let unread = format!(
            "in `$ENVOI_RUN_BASE` more than {} MiB have changed: {} files are not looked through for secrets",
            MOST_BYTES >> 20,
            walk.unread
        );
        walk.notes.push(unread);
    }
    Looked { notes: strays::few(walk.notes.into_iter(), "the run's folder"), closed: walk.closed }
}

/// The run's folder. `None` if the attempt's folder is not in a run's folder.
fn base_of(dir: &AttemptDir) -> Option<&Path> {
    let attempts = dir.path().parent()?;
    if attempts.file_name()? == "attempts" { attempts.parent() } else { None }
}

/// A name that is still to be visited.
struct Entry {
    path: PathBuf,
    /// The open folder at the beginning of the path, if that is not the run's.
    above: Option<Rc<File>>,
}

/// A longer path is replaced by one that begins at an open folder: the system accepts at most 4,096 bytes,
/// and masking adds to the path.
const LONG_PATH_BYTES: usize = 2048;

/// The folder with a path that paths below it can begin with.
fn near(path: &Path, above: Option<Rc<File>>) -> io::Result<Entry> {
    if path.as_os_str().len() < LONG_PATH_BYTES {
        return Ok(Entry { path: path.to_owned(), above });
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    Ok(Entry { path, above: Some(Rc::new(folder)) })
}

struct Walk<'a> {
    base: &'a Path,
    secrets: &'a Secrets,
    since: Since,
    names: usize,
    bytes: u64,
    unread: usize,
    notes: Vec<String>,
    closed: Vec<String>,
    opened: Opened,
}

impl Walk<'_> {
    fn top(&mut self, own: &Path) {
        // The folders of attempts come last: they are the most numerous, and rarely written to.
        let mut attempts = None;
        for path in self.paths(self.base) {
            match path.file_name().and_then(OsStr::to_str) {
                Some("_workspace") => {}
                Some("attempts") => attempts = Some(path),
                Some("starts.log") => self.list_of_starts(&path),
                _ => self.entry(&path),
            }
        }
        let attempts = attempts.map(|path| self.paths(&path)).unwrap_or_default();
        for path in attempts.iter().filter(|path| *path != own) {
            let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
            match is_folder {
                true => self.attempt(path),
                false => self.entry(path),
            }
        }
    }

    /// Visits the folder of another attempt.
    fn attempt(&mut self, path: &Path) {
        let dir = AttemptDir::new(path);
        if dir.is_locked() {
            return;
        }
        for path in self.paths(path) {
            let is_copies = path == dir.files() || path == dir.before_files();
            if !is_copies {
                self.entry(&path);
            }
        }
    }

    fn paths(&mut self, folder: &Path) -> Vec<PathBuf> {
        let room = MOST_NAMES.saturating_add(1).saturating_sub(self.names);
        let entries = self.opened.open(folder).and_then(|()| fs::read_dir(folder));
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) if plain::is_missing(&error) => return Vec::new(),
            Err(error) => {
                let shown = self.shown(folder);
                self.notes.push(format!("{shown} cannot be looked through for secrets: {error}"));
                return Vec::new();
            }
        };
        let entries = entries.flatten().take(room);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        self.names = self.names.saturating_add(paths.len());
        paths.sort();
        paths
    }

    /// Visits a name and everything below it. Not recursive, because a command can nest folders without
    /// limit.
    fn entry(&mut self, path: &Path) {
        let mut waiting = vec![Entry { path: path.to_owned(), above: None }];
        while let Some(Entry { path, above }) = waiting.pop() {
            if self.names > MOST_NAMES {
                return;
            }
            if !self.one(&path) {
                continue;
            }
            let folder = match near(&path, above) {
                Ok(folder) => folder,
                Err(error) => {
                    let shown = self.shown(&path);
                    self.notes.push(format!("{shown} cannot be looked through for secrets: {error}"));
                    continue;
                }
            };
            let below = self.paths(&folder.path).into_iter().rev();
            waiting.extend(below.map(|path| Entry { path, above: folder.above.clone() }));
        }
    }

    /// Handles one name. Returns true for a folder that is to be visited.
    fn one(&mut self, path: &Path) -> bool {
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        if self.since.is_before(&found) && self.is_named_after_a_secret(path, &found) {
            let shown = self.shown(path);
            self.notes.push(match cleaning::remove(path) {
                Ok(()) => format!("{shown} was removed: its name holds a secret"),
                Err(error) => format!("{shown} holds a secret in its name and cannot be removed: {error}"),
            });
        } else if found.is_dir() {
            return true;
        } else if found.is_file() && self.since.is_before(&found) {
            self.file(path, &found);
        }
        false
    }

    /// Whether the name, or the target of a link, contains a secret.
    fn is_named_after_a_secret(&self, path: &Path, found: &fs::Metadata) -> bool {
        let stands_in = |text: &OsStr| self.secrets.stand_in(text.as_bytes());
        let leads_to = || fs::read_link(path).is_ok_and(|target| stands_in(target.as_os_str()));
        path.file_name().is_some_and(stands_in) || (found.is_symlink() && leads_to())
    }

    fn file(&mut self, path: &Path, found: &fs::Metadata) {
        let bytes = found.len();
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES {
            self.bytes = self.bytes.saturating_sub(bytes);
            self.unread = self.unread.saturating_add(1);
            return;
        }
        let shown = self.shown(path);
        if found.mode() & 0o7777 == OF_ENGINE
            && let Some(relative) = self.of_engine(path)
        {
            // Either the engine has put it there, or a command has given its file the same permissions. The
            // engine knows which.
            if cleaning::has_secret(path, self.secrets).unwrap_or(true) {
                match self.closed.len() < MOST_CLOSED {
                    true => self.closed.push(relative),
                    false => self.notes.push(format!(
                        "{shown} is not masked: more than {MOST_CLOSED} files of mode 0400 hold a secret"
                    )),
                }
            }
            return;
        }
        let note = match self.opened.open(path).and_then(|()| self.mask(path)) {
            Ok(false) => return,
            Ok(true) => format!("a secret in {shown} was masked"),
            Err(error) => format!("{shown} cannot be masked: {error}"),
        };
        self.notes.push(note);
    }

    /// The path relative to the run's folder, if the engine may have put a file there. `None` in the folder
    /// of an attempt, and for a name that is not UTF-8.
    fn of_engine(&self, path: &Path) -> Option<String> {
        let relative = path.strip_prefix(self.base).ok()?;
        if relative.starts_with("attempts") { None } else { relative.to_str().map(str::to_owned) }
    }

    fn mask(&self, path: &Path) -> io::Result<bool> {
        // Most files contain no secret, so check before anything is written.
        if !cleaning::has_secret(path, self.secrets)? {
            return Ok(false);
        }
        match path.file_name().and_then(OsStr::to_str) {
            // Only folders of ended attempts are visited, so no process has these open.
            Some("lock" | "cancel") => cleaning::truncate(path, || false),
            Some("supervisor.log") => {
                cleaning::mask_in_place(path, self.secrets).map(|masked| masked.has_secret)
            }
            _ => cleaning::mask_file(path, self.secrets, u64::MAX).map(|masked| masked.has_secret),
        }
    }

    /// Masks everything in the list of starts that no engine has written. Each line keeps its length, because
    /// an engine may append to the list meanwhile.
    fn list_of_starts(&mut self, path: &Path) {
        let starred = || -> io::Result<bool> {
            let list = plain::read(path, LARGEST_LIST_BYTES)?;
            if !self.secrets.stand_in(&list) {
                return Ok(false);
            }
            cleaning::part(path)?;
            let file = plain::open_with(path, OFlags::WRONLY)?;
            let mut at = 0_u64;
            let mut is_starred = false;
            for line in list.split(|byte| *byte == b'\n') {
                if self.secrets.stand_in(line) || !line.iter().all(|byte| is_of_list(*byte)) {
                    file.write_all_at(&vec![b'*'; line.len()], at)?;
                    is_starred = true;
                }
                at = at.saturating_add(line.len() as u64).saturating_add(1);
            }
            Ok(is_starred)
        };
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_file() && self.since.is_before(&found) => match starred() {
                Ok(false) => {}
                Ok(true) => self.notes.push("a secret in `$ENVOI_RUN_BASE/starts.log` was masked".to_owned()),
                Err(error) => {
                    self.notes.push(format!("`$ENVOI_RUN_BASE/starts.log` cannot be masked: {error}"))
                }
            },
            _ => self.entry(path),
        }
    }

    /// The name of a path in a note.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(self.base) {
            Ok(relative) => closed::shown(&relative.to_string_lossy(), self.secrets),
            // The whole path is too long for a system call, and for a note.
            Err(_) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                closed::shown(&format!("…/{name}"), self.secrets)
            }
        }
    }
}

/// Characters of attempt ids, and of the list's first line.
fn is_of_list(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" ._-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    struct Place {
        folder: tempfile::TempDir,
        dir: AttemptDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let dir = AttemptDir::new(folder.path().join("run/attempts/b.1.1"));
            dir.create().unwrap();
            Self { folder, dir }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join("run").join(name)
        }

        fn write(&self, name: &str, content: &str) {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            fs::write(self.path(name), content).unwrap();
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.path(name)).unwrap()
        }

        fn mask(&self, since: Since) -> Vec<String> {
            let looked = self.look(since);
            assert_eq!(looked.closed, [""; 0]);
            looked.notes
        }

        fn look(&self, since: Since) -> Looked {
            mask(&self.dir, &Secrets::new(&["hunter22".to_owned()]), since)
        }
    }

    #[test]
    fn what_a_step_keeps_in_the_runs_folder_holds_no_secret() {
        let place = Place::new();
        let names = [
            "state.txt",
            "flow/x",
            "flow/handoff/y.json",
            "deep/er/z",
            "attempts/a.1.1/stderr",
            "_a2a/r.json",
        ];
        names.iter().for_each(|name| place.write(name, "a hunter22 b"));
        fs::set_permissions(place.path("state.txt"), fs::Permissions::from_mode(0o640)).unwrap();
        place.write("attempts/a.1.1/lock", "hunter22");
        let notes = place.mask(Since::at(0));
        for name in names {
            assert_eq!(place.read(name), "a *** b", "{name}");
            assert!(notes.contains(&format!("a secret in `$ENVOI_RUN_BASE/{name}` was masked")), "{notes:?}");
        }
        assert_eq!(place.read("attempts/a.1.1/lock"), "");
        assert_eq!(fs::metadata(place.path("state.txt")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(place.mask(Since::at(0)), [""; 0]);
    }

    #[test]
    fn nothing_is_touched_around_a_folder_that_lies_in_no_run() {
        let place = Place::new();
        place.write("state.txt", "hunter22");
        let dir = AttemptDir::new(place.path("others/b.1.1"));
        dir.create().unwrap();
        assert_eq!(mask(&dir, &Secrets::new(&["hunter22".to_owned()]), Since::at(0)), Looked::default());
        assert_eq!(place.read("state.txt"), "hunter22");
    }

    #[test]
    fn what_is_kept_byte_for_byte_stays() {
        let place = Place::new();
        let names = [
            "flow/artifact.txt",
            "answers/i/files/f",
            "attempts/a.1.1/files/x",
            "attempts/a.1.1/before/x",
            "attempts/b.1.1/output",
            "_workspace/own.txt",
        ];
        names.iter().for_each(|name| place.write(name, "a hunter22 b"));
        for name in ["flow/artifact.txt", "answers/i/files/f"] {
            fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o400)).unwrap();
        }
        place.write("attempts/live.1.1/stdout", "a hunter22 b");
        let live = AttemptDir::new(place.path("attempts/live.1.1"));
        let lock = live.try_lock().unwrap().unwrap();
        let looked = place.look(Since::at(0));
        assert_eq!(looked.closed, ["answers/i/files/f", "flow/artifact.txt"]);
        assert_eq!(looked.notes, [""; 0]);
        for name in names.into_iter().chain(["attempts/live.1.1/stdout"]) {
            assert_eq!(place.read(name), "a hunter22 b", "{name}");
        }
        drop(lock);
    }

    #[test]
    fn a_closed_file_where_the_engine_puts_none_is_masked() {
        let place = Place::new();
        place.write("attempts/a.1.1/key", "a hunter22 b");
        fs::set_permissions(place.path("attempts/a.1.1/key"), fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(place.mask(Since::at(0)), ["a secret in `$ENVOI_RUN_BASE/attempts/a.1.1/key` was masked"]);
        assert_eq!(place.read("attempts/a.1.1/key"), "a *** b");
    }

    #[test]
    fn a_file_below_a_path_that_is_too_long_for_a_call_is_masked() {
        let place = Place::new();
        let name = "d".repeat(200);
        let mut at = File::open(place.folder.path().join("run")).unwrap();
        for _ in 0..60 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = File::from(rustix::fs::openat(&at, &name, flags, Mode::empty()).unwrap());
        }
        let deep = PathBuf::from(format!("/proc/self/fd/{}/deep.txt", at.as_raw_fd()));
        fs::write(&deep, "a hunter22 b").unwrap();
        assert_eq!(place.mask(Since::at(0)), ["a secret in `$ENVOI_RUN_BASE/…/deep.txt` was masked"]);
        assert_eq!(fs::read_to_string(&deep).unwrap(), "a *** b");
    }

    #[test]
    fn folders_that_are_nested_as_deep_as_can_be_end_no_process() {
        let place = Place::new();
        let mut at = File::open(place.folder.path().join("run")).unwrap();
        for _ in 0..6_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = File::from(rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap());
        }
        let deep = PathBuf::from(format!("/proc/self/fd/{}/deep.txt", at.as_raw_fd()));
        fs::write(&deep, "a hunter22 b").unwrap();
        // An engine masks on a thread with a stack of this size.
        let dir = AttemptDir::new(place.dir.path());
        let stack_bytes = 256 * 1024;
        let masks = move || mask(&dir, &Secrets::new(&["hunter22".to_owned()]), Since::at(0)).notes;
        let masking = std::thread::Builder::new().stack_size(stack_bytes).spawn(masks).unwrap();
        assert_eq!(masking.join().unwrap(), ["a secret in `$ENVOI_RUN_BASE/…/deep.txt` was masked"]);
        assert_eq!(fs::read_to_string(&deep).unwrap(), "a *** b");
    }

    #[test]
    fn a_file_elsewhere_that_a_command_has_given_a_name_of_the_engines_stays_as_it_is() {
        let place = Place::new();
        let outside = place.folder.path().join("outside");
        let names =
            ["starts.log", "attempts/a.1.1/lock", "attempts/a.1.1/cancel", "attempts/a.1.1/supervisor.log"];
        fs::create_dir_all(place.path("attempts/a.1.1")).unwrap();
        for name in names {
            fs::write(&outside, "theirs hunter22").unwrap();
            fs::hard_link(&outside, place.path(name)).unwrap();
            place.mask(Since::at(0));
            assert_eq!(fs::read_to_string(&outside).unwrap(), "theirs hunter22", "{name}");
            assert!(!place.read(name).contains("hunter22"), "{name}");
            fs::remove_file(&outside).unwrap();
        }
    }

    #[test]
    fn what_has_not_changed_since_the_attempt_began_is_not_read() {
        let place = Place::new();
        place.write("old.txt", "hunter22");
        let later = Since(i128::from(fs::metadata(place.path("old.txt")).unwrap().ctime()) * 1000 + 1000);
        assert_eq!(place.mask(later), [""; 0]);
        assert_eq!(place.read("old.txt"), "hunter22");
        assert!(
            Since::began(5, 10).0 < 5 && Since::began(u64::MAX, 0).0 < i128::from(u64::MAX),
            "the clock was set"
        );
    }

    #[test]
    fn names_and_links_that_hold_a_secret_are_removed_and_no_link_is_followed() {
        let place = Place::new();
        let outside = place.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("theirs"), "hunter22").unwrap();
        symlink(&outside, place.path("way")).unwrap();
        symlink(outside.join("theirs"), place.path("link")).unwrap();
        symlink("hunter22", place.path("said")).unwrap();
        place.write("of-hunter22/x", "x");
        place.write("attempts/hunter22", "x");
        assert_eq!(
            place.mask(Since::at(0)),
            [
                "`$ENVOI_RUN_BASE/of-***` was removed: its name holds a secret",
                "`$ENVOI_RUN_BASE/said` was removed: its name holds a secret",
                "`$ENVOI_RUN_BASE/attempts/***` was removed: its name holds a secret",
            ]
        );
        assert!(!place.path("of-hunter22").exists() && place.path("way").is_symlink());
        assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "hunter22");
    }

    #[test]
    fn the_list_of_starts_keeps_its_lines() {
        let place = Place::new();
        let list = crate::Starts::of(&place.path(""));
        list.begin().unwrap();
        list.note("a.1.1", "s1").unwrap();
        let path = place.path("starts.log");
        fs::write(&path, format!("{}\nmy hunter22\n\u{e9}", place.read("starts.log"))).unwrap();
        list.note("b.1.1", "s2").unwrap();
        assert_eq!(place.mask(Since::at(0)), ["a secret in `$ENVOI_RUN_BASE/starts.log` was masked"]);
        assert!(
            place.read("starts.log").ends_with("\na.1.1\na.1.1 s1\n***********\n**\nb.1.1\nb.1.1 s2"),
            "{}",
            place.read("starts.log")
        );
        let named = [("a.1.1", "s1"), ("b.1.1", "s2"), ("c.1.1", "s3")]
            .map(|(attempt, start)| list.named(attempt, start));
        assert_eq!(named, [crate::Named::Start, crate::Named::Start, crate::Named::Not]);
    }

    #[test]
    fn a_walk_has_an_end_and_says_so() {
        let place = Place::new();
        for number in 0..=MOST_NAMES {
            fs::File::create(place.path(&format!("{number:05}"))).unwrap();
        }
        let notes = place.mask(Since::at(0));
        assert_eq!(
            notes,
            ["`$ENVOI_RUN_BASE` has more than 20000 names: secrets in the others are not masked"]
        );
        fs::remove_file(place.path("00000")).unwrap();
        fs::File::create(place.path("large")).unwrap().set_len(5 << 30).unwrap();
        (1..MOST_NAMES).for_each(|number| fs::remove_file(place.path(&format!("{number:05}"))).unwrap());
        let notes = place.mask(Since::at(0));
        let unread = "in `$ENVOI_RUN_BASE` more than 1024 MiB have changed: 1 files are not looked through for secrets";
        assert_eq!(notes, [unread]);
    }
}
