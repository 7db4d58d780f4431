//! What a lost attempt left unmasked: its supervisor masks that at the end, and was killed before.

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

/// Masks what the command of a lost attempt wrote into the attempt's own folder, and removes what is no regular file. To be
/// called after [`crate::end_leftovers`], when no process of the attempt writes there any more. Values under
/// [`crate::MIN_SECRET_BYTES`] stay.
///
/// What has changed in the run's folder since the attempt began is masked as well. So much was to be kept of a stream as
/// `stream_cap_bytes` says.
///
/// Returns also what is left to the engine: see [`MaskedLost`].
pub fn mask_lost(dir: &AttemptDir, secrets: &[String], stream_cap_bytes: u64) -> MaskedLost {
    let secrets = Secrets::new(secrets);
    let began = read_started(dir).ok().flatten().map_or(0, |started| started.started_at_ms);
    let mut notes = strays::mask(dir, &secrets, Moment::Lost { stream_cap_bytes });
    let looked = run_base::mask(dir, &secrets, Since::at(began));
    notes.extend(looked.notes);
    MaskedLost { notes, closed_with_secret: looked.closed }
}

/// What became of what a lost attempt left.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MaskedLost {
    /// What a person should know, a sentence each: what was removed, cut, or masked in a file that is not the command's.
    pub notes: Vec<String>,
    /// As [`crate::Exit::closed_with_secret`].
    pub closed_with_secret: Vec<String>,
}

/// Removes what the command of a lost attempt wrote into the attempt's own folder, where the secrets that may stand in it are
/// not at hand. To be called when [`mask_lost`] may be. Returns the names of what was removed.
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
