//! SHA-256 of bytes, with its text form `sha256:<64 hexadecimal digits>`.
//!
//! Owns that form. It reads no files.
//!
//! ```
//! use envoi_contract::digest::Digest;
//!
//! let digest = Digest::of(b"abc");
//! assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
//! assert!(digest.hex().starts_with("ba7816bf"));
//! ```

use alloc::format;
use alloc::string::String;
use core::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// A digest that was computed elsewhere, for instance while streaming.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest in the form of a UUID of this version, for systems that accept no other ids. It is derived, and
    /// contains no time.
    ///
    /// ```
    /// use envoi_contract::digest::Digest;
    ///
    /// assert_eq!(Digest::of(b"a").uuid('4'), "ca978112-ca1b-4bdc-8afa-c231b39a23dc");
    /// ```
    #[must_use]
    pub fn uuid(&self, version: char) -> String {
        let hex = self.hex();
        let mut digits = hex.chars();
        let mut next = |count| digits.by_ref().take(count).collect::<String>();
        format!("{}-{}-{version}{}-8{}-{}", next(8), next(4), next(3), next(3), next(12))
    }

    /// Reads `sha256:` and 64 hexadecimal digits in lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Digest> {
        let digits = text.strip_prefix("sha256:")?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = match pair {
                [high, low] => nibble(*high)? << 4 | nibble(*low)?,
                _ => return None,
            };
        }
        Some(Digest(bytes))
    }

    /// Only the 64 digits.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.0)
    }
}

/// Bytes as hexadecimal digits in lower case, two per byte.
///
/// ```
/// assert_eq!(envoi_contract::digest::hex(&[0, 0x1f, 0xa0]), "001fa0");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xF));
    }
    text
}

fn digit(nibble: u8) -> char {
    char::from(if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble })
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        f.write_str(&self.hex())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let shown = Digest::of(b"").to_string();
        assert_eq!(shown, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(Digest::parse(&shown), Some(Digest::of(b"")));
    }

    #[test]
    fn only_the_shown_form_is_read() {
        let hex = Digest::of(b"x").hex();
        for wrong in [
            "",
            "sha256:",
            &hex,
            &std::format!("sha256:{}", hex.to_uppercase()),
            &std::format!("sha256:{hex}0"),
        ] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
