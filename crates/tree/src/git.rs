//! How git is started: by its command line, as the folder has it, never with a hook of the repository's own, and never for ever.

mod bounded;
mod readable;

pub(crate) use readable::MOST_BYTES_OF_RULES;
pub use {
    bounded::{Finished, LONGEST_WORK, Limits, NotFinished, end_all, finish},
    readable::check_readable,
};

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Variables that would lead git elsewhere: those of `git rev-parse --local-env-vars`, and configuration.
const GIT_VARIABLES: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_WORK_TREE",
];

/// Git for a folder, without arguments yet.
///
/// No variable of this process leads it to another repository. No hook and no monitor of the repository runs, because a step may have put it
/// there. It takes no lock that it can do without, prints English, and has no input. It is to be run by [`finish`].
#[must_use]
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    for name in GIT_VARIABLES {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C").current_dir(folder).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn no_program_of_the_repository_runs() {
        let place = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let done = command(place.path())
                .args(["-c", "user.name=t", "-c", "user.email=t@t"])
                .args(arguments)
                .output()
                .unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "--quiet"]);
        let hook = place.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
        assert!(!place.path().join("ran").exists());
    }
}
