//! `envoi store adopt`: makes a copied store independent.

use crate::{
    process::{failure::Failure, output},
    store::{
        home::{self, Home},
        waiting,
    },
    text::diff::printable,
};
use envoi_api::store::Adopted;
use envoi_contract::code::Code;
use envoi_journal::{AdoptError, Layout, Lease, RunFilter, Store, Taken};
use std::path::Path;

pub(crate) fn adopt(home: &Home, share_workspaces: bool) -> Result<u8, Failure> {
    let dir = home.existing()?;
    let cannot_open = |error| home::cannot_open(&dir, &error);
    let store = waiting::for_the_store(|| Store::open_any(Layout::new(&dir)))?.map_err(cannot_open)?;
    let lease = match Lease::try_take(store.layout()).map_err(Failure::lease)? {
        Taken::Lease(lease) => lease,
        Taken::Held(_) => {
            return Err(Failure::new(Code::EngineBusy, "an engine is at work in this store")
                .hint("a store that an engine works with is no copy that has to be adopted"));
        }
    };
    let adopted = waiting::for_the_store(|| store.adopt(share_workspaces))?;
    lease.release();
    let of = adopted.map_err(|error| match error {
        AdoptError::Open(error) => cannot_open(error),
        error => Failure::new(Code::StoreCopied, error.to_string())
            .hint("`cp -r` makes files of their own, `cp -l` does not"),
    })?;
    let id = store.identity().map_err(cannot_open)?.id;
    let reader = store.reader().map_err(Failure::store)?;
    let unfinished = reader.all_runs(RunFilter { unfinished: true, limit: None }).map_err(Failure::store)?;
    let mut apart = Vec::new();
    for row in &unfinished {
        if reader.workspace_of_original(&row.run).map_err(Failure::store)?.is_some() {
            apart.push(row);
        }
    }
    if home.json {
        let row = Adopted {
            store: id,
            folder: dir.display().to_string(),
            copied_from: of.as_ref().map(|of| of.display().to_string()),
            unfinished_runs: u64::try_from(unfinished.len()).unwrap_or(u64::MAX),
            runs_without_workspace: apart.iter().map(|row| row.run.clone()).collect(),
        };
        return output::row(&row).map(|()| 0);
    }
    let mut text = match &of {
        Some(of) => format!(
            "{} is now an independent store, no longer a copy of {}\n{} unfinished runs: each can continue in both stores; steps \
             that ran when the copy was made are in doubt in this one\n",
            shown(&dir),
            shown(of),
            unfinished.len()
        ),
        None => format!("{} is no copy: nothing to adopt\n", shown(&dir)),
    };
    for row in apart {
        text.push_str(&format!(
            "run {} does not go on: its workspace `{}` was not copied; --share-workspaces lets it work there\n",
            row.run,
            printable(&row.workspace)
        ));
    }
    output::data(&text).map(|()| 0)
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}
