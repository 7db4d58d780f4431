//! `envoi import` of a bundle: imports a run of another store.
//!
//! The bundle is verified first. An imported run has ended and never goes on. It is shown with its origin,
//! and it can be forked.

use super::{
    export::ENDING,
    verify::{self, has_head},
};
use crate::{
    command::gc::alone,
    process::{args::ImportArgs, environment, failure::Failure, files, output},
    store::home::Home,
    text::diff,
};
use envoi_api::bundle::ImportedRun;
use envoi_bundle::{ImportError, Opened, Wrong};
use envoi_contract::code::Code;
use envoi_journal::{BlobError, CommitError, Imported, Lease, Store, Taken};
use std::{
    fs::File,
    io::{self, BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
};

/// The magic number of zstd: the first bytes of every zstd file.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the file if it is a bundle by its name or its first bytes. The files that `import` converts are
/// texts.
pub(crate) fn bundle(files: &[PathBuf]) -> Option<&Path> {
    let [file] = files else { return None };
    let mut first = [0; ZSTD.len()];
    let mut begins = || files::open(file).and_then(|mut file| file.read_exact(&mut first)).is_ok();
    let is_one = file.to_string_lossy().ends_with(ENDING) || (begins() && first == ZSTD);
    is_one.then_some(file)
}

pub(crate) fn bring(home: &Home, file: &Path, args: &ImportArgs) -> Result<u8, Failure> {
    if args.output.is_some() || args.force || args.strict {
        let message = "`--output`, `--force` and `--strict` are for files that are converted";
        return Err(Failure::new(Code::RequestInvalid, message).hint("a bundle comes into the store"));
    }
    let name = file.display().to_string();
    let unreadable = |error: io::Error| Failure::new(Code::FileUnreadable, format!("{name}: {error}"));
    let damaged = |wrong: Wrong| {
        Failure::new(Code::BundleDamaged, format!("{name} is not whole: {wrong}"))
            .hint("nothing was imported; `envoi verify FILE` looks closer")
    };
    let wanted = args.head.as_deref().map(verify::digest).transpose()?;
    let mut source = files::open(file).map_err(unreadable)?;
    let mut opened = envoi_bundle::open(BufReader::new(&source)).map_err(damaged)?;
    opened.whole = has_head(opened.whole, wanted).map_err(damaged)?;
    let signer = match &args.signers {
        Some(signers) => Some(verify::signer(&opened.whole, signers)?.map_err(damaged)?),
        None => None,
    };
    source.rewind().map_err(unreadable)?;
    let store = home.open()?;
    let origin = Imported {
        file: name.clone(),
        signer: signer.clone(),
        at: envoi_engine::now(),
        by: environment::principal().actor,
    };
    let is_new = imported(&store, &opened, source, origin, &name)?;
    let manifest = &opened.whole.manifest;
    if home.json {
        let row = ImportedRun {
            file: name,
            run: manifest.run.clone(),
            flow: manifest.flow.clone(),
            status: manifest.status.clone(),
            events: manifest.events,
            head: manifest.head.to_string(),
            is_new,
            signer,
        };
        return output::row(&row).map(|()| 0);
    }
    let what = if is_new { "imported" } else { "the store has it: there is nothing to do" };
    let envoi_bundle::Manifest { run, flow, status, head, .. } = manifest;
    output::data(&diff::lines(&format!("run {run} of flow {flow}, {status}: {what}\nhead {head}\n")))
        .map(|()| 0)
}

/// Imports while holding the store alone: no engine works there, and nothing is collected.
fn imported(
    store: &Store,
    opened: &Opened,
    source: File,
    origin: Imported,
    name: &str,
) -> Result<bool, Failure> {
    let _alone = alone(store.layout())?;
    let lease = match Lease::try_take(store.layout()).map_err(Failure::lease)? {
        Taken::Lease(lease) => lease,
        Taken::Held(_) => {
            let message = "nothing was imported: an engine is at work in this store";
            return Err(Failure::new(Code::EngineBusy, message)
                .hint("import it when no run goes on, or name another store: `--home DIR`"));
        }
    };
    let done =
        store.take_epoch().and_then(|epoch| store.writer(epoch)).map_err(Failure::store).and_then(|writer| {
            let reader = store.reader().map_err(Failure::store)?;
            envoi_bundle::import(opened, BufReader::new(source), store, &reader, &writer, origin)
                .map_err(|error| not_imported(error, name))
        });
    lease.release();
    done
}

fn not_imported(error: ImportError, name: &str) -> Failure {
    let message = format!("{name}: {error}");
    match error {
        ImportError::Exists { .. } => Failure::new(Code::RunExists, message)
            .hint("nothing was imported; another store takes it: `--home DIR`"),
        ImportError::NotOver { .. } => Failure::new(Code::RequestInvalid, message)
            .hint("nothing was imported; export the run again when it is over"),
        // A journal never writes such events, so the bundle has changed since it was verified.
        ImportError::Store(CommitError::Malformed { .. })
        | ImportError::Content(BlobError::Mismatch { .. }) => {
            Failure::new(Code::BundleDamaged, message).hint("nothing was imported")
        }
        ImportError::Io(_) | ImportError::Files(_) => Failure::new(Code::MachineFailed, message)
            .hint("import it again when that is mended: it goes on with what is missing"),
        ImportError::Store(_) | ImportError::Read(_) | ImportError::Content(_) => {
            Failure::new(Code::StoreFailed, message)
        }
    }
}
