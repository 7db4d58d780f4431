//! The files of a run's workspace are set back to a snapshot.
//!
//! Owns the order of what is durable: what stands there is kept, then the journal says what is to come, then the files change, then the
//! journal says that they have. A restore that was killed in between is found in the journal, and is done again before anything
//! else of the run.

use super::{
    adopt::Adoption,
    handler::{Commands, send},
};
use crate::{
    model::{
        claim::Claim,
        message::Purpose,
        protocol::{CallerWire, Refused, Response, RestoreRequest, Standing},
    },
    query::snapshots,
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_kernel::{
    Input, Run,
    event::{FilesRestored, FilesRestoring, LateFile},
    ids::RunId,
};
use envoi_tree::{Late, NotKept, NotRestored, Order, Tree};
use std::{path::PathBuf, sync::mpsc::Sender};

/// The most paths that an event names of those that stay as they are.
const MOST_LEFT: usize = 100;

impl Commands {
    pub(super) fn restore(&self, request: RestoreRequest, client: &Sender<Response>) -> Result<(), Refused> {
        let RestoreRequest { run: id, to, too_wide, why, by, caller } = request;
        let hint = "a step cannot set back the files under itself";
        self.check_waits_for_other(&id, &caller, hint)?;
        let ended = self.end_open_restore(&id, &too_wide, &caller)?;
        let run = self.load(&id)?;
        let rest = |run: &Run| {
            let standing = Standing::of(&run.status()).map(|standing| Standing { exit_code: 0, ..standing });
            send(client, Response::Rest { standing: standing.unwrap_or_else(Standing::answered) });
            Ok(())
        };
        if ended == Some(to) {
            // The engine that began it ended before it was done.
            send(client, Response::Accepted { run: id.clone() });
            return rest(&run);
        }
        let workspace = self.check_rest(&run, &caller)?;
        let order = snapshots::order(&self.layout, too_wide);
        let target = tree(&order, &to)?;
        let stood = envoi_tree::stand(&workspace, &order, &target).map_err(|error| refused(&error))?;
        if stood.kept.digest == to {
            send(client, Response::Accepted { run: id.clone() });
            send(client, Response::Noted { text: "the files are like that already".to_owned() });
            return rest(&run);
        }
        let wanted = FilesRestoring { from: stood.kept.digest, to, by, why, found: late(&stood.found) };
        let begin = |_: &Run| Ok(vec![Input::RestoreFiles(Box::new(wanted.clone()))]);
        self.adopt(&id, &caller, Adoption::from(Purpose::Decide), begin)?;
        send(client, Response::Accepted { run: id.clone() });
        let done = match envoi_tree::restore(&workspace, &order, &target) {
            Ok(restored) => {
                for text in remarks(&restored) {
                    send(client, Response::Noted { text });
                }
                Ok(restored)
            }
            // In the middle: it stays open, and is done again.
            Err(error @ NotRestored::Incomplete { .. }) => return Err(refused(&error)),
            Err(error) => Err(error),
        };
        let input = match &done {
            Ok(restored) => of(to, restored),
            Err(error) => Input::FilesKept { reason: error.to_string() },
        };
        let end = |_: &Run| Ok(vec![input.clone()]);
        let run = self.adopt(&id, &caller, Adoption::from(Purpose::Decide), end)?;
        if let Err(error) = done {
            return Err(refused(&error));
        }
        rest(&run)
    }

    /// Does a restore again that was begun and not ended. Says to which snapshot.
    pub(super) fn end_open_restore(
        &self,
        id: &RunId,
        too_wide: &[PathBuf],
        caller: &CallerWire,
    ) -> Result<Option<Digest>, Refused> {
        let run = self.load(id)?;
        let Some(wanted) = run.restoring().cloned() else { return Ok(None) };
        let workspace = self.check_rest(&run, caller)?;
        let order = snapshots::order(&self.layout, too_wide.to_vec());
        let target = tree(&order, &wanted.to)?;
        // Whatever is wrong now, an earlier try may have changed files: it stays open until it is done.
        let restored = envoi_tree::restore(&workspace, &order, &target).map_err(|error| refused(&error))?;
        let end = |_: &Run| Ok(vec![of(wanted.to, &restored)]);
        self.adopt(id, caller, Adoption::from(Purpose::Decide), end).map(|_| Some(wanted.to))
    }

    /// The workspace, in which nothing is at work.
    fn check_rest(&self, run: &Run, caller: &CallerWire) -> Result<PathBuf, Refused> {
        let Some(started) = run.started() else { return Err(Refused::failure("the run has not started")) };
        let wants = run.wants();
        if let Some(attempt) = wants.attempts.iter().chain(&wants.ending).next() {
            let message = format!("attempt `{attempt}` of the run works in `{}`", started.workspace);
            return Err(Refused::new(
                Code::WorkspaceBusy,
                message,
                Some("wait for it, or `envoi cancel` ends the run"),
            ));
        }
        self.check_free(&Claim::of(started), &caller.within, |_| false)?;
        self.check_entry(run, caller)?;
        Ok(PathBuf::from(&started.workspace))
    }
}

fn tree(order: &Order, digest: &Digest) -> Result<Tree, Refused> {
    let failed =
        |error: &dyn core::fmt::Display| Refused::failure(format!("the snapshot cannot be read: {error}"));
    let shelf = order.contents.shelf().map_err(|error| failed(&error))?;
    let bytes = shelf.read(digest).map_err(|error| failed(&error))?;
    Tree::parse(&bytes).map_err(|error| failed(&error))
}

fn of(to: Digest, restored: &envoi_tree::Restored) -> Input {
    let left = restored.left.iter().take(MOST_LEFT).map(|path| shown(path)).collect();
    Input::FilesRestored(Box::new(FilesRestored { to, late: late(&restored.late), left }))
}

fn late(found: &[Late]) -> Vec<LateFile> {
    let of = |late: &Late| LateFile { path: shown(&late.path), digest: late.digest, size: late.size };
    found.iter().map(of).collect()
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// What a person should know.
fn remarks(restored: &envoi_tree::Restored) -> Vec<String> {
    let left = restored
        .left
        .iter()
        .take(MOST_LEFT)
        .map(|path| format!("`{}` is as it was: its content is not kept", shown(path)));
    let late = restored.late.iter().map(|late| match late.digest {
        Some(digest) => {
            format!("`{}` was written to meanwhile; that content is kept: {digest}", shown(&late.path))
        }
        None => format!("`{}` was written to meanwhile, and is too large to be kept", shown(&late.path)),
    });
    left.chain(late).collect()
}

fn refused(error: &NotRestored) -> Refused {
    let message = error.to_string();
    match error {
        NotRestored::NotKept(NotKept::TooWide { .. }) => Refused::new(Code::WorkspaceTooWide, message, None),
        NotRestored::NotKept(_) => {
            Refused::new(Code::FilesNotKept, message, Some("`--into DIR` writes the files into a new folder"))
        }
        NotRestored::InTheWay { .. } => Refused::new(
            Code::FilesInTheWay,
            message,
            Some("move it away, or `--into DIR` writes the files into a new folder"),
        ),
        NotRestored::Content(_) | NotRestored::NotStaged { .. } | NotRestored::Incomplete { .. } => {
            Refused::failure(message)
        }
    }
}
