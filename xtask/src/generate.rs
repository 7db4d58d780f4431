//! Writes what is made from the code and committed: the JSON Schemas of the contracts.
//!
//! It knows where a file stands, not what is in it. `flow.schema.json` and `config.schema.json`
//! beside them are kept by hand (`flow::SCHEMA`, `flow::config::SCHEMA`).

use crate::tidy::Problem;
use envoi_contract::schema;
use std::{collections::BTreeSet, fs, io, path::Path};

const FOLDER: &str = "spec/schemas";

/// What stands in the folder and is not generated.
const BY_HAND: &[&str] = &["config.schema.json", "flow.schema.json"];

/// One file to be generated.
struct Generated {
    name: String,
    text: String,
}

fn generated() -> Vec<Generated> {
    let file = |schema: &schema::Schema| Generated {
        name: format!("{}.schema.json", schema.name),
        text: schema.to_value().pretty(),
    };
    schema::ALL.iter().map(file).collect()
}

/// Writes the files that differ below `root`, and says which.
pub(crate) fn write(root: &Path) -> Result<Vec<String>, String> {
    let mut written = Vec::new();
    for Generated { name, text } in generated() {
        let path = root.join(FOLDER).join(&name);
        if read(&path)?.as_deref() != Some(&text) {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            written.push(format!("{FOLDER}/{name}"));
        }
    }
    Ok(written)
}

/// Every file below `root` that is missing, differs, or is generated no more.
pub(crate) fn check(root: &Path) -> Result<Vec<Problem>, String> {
    let mut problems = Vec::new();
    let mut known: BTreeSet<String> = BY_HAND.iter().map(|name| (*name).to_owned()).collect();
    for Generated { name, text } in generated() {
        if read(&root.join(FOLDER).join(&name))?.as_deref() != Some(&text) {
            problems.push(problem(&name, "is not what the code says; run `cargo xtask generate`"));
        }
        known.insert(name);
    }
    let entries = fs::read_dir(root.join(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    for entry in entries {
        let name = entry.map_err(|error| format!("{FOLDER}: {error}"))?.file_name();
        let name = name.to_string_lossy();
        if !known.contains(&*name) {
            problems.push(problem(&name, "is generated from nothing; remove it"));
        }
    }
    Ok(problems)
}

fn problem(name: &str, message: &str) -> Problem {
    Problem::new(&format!("{FOLDER}/{name}"), 1, message)
}

/// The text of a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_what_the_code_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(check(root).unwrap(), Vec::new());
    }

    #[test]
    fn what_differs_is_found_and_written_once() {
        let root = std::env::temp_dir().join(format!("envoi-xtask-generate-{}", std::process::id()));
        let folder = root.join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("handoff.schema.json"), "{}\n").unwrap();
        fs::write(folder.join("gone.schema.json"), "{}\n").unwrap();
        let found = check(&root).unwrap();
        assert_eq!(found.len(), schema::ALL.len() + 1, "{found:?}");
        assert_eq!(write(&root).unwrap().len(), schema::ALL.len());
        assert_eq!(write(&root).unwrap(), Vec::<String>::new());
        let left = check(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(left, [problem("gone.schema.json", "is generated from nothing; remove it")]);
    }
}
