//! Mount points below a folder: their files belong to another file system, and would be deleted with the
//! folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The first place at or below `folder` where something is mounted, also a folder of the same file system. Mounts are known where the
/// system lists them in `/proc` (Linux).
///
/// # Errors
/// The list cannot be read, or `folder` is not there.
pub fn mount_below(folder: &Path) -> io::Result<Option<PathBuf>> {
    if !cfg!(target_os = "linux") {
        return Ok(None);
    }
    let folder = fs::canonicalize(folder)?;
    let list = fs::read("/proc/self/mountinfo")?;
    Ok(places(&list).find(|place| place.starts_with(&folder)))
}

/// The fifth word of each line. A space, a tab, a line's end or a backslash in it is written as `\` and three octal digits.
fn places(list: &[u8]) -> impl Iterator<Item = PathBuf> {
    list.split(|byte| *byte == b'\n').filter_map(|line| {
        let word = line.split(|byte| *byte == b' ').nth(4)?;
        Some(unescaped(word))
    })
}

fn unescaped(word: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|digits| u8::from_str_radix(core::str::from_utf8(digits).ok()?, 8).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_fifth_word_with_its_escapes() {
        let list = b"22 28 0:20 / /proc rw,nosuid - proc proc rw\n\
            36 28 8:1 /a /srv/a\\040b\\134c rw - ext4 /dev/sda1 rw\n\nodd\n";
        let found: Vec<_> = places(list).collect();
        assert_eq!(found, [PathBuf::from("/proc"), PathBuf::from("/srv/a b\\c")]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_mounted_below_a_folder_is_found() {
        assert!(mount_below(Path::new("/proc")).unwrap().is_some(), "`/proc` itself");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(mount_below(folder.path()).unwrap(), None);
        mount_below(&folder.path().join("none")).unwrap_err();
    }
}
