//! Reads the manifests through `cargo metadata`, and checks that each inherits the workspace's lints and
//! licence.

use super::problem::Problem;
use crate::Unusable;
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// The licence of every crate.
const LICENCE: &str = "Apache-2.0 OR MIT";

/// A crate of the workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Path of its `Cargo.toml`, relative to the root.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) licence: String,
    /// Crates that its code uses, including build scripts.
    pub(crate) uses: Vec<String>,
    /// Crates that only its tests use.
    pub(crate) tests_use: Vec<String>,
}

impl Crate {
    /// The line of the manifest that names `dependency`; 1 if there is none.
    pub(crate) fn line_of(&self, dependency: &str) -> usize {
        let names = |line: &str| {
            line.trim_start().strip_prefix(dependency).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        };
        self.text.lines().position(names).map_or(1, |at| at.saturating_add(1))
    }
}

/// All crates of the workspace at `root`.
pub(crate) fn crates(root: &Path) -> Result<Vec<Crate>, Unusable> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run `cargo metadata`: {error}"))?;
    if !output.status.success() {
        return Err(
            format!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim()).into()
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`cargo metadata` is not JSON: {error}"))?;
    let packages =
        metadata.get("packages").and_then(Value::as_array).ok_or("`cargo metadata` names no packages")?;
    packages.iter().map(|package| read(package, root)).collect()
}

fn read(package: &Value, root: &Path) -> Result<Crate, Unusable> {
    let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let manifest = text("manifest_path");
    let content =
        fs::read_to_string(&manifest).map_err(|error| format!("cannot read `{manifest}`: {error}"))?;
    let relative =
        Path::new(&manifest).strip_prefix(root).unwrap_or(Path::new(&manifest)).display().to_string();
    let mut read = Crate {
        name: text("name"),
        path: relative,
        text: content,
        licence: text("license"),
        ..Crate::default()
    };
    for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
        let name = dependency.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
        let for_tests = dependency.get("kind").and_then(Value::as_str) == Some("dev");
        if for_tests { &mut read.tests_use } else { &mut read.uses }.push(name);
    }
    Ok(read)
}

/// These crates have their own lints: the fault disk, and the copies of a process, need what the workspace
/// forbids.
const OWN_LINTS: [&str; 2] = ["envoi-testkit", "envoi-zygote"];

/// Checks that each crate has the licence and the lints of the workspace.
pub(crate) fn check(crates: &[Crate]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for one in crates {
        if one.licence != LICENCE {
            let message = format!("the licence is not `{LICENCE}`; say `license.workspace = true`");
            problems.push(Problem::new(&one.path, 1, message));
        }
        let inherits = one.text.replace(' ', "").contains("[lints]\nworkspace=true");
        let has_own = OWN_LINTS.contains(&one.name.as_str()) && one.text.contains("[lints");
        if !inherits && !has_own {
            let message = "the workspace's lints do not hold here; add `[lints]` with `workspace = true`";
            problems.push(Problem::new(&one.path, 1, message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, licence: &str) -> Vec<String> {
        let one = Crate { text: text.to_owned(), licence: licence.to_owned(), ..Crate::default() };
        check(&[one]).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_crate_without_the_lints_is_reported() {
        assert!(found("[package]\n", LICENCE).concat().contains("[lints]"));
        assert!(found("[lints]\nworkspace = true\n", LICENCE).is_empty());
    }

    #[test]
    fn a_crate_under_another_licence_is_reported() {
        assert!(found("[lints]\nworkspace = true\n", "GPL-3.0").concat().contains("licence"));
    }

    #[test]
    fn this_workspace_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let crates = crates(root).unwrap();
        let kernel = crates.iter().find(|one| one.name == "envoi-kernel").unwrap();
        assert_eq!(kernel.path, "crates/kernel/Cargo.toml");
        assert!(kernel.uses.contains(&"envoi-contract".to_owned()));
        assert!(kernel.tests_use.contains(&"proptest".to_owned()));
        assert!(kernel.line_of("minijinja") > 1);
    }
}
