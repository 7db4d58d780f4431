//! The promises of one run: tables of inputs with their effects, and properties of every run.
//!
//! One file per feature. [`flows`] builds flows in code, [`driver`] drives a run and checks the common rules
//! after every commit, [`story`] writes inputs and outcomes as text. [`random`] makes random flows and
//! inputs, [`rules`] has the rules for every journal.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod agent_rules;
mod driver;
mod flows;
mod raise;
mod random;
mod random_graphs;
mod rules;
mod stored;
mod story;

mod acceptance;
mod agents;
mod ask;
mod bounds;
mod branch;
mod bridged;
mod budget;
mod cached;
mod call_rules;
mod calls;
mod cancel;
mod conditions;
mod corrected;
mod corrected_random;
mod corrected_under_way;
mod data;
mod denial;
mod doubt;
mod envelope;
mod expiry;
mod expressions;
mod fans;
mod fork;
mod given_up;
mod goals;
mod graph_rules;
mod graphs;
mod handoff;
mod inner;
mod kept_doubt;
mod late;
mod ledger;
mod limits_asked;
mod linear;
mod loops;
mod merge_cut_off;
mod merging;
mod part;
mod passed_over;
mod program_questions;
mod programs;
mod properties;
mod quorum;
mod reopen;
mod restoring;
mod retry;
mod review;
mod set_back;
mod snapshots;
mod status;
mod structure;
mod subject;
mod throttle;
mod unknown;
mod verify;
mod what_if;
mod wire;
mod work;
