//! Features that a cluster does not have yet are refused before a run begins.

use super::*;
use crate::{blob_store::Folder, replica::Replica};
use envoi_contract::json::Object;
use envoi_engine::protocol::CallerWire;
use envoi_journal::{Layout, Store};
use envoi_kernel::{ids::Principal, requester::Requester};
use std::collections::BTreeMap;

#[test]
fn what_a_cluster_cannot_do_is_named_with_its_step() {
    let checked = |text: &str| {
        let flow = envoi_flow::load("flow.yaml", text).unwrap().flow;
        check_flow(&flow).map_err(|refused| refused.message)
    };
    let step = |step: &str| format!("flow: f\nsteps:\n  - id: one\n    run: [\"true\"]\n  - {step}\n");
    for fine in [
        step("{ id: two, run: [\"true\"], artifacts: [out], retry: { attempts: 2 } }"),
        step("{ id: two, ask: Sure? }"),
        step("{ id: two, run: [\"true\"], for_each: [a, b] }"),
    ] {
        assert_eq!(checked(&fine), Ok(()), "{fine}");
    }
    for (beyond, named) in [
        (step("{ id: two, agent: { use: claude, prompt: x } }"), "`agent` (step `two`)"),
        (step("{ id: two, a2a: { url: \"http://127.0.0.1:1\", message: x } }"), "`a2a` (step `two`)"),
        (step("{ id: two, ask: Sure? }") + "notify:\n  - { command: [\"true\"] }\n", "`notify`"),
        (step("{ id: two, ask: Sure? }") + "workspace: { isolate: tree }\n", "`isolate`"),
    ] {
        let message = checked(&beyond).unwrap_err();
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn an_expression_that_reads_a_key_of_the_server_is_refused_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let shared = SharedContents::new(Arc::new(Folder::open(&folder.path().join("contents")).unwrap()));
    let store = Arc::new(Store::open(Layout::new(folder.path().join("server"))).unwrap());
    let replica = Replica::open(&store, shared.clone(), |line| panic!("{line}")).unwrap();
    let notices = Notices {
        targets: Vec::new(),
        keys: vec!["MODEL_KEY".to_owned()],
        env: Vec::new(),
        variable: |_| None,
        how_to_answer: |_, _| String::new(),
        page: None,
    };
    let nobody = Ingress::new("http://127.0.0.1:1", Duration::from_secs(30));
    let commands = ClusterCommands::new(Arc::new(replica), shared, nobody, notices);
    let start = |name: &str| {
        let variable = |name: &str| (name.to_owned(), "swordfish".to_owned());
        let request = StartRequest {
            run: RunId::new("run_1").unwrap(),
            flow_name: folder.path().join("flow.yaml").to_string_lossy().into_owned(),
            flow_text: format!("flow: f\nsteps:\n  - id: one\n    run: echo ${{{{ env.{name} }}}}\n"),
            flow_parts: BTreeMap::new(),
            language: None,
            inputs: Object::default(),
            workspace: WorkspaceUse::Shared,
            keep_files: false,
            no_cache: false,
            isolate: None,
            yes_to: Vec::new(),
            trace: None,
            requester: Requester::default(),
            part: None,
            by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
            caller: CallerWire {
                flow_dir: folder.path().to_owned(),
                read: vec![variable("MODEL_KEY"), variable("OTHER")],
                ..CallerWire::default()
            },
        };
        commands.start(&request).unwrap_err()
    };
    let refused = start("MODEL_KEY");
    assert!(refused.code == Code::FlowInvalid && refused.message.contains("env.MODEL_KEY"), "{refused:?}");
    assert!(!folder.path().join("contents/flows").exists(), "nothing is kept");
    assert_eq!(start("OTHER").code, Code::ServerUnreachable, "nobody is there to take it");
}
