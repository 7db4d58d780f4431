//! Reading files that another program may have created.
//!
//! A pipe would block the reader until a process writes to it, and a device may never end. So any other file
//! than a regular one is closed as soon as its type is known. A link is followed: the owner of a file may
//! keep it elsewhere.

use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The content of the plain file at `path`, of at most `most` bytes; `None` if it does not exist.
///
/// # Errors
/// It cannot be read, is larger than `most`, or is not a regular file.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        return Ok(Some(bytes));
    }
    Err(io::Error::other(format!("it is larger than {most} bytes")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::{fs::symlink, net::UnixListener};

    #[test]
    fn a_plain_file_is_read_and_whatever_else_is_there_is_named_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), b"1234").unwrap();
        symlink(at("plain"), at("link")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_plain(&at("plain"), 4).unwrap(), Some(b"1234".to_vec()));
        assert_eq!(read_plain(&at("link"), 4).unwrap(), Some(b"1234".to_vec()));
        assert_eq!(read_plain(&at("nothing"), 4).unwrap(), None);
        assert_eq!(read_plain(&at("plain"), 3).unwrap_err().to_string(), "it is larger than 3 bytes");
        for name in ["pipe", "folder"] {
            assert_eq!(read_plain(&at(name), 4).unwrap_err().to_string(), "it is not a plain file", "{name}");
        }
        for name in ["socket", "loop"] {
            assert!(read_plain(&at(name), 4).is_err(), "{name}");
        }
        assert!(read_plain(Path::new("/dev/zero"), 4).is_err());
    }
}
