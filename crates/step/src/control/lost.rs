//! What a lost attempt left unmasked: its supervisor masks that at the end, and was killed before.

use crate::{
    attempt::dir::AttemptDir,
    mask::Secrets,
    output::strays::{self, Moment},
};
use std::io;

/// Masks what the command of a lost attempt wrote into the attempt's own folder, and removes what is no regular file. To be
/// called after [`crate::end_leftovers`], when no process of the attempt writes there any more. Values under
/// [`crate::MIN_SECRET_BYTES`] stay.
///
/// Returns what a person should know, a sentence each: what was removed or cut.
pub fn mask_lost(dir: &AttemptDir, secrets: &[String]) -> Vec<String> {
    strays::mask(dir, &Secrets::new(secrets), Moment::Lost)
}

/// Removes what the command of a lost attempt wrote into the attempt's own folder, where the secrets that may stand in it are
/// not at hand. To be called when [`mask_lost`] may be.
///
/// # Errors
/// Something cannot be removed.
pub fn drop_unmasked(dir: &AttemptDir) -> io::Result<()> {
    strays::remove_all(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

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
    fn what_is_no_file_is_removed_and_named_and_a_huge_one_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::create_dir(dir.output()).unwrap();
        fs::write(dir.report(), "hunter22").unwrap();
        fs::File::options().write(true).open(dir.report()).unwrap().set_len(5 << 30).unwrap();
        let masked = mask_lost(&dir, &["hunter22".to_owned()]);
        let [output, report] = &masked[..] else { panic!("{masked:?}") };
        assert_eq!(output, "a folder stood at `$ENVOI_OUTPUT`; it was removed: it could hold a secret");
        assert_eq!(report, "`$ENVOI_REPORT` was cut to 16 MiB");
        assert!(fs::metadata(dir.report()).unwrap().len() <= 16 << 20);
        assert!(fs::read(dir.report()).unwrap().starts_with(b"***\0"));
        assert!(!dir.output().exists());
    }
}
