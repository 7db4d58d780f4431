//! A run as one file: what happened, the flow, the contents that its events name, and the output of its attempts.
//!
//! Owns the form of a bundle, how one is made of a store, how one is checked without a store, and how one comes into a store. A bundle is a tar archive,
//! compressed with zstd. It is made of the same bytes each time, unless the run has gone on. All of it can be checked with `tar`,
//! `sha256sum` and a few lines of any language (docs/bundle.md).
//!
//! Entries lie in a folder that is named as the run, in this order:
//!
//! | entry | content |
//! |---|---|
//! | `README.txt` | how to check it by hand |
//! | `MANIFEST.json` | [`Manifest`] |
//! | `flow.yaml`, `flows.json` | the text of the flow, and all versions that the run was pinned to, with the flows that they name |
//! | `events.jsonl` | the events, a line each, as the journal has them |
//! | `CHAIN` | a line for each event: its place, and the SHA-256 of the sum before it and of the line ([`Chain`]) |
//! | `handoff/VISIT.json` | the hand-offs; they are in the events too |
//! | `logs/ATTEMPT/stdout`, `stderr` | what attempts wrote, as far as it is there; no event vouches for it |
//! | `trees/HEX` | lists of snapshots of the workspace, by digest |
//! | `blobs/sha256/HEX` | artifacts, texts, reports, data, and the files of snapshots, by digest |
//! | `SHA256SUMS` | the sums of all entries before it, for `sha256sum -c` |
//! | `SHA256SUMS.sig` | a signature of them, if it was signed. The caller decides who made it |
//!
//! The format of a run that names no snapshot is 1, as it was before bundles had them; else it is 2.

mod archive;
mod entries;
mod event_pages;
mod export;
mod import;
mod manifest;
mod named;
mod outgoing;
mod verify;
mod wrong;

pub use archive::Sign;
pub use envoi_journal::Chain;
pub use export::{ExportError, Wanted, export, not_in_bundle};
pub use import::{ImportError, import};
pub use manifest::{FORMAT, LeftOut, Manifest};
pub use outgoing::{Outgoing, outgoing};

/// The purpose of a signature of the sums: the namespace of `ssh-keygen -Y`.
pub const NAMESPACE: &str = "envoi-run";
pub use verify::{Opened, Whole, open, verify};
pub use wrong::Wrong;
