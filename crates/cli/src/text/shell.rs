//! Quotes words for a shell.

/// A word: unchanged, or in single quotes if the shell could read it in another way.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-+,=@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

/// A text in single quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_word() {
        for (text, expected) in [
            ("https://envoi.example:7007/a", "https://envoi.example:7007/a"),
            ("", "''"),
            ("it's here", r"'it'\''s here'"),
            ("~/x", "'~/x'"),
            ("[a]", "'[a]'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(word(text), expected);
        }
    }
}
