//! What one run promises: tables of inputs and what they cause, and properties of any run.
//!
//! One file a feature. [`flows`] builds flows in code, [`driver`] lives a run and checks at every turn what must hold in
//! all of them, [`story`] writes inputs and outcomes as text.

mod driver;
mod flows;
mod story;

mod bounds;
mod branch;
mod cancel;
mod conditions;
mod doubt;
mod envelope;
mod expressions;
mod handoff;
mod late;
mod linear;
mod loops;
mod reopen;
mod retry;
mod review;
mod status;
