//! The contents of a snapshot of a folder, beside the files that no rule ignores.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

/// See the module. Two snapshots that are compared, or restored, must have the same scope: a file that only one of them can have would
/// count as new or as deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The files of submodules that are there without their repository, as in the tree of a run: git lists none of them.
    #[serde(default)]
    pub submodules: bool,
    /// Paths that are taken although a rule ignores them: globs of files and folders, relative to the folder. A folder is taken with all
    /// that is in it.
    #[serde(default)]
    pub also: Vec<String>,
}

impl Scope {
    /// The same for a folder in which the other one is `below`.
    #[must_use]
    pub fn around(&self, below: &str) -> Self {
        let special = |char| matches!(char, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\');
        let plain: String =
            below.chars().flat_map(|char| special(char).then_some('\\').into_iter().chain([char])).collect();
        let also = |glob: &String| if plain.is_empty() { glob.clone() } else { format!("{plain}/{glob}") };
        Self { also: self.also.iter().map(also).collect(), ..self.clone() }
    }
}

/// The globs of [`Scope::also`], ready to be compared with paths.
#[derive(Debug, Default)]
pub(crate) struct Also {
    globs: Option<Gitignore>,
    /// The beginning of each glob: the folders before its first wildcard.
    begin: Vec<PathBuf>,
}

impl Also {
    /// A glob that is none matches nothing: the flow was checked for that.
    pub(crate) fn of(scope: &Scope) -> Self {
        let mut builder = GitignoreBuilder::new(ROOT);
        for glob in &scope.also {
            // From the root, as globs of artifacts are.
            builder.add_line(None, &format!("/{glob}")).ok();
        }
        let is_plain =
            |part: &Component<'_>| !part.as_os_str().as_bytes().iter().any(|byte| b"*?[{\\".contains(byte));
        let begin = |glob: &String| Path::new(glob).components().take_while(is_plain).collect();
        let globs = if scope.also.is_empty() { None } else { builder.build().ok() };
        Self { globs, begin: scope.also.iter().map(begin).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.globs.is_none()
    }

    /// Whether a path is named, by itself or with a folder around it.
    pub(crate) fn names(&self, path: &[u8], is_folder: bool) -> bool {
        let Some(globs) = &self.globs else { return false };
        let place = Path::new(ROOT).join(OsStr::from_bytes(path));
        globs.matched_path_or_any_parents(place, is_folder).is_ignore()
    }

    /// Whether something in this folder may be named.
    pub(crate) fn may_be_below(&self, folder: &[u8]) -> bool {
        let folder = Path::new(OsStr::from_bytes(folder));
        self.begin.iter().any(|begin| folder.starts_with(begin) || begin.starts_with(folder))
    }
}

/// Paths are compared as if the folder were this one.
const ROOT: &str = "/";

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(also: &[&str]) -> Scope {
        Scope { also: also.iter().map(|glob| (*glob).to_owned()).collect(), ..Scope::default() }
    }

    #[test]
    fn a_glob_begins_at_the_folder_and_a_folder_is_named_with_all_in_it() {
        let also = Also::of(&scope(&["dist/**", "out", "*.log", "a/*/x", "#odd", "**/deep.txt"]));
        for named in ["dist/a", "dist/a/b", "out/x/y", "a.log", "a/b/x", "#odd", "z/y/deep.txt"] {
            assert!(also.names(named.as_bytes(), false), "{named}");
        }
        for other in ["x/dist/a", "x/out", "x/a.log", "a/x", "a/b/c/x", "dis"] {
            assert!(!also.names(other.as_bytes(), false), "{other}");
        }
        let also = Also::of(&scope(&["dist/**", "a/b/*/x"]));
        for (folder, may) in [
            ("", true),
            ("dist", true),
            ("dist/a", true),
            ("a", true),
            ("a/b/c", true),
            ("c", false),
            ("a/c", false),
        ] {
            assert_eq!(also.may_be_below(folder.as_bytes()), may, "{folder}");
        }
    }

    #[test]
    fn for_a_folder_around_it_the_globs_are_of_that_folder() {
        let also = Also::of(&scope(&["dist/**"]).around("p[1]/q"));
        assert!(also.names(b"p[1]/q/dist/a", false) && !also.names(b"p1/q/dist/a", false));
        assert_eq!(scope(&["dist"]).around(""), scope(&["dist"]));
    }
}
