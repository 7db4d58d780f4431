//! A folder, and a store beside it.

use envoi_tree::{Bounds, Contents, Entry, Kept, NotKept, Order, Stop, Tree, What, keep};
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

    /// Below a folder that somebody else removes.
    pub(crate) fn at(base: &Path) -> Self {
        let root = base.join("work");
        fs::create_dir_all(&root).unwrap();
        let store = root.join(".envoi");
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
            bounds: Bounds::default(),
            stop: Stop::default(),
        };
        Self { _base: None, root, order }
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
