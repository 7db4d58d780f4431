//! The file of a cluster: the address of its Restate node, and the folder that its machines share.
//!
//! Owns its keys. It is a separate file, which `envoi serve` and each `envoi worker` get. Whether the addresses
//! respond is checked later.

use super::{
    as_configuration,
    server::{address, origin},
};
use crate::syntax::{
    diagnostic::{Diagnostic, Problems, Report},
    document::{root, without_mark},
    keys::Vocabulary,
    read::{self, Fields, refuse},
    yaml::Node,
};
use core::{net::SocketAddr, ops::RangeInclusive};

pub(crate) const CLUSTER: Vocabulary = Vocabulary {
    place: "the file of a cluster",
    keys: &["ingress", "admin", "listen", "endpoint", "contents", "lease"],
    later: &[],
};

/// A minute: long enough to restart a worker, and short enough to detect a lost one soon.
const LEASE_MS: u64 = 60_000;
/// Shortest lease. Commands get TERM after three fifths of it. Two grace periods later all their processes are
/// killed.
pub const SHORTEST_LEASE_MS: u64 = 30_000;
const LEASES_MS: RangeInclusive<u64> = SHORTEST_LEASE_MS..=3_600_000;

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// The ingress address of the Restate node.
    pub ingress: String,
    /// The admin address of the node.
    pub admin: String,
    /// The address at which `envoi serve` listens for the node.
    pub listen: SocketAddr,
    /// The URL at which the node reaches that address.
    pub endpoint: String,
    /// The folder that all machines share, relative to the folder of the file.
    pub contents: String,
    /// A worker is lost if it does not report for this time, in milliseconds.
    pub lease_ms: u64,
}

/// Reads the text of the file. `name` is the file's name in messages.
///
/// # Errors
/// All mistakes of the file, in their order.
pub fn load(name: &str, text: &str) -> Result<Cluster, Report> {
    let text = without_mark(text);
    let mut problems = Problems::default();
    let read = root(text, &mut problems).and_then(|root| read(&root, &mut problems));
    if problems.is_empty()
        && let Some(cluster) = read
    {
        return Ok(cluster);
    }
    if problems.is_empty() {
        problems.add(Diagnostic::invalid(Default::default(), "the file is empty").help(EXAMPLE));
    }
    Err(as_configuration(problems.into_report(name, text)))
}

const EXAMPLE: &str = "`ingress: http://127.0.0.1:8080`, `admin: http://127.0.0.1:9070`, `listen: 127.0.0.1:9080`, `contents: contents`";

fn read(root: &Node, problems: &mut Problems) -> Option<Cluster> {
    let fields = Fields::of(root, &CLUSTER, problems)?;
    for key in ["ingress", "admin", "listen", "contents"] {
        if fields.get(key).is_none() && !fields.misspelt(key, &CLUSTER) {
            problems.add(Diagnostic::invalid(root.span, format!("`{key}` is missing")).help(EXAMPLE));
        }
    }
    let ingress = fields.get("ingress").and_then(|node| origin(node, "`ingress`", problems));
    let admin = fields.get("admin").and_then(|node| origin(node, "`admin`", problems));
    let listen = fields.get("listen").and_then(|node| address(node, problems));
    let endpoint = fields.get("endpoint").map(|node| origin(node, "`endpoint`", problems));
    let contents = fields.get("contents").and_then(|node| read::text(node, "`contents`", problems));
    let lease_ms = match fields.get("lease") {
        None => Some(LEASE_MS),
        Some(node) => lease(node, problems),
    };
    let listen = listen?;
    Some(Cluster {
        ingress: ingress?,
        admin: admin?,
        listen,
        endpoint: endpoint.unwrap_or_else(|| Some(format!("http://{listen}")))?,
        contents: contents?.to_owned(),
        lease_ms: lease_ms?,
    })
}

fn lease(node: &Node, problems: &mut Problems) -> Option<u64> {
    let found = read::duration(node, "`lease`", problems)?;
    if LEASES_MS.contains(&found) {
        return Some(found);
    }
    refuse(
        problems,
        Diagnostic::invalid(node.span, "`lease` is past its bounds").help("30s to 1h are possible: a step that is cut off needs time to end before another worker may run it"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "ingress: http://127.0.0.1:8080\nadmin: http://127.0.0.1:9070\nlisten: 127.0.0.1:9080\ncontents: contents\n";

    #[test]
    fn a_file_says_where_the_node_is_and_the_rest_has_defaults() {
        let least = load("cluster.yaml", LEAST).unwrap();
        assert_eq!((least.endpoint.as_str(), least.lease_ms), ("http://127.0.0.1:9080", 60_000));
        let all = load("cluster.yaml", &format!("{LEAST}lease: 30s\nendpoint: http://envoi.internal:9080\n"))
            .unwrap();
        assert_eq!((all.endpoint.as_str(), all.lease_ms), ("http://envoi.internal:9080", 30_000));
    }

    #[test]
    fn each_mistake_is_reported_at_once() {
        let mistakes = |text: &str| load("cluster.yaml", text).unwrap_err().diagnostics.len();
        assert_eq!(mistakes(""), 1);
        assert_eq!(mistakes("lease: 30s"), 4, "what is missing");
        for line in ["lease: 29s", "lease: 2h", "contents: 1", "endpoint: 127.0.0.1", "leese: 30s"] {
            assert_eq!(
                mistakes(&format!("{LEAST}{line}\n").replace("contents: contents\ncontents", "contents")),
                1,
                "{line}"
            );
        }
    }
}
