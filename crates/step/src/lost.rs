//! What a lost attempt left that nobody masked: its supervisor would have, at the end.
//!
//! The command itself writes `output` and `report.json`; until they are settled they may hold secrets as they are.

use crate::{
    dir::AttemptDir,
    mask::{Masker, Secrets},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Masks what the command of a lost attempt wrote into the attempt's own folder. To be called after
/// [`crate::end_leftovers`], when nobody writes there any more. Values under [`crate::MIN_SECRET_BYTES`] stay.
///
/// # Errors
/// A file cannot be read or replaced.
pub fn mask_lost(dir: &AttemptDir, secrets: &[String]) -> io::Result<()> {
    let secrets = Secrets::new(secrets);
    if secrets.is_empty() {
        return Ok(());
    }
    [dir.output(), dir.report()].into_iter().try_for_each(|path| mask_file(&path, &secrets))
}

fn mask_file(path: &Path, secrets: &Secrets) -> io::Result<()> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mut masker, mut masked) = (Masker::new(secrets), Vec::with_capacity(bytes.len()));
    masker.push(&bytes, &mut masked);
    masker.finish(&mut masked);
    if masker.hits() == 0 {
        return Ok(());
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".masked");
    let temporary = PathBuf::from(temporary);
    fs::write(&temporary, masked)?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lost_attempt_left_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path().join("a.1.1"));
        dir.create().unwrap();
        fs::write(dir.output(), "token hunter22 end").unwrap();
        fs::write(dir.report(), r#"{"ok": true}"#).unwrap();
        mask_lost(&dir, &["hunter22".to_owned()]).unwrap();
        assert_eq!(fs::read_to_string(dir.output()).unwrap(), "token *** end");
        assert_eq!(fs::read_to_string(dir.report()).unwrap(), r#"{"ok": true}"#);
    }
}
