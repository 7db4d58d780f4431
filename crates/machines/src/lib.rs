//! Runs of a cluster as a process of it sees them: a worker that runs attempts, and a server that shows runs and takes requests.
//!
//! What is decided stands in `cluster`, and how it travels in `restate`. A [`worker`] pulls attempts and runs them with the engine's own
//! runner, so what a folder of an attempt means after a crash is the same as on one machine. A [`Replica`] puts the commits of runs into a
//! store, in the present schema: a server shows runs from it, and a worker gives its commands what earlier steps have left. A server's
//! [`ClusterCommands`] send requests to the runs. All of them share [`SharedContents`]: flows, contents by digest, and the commits.

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
