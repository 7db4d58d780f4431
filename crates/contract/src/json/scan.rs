//! How far a string stands for itself.

/// Bytes looked at together: wide enough for a compiler to use its widest registers.
const BLOCK: usize = 32;

/// The length of the beginning of `bytes` that needs no escape: no quote, no backslash, no control character.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let whole = bytes.chunks_exact(BLOCK).take_while(|block| is_plain(block)).count() * BLOCK;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|byte| !is_special(**byte)).count()
}

/// Without an early exit, so that it becomes a few wide instructions.
fn is_plain(block: &[u8]) -> bool {
    !block.iter().fold(false, |special, byte| special | is_special(*byte))
}

const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}
