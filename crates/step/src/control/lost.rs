//! Masks the files of a lost attempt: its supervisor would mask them at the end, and was killed before.

use crate::{
    attempt::dir::AttemptDir,
    control::cancel::read_started,
    mask::Secrets,
    output::{
        run_base::{self, Since},
        strays::{self, Moment},
    },
    workspace::before::Before,
};
use std::io;

/// Masks what the command of a lost attempt wrote into the attempt's own folder, and removes everything that
/// is not a regular file. Call it after [`crate::end_leftovers`], when no process of the attempt writes there
/// any more. Values under [`crate::MIN_SECRET_BYTES`] are not masked.
///
/// Also masks the files of the run's folder that have changed since the attempt began. `stream_cap_bytes` is
/// how much of a stream was to be kept.
///
/// Returns what the engine still has to do: see [`MaskedLost`].
pub fn mask_lost(dir: &AttemptDir, secrets: &[String], stream_cap_bytes: u64) -> MaskedLost {
    let secrets = Secrets::new(secrets);
    let began = read_started(dir).ok().flatten().map_or(0, |started| started.started_at_ms);
    let mut notes = strays::mask(dir, &secrets, Moment::Lost { stream_cap_bytes });
    let looked = run_base::mask(dir, &secrets, Since::at(began));
    notes.extend(looked.notes);
    MaskedLost { notes, closed_with_secret: looked.closed }
}

/// The result of [`mask_lost`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MaskedLost {
    /// Warnings for a person, a sentence each: what was removed, cut, or masked in a file that is not the
    /// command's.
    pub notes: Vec<String>,
    /// Like [`crate::Exit::closed_with_secret`].
    pub closed_with_secret: Vec<String>,
}

/// Removes what the command of a lost attempt wrote into the attempt's own folder, for the case that the
/// secrets are not available. Call it at the same point as [`mask_lost`]. Returns the names of the removed
/// files.
///
/// # Errors
/// Something cannot be removed.
pub fn drop_unmasked(dir: &AttemptDir) -> io::Result<Vec<String>> {
    strays::remove_all(dir, Before::has_form)
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
        assert_eq!(mask_lost(&dir, &["hunter22".to_owned()], 0), MaskedLost::default());
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
        let masked = mask_lost(&dir, &["hunter22".to_owned()], 0).notes;
        let [output, report] = &masked[..] else { panic!("{masked:?}") };
        assert_eq!(output, "a folder stood at `$ENVOI_OUTPUT`; it was removed: it could hold a secret");
        assert_eq!(report, "`$ENVOI_REPORT` was cut to 16 MiB");
        assert!(fs::metadata(dir.report()).unwrap().len() <= 16 << 20);
        assert!(fs::read(dir.report()).unwrap().starts_with(b"***\0"));
        assert!(!dir.output().exists());
    }
}
