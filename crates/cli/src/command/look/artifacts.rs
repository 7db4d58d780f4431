//! `envoi artifacts`: shows all versions of the files that the steps of a run have handed over. Contents are
//! verified when they are read.

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

/// The source that artifacts are read from.
pub(crate) trait Source {
    /// Returns the named run, or the newest run, with every version of its artifacts.
    fn versions(&self, run: Option<&str>) -> Result<(RunId, Vec<Version>), Failure>;

    /// Reads the content of the run that has this digest.
    fn read(&self, run: &RunId, digest: &Digest) -> Result<Vec<u8>, Failure>;
}

/// Reads from the local store.
impl Source for Reader {
    fn versions(&self, run: Option<&str>) -> Result<(RunId, Vec<Version>), Failure> {
        let run = select::run_or_newest(self, run)?;
        let all = versions::versions(self, &run)?;
        Ok((run, all))
    }

    fn read(&self, _: &RunId, digest: &Digest) -> Result<Vec<u8>, Failure> {
        self.blob(digest).map_err(Failure::store)
    }
}

pub(crate) fn artifacts(home: &Home, command: &ArtifactsCommand) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    show(&reader, command, home.json)
}

pub(crate) fn show(source: &impl Source, command: &ArtifactsCommand, json: bool) -> Result<u8, Failure> {
    match command {
        ArtifactsCommand::List { run, all, limit } => {
            let (_, versions) = source.versions(run.as_deref())?;
            list(versions, *all, *limit, json)
        }
        ArtifactsCommand::Get { run, path, output } => {
            let (version, bytes) = content(source, run, path)?;
            save(&version.path, &bytes, output.as_deref())
        }
        ArtifactsCommand::Cat { run, path } => {
            let (_, bytes) = content(source, run, path)?;
            output::bytes(&bytes).map(|()| 0)
        }
        ArtifactsCommand::Diff { run, path, range } => {
            let (run, all) = source.versions(Some(run))?;
            let (before, after) = versions::pair(&all, path, range.as_deref())?;
            let bytes = |blob: Option<Blob>| blob.map(|blob| source.read(&run, &blob.digest)).transpose();
            let (before, after) = (bytes(before)?, bytes(after)?);
            let text = diff::unified(&diff::printable(path), before.as_deref(), after.as_deref(), usize::MAX);
            output::data(&diff::lines(&text)).map(|()| 0)
        }
    }
}

/// The most rows that are shown to people.
const SHOWN: usize = 200;

/// Formats a table that fits the terminal. It first leaves out the digests (programs read them with
/// `--json`), then cuts paths and visits.
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
        let size = row.size_bytes.map_or_else(|| "deleted".to_owned(), |size| format!("{size} bytes"));
        vec![diff::printable(&row.path), row.visit.clone(), size, row.digest.clone().unwrap_or_default()]
    };
    output::data(&narrowed(rows.iter().map(cells).collect()))?;
    if left > 0 {
        stderr::line(format_args!("{left} later paths are left out; --limit N shows more"));
    }
    Ok(0)
}

/// Returns the version that `PATH` or `PATH@STEP.N` names, and its content.
fn content(source: &impl Source, run: &str, name: &str) -> Result<(Version, Vec<u8>), Failure> {
    let (run, all) = source.versions(Some(run))?;
    let (path, at) = versions::split(&all, name);
    let version = versions::version(&all, path, at)?;
    let bytes = source.read(&run, &versions::blob(&version)?.digest)?;
    Ok((version, bytes))
}

/// Writes a new file. An existing file is not changed.
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
