//! `envoi artifacts`: the files that the steps of a run have handed over, in each of their versions. Contents are verified while
//! they are read.

use crate::{
    process::{args::ArtifactsCommand, failure::Failure, files, output, stderr, terminal},
    store::{home::Home, select},
    text::diff,
};
use envoi_api::file::ArtifactVersion;
use envoi_changes::versions::{self, Version};
use envoi_contract::digest::Digest;
use envoi_journal::Reader;
use envoi_kernel::{event::Blob, ids::RunId};
use std::path::{Path, PathBuf};

pub(crate) fn artifacts(home: &Home, command: &ArtifactsCommand) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    match command {
        ArtifactsCommand::List { run, all, limit } => {
            let versions = versions::versions(&reader, &select::run_or_newest(&reader, run.as_deref())?)?;
            list(versions, *all, *limit, home.json)
        }
        ArtifactsCommand::Get { run, path, output } => {
            let (version, bytes) = content(&reader, &select::run(&reader, run)?, path)?;
            save(&version.path, &bytes, output.as_deref())
        }
        ArtifactsCommand::Cat { run, path } => {
            let (_, bytes) = content(&reader, &select::run(&reader, run)?, path)?;
            output::bytes(&bytes).map(|()| 0)
        }
        ArtifactsCommand::Diff { run, path, range } => {
            compare(&reader, &select::run(&reader, run)?, path, range.as_deref())
        }
    }
}

/// How many rows people are shown.
const SHOWN: usize = 200;

/// A table as the terminal has room for it: first its digests go, which programs read with `--json`, then paths and visits are cut.
fn narrowed(mut rows: Vec<Vec<String>>) -> String {
    let whole = output::table(&rows);
    let fits = |most: usize| whole.lines().all(|line| line.chars().count() <= most);
    if terminal::columns_of_stdout().is_none_or(fits) {
        return whole;
    }
    for row in &mut rows {
        row.pop();
    }
    output::list(&rows, &[], &[0, 1])
}

fn list(versions: Vec<Version>, all: bool, limit: Option<usize>, json: bool) -> Result<u8, Failure> {
    let wanted = versions::listed(versions, all);
    let limit = limit.unwrap_or(if json { usize::MAX } else { SHOWN });
    let left = wanted.len().saturating_sub(limit);
    let rows: Vec<ArtifactVersion> = wanted.iter().take(limit).map(Version::row).collect();
    if json {
        return output::row(&rows).map(|()| 0);
    }
    let cells = |row: &ArtifactVersion| {
        let size = row.size.map_or_else(|| "deleted".to_owned(), |size| format!("{size} bytes"));
        vec![diff::printable(&row.path), row.visit.clone(), size, row.digest.clone().unwrap_or_default()]
    };
    output::data(&narrowed(rows.iter().map(cells).collect()))?;
    if left > 0 {
        stderr::line(format_args!("{left} later paths are left out; --limit N shows more"));
    }
    Ok(0)
}

/// The version of `PATH` or `PATH@STEP.N`, and its content.
fn content(reader: &Reader, run: &RunId, name: &str) -> Result<(Version, Vec<u8>), Failure> {
    let all = versions::versions(reader, run)?;
    let (path, at) = versions::split(&all, name);
    let version = versions::version(&all, path, at)?;
    let bytes = read(reader, &versions::blob(&version)?.digest)?;
    Ok((version, bytes))
}

fn read(reader: &Reader, digest: &Digest) -> Result<Vec<u8>, Failure> {
    reader.blob(digest).map_err(Failure::store)
}

/// Writes a new file; what is there is not touched.
fn save(path: &str, bytes: &[u8], output: Option<&Path>) -> Result<u8, Failure> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let target = match output {
        Some(folder) if folder.is_dir() => folder.join(name),
        Some(file) => file.to_owned(),
        None => PathBuf::from(name),
    };
    files::write_new(&target, bytes, "`-o FILE` names another place")?;
    output::data(&format!("{}\n", diff::printable(&target.display().to_string()))).map(|()| 0)
}

/// What differs between two versions; without a range, between what was there before the run and the newest.
fn compare(reader: &Reader, run: &RunId, path: &str, range: Option<&str>) -> Result<u8, Failure> {
    let (before, after) = versions::pair(&versions::versions(reader, run)?, path, range)?;
    let bytes = |blob: Option<Blob>| blob.map(|blob| read(reader, &blob.digest)).transpose();
    print_difference(path, bytes(before)?.as_deref(), bytes(after)?.as_deref())
}

fn print_difference(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<u8, Failure> {
    let text = diff::unified(&diff::printable(path), before, after, usize::MAX);
    output::data(&diff::lines(&text)).map(|()| 0)
}
