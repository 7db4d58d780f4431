//! Tests the worst case of a flow: exact where it is known, and never exceeded by a run of the kernel.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as a test expects ends it"
)]

mod adversary;
mod beside;
mod counts;
mod figures;
mod lists;
mod random;
mod random_whole;
mod soundness;
