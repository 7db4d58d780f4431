//! The flow file: YAML text in, the kernel's checked [`Flow`] out, or everything that is wrong with it.
//!
//! Owns the language: its keys, its values, its rules, and where in the file each mistake stands. Reads no file, no
//! environment and no clock: text is an argument. It does not run anything and does not evaluate expressions.
//!
//! ```
//! let loaded = envoi_flow::load("hello.yaml", "flow: hello\nsteps:\n  - id: greet\n    run: [echo, hello]\n")?;
//! assert_eq!(loaded.flow.steps.len(), 1);
//!
//! let report = envoi_flow::load("hello.yaml", "flow: hello\nstpes: []\n").unwrap_err();
//! assert_eq!(report.diagnostics[0].help.as_deref(), Some("did you mean `steps`?"));
//! # Ok::<(), envoi_flow::Report>(())
//! ```

mod check;
pub mod config;
mod editor;
pub mod import;
mod load;
mod parse;
pub mod plan;
mod syntax;
mod values;

pub use check::warnings::warnings;
pub use config::{models, server};
pub use editor::SCHEMA;
pub use load::{Files, Loaded, load, load_bytes, load_with};
pub use parse::outputs;
pub use syntax::{
    diagnostic::{Colour, Diagnostic, Label, Place, Report, Span},
    document::MAX_BYTES,
    read::parse_duration,
};
pub use values::{answers, inputs};

/// The version of the flow language that this crate reads; pinned to each run.
pub const LANGUAGE: u32 = 1;
