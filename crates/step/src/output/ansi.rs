//! Removes terminal escape sequences from a stream of bytes.
//!
//! Removes CSI sequences, strings (OSC, DCS, SOS, PM, APC) and short escapes. Keeps every other byte,
//! including other control characters. Does not decode UTF-8, because escape sequences are ASCII.

/// `bytes` without terminal escape sequences.
#[must_use]
pub fn without_escapes(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    Stripper::default().push(bytes, &mut plain);
    plain
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// The position within a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stripper {
    #[default]
    Text,
    /// After ESC and its intermediate bytes.
    Escape,
    /// After `ESC [`, up to a final byte.
    Csi,
    /// In a string, up to BEL or `ESC \`.
    String,
    /// After an ESC in a string.
    StringEscape,
}

impl Stripper {
    /// Takes the next piece and adds the bytes outside of sequences to `out`.
    pub(crate) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for byte in piece {
            let (next, keep) = self.step(*byte);
            *self = next;
            if keep {
                out.push(*byte);
            }
        }
    }

    fn step(self, byte: u8) -> (Self, bool) {
        match (self, byte) {
            (Self::String, ESC) => (Self::StringEscape, false),
            (_, ESC) => (Self::Escape, false),
            (Self::Text, _) => (Self::Text, true),
            (Self::Escape, b'[') => (Self::Csi, false),
            (Self::Escape, b']' | b'P' | b'X' | b'^' | b'_') => (Self::String, false),
            (Self::Escape, 0x20..=0x2f) => (Self::Escape, false),
            (Self::Escape, 0x30..=0x7e) => (Self::Text, false),
            (Self::Csi, 0x20..=0x3f) => (Self::Csi, false),
            (Self::Csi, 0x40..=0x7e) => (Self::Text, false),
            (Self::String, BEL) => (Self::Text, false),
            (Self::StringEscape, b'\\') => (Self::Text, false),
            // A line end ends the string, so that a string without an end does not hide the rest of the
            // output.
            (Self::String, b'\n') => (Self::Text, true),
            (Self::String, _) => (Self::String, false),
            (Self::StringEscape, _) => Self::Escape.step(byte),
            (Self::Escape | Self::Csi, _) => (Self::Text, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stripper;

    #[test]
    fn escape_sequences_go_and_everything_else_stays() {
        let rows = [
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b7saved\x1b8", "saved"),
            ("\x1b(Bascii", "ascii"),
            ("\x1bPdevice\x1b\\x", "x"),
            ("\x1b]0;never ended\nnext line", "\nnext line"),
            ("\x1b[31", ""),
            ("\x1b[3\nx", "\nx"),
            ("a\tb\r\nä€", "a\tb\r\nä€"),
        ];
        for (text, expected) in rows {
            for size in 1..=text.len() {
                let mut stripper = Stripper::default();
                let mut out = Vec::new();
                text.as_bytes().chunks(size).for_each(|piece| stripper.push(piece, &mut out));
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{text:?}");
            }
        }
    }
}
