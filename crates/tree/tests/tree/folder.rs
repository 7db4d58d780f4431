//! A folder, and a store beside it.

use envoi_tree::{Bounds, Contents, Entry, Kept, NotKept, Order, Stop, Tree, What, keep};
use rustix::process::Uid;
use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

/// The variable that names a folder for the stores of all tests.
pub(crate) const STORE_IN: &str = "TREE_STORE_IN";

pub(crate) struct Place {
    pub(crate) _base: Option<tempfile::TempDir>,
    pub(crate) root: PathBuf,
    pub(crate) order: Order,
}

impl Place {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let place = Self::at(base.path());
        Self { _base: Some(base), ..place }
    }

    /// Makes it below a folder that the caller removes.
    pub(crate) fn at(base: &Path) -> Self {
        let root = base.join("work");
        fs::create_dir_all(&root).unwrap();
        // On another file system, if one is named: see `elsewhere`.
        let store = match std::env::var_os(STORE_IN) {
            Some(other) => Path::new(&other).join(base.file_name().unwrap()),
            None => root.join(".envoi"),
        };
        let contents = Contents {
            files: store.join("artifacts/sha256"),
            temporary: store.join("artifacts/tmp"),
            packs: store.join("artifacts/packs"),
        };
        let order = Order {
            contents,
            caches: store.join("caches"),
            never: vec![store],
            too_wide: Vec::new(),
            scope: envoi_tree::Scope::default(),
            bounds: Bounds::default(),
            stop: Stop::default(),
        };
        Self { _base: None, root, order }
    }

    /// The folders of files that restores have displaced, one a restore.
    pub(crate) fn laid_aside(&self) -> Vec<PathBuf> {
        let below = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten();
            entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
        };
        let mut places = below(&self.order.caches.with_file_name("aside"));
        places.push(self.path(".envoi-aside"));
        places.iter().flat_map(|place| below(place)).collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.root.join(Path::new(&name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, target: &str, name: &str) {
        symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn pipe(&self, name: &str) {
        rustix::fs::mknodat(rustix::fs::CWD, self.path(name), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
    }

    pub(crate) fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn git(&self, folder: &str, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.org",
            "-c",
            "init.defaultBranch=main",
        ]);
        let output = command.args(arguments).current_dir(self.path(folder)).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn try_keep(&self) -> Result<Kept, NotKept> {
        keep(&self.root, &self.order)
    }

    pub(crate) fn keep(&self) -> Kept {
        self.try_keep().unwrap()
    }

    /// As a user who is not root, who may not read these folders.
    pub(crate) fn keep_as_an_ordinary_user(&self, shut: &[&str]) -> Result<Kept, NotKept> {
        let nobody = Uid::from_raw(65_534);
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            let base = self.root.parent().unwrap();
            fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
            let owner = nobody.as_raw().to_string();
            assert!(Command::new("chown").args(["-R", &owner]).arg(base).status().unwrap().success());
        }
        shut.iter().for_each(|name| self.mode(name, 0o000));
        let kept = std::thread::scope(|scope| {
            let keep = || {
                if is_root {
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                self.try_keep()
            };
            scope.spawn(keep).join().unwrap()
        });
        shut.iter().for_each(|name| self.mode(name, 0o755));
        kept
    }

    /// Paths of a snapshot, with a sign for what is no file.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.keep().tree.entries().iter().map(shown).collect()
    }

    pub(crate) fn content(&self, tree: &Tree, path: impl AsRef<[u8]>) -> Vec<u8> {
        let (digest, _) = tree.get(path.as_ref()).unwrap().content().unwrap();
        self.order.contents.shelf().unwrap().read(&digest).unwrap()
    }
}

fn shown(entry: &Entry) -> String {
    let sign = match entry.what {
        What::File { .. } => "",
        What::Link { .. } => "@",
        What::EmptyFolder => "/",
        What::LeftOut { .. } => "!",
    };
    format!("{}{sign}", entry.path.escape_ascii())
}

/// A name of bytes that are no UTF-8.
pub(crate) fn odd() -> &'static OsStr {
    OsStr::from_bytes(b"odd\xff\n\t\"name")
}
