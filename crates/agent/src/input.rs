//! The input of an attempt: its order, and the masking of secrets.

pub(crate) mod mask;
pub(crate) mod order;
