//! What a corrected flow means for the state of a run.

pub(crate) mod carry_over;
pub(crate) mod corrected_inputs;
pub(crate) mod outlook;
