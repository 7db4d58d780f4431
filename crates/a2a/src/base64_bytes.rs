//! Bytes in JSON: base64, written in the standard alphabet with padding.
//!
//! Read as ProtoJSON reads it: either alphabet, with or without padding.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT, URL_SAFE_PAD_INDIFFERENT},
};

pub(super) fn write(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64. `None` if the text is not base64.
pub(super) fn read(text: &str) -> Option<Vec<u8>> {
    let url_safe = text.contains(['-', '_']);
    let engine = if url_safe { &URL_SAFE_PAD_INDIFFERENT } else { &STANDARD_PAD_INDIFFERENT };
    engine.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_alphabet_is_read_with_or_without_padding() {
        for text in ["+/+/AQ==", "+/+/AQ", "-_-_AQ==", "-_-_AQ"] {
            assert_eq!(read(text), Some(vec![0xFB, 0xFF, 0xBF, 0x01]), "{text}");
        }
        assert_eq!(read(""), Some(Vec::new()));
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&write(&bytes)).as_deref(), Some(bytes.as_slice()));
        assert_eq!(write(&[0xFB, 0xFF, 0xBF, 0x01]), "+/+/AQ==");
    }

    #[test]
    fn what_is_no_base64_is_not_guessed_at() {
        for text in ["A", "AQ===", "A Q=", "AQ==\n", "AR==", "+_AQ", "é", "="] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
