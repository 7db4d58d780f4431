//! The whole binary, as people and machines use it: real processes, real stores, real signals.
//!
//! One file a topic. Each test has a folder of its own, which is its home too; its processes that still live at the
//! end, also after a panic, are ended by process id ([`stage::Stage`]).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as a test expects ends it"
)]

mod a2a;
mod agents;
mod applied;
mod aside;
mod asking;
mod backtest;
mod bad_files;
mod begin;
mod bundles;
mod cached;
mod cancel;
mod check;
mod clashes;
mod cluster;
mod commands;
mod copies;
mod correct;
mod crash;
mod damage;
mod data;
mod done_again;
mod doubt;
mod envelope;
mod environment;
mod files;
mod folder_modes;
mod fork;
mod forms;
mod full;
mod going_on;
mod importing;
mod isolated;
mod json_rows;
mod kept;
mod large;
mod ledger;
mod merged;
mod models;
mod nasty;
mod nested;
mod notify;
mod observed;
#[cfg(feature = "otel")]
mod otel;
mod outputs;
mod parallel;
mod part;
mod parts;
mod people;
mod plan;
mod programs;
mod remote;
mod repair;
mod reports;
mod retention;
mod rows;
mod scope;
mod secrets;
mod serve;
mod several;
mod shell;
mod shown;
mod stage;
mod takeover;
mod terminal;
mod upgrade;
mod users_git;
mod veil;
mod workspace;
mod zygote;
