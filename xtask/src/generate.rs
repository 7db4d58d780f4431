//! Writes the committed files that are generated from the code: the JSON Schemas of the contracts, the
//! OpenAPI document, the schemas of command output, the libraries' vocabularies and types, the types of the
//! web page, and the page of each command.
//!
//! It knows the path of each file, not its content. `flow.schema.json` and `config.schema.json` in the same
//! folder are written by hand (`flow::SCHEMA`, `flow::config::SCHEMA`).

mod commands;
mod shapes;
mod vocabulary;

use crate::Unusable;
use crate::tidy::Problem;
use envoi_contract::schema;
use std::{collections::BTreeSet, fs, io, path::Path};

const SCHEMAS: &str = "spec/schemas";

/// The folder of the commands' pages.
const COMMANDS: &str = "docs/commands";

/// Folders in which every file is generated, except those of [`BY_HAND`].
const FOLDERS: &[&str] = &[SCHEMAS, COMMANDS];

/// Files in the schemas' folder that are not generated.
const BY_HAND: &[&str] = &["config.schema.json", "flow.schema.json"];

/// A generated file. Its path is relative to the root.
struct Generated {
    path: String,
    text: String,
}

fn generated() -> Vec<Generated> {
    let schema = |schema: &schema::Schema| Generated {
        path: format!("{SCHEMAS}/{}.schema.json", schema.name),
        text: schema.to_value().pretty(),
    };
    let openapi = envoi_server::openapi::generate();
    // A serializer wrote it, so it can be parsed.
    let document: serde_json::Value = serde_json::from_str(&openapi).unwrap_or_default();
    let others = [
        ("sdk/python/src/envoi/client/shapes.py", shapes::python(&document)),
        ("sdk/typescript/src/client/shapes.ts", shapes::typescript(&document)),
        ("page/src/wire/api.ts", shapes::page(&document)),
        ("spec/openapi.json", openapi),
        ("spec/commands.json", envoi_api::schema::document_of_commands()),
        ("sdk/python/src/envoi/vocabulary.py", vocabulary::python()),
        ("sdk/typescript/src/vocabulary.ts", vocabulary::typescript()),
    ];
    let other = |(path, text): (&str, String)| Generated { path: path.to_owned(), text };
    let command = |(name, text): (String, String)| Generated { path: format!("{COMMANDS}/{name}.md"), text };
    let commands = commands::pages().into_iter().map(command);
    schema::ALL.iter().map(schema).chain(others.into_iter().map(other)).chain(commands).collect()
}

/// Writes the files that differ below `root`. Returns their paths.
pub(crate) fn write(root: &Path) -> Result<Vec<String>, Unusable> {
    let mut written = Vec::new();
    for Generated { path, text } in generated() {
        let place = root.join(&path);
        if read(&place)?.as_deref() != Some(&text) {
            fs::write(&place, text).map_err(|error| format!("{}: {error}", place.display()))?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Every file below `root` that is missing, differs, or is no longer generated.
pub(crate) fn check(root: &Path) -> Result<Vec<Problem>, Unusable> {
    let mut problems = Vec::new();
    let mut known: BTreeSet<String> = BY_HAND.iter().map(|name| format!("{SCHEMAS}/{name}")).collect();
    for Generated { path, text } in generated() {
        if read(&root.join(&path))?.as_deref() != Some(&text) {
            problems.push(Problem::new(&path, 1, "is not what the code says; run `cargo xtask generate`"));
        }
        known.insert(path);
    }
    for folder in FOLDERS {
        let entries = fs::read_dir(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        for entry in entries {
            let name = entry.map_err(|error| format!("{folder}: {error}"))?.file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            if !known.contains(&path) {
                problems.push(Problem::new(&path, 1, "is generated from nothing; remove it"));
            }
        }
    }
    Ok(problems)
}

/// The text of a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, Unusable> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
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
        for file in generated() {
            fs::create_dir_all(root.join(&file.path).parent().unwrap()).unwrap();
        }
        fs::write(root.join(SCHEMAS).join("handoff.schema.json"), "{}\n").unwrap();
        fs::write(root.join(SCHEMAS).join("gone.schema.json"), "{}\n").unwrap();
        let found = check(&root).unwrap();
        assert_eq!(found.len(), generated().len() + 1, "{found:?}");
        assert_eq!(write(&root).unwrap().len(), generated().len());
        assert_eq!(write(&root).unwrap(), Vec::<String>::new());
        let left = check(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let gone = Problem::new("spec/schemas/gone.schema.json", 1, "is generated from nothing; remove it");
        assert_eq!(left, [gone]);
    }
}
