//! What lasts: the event log, artifacts by digest, projections.
//!
//! Events are the truth. They are committed by one writer thread that owns its connection ([`Writer`]); rows that people
//! ask for ([`RunRow`], [`HandoffRow`], [`InboxRow`]) and files that steps read ([`files`]) are folded from them and can be
//! rebuilt at any time ([`repair`]). Who is to be told of an event ([`Delivery`]) is committed with it, and is truth too.
//! Only this crate knows SQL. It decides nothing about a run: what an event means is the kernel's, when a snapshot is due
//! is the engine's.

mod a2a;
mod blobs;
pub mod conformance;
mod contents;
mod deliveries;
mod durable;
mod error;
pub mod files;
mod identity;
mod journal;
mod layout;
mod lease;
pub mod manifest;
mod network;
mod notes;
mod places;
mod plain;
mod projection;
mod reader;
mod repair;
mod rows;
mod schema;
mod sql;
mod store;
#[cfg(test)]
mod testing;
mod way;
mod writer;

pub use a2a::{KeptPush, MessageRow, PushRow, PushState, TaskPage, TaskRow};
pub use blobs::{Blobs, INLINE_MAX_BYTES, Incoming};
pub use deliveries::{Delivery, DeliveryKey, DeliveryRow, Fate, Mark, Undelivered};
pub use error::{BlobError, Cause, Class, CommitError, FileError, OpenError, ReadError, with_causes};
pub use identity::{AdoptError, Identity, Standing};
pub use journal::{DiskJournal, Journal};
pub use layout::Layout;
pub use lease::{Holder, Lease, LeaseError, Seen, Taken};
pub use network::{Counts, InboxPage, NewsItem, RegisteredFlow, RunPage, StartKey, TokenRow, Upload};
pub use notes::{Aside, HeldBy, Note};
pub use places::Places;
pub use reader::{
    Loaded, Reader,
    story::{EventText, Told},
};
pub use repair::{Examination, RepairError, RepairOptions, RepairReport, examine, examine_events, repair};
pub use rows::{
    Activity, Closed, Doing, Ended, Found, HandoffRow, InboxFilter, InboxRow, InterruptState, ManifestRow,
    Match, Place, RunFilter, RunRow, RunStatus,
};
pub use store::{Epoch, Store};
pub use writer::{Commit, Done, Patience, PinnedFlow, Receipt, Snapshot, Writer};
