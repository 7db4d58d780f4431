//! The state of a run, and how each event changes it: the same code live and in recovery.
//!
//! Knows the types of [`crate::model`]. Decides nothing: no file here imports one of [`crate::decide`].

pub(crate) mod conflict;
pub(crate) mod control;
mod correction;
pub(crate) mod doubt;
pub(crate) mod envelope_size;
pub(crate) mod files_at_entry;
pub(crate) mod flow_state;
pub(crate) mod for_each;
pub(crate) mod goals;
pub(crate) mod graph;
pub(crate) mod illegal_event;
pub(crate) mod item_trees;
mod limit;
pub(crate) mod loops;
pub(crate) mod open_visits;
pub(crate) mod part;
pub(crate) mod phase;
pub(crate) mod projection;
mod session;
pub(crate) mod status;
pub(crate) mod step_result;
pub(crate) mod visit;

pub(crate) use correction::{carry_over, corrected_inputs, outlook};
pub(crate) use limit::{accounts, bounds, budget, limit_question, limits, way_back};
pub(crate) use session::{agent_session, program_session, throttle, tool_approval};
