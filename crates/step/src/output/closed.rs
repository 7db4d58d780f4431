//! Files of the run's folder that contain a secret and cannot be written (mode 0400), as the engine leaves
//! the files it puts there.
//!
//! A supervisor cannot tell the files of the engine from those that a command has closed itself, for example
//! a key. So `exit.json` names these files. The engine knows which ones it has put there, and masks the
//! others.

use crate::{
    disk::{closed_to_owner::Opened, pieces, plain},
    mask::Secrets,
    output::{cleaning, strays},
};
use std::{io, path::Path};

/// The secret values of a command.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// The values that are known.
    pub at_hand: &'a [String],
    /// Whether these are all values. If not, a file that may contain another one cannot be masked, and is
    /// removed.
    pub are_all: bool,
}

/// Masks those of the `closed` files below `run_base` that the engine has not put there. `is_placed` gets the
/// path and the SHA-256 of a file, in lower-case hexadecimal, and returns whether the engine has put it
/// there.
///
/// Returns what a person should know, a sentence each, masked.
pub fn mask_closed(
    run_base: &Path,
    closed: &[String],
    values: Values<'_>,
    is_placed: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let secrets = Secrets::new(values.at_hand);
    let note = |relative: &String| {
        let shown = shown(relative, &secrets);
        match mask(run_base, relative, &secrets, values.are_all, &is_placed) {
            Ok(Done::Nothing) => None,
            Ok(Done::Masked) => Some(format!("a secret in {shown} was masked")),
            Ok(Done::Removed) => {
                Some(format!("{shown} was removed: it holds a secret whose value has changed"))
            }
            Err(error) => Some(format!("{shown} cannot be masked: {error}")),
        }
    };
    strays::few(closed.iter().filter_map(note), "the run's folder")
}

enum Done {
    Nothing,
    Masked,
    Removed,
}

fn mask(
    base: &Path,
    relative: &str,
    secrets: &Secrets,
    are_all: bool,
    is_placed: &impl Fn(&str, &str) -> bool,
) -> io::Result<Done> {
    // The folders are open only until this function returns.
    let mut opened = Opened::default();
    for folder in Path::new(relative).ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
        opened
            .open(&base.join(folder))
            .or_else(|error| plain::is_missing(&error).then_some(()).ok_or(error))?;
    }
    let mut file = match plain::open_below(base, relative.as_ref()) {
        Err(error) if plain::is_missing(&error) => return Ok(Done::Nothing),
        file => file?,
    };
    let measure = pieces::read_through(&mut file, |_| Ok(()))?;
    if is_placed(relative, &measure.sha256) {
        return Ok(Done::Nothing);
    }
    let path = base.join(relative);
    let has_secret = cleaning::mask_file(&path, secrets, u64::MAX)?.has_secret;
    if are_all {
        return Ok(if has_secret { Done::Masked } else { Done::Nothing });
    }
    cleaning::remove(&path)?;
    Ok(Done::Removed)
}

/// The name of a file of the run's folder in a note.
pub(crate) fn shown(relative: &str, secrets: &Secrets) -> String {
    format!("`$ENVOI_RUN_BASE/{}`", secrets.mask_str(relative).escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    };

    const ALL: fn(&[String]) -> Values<'_> = |at_hand| Values { at_hand, are_all: true };

    fn closed(folder: &Path, name: &str, content: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    }

    #[test]
    fn what_the_engine_has_not_put_there_is_masked() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["flow/artifact", "keys/own"] {
            closed(folder.path(), name, &format!("{name} hunter22"));
        }
        let names = ["flow/artifact", "keys/own", "gone"].map(str::to_owned);
        let secrets = ["hunter22".to_owned()];
        let of_artifact = pieces::measure(&folder.path().join(&names[0])).unwrap().sha256;
        let look = || mask_closed(folder.path(), &names, ALL(&secrets), |_, digest| digest == of_artifact);
        assert_eq!(look(), ["a secret in `$ENVOI_RUN_BASE/keys/own` was masked"]);
        assert_eq!(fs::read_to_string(folder.path().join("keys/own")).unwrap(), "keys/own ***");
        assert_eq!(fs::metadata(folder.path().join("keys/own")).unwrap().mode() & 0o7777, 0o400);
        assert_eq!(
            fs::read_to_string(folder.path().join("flow/artifact")).unwrap(),
            "flow/artifact hunter22"
        );
        assert_eq!(look(), [""; 0], "a second look finds nothing");
    }

    #[test]
    fn a_file_whose_secret_is_not_known_any_more_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        closed(folder.path(), "own", "the earlier value");
        let values = Values { at_hand: &[], are_all: false };
        let notes = mask_closed(folder.path(), &["own".to_owned()], values, |_, _| false);
        assert_eq!(notes, ["`$ENVOI_RUN_BASE/own` was removed: it holds a secret whose value has changed"]);
        assert!(!folder.path().join("own").exists());
    }

    #[test]
    fn no_link_is_followed_and_no_name_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("run");
        fs::create_dir(&base).unwrap();
        closed(folder.path(), "outside/theirs", "hunter22");
        symlink("../outside", base.join("link")).unwrap();
        let names = ["link/theirs", "../outside/theirs"].map(str::to_owned);
        mask_closed(&base, &names, ALL(&["hunter22".to_owned()]), |_, _| false);
        assert_eq!(fs::read_to_string(folder.path().join("outside/theirs")).unwrap(), "hunter22");
    }
}
