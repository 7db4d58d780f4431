//! Measures the beginning of a string that needs no escape.

/// Bytes that are checked together: first blocks that fill the widest vector registers, then words that fill one
/// ordinary register.
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

/// Has no early exit, so that it compiles to a few wide instructions.
fn is_plain(block: &[u8]) -> bool {
    !block.iter().fold(false, |special, byte| special | is_special(*byte))
}

const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}
