//! The flow file: converts YAML text into the kernel's checked [`Flow`], or reports all mistakes.
//!
//! Owns the language: its keys, its values, its rules, and the location of each mistake. Reads no file, no
//! environment and no clock: the text is an argument. It does not run anything and does not evaluate expressions.
//!
//! ```
//! let loaded = envoi_flow::load("hello.yaml", "flow: hello\nsteps:\n  - id: greet\n    run: [echo, hello]\n")?;
//! assert_eq!(loaded.flow.steps.len(), 1);
//!
//! let report = envoi_flow::load("hello.yaml", "flow: hello\nstpes: []\n").unwrap_err();
//! assert_eq!(report.diagnostics[0].help.as_deref(), Some("did you mean `steps`?"));
//! # Ok::<(), envoi_flow::Report>(())
//! ```
//!
//! The kernel uses a flow to decide what follows from an input, and which attempts should then run.
//!
//! ```
//! use envoi_contract::{json::Object, time::Timestamp};
//! use envoi_kernel::{
//!     Input, Run,
//!     ids::{Principal, RunId},
//!     input::{Slot, Start},
//!     requester::Requester,
//! };
//! use std::sync::Arc;
//!
//! let loaded = envoi_flow::load("hello.yaml", "flow: hello\nsteps:\n  - id: greet\n    run: [echo, hello]\n")?;
//! let mut run = Run::new(Arc::new(loaded.flow));
//! let start = Input::Start(Box::new(Start {
//!     run: RunId::new("run_0demo")?,
//!     inputs: Object::new(),
//!     source: "/project/hello.yaml".to_owned(),
//!     workspace: "/project".to_owned(),
//!     shared: false,
//!     keep_files: false,
//!     no_cache: false,
//!     isolated: None,
//!     run_base: "/project/.envoi/runs/run_0demo".to_owned(),
//!     language: envoi_flow::LANGUAGE,
//!     by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
//!     yes_to: Vec::new(),
//!     trace: None,
//!     env: Object::new(),
//!     requester: Requester::default(),
//!     part: None,
//! }));
//! let slot = Slot::new("boot-1");
//!
//! // Nothing has changed yet: the records are to be committed, then applied.
//! let records = run.decide(start, Some(slot), Timestamp::from_millis(1_795_219_200_000))?;
//! for record in &records {
//!     run.apply(record)?;
//! }
//!
//! let names: Vec<&str> = records.iter().map(|record| record.event.name()).collect();
//! assert_eq!(names, ["run_started", "attempt_started"]);
//! assert_eq!(run.wants().attempts[0].to_string(), "greet.1.1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
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

pub use check::{
    scripts::{NamedScript, scripts},
    warnings::{NamedFile, NamedProgram, files, programs, warnings},
};
pub use config::{
    accounts, cluster, missing, models,
    retention::{self, parse_size},
    server,
};
pub use editor::SCHEMA;
pub use load::{FileError, Files, Loaded, load, load_as, load_bytes, load_with};
pub use parse::outputs;
pub use syntax::{
    diagnostic::{Colour, Diagnostic, Label, LineColumn, Located, Report, Span},
    document::MAX_BYTES,
    read::{parse_duration, written_duration},
};
pub use values::{answers, env_file, inputs};

/// The newest version of the flow language. A new run is pinned to it; a run that was begun with an earlier version,
/// and its forks, keep that version ([`load_as`]).
///
/// - 1: a command that is a string is run by `sh -c`, which does not stop at a failed command.
/// - 2: the shell stops at a failed command, and `shell` selects the interpreter.
pub const LANGUAGE: u32 = 2;
