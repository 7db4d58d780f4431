//! The effect of a corrected flow on the state of a run.

pub(crate) mod carry_over;
pub(crate) mod corrected_inputs;
pub(crate) mod outlook;
