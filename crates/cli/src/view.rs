//! The output about runs and questions for a person, and the input that the person types.

pub(crate) mod amount;
pub(crate) mod cancelling;
pub(crate) mod describe;
pub(crate) mod file_work;
pub(crate) mod form;
pub(crate) mod keyboard;
pub(crate) mod last_words;
pub(crate) mod live;
pub(crate) mod printer;
pub(crate) mod prompt;
pub(crate) mod question;
pub(crate) mod questions;
pub(crate) mod reopening;
