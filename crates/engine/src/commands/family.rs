//! Runs that were forked from one another keep within the bounds of one: only one of them goes on at a time.
//!
//! Owns that rule, and the use of the others when one goes on. A request that begins or reopens a run holds [`Commands::families`]
//! until that is durable: from then on the journal shows it, and the others are refused.

use super::handler::Commands;
use crate::model::protocol::Refused;
use crate::query::{load::load_run, obstacles::check_family_over};
use envoi_journal::Reader;
use envoi_kernel::{Run, family::Share, ids::RunId};
use std::sync::{MutexGuard, PoisonError};

impl Commands {
    /// While this is held no fork begins, and no run that is over goes on.
    pub(super) fn families(&self) -> MutexGuard<'_, ()> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The amounts that others of the run's family have used and got, beyond those that it knows.
    pub(super) fn elsewhere(&self, run: &Run) -> Result<Share, Refused> {
        let reader = self.store.reader()?;
        let own = run.started().map(|started| &started.run);
        Ok(self.family_of(&reader, run, own)?.beyond(&run.known_share()))
    }

    /// The amounts that all runs of the family have used and got. Refused while one of them is not over, unless it is `but`.
    pub(super) fn family_of(
        &self,
        reader: &Reader,
        run: &Run,
        but: Option<&RunId>,
    ) -> Result<Share, Refused> {
        let Some(root) = run.root() else { return Ok(Share::default()) };
        let rows = reader.family(root)?;
        check_family_over(&rows, but)?;
        let own = run.started().map(|started| &started.run);
        let mut family = run.own_share();
        for row in rows.iter().filter(|row| Some(&row.run) != own) {
            family.add(&load_run(reader, &row.run)?.own_share());
        }
        Ok(family)
    }
}
