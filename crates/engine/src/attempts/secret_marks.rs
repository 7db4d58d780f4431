//! Marks that show later whether a secret has another value than when an attempt began.
//!
//! A supervisor masks with the values that it was given. If it is killed, the next engine masks with the values that are there then,
//! which finds nothing of a value that was replaced. So the record of the start holds a mark of each value, a digest with a key of
//! the store. The mark does not give the value away. Only the owner of the store can read the key, and without the key the mark is
//! useless. With the key, a mark of 16 bits still fits one in 65,536 of all values. For the same reason, one in 65,536 changed values is
//! taken for the old one.

use envoi_contract::digest::Digest;
use envoi_step::SecretMark;
use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// The file of the key, in the folder of the store.
const FILE: &str = "secrets.key";
const KEY_BYTES: usize = 32;
/// A larger file is not a key.
const MOST_BYTES: u64 = 1024;

/// How much of the digest is kept, in hexadecimal digits.
const MARK_DIGITS: usize = 4;

/// See the module.
pub(super) struct SecretMarks {
    key: Vec<u8>,
}

impl SecretMarks {
    /// The marks of the store in this folder. The key is made once. If it was removed, or is not a key, a new one is made, and
    /// every value counts as changed.
    ///
    /// # Errors
    /// The file cannot be read or made.
    pub(super) fn of_store(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let is_key = |key: &Vec<u8>| key.len() == KEY_BYTES;
        if let Some(key) = read(&path)?.filter(is_key) {
            return Ok(Self { key });
        }
        make(&path)?;
        match read(&path)?.filter(is_key) {
            Some(key) => Ok(Self { key }),
            None => Err(io::Error::other(format!(
                "`{}` is not {KEY_BYTES} bytes long: remove it",
                path.display()
            ))),
        }
    }

    /// The marks of these values by name.
    pub(super) fn of<'a>(&self, secrets: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<SecretMark> {
        secrets
            .map(|(name, value)| SecretMark { name: name.to_owned(), mark: self.mark(name, value) })
            .collect()
    }

    /// A digest of the value that is useless without the key, and that differs for every value.
    pub(super) fn keyed(&self, name: &str, value: &str) -> String {
        let parts: [&[u8]; 4] = [&self.key, name.as_bytes(), b"\0", value.as_bytes()];
        Digest::of(&parts.concat()).hex()
    }

    fn mark(&self, name: &str, value: &str) -> String {
        let digest = self.keyed(name, value);
        digest.get(..MARK_DIGITS).unwrap_or_default().to_owned()
    }
}

/// A step can put anything in its place, which must not hold up the steps of others.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    envoi_durable::read_plain(path, MOST_BYTES)
        .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}: remove it", path.display())))
}

fn make(path: &Path) -> io::Result<()> {
    let mut key = [0; KEY_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    envoi_durable::make_secret(path, &key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_mark_tells_values_apart_and_is_of_its_store() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let marks = SecretMarks::of_store(folder.path()).unwrap();
        let mark = |marks: &SecretMarks, value: &str| marks.of([("TOKEN", value)].into_iter()).remove(0).mark;
        let again = SecretMarks::of_store(folder.path()).unwrap();
        assert_eq!(mark(&marks, "hunter2"), mark(&again, "hunter2"));
        let values: Vec<String> = (0..8).map(|number| mark(&marks, &format!("hunter{number}"))).collect();
        assert!(values.iter().any(|value| *value != values[0]), "{values:?}");
        assert!(values.iter().all(|value| value.len() == MARK_DIGITS), "a whole digest could be guessed");
        let elsewhere = SecretMarks::of_store(other.path()).unwrap();
        let others: Vec<String> = (0..8).map(|number| mark(&elsewhere, &format!("hunter{number}"))).collect();
        assert_ne!(values, others, "without the key it says nothing");
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_the_place_of_the_key_is_named_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        let error = SecretMarks::of_store(folder.path()).err().unwrap().to_string();
        assert!(error.contains(FILE) && error.contains("it is not a plain file: remove it"), "{error}");
    }

    #[test]
    fn a_key_that_is_none_is_an_error_and_one_that_was_removed_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "short").unwrap();
        assert!(SecretMarks::of_store(folder.path()).is_err());
        fs::remove_file(folder.path().join(FILE)).unwrap();
        SecretMarks::of_store(folder.path()).unwrap();
    }
}
