//! The file of a cluster, and the contents that its machines share.

use crate::process::failure::Failure;
use envoi_contract::code::Code;
use envoi_flow::cluster::{self, Cluster};
use envoi_machines::{Folder, Ingress, SharedContents};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The most bytes of a cluster file.
const MOST_BYTES: u64 = 64 * 1024;
/// The timeout for a call of an object. The person can try again.
const CALL: Duration = Duration::from_secs(30);

/// A cluster file that was read.
pub(crate) struct ClusterFile {
    pub(crate) cluster: Cluster,
    contents: PathBuf,
}

impl ClusterFile {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let unusable = |reason: String| {
            Failure::new(Code::ConfigInvalid, format!("{name} cannot be used: {reason}"))
                .hint("`envoi help cluster` shows such a file")
        };
        let bytes =
            envoi_durable::read_plain(path, MOST_BYTES).map_err(|error| unusable(error.to_string()))?;
        let bytes = bytes.ok_or_else(|| unusable("there is no such file".to_owned()))?;
        let text = String::from_utf8(bytes).map_err(|_| unusable("it is no UTF-8 text".to_owned()))?;
        let cluster = cluster::load(&path.to_string_lossy(), &text).map_err(|report| {
            let first = report.diagnostics.first().map(|first| first.code);
            let mistakes = report.render(envoi_flow::Colour::Never);
            Failure::new(
                first.unwrap_or(Code::ConfigInvalid),
                format!("{name} cannot be used\n{}", mistakes.trim_end()),
            )
        })?;
        let contents = path.parent().unwrap_or(Path::new("")).join(&cluster.contents);
        Ok(Self { cluster, contents })
    }

    /// The contents that all machines share. The folder is created if it is missing.
    pub(crate) fn shared(&self) -> Result<SharedContents, Failure> {
        let folder = Folder::open(&self.contents).map_err(|error| {
            let message = format!("the folder `{}` cannot be used: {error}", self.contents.display());
            Failure::new(Code::ConfigInvalid, message).hint("`contents` names a folder that all machines see")
        })?;
        Ok(SharedContents::new(Arc::new(folder)))
    }

    /// Refuses a lease that differs from the cluster's.
    pub(crate) fn check_lease(&self, held_ms: u64) -> Result<(), Failure> {
        if held_ms == self.cluster.lease_ms {
            return Ok(());
        }
        let message = format!(
            "`lease` is {} here, and {} in this cluster: a worker with a longer one could run a step twice at the same time",
            envoi_flow::written_duration(self.cluster.lease_ms),
            envoi_flow::written_duration(held_ms),
        );
        Err(Failure::new(Code::ConfigInvalid, message).hint(
            "write the same one in the file of each machine; `envoi help cluster` says how the lease of a cluster is changed",
        ))
    }

    /// The client for the objects, for a server.
    pub(crate) fn ingress(&self) -> Ingress {
        Ingress::new(&self.cluster.ingress, CALL)
    }

    /// The client for the objects, for a worker. A call that hangs must not cost the worker its lease.
    pub(crate) fn ingress_within_lease(&self) -> Ingress {
        Ingress::new(&self.cluster.ingress, CALL.min(self.lease() / 10))
    }

    /// How long a worker may be silent.
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.cluster.lease_ms)
    }
}
