//! The parts of a cluster that run on its machines: a worker that runs attempts, and a server that shows runs
//! and handles requests.
//!
//! The decisions are in `cluster`, and the transport is in `restate`. A [`worker`] pulls attempts and runs
//! them with the engine's own runner, so an attempt's folder has the same meaning after a crash as on one
//! machine. A [`Replica`] puts the commits of runs into a store, in the local engine's schema: a server shows
//! runs from it, and a worker gives its commands the results of earlier steps. A server's [`ClusterCommands`]
//! send requests to the runs. All of them share [`SharedContents`]: flows, contents by digest, and the
//! commits.

mod blob_store;
mod commands;
mod replica;
mod shared;
pub mod worker;

pub use blob_store::{BlobStore, Folder};
pub use commands::ClusterCommands;
pub use envoi_cluster::{BadPlace, WorkerId};
pub use envoi_restate::{Admin, BadName, Contents, Endpoint, Ingress, NotRegistered, Serving, Settings};
pub use replica::{Replica, ReplicaError};
pub use shared::SharedContents;
