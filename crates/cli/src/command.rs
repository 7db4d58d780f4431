//! A module per command, in folders by subject.

mod archive;
mod change;
mod contract;
mod flow_file;
mod look;
mod reference;
mod serving;
mod upkeep;
mod workspace;

pub(crate) use archive::{bring, export, verify};
pub(crate) use change::{answer, cancel, correct, fork, raise, resume, run};
pub(crate) use contract::{conformance, filter};
pub(crate) use flow_file::{backtest, check, import, init, next, plan};
pub(crate) use look::{artifacts, inbox, logs, runs, show, why};
pub(crate) use reference::{completions, explain, help, manual, schema};
pub(crate) use serving::{cluster, page, serve, token, web, worker};
pub(crate) use upkeep::{doctor, repair, store};
pub(crate) use workspace::{apply, cache, diff, gc, patch, pull_request, restore};
