//! The progress of visits with agents and agent programs.

pub(crate) mod agent_session;
pub(crate) mod program_session;
pub(crate) mod throttle;
pub(crate) mod tool_approval;
