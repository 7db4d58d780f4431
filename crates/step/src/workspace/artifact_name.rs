//! Which paths an artifact may have.
//!
//! A pure check of one path. [`super::artifacts`] finds the files and reads them.

use std::path::Path;

/// The path of a file as hand-offs name it (CONTRACTS §2), or why it has none. Hand-offs themselves, and the
/// lists of the files of steps, are in the same folder: no artifact may replace them.
pub(super) fn of(path: &Path) -> Result<&str, &'static str> {
    let name = path.to_str().ok_or("its name is not UTF-8")?;
    if name.contains('\\') {
        return Err("its name has a backslash");
    }
    if name.chars().any(char::is_control) {
        return Err("its name has a control character");
    }
    if path.starts_with("handoff") {
        return Err("`handoff` is the folder of the hand-offs");
    }
    if is_in_place_of_list(name) {
        return Err("`STEP.files.json` is the name of the list of a step's files");
    }
    Ok(name)
}

/// Whether the path is one where the list of a step's files may be: `[scope.]step.files.json` at the top of
/// the flow's folder. Any step counts, because all steps of a flow share that folder, and a step may have
/// many files at a later visit.
fn is_in_place_of_list(name: &str) -> bool {
    let top = name.split('/').next().unwrap_or(name);
    let in_id = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    top.strip_suffix(".files.json").is_some_and(|step| !step.is_empty() && step.bytes().all(in_id))
}

/// An arbitrary name, for a person: one line, and not long.
pub(super) fn readable(path: &str) -> String {
    const LONGEST: usize = 200;
    let mut text: String = path.escape_debug().take(LONGEST + 1).collect();
    if text.chars().count() > LONGEST {
        text.pop();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_offs_and_lists_of_files_keep_their_places_and_a_name_is_one_line_of_text() {
        let refused = |path: &str| of(Path::new(path)).err();
        for taken in [
            "good.txt",
            "sub/handoff/good.txt",
            "attempts",
            ".files.json",
            "sub/work.files.json",
            "no id.files.json",
        ] {
            assert_eq!(refused(taken), None, "{taken}");
        }
        for (path, why) in [
            ("back\\slash", "its name has a backslash"),
            ("new\nline", "its name has a control character"),
            ("handoff/critic.1.json", "`handoff` is the folder of the hand-offs"),
            ("work.files.json", "`STEP.files.json` is the name of the list of a step's files"),
            ("build.2.work.files.json/below", "`STEP.files.json` is the name of the list of a step's files"),
        ] {
            assert_eq!(refused(path), Some(why), "{path}");
        }
    }
}
