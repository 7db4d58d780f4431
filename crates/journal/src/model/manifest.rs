//! The list of an attempt's files when it is too large for an event: writing and reading.
//!
//! JSON with one file a line: `{"total": n, "bytes": n, "files": [{path, digest, size, change, before?}]}`,
//! in the order of the paths. It is stored as content under its digest, and also in the flow's folder, where
//! steps may read it. It is not a document of the contracts, so their size limit does not apply.

use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::{Blob, Change, FileChange},
    files::Manifest,
};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    change: Change,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Blob>,
}

#[derive(Deserialize)]
struct Document {
    files: Vec<Line>,
}

/// The bytes of the list, and the summary of it that an event holds. The same files give the same bytes.
///
/// # Errors
/// A path is not valid UTF-8.
pub fn write(files: &[FileChange]) -> Result<(Manifest, Vec<u8>), serde_json::Error> {
    let sizes = files.iter().filter_map(|file| file.blob.as_ref()).map(|blob| blob.size);
    let bytes = sizes.fold(0, u64::saturating_add);
    let total = u64::try_from(files.len()).unwrap_or(u64::MAX);
    // Writing to a string cannot fail.
    let mut text = String::new();
    let _ = write!(text, "{{\"total\": {total}, \"bytes\": {bytes}, \"files\": [");
    for (place, file) in files.iter().enumerate() {
        text.push_str(if place == 0 { "\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(&line(file))?);
    }
    text.push_str("\n]}\n");
    let list =
        Blob { digest: Digest::of(text.as_bytes()), size: u64::try_from(text.len()).unwrap_or(u64::MAX) };
    Ok((Manifest { list, total, bytes }, text.into_bytes()))
}

fn line(file: &FileChange) -> Line {
    Line {
        path: file.path.clone(),
        digest: file.blob.as_ref().map(|blob| blob.digest),
        size: file.blob.as_ref().map(|blob| blob.size),
        change: file.change,
        before: file.before.clone(),
    }
}

/// Returns the files of a list.
///
/// # Errors
/// The bytes are not a valid list.
pub fn read(bytes: &[u8]) -> Result<Vec<FileChange>, serde_json::Error> {
    let document: Document = serde_json::from_slice(bytes)?;
    let file = |Line { path, digest, size, change, before }: Line| FileChange {
        path,
        change,
        blob: digest.zip(size).map(|(digest, size)| Blob { digest, size }),
        before,
    };
    Ok(document.files.into_iter().map(file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let blob = |text: &str| Some(Blob { digest: Digest::of(text.as_bytes()), size: 7 });
        let file =
            |path: &str, change, blob, before| FileChange { path: path.to_owned(), change, blob, before };
        let files = [
            file("a \"quoted\" name", Change::Modified, blob("new"), blob("old")),
            file("gone", Change::Deleted, None, None),
            file("é", Change::Unchanged, blob("same"), None),
        ];
        let (manifest, text) = write(&files).unwrap();
        assert_eq!((manifest.total, manifest.bytes), (3, 14));
        assert_eq!(manifest.list, Blob { digest: Digest::of(&text), size: text.len() as u64 });
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 5, "one file a line");
        assert_eq!(read(&text).unwrap(), files);
        assert_eq!(read(&write(&[]).unwrap().1).unwrap(), []);
        assert!(read(b"{}").is_err());
    }
}
