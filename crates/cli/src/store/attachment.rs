//! Attachments of an answer: stored by their digest, and referenced as in contract 5.
//!
//! A file is completely in the store before the answer that names it is sent. The file of a refused answer
//! stays there and is harmless.

use crate::process::{self, failure::Failure};
use envoi_contract::{
    code::Code,
    digest::Digest,
    user_envelope::{AttachmentRef, OriginKind},
};
use envoi_journal::{BlobError, Reader, Store, Upload, files};
use envoi_kernel::ids::Principal;
use std::{
    fs::{self, File},
    path::Path,
};

/// Hexadecimal digits of a digest in the ids that are derived from it.
const ID_DIGITS: usize = 26;
const REVISION_DIGITS: usize = 16;

/// Stores the file and returns a reference. From now on the content belongs to this person's tenant.
pub(crate) fn attach(store: &Store, by: &Principal, path: &Path) -> Result<AttachmentRef, Failure> {
    let bad = |reason: String| unusable(path, &reason);
    // Links are followed: the file behind the name is attached.
    let whole = fs::canonicalize(path).map_err(|error| bad(error.to_string()))?;
    let found = fs::metadata(&whole).map_err(|error| bad(error.to_string()))?;
    if !found.is_file() {
        return Err(bad("it is not a file".to_owned()));
    }
    let digest = files::digest_of(&whole).ok_or_else(|| bad("it cannot be read".to_owned()))?;
    let put = || {
        store.blobs().put_file(&whole, digest, found.len()).map_err(|error| match &error {
            BlobError::Mismatch { .. } => bad(error.to_string()),
            BlobError::Io { path, source } if *path == whole => bad(source.to_string()),
            BlobError::Io { path, source } => {
                Failure::store(format!("{} cannot be written: {source}", path.display()))
                    .hint("nothing was answered")
            }
            _ => Failure::store(&error),
        })
    };
    put()?;
    let reference = reference(path, digest, found.len());
    let upload = Upload {
        digest,
        size_bytes: found.len(),
        mime: reference.mime.clone(),
        uploaded_at: envoi_engine::now(),
        uploaded_by: by.actor.clone(),
    };
    store.keep_upload(&by.tenant, &upload).map_err(Failure::store)?;
    // An `envoi gc` that started before the reference existed may have removed the file, so store it again.
    put()?;
    Ok(reference)
}

fn unusable(path: &Path, reason: &str) -> Failure {
    let message = format!("{}: {reason}", path.display());
    Failure::new(Code::AttachmentUnreadable, message)
        .hint("nothing was answered; give a plain file that can be read")
}

/// Opens the file for an upload, and returns its media type.
pub(crate) fn opened(path: &Path) -> Result<(File, String), Failure> {
    let bad = |error: std::io::Error| unusable(path, &error.to_string());
    Ok((process::files::open(path).map_err(bad)?, mime(path)))
}

/// The name of an attached file.
pub(crate) fn name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn mime(path: &Path) -> String {
    mime_guess::from_path(path).first_or_octet_stream().to_string()
}

fn reference(path: &Path, digest: Digest, size: u64) -> AttachmentRef {
    let hex = digest.hex();
    let head = |digits: usize| hex.chars().take(digits).collect::<String>();
    AttachmentRef {
        artifact_id: format!("art_{}", head(ID_DIGITS)),
        representation_revision_id: format!("rep_{}", head(REVISION_DIGITS)),
        digest: digest.to_string(),
        mime: mime(path),
        origin_kind: OriginKind::Upload,
        title: None,
        filename: name(path),
        size: Some(size),
    }
}

/// Returns the foreign references whose bytes the store lacks. Steps cannot read them.
pub(crate) fn unreadable<'a>(reader: &Reader, all: &'a [AttachmentRef]) -> Vec<&'a AttachmentRef> {
    let readable = |file: &&AttachmentRef| {
        let digest = Digest::parse(&file.digest);
        digest.is_some_and(|digest| reader.write_blob(&digest, &mut std::io::sink()).is_ok())
    };
    all.iter().filter(|file| !readable(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::Layout;

    #[test]
    fn a_store_that_takes_no_content_is_not_the_file_s_fault() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(place.path().join("store"))).unwrap();
        let file = place.path().join("minutes.pdf");
        fs::write(&file, "minutes").unwrap();
        let by = Principal { tenant: "local".to_owned(), actor: "ann".to_owned() };
        // A file where the folder of contents should be fails every write, as a full disk would.
        fs::remove_dir_all(store.layout().artifacts()).unwrap();
        fs::write(store.layout().artifacts(), "").unwrap();
        let failure = attach(&store, &by, &file).unwrap_err();
        assert_eq!((failure.code.known(), failure.exit_code), (Some(Code::StoreFailed), 8));
        assert!(failure.message.contains("cannot be written: "), "{}", failure.message);
        let missing = attach(&store, &by, &place.path().join("nothing")).unwrap_err();
        assert_eq!((missing.code.known(), missing.exit_code), (Some(Code::AttachmentUnreadable), 2));
    }

    #[test]
    fn a_reference_is_made_of_the_content_and_the_name() {
        let digest = Digest::of(b"abc");
        let file = reference(Path::new("in/minutes.pdf"), digest, 3);
        assert_eq!(file.artifact_id, "art_ba7816bf8f01cfea414140de5d");
        assert_eq!(file.representation_revision_id, "rep_ba7816bf8f01cfea");
        assert_eq!((file.mime.as_str(), file.filename.as_deref()), ("application/pdf", Some("minutes.pdf")));
        assert_eq!(AttachmentRef::decode(&file.to_value()), Ok(file));
        assert_eq!(reference(Path::new("x"), digest, 3).mime, "application/octet-stream");
    }
}
