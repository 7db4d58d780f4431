//! The files of the repository, as text, without the results of builds and runs.

use crate::Unusable;
use std::{fs, path::Path};

/// Folders that are not checked.
const SKIPPED: &[&str] = &[".git", "target", ".envoi", "__pycache__", "node_modules", "build"];

/// A text file; `path` is relative to the root, with `/`.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }
}

/// All text files, sorted by path, and the paths of the others.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    /// Paths of all files and folders.
    pub(crate) paths: Vec<String>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self, Unusable> {
        let mut tree = Self::default();
        tree.walk(root, "").map_err(|error| format!("cannot read the tree: {error}"))?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn walk(&mut self, dir: &Path, prefix: &str) -> std::io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                self.walk(&entry.path(), &format!("{path}/"))?;
            } else if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                self.files.push(File { path: path.clone(), text });
            }
            self.paths.push(path);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        let mut paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let folders = |path: &String| -> Vec<String> {
            path.match_indices('/').filter_map(|(at, _)| path.get(..at).map(str::to_owned)).collect()
        };
        paths.extend(paths.clone().iter().flat_map(folders));
        Self { files: files.iter().map(file).collect(), paths }
    }
}
