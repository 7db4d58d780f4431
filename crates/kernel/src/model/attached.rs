//! The names under which a step finds the files of an answer.
//!
//! The name that a person gave a file is untrusted text. Names are reduced to safe characters and made
//! unique, so that all files fit into one folder. The same attachments give the same names.

use envoi_contract::user_envelope::AttachmentRef;
use std::collections::BTreeSet;

/// The longest name, in bytes; file systems take 255.
const MAX_ATTACHED_NAME_BYTES: usize = 120;

/// Each attachment with its name.
pub(crate) fn named(attachments: &[AttachmentRef]) -> Vec<(String, &AttachmentRef)> {
    let mut taken = BTreeSet::new();
    let mut name = |file: &AttachmentRef| {
        let wanted = plain(file.filename.as_deref().unwrap_or(""));
        let wanted = if wanted.is_empty() { plain(&file.artifact_id) } else { wanted };
        let wanted = if wanted.is_empty() { "attachment".to_owned() } else { wanted };
        let candidates = (1_u32..).map(|n| numbered(&wanted, n));
        let free = candidates.into_iter().find(|name| taken.insert(name.to_lowercase()));
        free.unwrap_or(wanted)
    };
    attachments.iter().map(|file| (name(file), file)).collect()
}

/// The last segment of a path, without characters that a shell or a terminal could misinterpret.
fn plain(name: &str) -> String {
    let last = name.rsplit_once(['/', '\\']).map_or(name, |(_, last)| last);
    let kept: String = last
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | ' ') { c } else { '_' })
        .collect();
    let kept = kept.trim().trim_start_matches(['.', '-']).trim();
    let mut end = kept.len().min(MAX_ATTACHED_NAME_BYTES);
    while !kept.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    kept.get(..end).unwrap_or_default().trim_end().to_owned()
}

/// `a.pdf`, `a-2.pdf`, `a-3.pdf`.
fn numbered(name: &str, n: u32) -> String {
    match (n, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (_, Some((stem, extension))) if !stem.is_empty() => format!("{stem}-{n}.{extension}"),
        _ => format!("{name}-{n}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::user_envelope::OriginKind;

    fn file(name: &str) -> AttachmentRef {
        AttachmentRef {
            artifact_id: "art_1".to_owned(),
            representation_revision_id: "rep_1".to_owned(),
            digest: "sha256:00".to_owned(),
            mime: "text/plain".to_owned(),
            origin_kind: OriginKind::Upload,
            title: None,
            filename: Some(name.to_owned()),
            size: None,
        }
    }

    #[test]
    fn names_are_plain_and_differ() {
        let given = [
            "a.pdf",
            "a.pdf",
            "A.PDF",
            "../../etc/passwd",
            "C:\\x\\y.txt",
            ".env",
            "",
            "a\u{1b}[31m.txt",
            "-rf",
        ];
        let files: Vec<_> = given.iter().map(|name| file(name)).collect();
        let names: Vec<String> = named(&files).into_iter().map(|(name, _)| name).collect();
        let expected = ["a.pdf", "a-2.pdf", "A-3.PDF", "passwd", "y.txt", "env", "art_1", "a__31m.txt", "rf"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let names = [file(&"é".repeat(300))];
        let name = named(&names).remove(0).0;
        assert!(name.len() <= MAX_ATTACHED_NAME_BYTES && name.chars().all(|c| c == 'é'), "{name}");
    }
}
