//! `envoi artifacts`: the files that the steps of a run have handed over, in each of their versions. Contents are verified while
//! they are read.

use crate::{
    process::{args::ArtifactsCommand, failure::Failure, files, output, stderr, terminal},
    store::{home::Home, select},
    text::{diff, location::Location},
};
use envoi_api::file::ArtifactVersion;
use envoi_contract::{code::Code, digest::Digest};
use envoi_journal::Reader;
use envoi_kernel::{
    event::{Blob, Event, FileChange},
    ids::{RunId, VisitId},
};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

pub(crate) fn artifacts(home: &Home, command: &ArtifactsCommand) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    match command {
        ArtifactsCommand::List { run, all, limit } => {
            let versions = versions(&reader, &select::run_or_newest(&reader, run.as_deref())?)?;
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

/// A version of an artifact.
#[derive(Clone)]
struct Version {
    path: String,
    visit: VisitId,
    /// `None`: it was deleted.
    blob: Option<Blob>,
    /// What it was before, as far as that was kept.
    before: Option<Blob>,
}

/// Every version, in the order in which they were handed over. What a step handed over as it was is no version of its own.
fn versions(reader: &Reader, run: &RunId) -> Result<Vec<Version>, Failure> {
    let mut all: Vec<Version> = Vec::new();
    let mut last: HashMap<String, Option<Digest>> = HashMap::new();
    for record in reader.records(run, 0, None).map_err(Failure::store)? {
        let Event::AttemptSettled(settled) = &record.event else { continue };
        if settled.late {
            continue;
        }
        for FileChange { path, blob, before, .. } in reader.files_of(settled).map_err(Failure::store)?.iter()
        {
            let digest = blob.as_ref().map(|blob| blob.digest);
            if last.insert(path.clone(), digest) != Some(digest) {
                let path = path.clone();
                let blob = blob.clone();
                let before = before.clone();
                all.push(Version { path, visit: settled.attempt.visit.clone(), blob, before });
            }
        }
    }
    Ok(all)
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
    let mut wanted = versions;
    if !all {
        let mut seen = HashSet::new();
        wanted = wanted.into_iter().rev().filter(|version| seen.insert(version.path.clone())).collect();
        wanted.reverse();
    }
    wanted.sort_by(|one, other| one.path.cmp(&other.path));
    let limit = limit.unwrap_or(if json { usize::MAX } else { SHOWN });
    let left = wanted.len().saturating_sub(limit);
    let rows: Vec<ArtifactVersion> = wanted
        .into_iter()
        .take(limit)
        .map(|version| ArtifactVersion {
            path: version.path,
            visit: version.visit.to_string(),
            digest: version.blob.as_ref().map(|blob| blob.digest.to_string()),
            size: version.blob.as_ref().map(|blob| blob.size),
        })
        .collect();
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
    let all = versions(reader, run)?;
    let (path, at) = split(&all, name);
    let version = version(&all, path, at)?;
    let Some(blob) = &version.blob else {
        let message = format!("artifact `{path}` was deleted by {}", version.visit);
        return Err(Failure::new(Code::ArtifactNotFound, message)
            .hint("an earlier version: `PATH@STEP.N`; `envoi artifacts list --all` lists them"));
    };
    let bytes = read(reader, &blob.digest)?;
    Ok((version, bytes))
}

/// A path may have an `@` of its own.
fn split<'n>(all: &[Version], name: &'n str) -> (&'n str, Option<&'n str>) {
    let is_path = |path: &str| all.iter().any(|version| version.path == path);
    match name.rsplit_once('@') {
        Some((path, at)) if !is_path(name) => (path, Some(at)),
        _ => (name, None),
    }
}

fn version(all: &[Version], path: &str, at: Option<&str>) -> Result<Version, Failure> {
    let of_path = || all.iter().filter(|version| version.path == path);
    let found = match at {
        None => of_path().next_back(),
        Some(at) => {
            let place = Location::new(at);
            of_path().rfind(|version| place.has_visit(&version.visit))
        }
    };
    found.cloned().ok_or_else(|| {
        let visits: Vec<String> = of_path().map(|version| version.visit.to_string()).collect();
        let message = match (at, visits.is_empty()) {
            (Some(at), false) => {
                format!("artifact `{path}` has no version of `{at}`; it has {}", visits.join(", "))
            }
            _ => format!("the run has no artifact `{path}`"),
        };
        Failure::new(Code::ArtifactNotFound, message)
            .hint("`envoi artifacts list RUN --all` lists all versions")
    })
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
    let all = versions(reader, run)?;
    let (before, after) = match range.map(|range| range.split_once("..").unwrap_or(("", range))) {
        None | Some(("", "")) => (first(&all, path)?, version(&all, path, None)?.blob),
        Some((from, to)) => {
            let named = |at: &str| version(&all, path, (!at.is_empty()).then_some(at));
            let before = if from.is_empty() { first(&all, path)? } else { named(from)?.blob };
            (before, named(to)?.blob)
        }
    };
    let bytes = |blob: Option<Blob>| blob.map(|blob| read(reader, &blob.digest)).transpose();
    let before = bytes(before)?;
    let after = bytes(after)?;
    let text = diff::unified(&diff::printable(path), before.as_deref(), after.as_deref(), usize::MAX);
    output::data(&diff::lines(&text)).map(|()| 0)
}

/// What stood there before the run, as far as it was kept.
fn first(all: &[Version], path: &str) -> Result<Option<Blob>, Failure> {
    // A path that no version has is an error.
    version(all, path, None)?;
    Ok(all.iter().find(|version| version.path == path).and_then(|version| version.before.clone()))
}
