//! Tokens of attempts: each is valid only for one attempt, and nothing is stored for it.
//!
//! A token is `eva_SEAL.RUN.ATTEMPT`. The seal is HMAC-SHA-256 over the two ids, with a key of the store. So
//! the token of an attempt never changes, not even with a new engine, and its owner cannot make another one.
//! It does not state that the attempt is alive: the reader of a token checks that in the journal.

use super::random;
use envoi_contract::digest::hex;
use envoi_kernel::ids::{AttemptId, RunId};
use ring::hmac;
use std::{io, path::Path};

/// The beginning of every token of an attempt.
pub(crate) const PREFIX: &str = "eva_";

/// The file of the key, in the store's folder.
const FILE: &str = "bridge.key";
const KEY_BYTES: usize = 32;
/// A larger file is not a key.
const MOST_BYTES: u64 = 1024;

/// The prefix of the sealed text, so that a seal of the same key for another purpose can never be a token.
const PURPOSE: &str = "envoi attempt\n";

/// Makes and checks tokens of attempts.
#[derive(Clone)]
pub struct AttemptTokens(hmac::Key);

impl AttemptTokens {
    /// The tokens of the store in this folder. The key is made once, and only its owner can read it. A copy
    /// of the store has the same key.
    ///
    /// # Errors
    /// The file cannot be read or made, or is not a key.
    pub fn of_store(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let read = || {
            envoi_durable::read_plain(&path, MOST_BYTES).map_err(|error| {
                io::Error::new(error.kind(), format!("`{}`: {error}: remove it", path.display()))
            })
        };
        let key = match read()? {
            Some(key) => key,
            None => {
                envoi_durable::make_secret(&path, &random::bytes::<KEY_BYTES>()?)?;
                read()?.unwrap_or_default()
            }
        };
        if key.len() != KEY_BYTES {
            let text = format!("`{}` is not {KEY_BYTES} bytes long: remove it", path.display());
            return Err(io::Error::other(text));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key)))
    }

    /// The token of an attempt.
    #[must_use]
    pub fn token(&self, run: &RunId, attempt: &AttemptId) -> String {
        let seal = hmac::sign(&self.0, sealed(run.as_str(), &attempt.to_string()).as_bytes());
        let digits = hex(seal.as_ref());
        format!("{PREFIX}{digits}.{run}.{attempt}")
    }

    /// The attempt of a token. `None` if the token is not from this store. Compares in constant time.
    pub(crate) fn attempt_of(&self, token: &str) -> Option<(RunId, AttemptId)> {
        let (digits, rest) = token.strip_prefix(PREFIX)?.split_once('.')?;
        let (run, attempt) = rest.split_once('.')?;
        let seal = bytes(digits)?;
        hmac::verify(&self.0, sealed(run, attempt).as_bytes(), &seal).ok()?;
        Some((RunId::new(run).ok()?, AttemptId::parse(attempt).ok()?))
    }
}

fn sealed(run: &str, attempt: &str) -> String {
    format!("{PURPOSE}{run}\n{attempt}")
}

/// Decodes lower-case hexadecimal digits only, so that a token has one spelling.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => Some(value(high)? << 4 | value(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn ids(run: &str, attempt: &str) -> (RunId, AttemptId) {
        (RunId::new(run).unwrap(), AttemptId::parse(attempt).unwrap())
    }

    #[test]
    fn a_token_is_of_one_attempt_and_the_same_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let seal = AttemptTokens::of_store(folder.path()).unwrap();
        let after = AttemptTokens::of_store(folder.path()).unwrap();
        for (run, attempt) in [("run_a", "draft.1.1"), ("run_b", "3.build.2.compile.1.2")] {
            let (run, attempt) = ids(run, attempt);
            let token = seal.token(&run, &attempt);
            assert_eq!(token, after.token(&run, &attempt));
            assert_eq!(after.attempt_of(&token), Some((run, attempt)));
        }
    }

    #[test]
    fn who_has_a_token_can_make_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let seal = AttemptTokens::of_store(folder.path()).unwrap();
        let (run, attempt) = ids("run_a", "draft.1.1");
        let token = seal.token(&run, &attempt);
        let other = tempfile::tempdir().unwrap();
        let (digits, rest) = token.split_once('.').unwrap();
        for wrong in [
            String::new(),
            PREFIX.to_owned(),
            token.replace("draft.1.1", "draft.1.2"),
            token.replace("run_a", "run_b"),
            token.replace(".run_a.", ".run_a"),
            token.to_uppercase(),
            format!("{}{}", PREFIX, digits[4..].to_uppercase()) + "." + rest,
            format!("{PREFIX}.{rest}"),
            format!("{PREFIX}{}.{rest}", &digits[4..digits.len() - 2]),
            format!("{token}.1"),
            AttemptTokens::of_store(other.path()).unwrap().token(&run, &attempt),
        ] {
            assert_eq!(seal.attempt_of(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_key_is_its_owner_s_alone_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        AttemptTokens::of_store(folder.path()).unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
        fs::write(&path, b"short").unwrap();
        assert!(AttemptTokens::of_store(folder.path()).is_err());
    }
}
