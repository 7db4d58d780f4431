//! References to files (contract 5): made from content, and resolved against the store.
//!
//! A reference proves nothing. Its artifact, its revision and its digest must name the same content, the
//! tenant must have that content, and the bytes must match the digest. Only then is it accepted, with the
//! size and the type from the store. Every interface that accepts references resolves them here.

use super::app::App;
use envoi_contract::{
    digest::Digest,
    user_envelope::{AttachmentRef, OriginKind},
};
use envoi_journal::{BlobError, ReadError, Reader, Upload};
use std::io::{self, Write};

/// Hexadecimal digits of a digest in the ids made from it, the same as on the command line. A revision may
/// have more.
const ID_DIGITS: usize = 26;
const REVISION_DIGITS: usize = 16;

/// The type of content of unknown type.
pub(crate) const UNKNOWN: &str = "application/octet-stream";

/// The content of a reference. Whether its bytes match the digest is checked when they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundContent {
    pub(crate) digest: Digest,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The type from the upload, or, for an artifact of a run, the one that its name implies.
    pub(crate) mime: String,
    /// The name in the reference, otherwise that of the run's file. May be a client's text.
    pub(crate) name: Option<String>,
}

/// Why a reference cannot be resolved. Another tenant's content and missing content give the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// The rest of a sentence "it cannot be read: …". It contains no paths of the machine.
    pub(crate) reason: String,
    /// The cause for the log, if the reference is not the reason.
    pub(crate) cause: Option<String>,
}

impl Unreadable {
    pub(crate) fn because(reason: &str) -> Self {
        Self { reason: reason.to_owned(), cause: None }
    }

    fn failed(reason: &str, cause: impl core::fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..Self::because(reason) }
    }

    fn missing() -> Self {
        Self::because("there is no such content")
    }
}

impl From<BlobError> for Unreadable {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Missing { .. } => Self::failed("its bytes are lost", &error),
            BlobError::Damaged { .. } => Self::failed("its bytes are not those of its digest", &error),
            _ => Self::failed("its bytes cannot be read", &error),
        }
    }
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        Self::failed("the store cannot be read", error)
    }
}

/// A reference to content that a tenant has uploaded.
pub(crate) fn reference(upload: &Upload) -> AttachmentRef {
    let hex = upload.digest.hex();
    let head = |digits: usize| hex.chars().take(digits).collect::<String>();
    AttachmentRef {
        artifact_id: format!("art_{}", head(ID_DIGITS)),
        representation_revision_id: format!("rep_{}", head(REVISION_DIGITS)),
        digest: upload.digest.to_string(),
        mime: upload.mime.clone(),
        origin_kind: OriginKind::Upload,
        title: None,
        filename: None,
        size: Some(upload.size_bytes),
    }
}

/// The content of a reference within a tenant, compared with its digest. Reads all of it: call this on a
/// blocking thread.
///
/// # Errors
/// [`Unreadable`]: the reference cannot be resolved. A cause that is not the client's is also logged.
pub(crate) fn resolve(
    app: &App,
    tenant: &str,
    reference: &AttachmentRef,
) -> Result<FoundContent, Unreadable> {
    let resolved = app.read(|reader| look(reader, tenant, reference));
    resolved.inspect_err(|unreadable| note(app, reference, unreadable))
}

/// Logs a cause that is not the client's.
pub(crate) fn note(app: &App, reference: &AttachmentRef, unreadable: &Unreadable) {
    if let Some(cause) = &unreadable.cause {
        (app.settings.log)(&format!("attachment `{}`: {cause}", reference.digest));
    }
}

fn look(reader: &Reader, tenant: &str, reference: &AttachmentRef) -> Result<FoundContent, Unreadable> {
    let found = find(reader, tenant, reference)?;
    write(reader, &found, &mut io::sink())?;
    Ok(found)
}

/// Writes the content to `target`, which must be used only after `Ok`.
///
/// # Errors
/// [`Unreadable`]: the bytes do not match the digest.
pub(crate) fn write(reader: &Reader, found: &FoundContent, target: &mut dyn Write) -> Result<(), Unreadable> {
    Ok(reader.write_blob(&found.digest, target)?)
}

/// The content of a reference within a tenant. Does not read its bytes.
///
/// # Errors
/// [`Unreadable`]: there is no such content.
pub(crate) fn find(
    reader: &Reader,
    tenant: &str,
    reference: &AttachmentRef,
) -> Result<FoundContent, Unreadable> {
    let digest = named(reference)?;
    if !reader.is_content_of(tenant, &digest)? {
        return Err(Unreadable::missing());
    }
    let size = reader.blob_size_bytes(&digest)?;
    let path = reader.path_of_content(tenant, &digest)?;
    let mime = match reader.upload(tenant, &digest)? {
        Some(upload) => upload.mime,
        None => path.as_deref().map_or_else(|| UNKNOWN.to_owned(), type_of),
    };
    let given = reference.filename.clone().filter(|name| !name.is_empty());
    let own = path.and_then(|path| Some(path.rsplit('/').next()?.to_owned()));
    Ok(FoundContent { digest, size, mime, name: given.or(own) })
}

/// The content that all three ids of a reference name. Content never changes, so an artifact has one
/// revision, and both ids are made from its digest.
fn named(reference: &AttachmentRef) -> Result<Digest, Unreadable> {
    let digest = Digest::parse(&reference.digest)
        .ok_or_else(|| Unreadable::because("its digest is not `sha256:` and 64 hexadecimal digits"))?;
    let hex = digest.hex();
    let fits = |id: &str, mark: &str, least: usize| {
        id.strip_prefix(mark).is_some_and(|head| head.len() >= least && hex.starts_with(head))
    };
    if !fits(&reference.representation_revision_id, "rep_", REVISION_DIGITS) {
        return Err(Unreadable::because("its revision is not that of its digest"));
    }
    if !fits(&reference.artifact_id, "art_", ID_DIGITS) {
        return Err(Unreadable::because("its artifact is not that of its digest"));
    }
    Ok(digest)
}

/// The media type that the name of an artifact implies.
pub(crate) fn type_of(path: &str) -> String {
    mime_guess::from_path(path).first_or_octet_stream().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_journal::{Layout, Store};
    use std::fs;

    const BYTES: &[u8] = b"minutes of the north";

    /// A store in which the tenant `north` has uploaded [`BYTES`].
    fn north() -> (tempfile::TempDir, Store, AttachmentRef) {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(place.path().join(".envoi"))).unwrap();
        let upload = Upload {
            digest: store.blobs().put(BYTES).unwrap(),
            size_bytes: 20,
            mime: "text/plain".to_owned(),
            uploaded_at: envoi_engine::now(),
            uploaded_by: "ann".to_owned(),
        };
        assert!(store.keep_upload("north", &upload).unwrap());
        (place, store, reference(&upload))
    }

    fn reason(store: &Store, tenant: &str, reference: &AttachmentRef) -> String {
        look(&store.reader().unwrap(), tenant, reference).unwrap_err().reason
    }

    #[test]
    fn size_and_type_are_what_the_store_has_and_the_name_is_the_caller_s() {
        let (_place, store, own) = north();
        let digest = Digest::of(BYTES);
        let longer = format!("rep_{}", digest.hex());
        for revision in [own.representation_revision_id.clone(), longer] {
            let reference = AttachmentRef {
                representation_revision_id: revision,
                mime: "application/pdf".to_owned(),
                size: Some(7),
                filename: Some("minutes.txt".to_owned()),
                origin_kind: OriginKind::AgentGenerated,
                ..own.clone()
            };
            let resolved = look(&store.reader().unwrap(), "north", &reference).unwrap();
            let name = Some("minutes.txt".to_owned());
            assert_eq!(resolved, FoundContent { digest, size: 20, mime: "text/plain".to_owned(), name });
        }
        assert_eq!(look(&store.reader().unwrap(), "north", &own).unwrap().name, None);
    }

    #[test]
    fn the_three_ids_name_one_content() {
        let (_place, store, own) = north();
        let other = Digest::of(b"others").hex();
        let with = |change: &dyn Fn(&mut AttachmentRef)| {
            let mut reference = own.clone();
            change(&mut reference);
            reason(&store, "north", &reference)
        };
        for digest in ["md5:0", "", &own.digest[7..], &own.digest.to_uppercase()] {
            let refusal = with(&|reference| digest.clone_into(&mut reference.digest));
            assert!(refusal.starts_with("its digest is not"), "{digest}: {refusal}");
        }
        let short = &own.representation_revision_id[..19];
        for revision in ["rep_", "rep_1", short, &format!("rep_{}", &other[..16]), &own.digest[7..23]] {
            let refusal = with(&|reference| revision.clone_into(&mut reference.representation_revision_id));
            assert_eq!(refusal, "its revision is not that of its digest", "{revision}");
        }
        for artifact in ["art_", "art_1", &format!("art_{}", &other[..26]), &own.digest[7..33]] {
            let refusal = with(&|reference| artifact.clone_into(&mut reference.artifact_id));
            assert_eq!(refusal, "its artifact is not that of its digest", "{artifact}");
        }
    }

    #[test]
    fn another_tenant_s_content_is_as_if_there_were_none() {
        let (_place, store, own) = north();
        let digest = Digest::of(b"never brought");
        let upload = Upload {
            digest,
            size_bytes: 1,
            mime: String::new(),
            uploaded_at: envoi_engine::now(),
            uploaded_by: String::new(),
        };
        let nobodys = reason(&store, "south", &reference(&upload));
        assert_eq!(reason(&store, "south", &own), nobodys);
        assert_eq!(nobodys, "there is no such content");
    }

    #[test]
    fn bytes_that_are_not_those_of_the_digest_are_no_content() {
        let (_place, store, own) = north();
        let blob = store.layout().blob(&Digest::of(BYTES));
        fs::remove_file(&blob).unwrap();
        assert_eq!(reason(&store, "north", &own), "its bytes are lost");
        fs::write(&blob, b"minutes of the south").unwrap();
        let unreadable = look(&store.reader().unwrap(), "north", &own).unwrap_err();
        assert_eq!(unreadable.reason, "its bytes are not those of its digest");
        assert!(unreadable.cause.is_some(), "the cause is logged");
    }
}
