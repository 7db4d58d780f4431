//! The durable data: the event log, artifacts by digest, projections.
//!
//! Events are the truth. They are committed by one writer thread that owns its connection ([`Writer`]); rows that people
//! ask for ([`RunRow`], [`HandoffRow`], [`InboxRow`]) and files that steps read ([`files`]) are folded from them and can be
//! rebuilt at any time ([`repair()`]). The notices of an event ([`Delivery`]) are committed with it, and are truth too.
//! Only this crate knows SQL. It decides nothing about a run: the kernel owns the meaning of events, the engine decides when
//! a snapshot is due.
//!
//! Its layers, the lowest first: `model` (errors and values), `folder` (files and locks of the store), `tables` (schema, and
//! how rows are written), `log` (writer, reader and store), `files` (what steps read), `repair`. A lower layer does not name
//! a higher one; `cargo xtask tidy` checks it.
//!
//! ```
//! use envoi_journal::{Layout, RunFilter, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(Layout::new(folder.path().join(".envoi")))?;
//! // Only the engine with the newest epoch can commit.
//! let earlier = store.take_epoch()?;
//! let newest = store.take_epoch()?;
//! assert!(!store.is_current(earlier)? && store.is_current(newest)?);
//! // Readers need none.
//! assert!(store.reader()?.runs(RunFilter::default())?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod conformance;
pub mod files;
mod folder;
mod log;
mod model;
mod repair;
mod tables;
#[cfg(test)]
mod testing;

pub use folder::{
    blobs::{Blobs, INLINE_MAX_BYTES, Incoming},
    layout::Layout,
    lease::{Holder, Lease, LeaseError, Seen, Taken},
    old_contents::ContentFile,
};
pub use log::{
    journal::{DiskJournal, Journal},
    reader::{
        KeptEvent, Loaded, Reader, digests,
        event_text::{EventFilter, EventText},
        handoff_bytes,
    },
    store::Store,
    writer::Writer,
};
pub use model::{
    a2a::{KeptPush, MessageRow, PushRow, PushState, TaskPage, TaskRow},
    chain::Chain,
    commit::{Commit, Done, Epoch, Patience, PinnedFlow, Receipt, Snapshot},
    damage::{DamagedRow, Gap},
    delivery::{Delivery, DeliveryKey, DeliveryRow, Fate, Mark, Undelivered},
    error::{BlobError, Cause, Class, CommitError, FileError, OpenError, ReadError, with_causes},
    import::{Import, Imported},
    manifest,
    network::{
        Counts, InboxPage, NewsItem, PageSession, RegisteredFlow, RunChange, RunPage, StartKey, TOKEN_SCOPES,
        TokenRow, Upload,
    },
    note::{Aside, HeldBy, Note},
    retention::{Removal, SmallContents, Tombstone, Waiting},
    rows::{
        Activity, ArtifactRow, Closed, ClosedAccount, Doing, Ended, Found, HandoffRow, InboxFilter, InboxRow,
        InterruptState, ManifestRow, Match, RunFilter, RunRow, RunStatus, WaitsFor,
    },
};
pub use repair::{
    DamagedContent, Examination, RepairError, RepairOptions, RepairReport, damaged_contents, examine,
    examine_events, repair,
};
pub use tables::{
    identity::{AdoptError, Identity, Standing},
    run_paths::RunPaths,
};
