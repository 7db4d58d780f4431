//! The files that an agent hands over: safe names, and writing them into the folder of the order.

use super::log;
use crate::{input::mask::Mask, protocol::task::Task};
use envoi_a2a::model::{Artifact, Content};
use envoi_durable::Temporary;
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::Path,
};

/// Longest name of a file, before its extension and a number. File systems allow 255 bytes, and a temporary name adds some.
const MAX_FILE_NAME_BYTES: usize = 200;

/// Longest text behind a dot that counts as an extension, such as `markdown`.
const MAX_EXTENSION_BYTES: usize = 10;

/// The addresses of artifacts whose content is elsewhere. It is not fetched.
pub(super) fn links(task: &Task) -> Vec<&str> {
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    let links = parts.filter_map(|part| match &part.content {
        Content::Url(url) => Some(url.as_str()),
        Content::Text(_) | Content::Data(_) | Content::Raw(_) => None,
    });
    links.collect()
}

/// Writes every part of the task's artifacts into the folder. Returns the names of files that could not be written: the task
/// is over, and its text is worth more than one file, so that is only a warning.
pub(super) fn write_all(folder: &Path, task: &Task, mask: &dyn Mask) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut left_out = Vec::new();
    for (index, artifact) in task.artifacts.iter().enumerate() {
        for part in &artifact.parts {
            let (content, extension) = match &part.content {
                Content::Text(text) => (text.clone().into_bytes(), "txt"),
                Content::Data(value) => (value.pretty().into_bytes(), "json"),
                Content::Raw(bytes) => (bytes.clone(), "bin"),
                Content::Url(_) => continue,
            };
            // Masked before it is cut and its special characters are replaced: a secret that was changed by that
            // would not be masked.
            let wanted = match &part.filename {
                Some(name) => file_name(&mask.text(name), None),
                None => file_name(&mask.text(&artifact_name(artifact, index)), Some(extension)),
            };
            let name = free_name(&wanted, &mut taken);
            match write(folder, &name, &content) {
                Ok(()) => log::print(&format!("handed over: {name}")),
                Err(error) => {
                    log::print(&format!(
                        "warning: {name} of the agent cannot be written, and is left out: {error}"
                    ));
                    left_out.push(name);
                }
            }
        }
    }
    left_out
}

/// The name of an artifact. Without a name and an id, it is named after its position; `index` counts from 0.
fn artifact_name(artifact: &Artifact, index: usize) -> String {
    let name = artifact.name.as_ref().unwrap_or(&artifact.id);
    if name.is_empty() { format!("artifact-{}", index.saturating_add(1)) } else { name.clone() }
}

fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (temporary, mut file) = Temporary::create_with(folder, 0o666)?;
    file.write_all(content)?;
    temporary.rename(&folder.join(name))
}

/// A name without folders and special characters, because the agent's text is not trusted. `extension` is added if the name
/// has none.
fn file_name(name: &str, extension: Option<&str>) -> String {
    let last = name.rsplit_once(['/', '\\']).map_or(name, |(_, last)| last);
    let replaced = |c: char| if c.is_alphanumeric() || "._- ".contains(c) { c } else { '_' };
    let mut bytes = 0_usize;
    let fits = |c: &char| {
        bytes = bytes.saturating_add(c.len_utf8());
        bytes <= MAX_FILE_NAME_BYTES
    };
    let text: String = last.chars().map(replaced).take_while(fits).collect();
    let text = text.trim_matches(|c: char| c == '.' || c == ' ');
    let text = if text.is_empty() { "file" } else { text };
    match extension {
        Some(extension) if !has_extension(text) => format!("{text}.{extension}"),
        _ => text.to_owned(),
    }
}

/// Whether a name has an extension, as `note.md` has. `review 1.2` has none: the text after the dot is a number.
fn has_extension(name: &str) -> bool {
    let Some((stem, end)) = name.rsplit_once('.') else { return false };
    let is_plain = end.len() <= MAX_EXTENSION_BYTES && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    !stem.is_empty() && is_plain && end.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The name, with a number before its extension if it is taken already. Some file systems ignore case, so this does too.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let (stem, extension) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    let numbered = (2_u32..).map(|n| format!("{stem}-{n}{extension}"));
    let mut all = core::iter::once(name.to_owned()).chain(numbered);
    let free = all.find(|name| !taken.contains(&name.to_lowercase())).unwrap_or_default();
    taken.insert(free.to_lowercase());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_an_agent_become_safe_and_unique() {
        for (name, end, expected) in [
            ("report.pdf", None, "report.pdf"),
            ("../../etc/passwd", None, "passwd"),
            ("C:\\temp\\x.exe", None, "x.exe"),
            ("..", None, "file"),
            ("", None, "file"),
            (".hidden", None, "hidden"),
            ("a\nb\0c", None, "a_b_c"),
            ("review", Some("txt"), "review.txt"),
            ("review.txt", Some("txt"), "review.txt"),
            ("note.md", Some("txt"), "note.md"),
            ("data.jsonl", Some("json"), "data.jsonl"),
            ("archive.7z", Some("bin"), "archive.7z"),
            ("review 1.2", Some("txt"), "review 1.2.txt"),
            ("Done. All of it", Some("txt"), "Done. All of it.txt"),
            ("what.ever is there", Some("txt"), "what.ever is there.txt"),
        ] {
            assert_eq!(file_name(name, end), expected, "{name:?}");
        }
        // A character that is no letter is replaced by one byte.
        for (one, bytes) in [("x", 200), ("é", 200), ("語", 198), ("𠀋", 200), ("🜂", 200)] {
            assert_eq!(file_name(&one.repeat(300), None).len(), bytes, "{one}");
        }
        let mut taken = BTreeSet::new();
        let names = ["a.txt", "A.txt", "a.txt", "b"].map(|name| free_name(name, &mut taken));
        assert_eq!(names, ["a.txt", "A-2.txt", "a-3.txt", "b"]);
    }
}
