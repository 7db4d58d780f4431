//! Quick checks whether a text has a character or a pair of characters, so that most lines need no careful reading.

/// Bytes that are checked together: wide enough for the widest registers of a compiler's target.
const BLOCK: usize = 32;

/// True if `text` contains `pair`, ignoring ASCII case.
pub(super) fn has_pair(text: &str, pair: [u8; 2]) -> bool {
    let pair = pair.map(|byte| byte.to_ascii_lowercase());
    let left = text.as_bytes();
    let right = left.get(1..).unwrap_or_default();
    let whole = right.len() - right.len() % BLOCK;
    let rest = left.get(whole..).unwrap_or_default().iter().zip(right.get(whole..).unwrap_or_default());
    let mut blocks = left.chunks_exact(BLOCK).zip(right.chunks_exact(BLOCK));
    blocks.any(|(left, right)| any_is(pair, left.iter().zip(right))) || any_is(pair, rest)
}

/// True if `text` contains the ASCII character `byte`.
pub(super) fn has(text: &str, byte: u8) -> bool {
    let mut blocks = text.as_bytes().chunks(BLOCK);
    blocks.any(|block| block.iter().fold(false, |found, there| found | (*there == byte)))
}

/// Has no early exit, so that it compiles to a few wide instructions.
fn any_is<'a>([first, second]: [u8; 2], sides: impl Iterator<Item = (&'a u8, &'a u8)>) -> bool {
    let is_pair =
        |left: &u8, right: &u8| (left.to_ascii_lowercase() == first) & (right.to_ascii_lowercase() == second);
    sides.fold(false, |found, (left, right)| found | is_pair(left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_found_wherever_it_stands() {
        for length in 2..140 {
            for at in 0..length - 1 {
                let mut bytes = std::vec![b'-'; length];
                (bytes[at], bytes[at + 1]) = (b'E', b'p');
                let text = std::string::String::from_utf8(bytes).unwrap();
                assert!(has_pair(&text, *b"eP"), "{text}");
                assert!(!has_pair(&text, *b"pe"), "{text}");
            }
        }
        assert!(has("a:", b':') && !has("a", b':') && !has("", b':'));
        assert!(!has_pair("", *b"ep") && !has_pair("e", *b"ep"));
        assert!(!has_pair("e-p", *b"ep"));
    }
}
