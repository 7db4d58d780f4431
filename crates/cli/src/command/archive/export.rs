//! `envoi export`: writes a run into one file.

use crate::{
    process::{args::ExportArgs, failure::Failure, messages, output, ssh_keygen},
    session::caller::caller_of,
    store::{home::Home, select},
    text::diff::printable,
};
use envoi_api::bundle::Exported;
use envoi_bundle::{ExportError, LeftOut, Manifest, Outgoing, Sign, Wanted};
use envoi_contract::code::Code;
use envoi_durable::Temporary;
use envoi_engine::Names;
use envoi_journal::{Layout, Reader};
use envoi_kernel::ids::RunId;
use std::{
    cell::Cell,
    fs::File,
    io::{self, BufWriter, Seek as _, Write as _},
    path::{Path, PathBuf},
};

/// The most files, folders and secrets that a message names. It counts the others.
const MOST_NAMED: usize = 20;

/// The extension of a bundle.
pub(crate) const ENDING: &str = ".envoi.tar.zst";

pub(crate) fn export(home: &Home, args: &ExportArgs) -> Result<u8, Failure> {
    let file = args.output.as_deref();
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, args.run.as_deref())?;
    if file == Some(Path::new("-")) {
        let target = BufWriter::new(io::stdout().lock());
        let (manifest, mut target) = written(store.layout(), &reader, &id, args, target)?;
        target.flush().map_err(|error| Failure::machine("standard output", error))?;
        say_left_out(&manifest);
        warn_of_outgoing(store.layout(), &reader, &id, args);
        return Ok(0);
    }
    let made = named(file, &id, |target| {
        let (manifest, target) = written(store.layout(), &reader, &id, args, BufWriter::new(target))?;
        let target =
            target.into_inner().map_err(|error| Failure::machine("the bundle", error.into_error()))?;
        Ok((manifest, target))
    })?;
    let code = report(made, home.json)?;
    warn_of_outgoing(store.layout(), &reader, &id, args);
    Ok(code)
}

/// Calls [`say_outgoing`] and prints its failure as a warning. The bundle is already written, so the export
/// has succeeded.
fn warn_of_outgoing(layout: &Layout, reader: &Reader, id: &RunId, args: &ExportArgs) {
    if let Err(failure) = say_outgoing(layout, reader, id, args) {
        messages::say(&format!("warning: what goes out with the bundle is not known: {}", failure.message));
    }
}

/// As [`export`], for a bundle that another store has made. The bundle is checked before it gets its name.
pub(crate) fn fetched(
    id: &RunId,
    args: &ExportArgs,
    json: bool,
    copy: impl FnOnce(&mut dyn io::Write) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    let file = args.output.as_deref();
    if file == Some(Path::new("-")) {
        let mut target = BufWriter::new(io::stdout().lock());
        copy(&mut target)?;
        return target.flush().map(|()| 0).map_err(|error| Failure::machine("standard output", error));
    }
    let made = named(file, id, |mut target| {
        copy(&mut target)?;
        let machine = |error| Failure::machine("the bundle", error);
        target.rewind().map_err(machine)?;
        let whole = envoi_bundle::verify(&target).map_err(|wrong| {
            Failure::new(
                Code::BundleDamaged,
                format!("the server has sent a bundle that is not whole: {wrong}"),
            )
        })?;
        if whole.manifest.run != id.as_str() {
            return Err(Failure::new(Code::BundleDamaged, "the server has sent the bundle of another run"));
        }
        Ok((whole.manifest, target))
    })?;
    report(made, json)
}

/// A finished bundle, under its final name.
struct Made {
    file: PathBuf,
    bytes: u64,
    manifest: Manifest,
}

/// Writes a bundle under a temporary name, and renames it when it is complete.
fn named(
    file: Option<&Path>,
    id: &RunId,
    write: impl FnOnce(File) -> Result<(Manifest, File), Failure>,
) -> Result<Made, Failure> {
    let file = file.map_or_else(|| PathBuf::from(format!("{id}{ENDING}")), Path::to_path_buf);
    let there = || {
        let message = format!("`{}` is there already; nothing was written", file.display());
        Failure::new(Code::FileExists, message).hint("name another file: `--output FILE`")
    };
    if file.symlink_metadata().is_ok() {
        return Err(there());
    }
    let machine = |error| Failure::machine(format!("`{}`", file.display()), error);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (aside, target) = Temporary::create(folder).map_err(machine)?;
    let (manifest, target) = write(target)?;
    target.sync_all().map_err(machine)?;
    if !aside.publish(&file).map_err(machine)? {
        return Err(there());
    }
    let bytes = target.metadata().map_err(machine)?.len();
    Ok(Made { file, bytes, manifest })
}

fn report(made: Made, json: bool) -> Result<u8, Failure> {
    let Made { file, bytes, manifest } = made;
    say_left_out(&manifest);
    if json {
        let left_out = u64::try_from(lacked(&manifest).count()).unwrap_or(u64::MAX);
        let row = Exported {
            file: file.display().to_string(),
            size_bytes: bytes,
            run: manifest.run,
            status: manifest.status,
            events: manifest.events,
            contents: manifest.contents,
            left_out,
            head: manifest.head.to_string(),
        };
        return output::row(&row).map(|()| 0);
    }
    output::data(&format!(
        "{}: {} events, {} contents, {bytes} bytes\nhead {}\n",
        printable(&file.display().to_string()),
        manifest.events,
        manifest.contents,
        manifest.head
    ))
    .map(|()| 0)
}

fn written<W: io::Write>(
    layout: &Layout,
    reader: &Reader,
    id: &RunId,
    args: &ExportArgs,
    target: W,
) -> Result<(Manifest, W), Failure> {
    let not_signed = Cell::new(None);
    let signs = |key: &Path, sums: &[u8]| {
        ssh_keygen::sign(key, envoi_bundle::NAMESPACE, sums).inspect_err(|error| {
            let message = format!("the bundle cannot be signed with `{}`: {error}", key.display());
            not_signed.set(Some(
                Failure::new(Code::SigningFailed, message).hint("name a private key of SSH: `--sign KEY`"),
            ));
        })
    };
    let sign = args.sign.as_deref().map(|key| move |sums: &[u8]| signs(key, sums));
    let sign: Option<Sign<'_>> = sign.as_ref().map(|sign| sign as Sign<'_>);
    let wanted = Wanted { made_by: env!("CARGO_PKG_VERSION"), sign, without_files: args.without_files };
    let made = envoi_bundle::export(layout, reader, id, wanted, target);
    made.map_err(|error| not_signed.take().unwrap_or_else(|| failed(id, error)))
}

fn failed(id: &RunId, error: ExportError) -> Failure {
    match error {
        ExportError::Store(error) => Failure::store(error),
        ExportError::Run(reason) => Failure::new(Code::RunUnreadable, format!("run `{id}`: {reason}")),
        ExportError::Io(error) => Failure::machine("the bundle", error),
    }
}

/// The contents that should be in the bundle and are not.
fn lacked(manifest: &Manifest) -> impl Iterator<Item = &LeftOut> {
    manifest.left_out.iter().filter(|left| left.why != LeftOut::NOT_WANTED)
}

/// Prints what a person should know before handing the bundle over.
fn say_outgoing(layout: &Layout, reader: &Reader, id: &RunId, args: &ExportArgs) -> Result<(), Failure> {
    let run = envoi_engine::load_run(reader, id)?;
    let caller = caller_of(&run);
    let secrets = envoi_engine::findable_secrets(run.flow(), &caller);
    let out = envoi_bundle::outgoing(layout, reader, id, &secrets, args.without_files);
    let Outgoing { folders, artifacts, has_files, secrets: found } =
        out.map_err(|error| failed(id, error))?;
    let names = Names::of(run.flow(), &caller);
    let shown = |path: &[u8]| format!("`{}`", printable(&names.shown(path)));
    let some = |all: Vec<String>| match all.len().checked_sub(MOST_NAMED) {
        Some(more @ 1..) => {
            let first: Vec<String> = all.into_iter().take(MOST_NAMED).collect();
            format!("{} and {more} more", first.join(", "))
        }
        _ => all.join(", "),
    };
    let folders: Vec<String> = folders.iter().map(|folder| shown(folder.as_bytes())).collect();
    messages::say(&format!("note: the events name these folders of this machine: {}", some(folders)));
    if !artifacts.is_empty() {
        let artifacts: Vec<String> = artifacts.iter().map(|path| shown(path)).collect();
        messages::say(&format!("note: artifacts go out as they are: {}", some(artifacts)));
    }
    if has_files {
        messages::say(
            "note: all files of the workspace that a snapshot has go out; `--without-files` leaves them out",
        );
    }
    for (path, secret) in found.iter().take(MOST_NAMED) {
        messages::say(&format!("warning: {} holds the secret `{secret}`", shown(path)));
    }
    if let Some(more @ 1..) = found.len().checked_sub(MOST_NAMED) {
        messages::say(&format!("warning: {more} more files hold secrets"));
    }
    let is_looked_for = |name: &str| secrets.iter().any(|(known, _)| known == name);
    let unknown = run.flow().secrets.iter().filter(|secret| !is_looked_for(&secret.name));
    let unknown: Vec<String> = unknown.map(|secret| format!("`{}`", secret.name)).collect();
    if !unknown.is_empty() {
        messages::say(&format!(
            "note: not looked for, because it is not at hand or very short: {}",
            some(unknown)
        ));
    }
    Ok(())
}

fn say_left_out(manifest: &Manifest) {
    let lacked: Vec<&LeftOut> = lacked(manifest).collect();
    if let Some(first) = lacked.first() {
        let count = lacked.len();
        messages::say(&format!(
            "note: {count} contents that the run names are not in the bundle, the first is {} ({})",
            first.digest, first.why
        ));
    }
}
