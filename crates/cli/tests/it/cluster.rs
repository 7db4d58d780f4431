//! `envoi serve --cluster` and `envoi worker` without a node of Restate. `tests/restate/check.sh` tests them with one.

use crate::{
    serve::client::Served,
    stage::{Stage, wait_until},
};

const FLOW: &str = "flow: one\nsteps:\n  - id: one\n    run: [\"true\"]\n";

/// Nothing listens at these addresses.
const FILE: &str =
    "ingress: http://127.0.0.1:1\nadmin: http://127.0.0.1:1\nlisten: 127.0.0.1:0\ncontents: contents\n";

fn stage() -> Stage {
    let stage = Stage::with_flow(FLOW);
    stage.write("cluster.yaml", FILE);
    stage
}

#[test]
fn a_server_of_a_cluster_comes_up_before_its_node_and_says_that_it_waits() {
    let stage = stage();
    let served = Served::with(&stage, &["--cluster", "cluster.yaml"]);
    wait_until("it says so", || served.process.said().contains("does not know this server yet"));
    let client = served.client(served.first.as_deref().unwrap());
    assert_eq!(client.json("/v1/runs")["runs"], serde_json::json!([]));
    // A run cannot begin, and the client learns why.
    stage.write("token", served.first.as_deref().unwrap());
    let begun = stage.expect(
        8,
        &["--server", &served.url, "--token-file", "token", "run", "flow.yaml", "--share-workspace"],
    );
    assert!(begun.err.contains("SERVER_UNREACHABLE") && begun.err.contains("the ingress"), "{begun:?}");
    assert_eq!(client.json("/v1/runs")["runs"], serde_json::json!([]));
}

#[test]
fn no_engine_comes_up_where_a_server_of_a_cluster_was() {
    let stage = stage();
    let served = Served::with(&stage, &["--cluster", "cluster.yaml"]);
    let take_over = ["run", "flow.yaml", "--take-over"];
    for arguments in [&["run", "flow.yaml"][..], &take_over] {
        let refused = stage.expect(6, arguments);
        assert!(refused.err.contains("RUN_FOREIGN"), "beside the server: {refused:?}");
    }
    served.process.kill();
    for arguments in [&["run", "flow.yaml"][..], &["serve", "--listen", "127.0.0.1:0"], &take_over] {
        let refused = stage.expect(6, arguments);
        assert!(refused.err.contains("RUN_FOREIGN"), "{refused:?}");
    }
    // The server itself comes back.
    Served::with(&stage, &["--cluster", "cluster.yaml"]).process.kill();
}

#[test]
fn a_folder_with_runs_of_this_machine_is_no_part_of_a_cluster() {
    let stage = stage();
    stage.expect(0, &["run", "flow.yaml"]);
    let serve = &["serve", "--listen", "127.0.0.1:0"][..];
    for command in [serve, &["worker"]] {
        let arguments = [&["--home", ".envoi"], command, &["--cluster", "cluster.yaml"]].concat();
        let refused = stage.expect(8, &arguments);
        assert!(refused.err.contains("a folder of its own"), "{refused:?}");
    }
    stage.expect(0, &["run", "flow.yaml"]);
}

#[test]
fn what_is_wrong_with_the_file_is_shown_at_its_place() {
    let stage = stage();
    stage.write("cluster.yaml", FILE.replace("ingress", "ingres"));
    for command in ["serve", "worker"] {
        let refused = stage.expect(2, &[command, "--cluster", "cluster.yaml"]);
        assert!(refused.err.contains("did you mean `ingress`?"), "{refused:?}");
        let missing = stage.expect(2, &[command, "--cluster", "none.yaml"]);
        assert!(missing.err.contains("CONFIG_INVALID") && missing.err.contains("none.yaml"), "{missing:?}");
    }
    let both = stage.expect(2, &["serve", "--cluster", "cluster.yaml", "--jobs", "2"]);
    assert!(both.err.contains("--jobs"), "{both:?}");
}

#[test]
fn a_worker_has_the_lease_of_its_cluster() {
    let stage = stage();
    let waiting = stage.start(&["worker", "--cluster", "cluster.yaml", "--home", "early"]);
    wait_until("it waits for the server", || waiting.said().contains("waiting for it"));
    waiting.kill();
    let served = Served::with(&stage, &["--cluster", "cluster.yaml"]);
    stage.write("cluster.yaml", format!("{FILE}lease: 2m\n"));
    let worker = stage.expect(2, &["worker", "--cluster", "cluster.yaml", "--home", "worker"]);
    assert!(worker.err.contains("`lease` is 2m here, and 1m in this cluster"), "{worker:?}");
    served.process.kill();
    let serve = stage.expect(2, &["serve", "--listen", "127.0.0.1:0", "--cluster", "cluster.yaml"]);
    assert!(serve.err.contains("`lease` is 2m here"), "{serve:?}");
}
