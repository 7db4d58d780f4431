//! What an attempt is started with: its order, and the masking of secrets.

pub(crate) mod mask;
pub(crate) mod order;
