//! Every content against its digest: contents that events name, those in the database, those in files.

use crate::{
    log::{reader::Reader, store::Store},
    model::{
        error::{BlobError, ReadError},
        rows::RunFilter,
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::event::{Event, Record};
use std::{collections::BTreeSet, fs, io, path::Path};

/// A content of which not everything is as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedContent {
    /// The fault, in a line that names the content.
    pub line: String,
    /// The system does not let this user read it: the content itself may be whole.
    pub is_denied: bool,
}

impl From<BlobError> for DamagedContent {
    fn from(error: BlobError) -> Self {
        let is_denied = matches!(&error, BlobError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied);
        Self { line: error.to_string(), is_denied }
    }
}

/// How many contents there are, and those that are damaged.
pub(super) fn check(store: &Store) -> Result<(usize, Vec<DamagedContent>), ReadError> {
    let reader = store.reader()?;
    let mut digests = named(&reader)?;
    digests.extend(reader.inline_digests()?);
    let mut damaged = Vec::new();
    files(&store.layout().artifacts(), &mut digests, &mut damaged);
    for digest in &digests {
        match reader.write_blob(digest, &mut io::sink()) {
            Ok(()) => {}
            Err(error @ BlobError::Store { .. }) => return Err(error.into()),
            Err(error) => damaged.push(error.into()),
        }
    }
    Ok((digests.len(), damaged))
}

/// The contents that the events of all runs name. Events that cannot be read have been reported already.
fn named(reader: &Reader) -> Result<BTreeSet<Digest>, ReadError> {
    let mut digests = BTreeSet::new();
    for row in reader.runs(RunFilter::default())? {
        let visited = reader.each_event(&row.run, |_, record| {
            digests.extend(record.iter().flat_map(|record| of_record(reader, record)));
        });
        match visited {
            // A run without an entry in the journal has been reported.
            Ok(()) | Err(ReadError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(digests)
}

pub(super) fn of_record(reader: &Reader, record: &Record) -> Vec<Digest> {
    let Event::AttemptSettled(settled) = &record.event else { return Vec::new() };
    // A manifest that cannot be read is itself reported.
    let files = reader.files_of(settled).unwrap_or_default();
    let files = files.iter().flat_map(|file| file.blob.iter().chain(&file.before));
    let list = settled.manifest.iter().map(|manifest| &manifest.list);
    let data = &settled.data_kept;
    files
        .chain(&settled.text)
        .chain(&settled.report)
        .chain(data)
        .chain(list)
        .map(|blob| blob.digest)
        .collect()
}

/// Adds what lies in files; a file whose name is no digest is reported.
fn files(folder: &Path, digests: &mut BTreeSet<Digest>, damaged: &mut Vec<DamagedContent>) {
    for head in entries(folder) {
        for tail in entries(&folder.join(&head)) {
            match Digest::parse(&format!("sha256:{head}{tail}")) {
                Some(digest) => {
                    digests.insert(digest);
                }
                None => {
                    let line = format!("`{head}/{tail}` is no digest");
                    damaged.push(DamagedContent { line, is_denied: false });
                }
            }
        }
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
