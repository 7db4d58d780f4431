//! The files that are sent to a model.
//!
//! These files leave this machine. They are therefore taken only from the workspace and the folder of the run, after
//! links are resolved. Text is sent as text, with its name above it; images as images. Any other file is an error,
//! and is not silently left out.

use crate::Order;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use envoi_contract::{code::Code, skill_report::SkillError};
use envoi_preset::protocol::Part;
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Largest size of a text file.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Largest size of an image.
const MAX_IMAGE_BYTES: u64 = 8 * 1024 * 1024;

/// Largest size of all files together.
const MAX_ALL_BYTES: u64 = 16 * 1024 * 1024;

/// The image types that every provider accepts, by file extension.
const IMAGES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Reads the files of the order. The limits above apply.
pub(crate) fn parts(order: &Order) -> Result<Vec<Part>, SkillError> {
    let mut left = MAX_ALL_BYTES;
    order.files.iter().map(|path| part(order, path, &mut left)).collect()
}

fn part(order: &Order, path: &Path, left: &mut u64) -> Result<Part, SkillError> {
    let unreadable = |error: &dyn core::fmt::Display| {
        SkillError::new(
            Code::FileUnreadable,
            format!("`{}` cannot be given to a model: {error}", path.display()),
        )
    };
    let place = fs::canonicalize(path).map_err(|error| unreadable(&error))?;
    if !is_allowed(order, &place) {
        return Err(unreadable(&"it is neither in the workspace nor in the folder of the run"));
    }
    let end = place.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    let image = IMAGES.iter().find(|(ending, _)| *ending == end).map(|(_, media_type)| *media_type);
    let max = image.map_or(MAX_TEXT_BYTES, |_| MAX_IMAGE_BYTES);
    let bytes = read(&place, max.saturating_add(1)).map_err(|error| unreadable(&error))?;
    let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if len > max || len > *left {
        let message = format!(
            "`{}` cannot be given to a model: a text may have 1 MiB, an image 8 MiB, and all files together 16 MiB",
            path.display()
        );
        return Err(SkillError::new(Code::ValueTooLarge, message));
    }
    *left = left.saturating_sub(len);
    if let Some(media_type) = image {
        return Ok(Part::Image { media_type, base64: BASE64_STANDARD.encode(&bytes) });
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        unreadable(&"it is no UTF-8 text, and its name is not that of an image (png, jpg, gif, webp)")
    })?;
    Ok(Part::Text(format!("File `{}`:\n\n{text}", shown(order, &place).display())))
}

/// The path relative to the folder that contains it.
fn shown(order: &Order, place: &Path) -> PathBuf {
    let roots = order.roots.iter().filter_map(|root| fs::canonicalize(root).ok());
    let within = roots.filter_map(|root| place.strip_prefix(&root).ok().map(Path::to_owned));
    within.min_by_key(|path| path.as_os_str().len()).unwrap_or_else(|| place.to_owned())
}

fn is_allowed(order: &Order, place: &Path) -> bool {
    let never = order.never.as_ref().and_then(|never| fs::canonicalize(never).ok());
    let roots = order.roots.iter().filter_map(|root| fs::canonicalize(root).ok());
    roots.into_iter().any(|root| {
        let is_within = |never: &PathBuf| place.starts_with(never) && !root.starts_with(never);
        place.starts_with(&root) && !never.as_ref().is_some_and(is_within)
    })
}

/// Reads at most the first `max` bytes of a regular file.
fn read(place: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file =
        envoi_durable::open_regular(place).map_err(|error| match envoi_durable::is_not_regular(&error) {
            true => io::Error::other("it is no file"),
            false => error,
        })?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_given_only_from_the_workspace_and_the_folder_of_the_run() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in ["work/.envoi/runs/r", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (name, text) in [
            ("work/notes.md", "words"),
            ("work/.envoi/lab.key", "sk-7"),
            ("work/.envoi/runs/r/report.md", "report"),
            ("outside/secret", "sk-8"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        fs::write(at("work/raw.bin"), [0xff, 0xfe]).unwrap();
        fs::write(at("work/dot.PNG"), [0x89]).unwrap();
        fs::write(at("work/long.txt"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
        std::os::unix::fs::symlink(at("outside/secret"), at("work/link")).unwrap();
        let order = |name: &str| Order {
            files: vec![at(name)],
            roots: vec![at("work"), at("work/.envoi/runs/r")],
            never: Some(at("work/.envoi")),
            ..crate::asking::tests::order(place.path())
        };
        let of = |name: &str| parts(&order(name)).map(|mut parts| parts.remove(0));
        let text = |text: &str| Ok(Part::Text(text.to_owned()));
        assert_eq!(of("work/notes.md"), text("File `notes.md`:\n\nwords"));
        assert_eq!(of("work/.envoi/runs/r/report.md"), text("File `report.md`:\n\nreport"));
        assert_eq!(
            of("work/dot.PNG"),
            Ok(Part::Image { media_type: "image/png", base64: "iQ==".to_owned() })
        );
        for (name, code, words) in [
            ("work/.envoi/lab.key", "FILE_UNREADABLE", "neither in the workspace"),
            ("work/link", "FILE_UNREADABLE", "neither in the workspace"),
            ("outside/secret", "FILE_UNREADABLE", "neither in the workspace"),
            ("work/none", "FILE_UNREADABLE", "cannot be given"),
            ("work", "FILE_UNREADABLE", "it is no file"),
            ("work/raw.bin", "FILE_UNREADABLE", "no UTF-8"),
            ("work/long.txt", "VALUE_TOO_LARGE", "1 MiB"),
        ] {
            let error = of(name).unwrap_err();
            assert!(error.code == code && error.message.contains(words), "{name}: {error:?}");
        }
    }
}
