//! The id of a running instance of a machine, for a worker of a cluster.
//!
//! The boot id is not enough there: containers of one host share it, and so do a disk and a copy of it that
//! is mounted beside it. An instance is a boot, a process namespace and a folder. Two workers that run at the
//! same time differ in at least one of these. After a restart of a container the instance is another one,
//! because its processes are gone. The id does not change if a machine is copied while it runs.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

/// The id of this instance for the worker whose files are in `folder`. It stays the same as long as processes
/// that the worker has started may exist.
///
/// # Errors
/// The boot id, the process namespace or the folder cannot be read. Only Linux has the first two.
pub fn instance_id(folder: &Path) -> io::Result<String> {
    let boot = crate::boot_id()?;
    let processes = fs::metadata("/proc/self/ns/pid")?.ino();
    let folder = fs::metadata(folder)?;
    Ok(format!("{boot}.{processes:x}.{:x}.{:x}", folder.dev(), folder.ino()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_folder_is_another_instance_and_a_renamed_one_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let [home, copy, renamed] = ["home", "copy", "renamed"].map(|name| scratch.path().join(name));
        fs::create_dir(&home).unwrap();
        let id = instance_id(&home).unwrap();
        fs::create_dir(&copy).unwrap();
        assert_ne!(instance_id(&copy).unwrap(), id);
        fs::rename(&home, &renamed).unwrap();
        assert_eq!(instance_id(&renamed).unwrap(), id);
        assert!(instance_id(&home).is_err(), "there is no folder any more");
    }

    #[test]
    fn it_has_the_boot_and_the_space_of_processes() {
        let scratch = tempfile::tempdir().unwrap();
        let id = instance_id(scratch.path()).unwrap();
        let parts: Vec<&str> = id.split('.').collect();
        let space = fs::read_link("/proc/self/ns/pid").unwrap();
        let number = u64::from_str_radix(parts[1], 16).unwrap();
        assert_eq!(
            (parts[0], format!("pid:[{number}]")),
            (crate::boot_id().unwrap().as_str(), space.display().to_string())
        );
    }
}
