//! Every content against its digest: what events name, what the database holds, what lies in files.

use super::RepairReport;
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

pub(super) fn check(store: &Store, report: &mut RepairReport) -> Result<(), ReadError> {
    let reader = store.reader()?;
    let mut digests = named(&reader)?;
    digests.extend(reader.inline_digests()?);
    files(&store.layout().artifacts(), &mut digests, report);
    for digest in digests {
        report.contents = report.contents.saturating_add(1);
        match reader.write_blob(&digest, &mut io::sink()) {
            Ok(()) => {}
            Err(error @ BlobError::Store { .. }) => return Err(error.into()),
            Err(error) => report.damaged_content.push(error.to_string()),
        }
    }
    Ok(())
}

/// What the events of all runs refer to. Events that cannot be read have been reported already.
fn named(reader: &Reader) -> Result<BTreeSet<Digest>, ReadError> {
    let mut digests = BTreeSet::new();
    for row in reader.runs(RunFilter::default())? {
        let visited = reader.each_event(&row.run, |_, record| {
            digests.extend(record.iter().flat_map(|record| of_record(reader, record)));
        });
        match visited {
            // One without an entry in the journal has been reported.
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
fn files(folder: &Path, digests: &mut BTreeSet<Digest>, report: &mut RepairReport) {
    for head in entries(folder) {
        for tail in entries(&folder.join(&head)) {
            match Digest::parse(&format!("sha256:{head}{tail}")) {
                Some(digest) => {
                    digests.insert(digest);
                }
                None => report.damaged_content.push(format!("`{head}/{tail}` is no digest")),
            }
        }
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
