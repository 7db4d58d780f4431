//! Which processes work in a workspace, visible to all stores of a user: a shared lock on a file that is
//! named for the folder's inode.
//!
//! An engine holds the lock for each of its runs that is at work, and a supervisor as long as its attempt
//! lives. Runs of one store know of each other by their journal; the lock is for runs of different stores in
//! one folder. The lock ends with the processes that hold it. A process that enters first tries to take the
//! lock exclusively, which succeeds only if no other process is there. Folders above and below are not
//! checked. The folder itself is not locked: a command may lock it, and would then wait for its own
//! supervisor.
//!
//! The last process that leaves a workspace removes the file, while it holds it exclusively. So a process
//! that has taken the lock checks whether the file still has its name; if not, it starts again with the new
//! file. Files that killed processes have left are removed by the next engine.

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, open, openat, unlinkat},
    io::Errno,
    process::geteuid,
};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// A process that was just forked holds the locks of its parent for a moment, so a failed lock is tried
/// again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// The most files that one sweep checks.
const MOST_SWEPT: usize = 100;

/// Shows that a process works in a workspace, as long as this value lives.
#[derive(Debug)]
pub struct Presence {
    _lock: Lock,
}

/// The result of [`Presence::enter`].
#[derive(Debug)]
pub enum Entrance {
    /// There is no other process, or only processes of the same store.
    Entered(Presence),
    /// A process of another store works there.
    Occupied {
        /// The id of that process, if it is known.
        pid: Option<u32>,
    },
}

impl Presence {
    /// Registers a presence in `workspace`, whatever other processes work there.
    ///
    /// # Errors
    /// The folder cannot be opened or locked.
    pub fn join(workspace: &Path) -> io::Result<Self> {
        // Another process holds the lock exclusively only for the moment in which it enters or leaves.
        for _ in 1..TRIES {
            match Self::try_join(workspace)? {
                Some(presence) => return Ok(presence),
                None => thread::sleep(PAUSE),
            }
        }
        Self::try_join(workspace)?.ok_or_else(|| Errno::WOULDBLOCK.into())
    }

    /// `None`: another process holds the lock exclusively, or has just removed the file.
    fn try_join(workspace: &Path) -> io::Result<Option<Self>> {
        let lock = lock_of(workspace)?;
        match flock(&lock.file, FlockOperation::NonBlockingLockShared) {
            Ok(()) if lock.has_name()? => Ok(Some(Self { _lock: lock })),
            Ok(()) | Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes some of the files that no process holds: killed processes leave them.
    pub fn sweep() {
        let Ok(folder) = folder() else { return };
        for entry in fs::read_dir(folder_of_locks()).into_iter().flatten().flatten().take(MOST_SWEPT) {
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let name = entry.file_name();
            let Ok(file) = openat(&folder, &name, flags, Mode::empty()) else { continue };
            let Ok(folder) = folder.try_clone() else { return };
            drop(Lock { file: File::from(file), folder, name });
        }
    }

    /// Registers a presence in `workspace`, unless a process works there that does not belong to the store in
    /// the folder `store`.
    ///
    /// # Errors
    /// The folder cannot be opened or locked, so it is not known which processes work there.
    pub fn enter(workspace: &Path, store: &Path) -> io::Result<Entrance> {
        let mut tries = 0;
        loop {
            let lock = lock_of(workspace)?;
            match flock(&lock.file, FlockOperation::NonBlockingLockExclusive) {
                // The lock is free for a moment between the two calls, and another process may have entered.
                Ok(()) => match flock(&lock.file, FlockOperation::NonBlockingLockShared) {
                    Ok(()) if lock.has_name()? => return Ok(Entrance::Entered(Self { _lock: lock })),
                    Ok(()) | Err(Errno::WOULDBLOCK) => {}
                    Err(errno) => return Err(errno.into()),
                },
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(errno.into()),
            }
            let others = others(&lock.file, store);
            if let Others::OfStore = others {
                return Self::join(workspace).map(Entrance::Entered);
            }
            tries += 1;
            if tries == TRIES {
                let pid = if let Others::Foreign(pid) = others { Some(pid) } else { None };
                return Ok(Entrance::Occupied { pid });
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The first folder, `folder` itself or one below it, in which a process of another store works. Links are
/// not followed.
///
/// # Errors
/// The locks of the workspaces cannot be read.
pub fn occupied_below(folder: &Path, store: &Path) -> io::Result<Option<PathBuf>> {
    let names = match fs::read_dir(folder_of_locks()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<BTreeSet<_>>>()?,
    };
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let found = match fs::metadata(&folder) {
            // The folder no longer exists, or no process can work there.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
            {
                continue;
            }
            found => found?,
        };
        if names.contains(&name_of(&found))
            && let Entrance::Occupied { .. } = Presence::enter(&folder, store)?
        {
            return Ok(Some(folder));
        }
        // No process can work in a folder that cannot be listed.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    Ok(None)
}

/// Whether another supervisor, of any store, works in `workspace`. `false` if that cannot be read.
pub(crate) fn is_beside_others(workspace: &Path) -> bool {
    let Ok(inode) = lock_of(workspace).and_then(|lock| Ok(lock.file.metadata()?.ino())) else { return false };
    let own = arguments("self");
    // An engine holds the lock too, but has other arguments.
    let is_supervisor = |pid: &u32| *pid != std::process::id() && arguments(&pid.to_string()) == own;
    holders(&fs::read_to_string("/proc/locks").unwrap_or_default(), inode).iter().any(is_supervisor)
}

/// The arguments of a process, without the name of its program.
fn arguments(process: &str) -> Option<Vec<u8>> {
    let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let program = line.iter().position(|byte| *byte == 0)?;
    line.get(program..).map(<[u8]>::to_vec)
}

#[derive(Debug)]
struct Lock {
    file: File,
    /// Locked too, so that programs which clean temporary folders do not remove it.
    folder: File,
    name: OsString,
}

impl Lock {
    /// Whether the file still has its path. Only a process that was its sole holder removes it.
    fn has_name(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() > 0)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let is_alone = flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_alone && self.has_name().unwrap_or(false) {
            // A file that cannot be removed is left to a later sweep.
            unlinkat(&self.folder, &self.name, AtFlags::empty()).ok();
        }
    }
}

/// The folder of a user's lock files. It must not depend on the environment.
fn folder_of_locks() -> PathBuf {
    PathBuf::from(format!("/tmp/.envoi-{}", geteuid().as_raw()))
}

fn lock_of(workspace: &Path) -> io::Result<Lock> {
    let found = fs::metadata(workspace)?;
    let folder = folder()?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = name_of(&found);
    let file = File::from(openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR)?);
    Ok(Lock { file, folder, name })
}

/// Opens and locks the folder of the lock files.
fn folder() -> io::Result<File> {
    let path = folder_of_locks();
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(open(&path, flags, Mode::empty())?);
    let owner = folder.metadata()?;
    if owner.uid() != geteuid().as_raw() || owner.mode() & 0o022 != 0 {
        let why = format!("`{}` is not a folder that only this user can write to", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    flock(&folder, FlockOperation::NonBlockingLockShared)?;
    Ok(folder)
}

/// The name of the lock file of a workspace.
fn name_of(workspace: &fs::Metadata) -> OsString {
    format!("{:x}-{:x}", workspace.dev(), workspace.ino()).into()
}

/// Which processes hold a lock.
enum Others {
    /// Only processes of this store.
    OfStore,
    /// At least this process of another store.
    Foreign(u32),
    /// Processes that are not visible from here, such as those of a container.
    Unknown,
}

fn others(lock: &File, store: &Path) -> Others {
    let (Ok(inode), Ok(store)) = (lock.metadata().map(|found| found.ino()), fs::canonicalize(store)) else {
        return Others::Unknown;
    };
    let holders = holders(&fs::read_to_string("/proc/locks").unwrap_or_default(), inode);
    match holders.iter().find(|pid| !is_of_store(**pid, &store)) {
        Some(foreign) => Others::Foreign(*foreign),
        None if holders.is_empty() => Others::Unknown,
        None => Others::OfStore,
    }
}

/// The processes that hold a whole-file lock on this inode, from `/proc/locks`. Its device numbers differ
/// from those of `stat` on some file systems, so they are not compared.
fn holders(list: &str, inode: u64) -> Vec<u32> {
    let holder = |line: &str| {
        // `1: FLOCK  ADVISORY  READ 4242 08:01:131076 0 EOF`; a waiting process has `->` after the number.
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let pid = words.nth(2)?;
        let file = words.next()?;
        let is_it = kind == "FLOCK" && file.rsplit(':').next()?.parse() == Ok(inode);
        if is_it { pid.parse().ok() } else { None }
    };
    list.lines().filter_map(holder).collect()
}

/// Whether a process is an engine or a supervisor of this store: it has files of the store open, or is this
/// process.
fn is_of_store(pid: u32, store: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    pid == std::process::id() || targets.any(|target| target.starts_with(store))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// Another process that works in the workspace and has this file open.
    struct Other(Child);

    impl Other {
        fn in_folder(workspace: &Path, file: &Path) -> Self {
            let found = fs::metadata(workspace).unwrap();
            let lock = folder_of_locks().join(format!("{:x}-{:x}", found.dev(), found.ino()));
            let child = Command::new("flock")
                .args(["--shared", "--no-fork"])
                .arg(lock)
                .args(["sh", "-c", "echo here; exec sleep 600"])
                .stdin(File::open(file).unwrap())
                .stdout(Stdio::piped())
                .spawn();
            let mut child = child.unwrap();
            let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("here") {
                line.clear();
                assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
            }
            Self(child)
        }
    }

    impl Drop for Other {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    #[test]
    fn a_workspace_is_entered_beside_processes_of_the_same_store_alone() {
        let root = tempfile::tempdir().unwrap();
        let [workspace, ours, theirs] = ["w", "ours", "theirs"].map(|name| root.path().join(name));
        for folder in [&workspace, &ours, &theirs] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
        }
        let enter = || Presence::enter(&workspace, &ours).unwrap();
        let first = enter();
        assert!(matches!((first, enter()), (Entrance::Entered(_), Entrance::Entered(_))), "the same process");
        let of_store = Other::in_folder(&workspace, &ours.join("file"));
        assert!(matches!(enter(), Entrance::Entered(_)));
        drop(of_store);
        assert_eq!(occupied_below(root.path(), &ours).unwrap(), None);
        let foreign = Other::in_folder(&workspace, &theirs.join("file"));
        assert_eq!(occupied_below(root.path(), &ours).unwrap(), Some(workspace.clone()));
        assert!(matches!(enter(), Entrance::Occupied { pid: Some(pid) } if pid == foreign.0.id()));
        Presence::join(&workspace).unwrap();
        let folder = File::open(&workspace).unwrap();
        flock(&folder, FlockOperation::NonBlockingLockExclusive).unwrap();
        drop(foreign);
        assert!(matches!(enter(), Entrance::Entered(_)), "a process that was killed is not there");
    }

    fn file_of(workspace: &Path) -> PathBuf {
        folder_of_locks().join(name_of(&fs::metadata(workspace).unwrap()))
    }

    #[test]
    fn the_last_process_removes_the_file_and_no_process_holds_a_removed_one() {
        let workspace = tempfile::tempdir().unwrap();
        let path = file_of(workspace.path());
        let come_and_go = || {
            for _ in 0..200 {
                // Other threads hold it exclusively for a moment each.
                let Ok(presence) = Presence::join(workspace.path()) else { continue };
                let found = fs::metadata(&path).unwrap();
                assert_eq!(presence._lock.file.metadata().unwrap().ino(), found.ino());
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(come_and_go))));
        let first = Presence::join(workspace.path()).unwrap();
        drop(Presence::join(workspace.path()).unwrap());
        assert!(path.exists(), "it is held");
        drop(first);
        // A child that another test has just forked holds the lock until it executes its program. Then the file stays, and the next one
        // that comes and goes removes it.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while path.exists() && std::time::Instant::now() < until {
            drop(Presence::join(workspace.path()));
        }
        assert!(!path.exists());
    }

    #[test]
    fn the_list_of_the_kernel_is_read() {
        let list = "1: POSIX  ADVISORY  WRITE 7 00:2d:5 0 EOF\n2: FLOCK  ADVISORY  READ 8 fe:01:5 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 9 fe:01:5 0 EOF\n3: FLOCK  ADVISORY  WRITE 10 fe:01:51 0 EOF\n";
        assert_eq!(holders(list, 5), [8]);
    }
}
