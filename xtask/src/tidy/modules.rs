//! The modules of each crate, and which file defines an imported item.
//!
//! A module re-exports what it names with `pub use` from below it: an import of such an item leads to the
//! file that defines it, not to the one that re-exports it.

use super::{
    bans::Source,
    imports::{Import, imports},
};
use std::collections::BTreeMap;

/// A crate: its modules by path, with their files and imports. The path of `lib.rs` and `main.rs` is empty.
#[derive(Default)]
pub(super) struct Crate<'s> {
    pub(super) files: BTreeMap<Vec<String>, &'s Source>,
    imports: BTreeMap<Vec<String>, Vec<Import>>,
}

/// All crates, by the folder of their sources.
pub(super) fn crates(sources: &[Source]) -> BTreeMap<&str, Crate<'_>> {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    for source in sources {
        let Some((base, module)) = module(&source.path) else { continue };
        let of = crates.entry(base).or_default();
        of.imports.insert(module.clone(), imports(source, &module));
        of.files.insert(module, source);
    }
    crates
}

/// The source folder of the crate, and the module path of this file.
fn module(path: &str) -> Option<(&str, Vec<String>)> {
    let end = path.find("/src/")?.saturating_add("/src/".len());
    let (base, file) = path.split_at(end);
    let file = file.strip_suffix(".rs")?;
    let root = matches!(file, "lib" | "main");
    Some((base, if root { Vec::new() } else { file.split('/').map(str::to_owned).collect() }))
}

impl Crate<'_> {
    /// The imports of a module's file.
    pub(super) fn imports(&self, module: &[String]) -> &[Import] {
        self.imports.get(module).map_or(&[], Vec::as_slice)
    }

    /// The module of the file to which a path leads.
    pub(super) fn target(&self, path: &[String]) -> Option<&[String]> {
        let (file, rest) = (0..=path.len()).rev().find_map(|length| {
            let (file, rest) = path.split_at_checked(length)?;
            self.files.get_key_value(file).map(|(file, _)| (file.as_slice(), rest))
        })?;
        // A re-exported item is below the module.
        let named = rest.first();
        let passed = self.imports(file).iter().find(|import| {
            import.is_below
                && named.is_some()
                && import.path.last() == named
                && import.path.len() > path.len()
        });
        match passed {
            Some(import) => self.target(&import.path),
            None => Some(file),
        }
    }
}
