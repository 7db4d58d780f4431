//! The length of a string's beginning that needs no escape.

/// Bytes looked at together: wide enough for a compiler to use its widest registers, then what one register holds.
const BLOCK: usize = 32;
const WORD: usize = 8;

/// The length of the beginning of `bytes` that needs no escape: no quote, no backslash, no control character.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(BLOCK).take_while(|block| is_plain(block)).count() * BLOCK;
    let rest = bytes.get(blocks..).unwrap_or_default();
    let words = rest.chunks_exact(WORD).take_while(|word| is_plain(word)).count() * WORD;
    let rest = rest.get(words..).unwrap_or_default();
    blocks + words + rest.iter().take_while(|byte| !is_special(**byte)).count()
}

/// Without an early exit, so that it becomes a few wide instructions.
fn is_plain(block: &[u8]) -> bool {
    !block.iter().fold(false, |special, byte| special | is_special(*byte))
}

const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}
