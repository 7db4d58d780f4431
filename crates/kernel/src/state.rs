//! The state of a run, and how each event changes it: the same code live and in recovery.
//!
//! Knows the types of [`crate::model`]. Decides nothing: no file here imports one of [`crate::decide`].

pub(crate) mod accounts;
pub(crate) mod agent_session;
pub(crate) mod asked_call;
pub(crate) mod bounds;
pub(crate) mod budget;
pub(crate) mod carry_over;
pub(crate) mod control;
pub(crate) mod corrected_inputs;
pub(crate) mod doubt;
pub(crate) mod envelope_size;
pub(crate) mod files_at_entry;
pub(crate) mod flow_state;
pub(crate) mod for_each;
pub(crate) mod goals;
pub(crate) mod graph;
pub(crate) mod illegal_event;
pub(crate) mod limit_question;
pub(crate) mod limits;
pub(crate) mod loops;
pub(crate) mod outlook;
pub(crate) mod part;
pub(crate) mod phase;
pub(crate) mod program_session;
pub(crate) mod projection;
pub(crate) mod status;
pub(crate) mod step_result;
pub(crate) mod throttle;
pub(crate) mod visit;
