//! The folder in which a command of a script runs, as far as the script states it.

use super::words::Word;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The largest number of possible folders that are tracked.
const MOST_FOLDERS: usize = 8;

/// See the module documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The possible folders, the most likely one first. Each is relative to the folder in which the script begins
    /// (empty means that folder) or absolute.
    pub(super) folders: Vec<String>,
    /// True if an unknown folder is possible too.
    pub(super) is_unknown: bool,
    /// The last change of the folder, as written. `None` if it is the folder in which the script begins.
    pub(super) change: Option<String>,
    /// The folders that `cd -` returns to.
    previous: Option<Vec<String>>,
    /// The folders that `popd` returns to.
    pushed: Vec<(Vec<String>, bool)>,
}

impl Place {
    pub(super) fn beginning() -> Place {
        Place {
            folders: vec![String::new()],
            is_unknown: false,
            change: None,
            previous: None,
            pushed: Vec::new(),
        }
    }

    /// `cd FOLDER`.
    pub(super) fn enter(&mut self, folder: Option<&Word>, written: String) {
        let target = folder.and_then(|folder| folder.literal.as_deref()).filter(|folder| !folder.is_empty());
        let came_from = self.folders.clone();
        match target {
            Some("-") => match self.previous.take() {
                Some(folders) => self.folders = folders,
                None => self.is_unknown = true,
            },
            Some(folder) => {
                let mut entered: Vec<String> = Vec::new();
                for from in &self.folders {
                    let to = joined(from, folder);
                    if !entered.contains(&to) {
                        entered.push(to);
                    }
                }
                self.folders = entered;
                if folder.starts_with('/') {
                    self.is_unknown = false;
                }
            }
            None => self.is_unknown = true,
        }
        self.previous = Some(came_from);
        self.note(written);
    }

    /// `pushd FOLDER`.
    pub(super) fn push(&mut self, folder: Option<&Word>, written: String) {
        self.pushed.push((self.folders.clone(), self.is_unknown));
        self.enter(folder.filter(|folder| folder.written != "-"), written);
    }

    /// `popd`.
    pub(super) fn pop(&mut self, written: String) {
        match self.pushed.pop() {
            Some((folders, is_unknown)) => (self.folders, self.is_unknown) = (folders, is_unknown),
            None => self.is_unknown = true,
        }
        self.note(written);
    }

    /// Adds the folders of `other` as possible ones, because the change that led here may not have been made.
    pub(super) fn or(&mut self, other: &Place) {
        self.is_unknown |= other.is_unknown;
        for folder in &other.folders {
            if !self.folders.contains(folder) {
                self.folders.push(folder.clone());
            }
        }
        if self.folders.len() > MOST_FOLDERS {
            self.folders.truncate(MOST_FOLDERS);
            self.is_unknown = true;
        }
        if self.change.is_none() {
            self.change = other.change.clone();
        }
    }

    fn note(&mut self, written: String) {
        let is_beginning = !self.is_unknown && matches!(self.folders.as_slice(), [only] if only.is_empty());
        self.change = Some(written).filter(|_| !is_beginning);
    }
}

/// The path of a file or folder inside `folder`.
pub(super) fn below(folder: &str, path: &str) -> String {
    match folder {
        "" => path.to_owned(),
        _ if path.starts_with('/') => path.to_owned(),
        "/" => format!("/{path}"),
        folder => format!("{folder}/{path}"),
    }
}

/// Joins paths as `cd` does: `..` removes the name before it.
fn joined(folder: &str, path: &str) -> String {
    let whole = below(folder, path);
    let mut names: Vec<&str> = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => match names.last() {
                None if whole.starts_with('/') => {}
                None | Some(&"..") => names.push(".."),
                Some(_) => drop(names.pop()),
            },
            name => names.push(name),
        }
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    format!("{root}{}", names.join("/"))
}
