//! Masks what a lost attempt left. Its supervisor died before it could do that.
//!
//! The command itself writes `output` and `report.json`; until they are settled they may hold secrets as they are.

use crate::{
    attempt::dir::AttemptDir,
    disk::{durable, plain},
    mask::{Masker, Secrets},
};
use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
};

/// What is kept of a file that a lost attempt wrote: no larger document is read (CONTRACTS §0).
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Masks what the command of a lost attempt wrote into the attempt's own folder. To be called after
/// [`crate::end_leftovers`], when no process writes there any more. Values under [`crate::MIN_SECRET_BYTES`] stay.
///
/// Returns what a person should know, a sentence each: a file that could not be masked was removed, and what is no file
/// stays as it is.
pub fn mask_lost(dir: &AttemptDir, secrets: &[String]) -> Vec<String> {
    let secrets = Secrets::new(secrets);
    if secrets.is_empty() || !dir.is_real() {
        return Vec::new();
    }
    [dir.output(), dir.report()].iter().filter_map(|path| masked(path, &secrets)).collect()
}

fn masked(path: &Path, secrets: &Secrets) -> Option<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match mask_file(path, secrets) {
        Ok(false) => None,
        Ok(true) => Some(format!("`{name}` was cut to {} MiB", MOST_BYTES >> 20)),
        Err(error) if plain::open(path).is_ok() => {
            let removed = fs::remove_file(path).map_or("could not be removed", |()| "was removed");
            Some(format!("`{name}` cannot be masked and {removed}: {error}"))
        }
        Err(error) => Some(format!("`{name}` was not read: {error}")),
    }
}

/// Removes what the command of a lost attempt wrote into the attempt's own folder, where no process has the secrets that may
/// stand in it. To be called when [`mask_lost`] may be.
///
/// # Errors
/// A file cannot be removed.
pub fn drop_unmasked(dir: &AttemptDir) -> io::Result<()> {
    [dir.output(), dir.report()].into_iter().try_for_each(|path| match fs::remove_file(path) {
        // A folder, for example, is no output and no report, and no file of it is ever read.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => Ok(()),
        removed => removed,
    })
}

/// True if the file was cut.
fn mask_file(path: &Path, secrets: &Secrets) -> io::Result<bool> {
    let Some(file) = plain::open_if_there(path)? else { return Ok(false) };
    let is_cut = file.metadata()?.len() > MOST_BYTES;
    let temporary = durable::temp_beside(path);
    let mut target = plain::create(&temporary)?;
    let (mut masker, mut masked) = (Masker::new(secrets), Vec::new());
    let copied = durable::pieces(&mut file.take(MOST_BYTES), |piece| {
        masker.push(piece, &mut masked);
        target.write_all(&masked)?;
        masked.clear();
        Ok(())
    });
    masker.finish(&mut masked);
    let copied = copied.and_then(|()| target.write_all(&masked));
    if copied.is_err() || (masker.hits() == 0 && !is_cut) {
        // It is as it was.
        fs::remove_file(&temporary)?;
        return copied.map(|()| false);
    }
    fs::rename(&temporary, path).map(|()| is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(folder: &Path) -> AttemptDir {
        let dir = AttemptDir::new(folder.join("a.1.1"));
        dir.create().unwrap();
        dir
    }

    #[test]
    fn what_a_lost_attempt_left_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::write(dir.output(), "token hunter22 end").unwrap();
        fs::write(dir.report(), r#"{"ok": true}"#).unwrap();
        assert_eq!(mask_lost(&dir, &["hunter22".to_owned()]), [""; 0]);
        assert_eq!(fs::read_to_string(dir.output()).unwrap(), "token *** end");
        assert_eq!(fs::read_to_string(dir.report()).unwrap(), r#"{"ok": true}"#);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_file_is_named_and_a_huge_one_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::create_dir(dir.output()).unwrap();
        fs::write(dir.report(), "hunter22").unwrap();
        fs::File::options().write(true).open(dir.report()).unwrap().set_len(5 << 30).unwrap();
        let masked = mask_lost(&dir, &["hunter22".to_owned()]);
        let [output, report] = &masked[..] else { panic!("{masked:?}") };
        assert!(output.contains("`output`") && output.contains("not a regular file"), "{output}");
        assert_eq!(report, "`report.json` was cut to 16 MiB");
        assert!(fs::metadata(dir.report()).unwrap().len() <= MOST_BYTES);
        assert!(fs::read(dir.report()).unwrap().starts_with(b"***\0"));
        assert!(dir.output().is_dir());
    }
}
