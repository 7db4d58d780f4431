//! A run as a pure state machine: events in, state and wants out.
//!
//! Owns every decision about what happens next. Does no IO, reads no clock, makes no random choice and starts no thread: time
//! arrives with the input, ids are derived. Living through a run and recovering it share [`Run::apply`]. It does not know
//! how a step is executed (`step`), what lasts (`journal`), or how a flow is written (`flow`).
//!
//! Three layers, each knows only those before it: `model` (ids, events, inputs, the flow), `state` (the run, and how events change
//! it), `decide` (a file for each input, and the rules that they share). [`Run`] is on top. The first page of `flow` has an
//! example of a run.

mod decide;
mod model;
mod run;
mod state;

pub use model::{
    event, expression, family, files, flow, ids, input, ledger, notify, part, path, requester, test_result,
    throttle, wire,
};

pub use decide::{
    data::GivenData,
    fork::Cut,
    settle::{
        CACHE, CALLS, COPIED, MAX_RERUNS, NOTHING_SENT, SET_BACK, USED, WORKSPACE_BEFORE, WORKSPACE_MOVING,
    },
};
pub use model::{
    event::{Event, Record},
    flow::Flow,
    input::{Fork, Input, Refusal, Wants},
};
pub use run::{HasOtherFiles, Lead, Progress, Reconsidered, ReplayError, Run, WhatIf, hand_offs, what_if};
pub use state::{
    control::ApplyError,
    illegal_event::IllegalEvent,
    outlook::{Outlook, StepOutlook},
    status::Status,
};
