//! Flows and contents in the folder, also damaged ones.

use super::*;
use crate::blob_store::Folder;

const FLOW: &str = "flow: two\nsteps:\n  - id: one\n    run: [work]\n  - id: two\n    run: [work]\n";

fn shared(folder: &std::path::Path) -> SharedContents {
    SharedContents::new(Arc::new(Folder::open(folder).unwrap()))
}

fn pinned(text: &str) -> PinnedFlow {
    let loaded = envoi_flow::load("flow.yaml", text).unwrap();
    PinnedFlow {
        digest: loaded.flow.digest,
        language: loaded.language,
        name: "/w/flow.yaml".to_owned(),
        text: text.to_owned(),
        parts: loaded.parts,
        earlier: Vec::new(),
    }
}

#[test]
fn a_flow_comes_out_of_its_text_as_it_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let shared = shared(folder.path());
    let pinned = pinned(FLOW);
    let name = FlowName { digest: pinned.digest.to_string(), language: pinned.language };
    assert!(shared.flow(&name).unwrap().is_none(), "nobody has kept it");
    shared.keep_flow(&pinned).unwrap();
    assert_eq!(shared.pinned(&name).unwrap(), Some(pinned.clone()));
    let flow = shared.flow(&name).unwrap().unwrap();
    assert_eq!(FlowName::of(&flow), name);
    // Another text under the same name is not accepted.
    let place = folder.path().join(flow_name(&pinned.digest, pinned.language));
    let other = FLOW.replace("two", "three");
    let text = FlowText { name: "flow.yaml".to_owned(), text: other, parts: BTreeMap::new() };
    std::fs::write(place, written(&text).unwrap()).unwrap();
    assert_eq!(shared.flow(&name).unwrap().map(|flow| flow.digest), None);
}

#[test]
fn a_damaged_content_is_no_content() {
    let folder = tempfile::tempdir().unwrap();
    let shared = shared(folder.path());
    shared.keep(b"words").unwrap();
    let digest = Digest::of(b"words");
    assert_eq!(shared.content(&digest).unwrap().as_deref(), Some(&b"words"[..]));
    std::fs::write(folder.path().join(content_name(&digest)), b"wordz").unwrap();
    assert!(shared.content(&digest).unwrap_err().reason.contains("its bytes are others"));
}

#[test]
fn the_first_server_says_how_long_the_lease_is() {
    let folder = tempfile::tempdir().unwrap();
    let shared = shared(folder.path());
    assert_eq!(shared.lease_ms().unwrap(), None);
    assert_eq!(shared.agree_on_lease_ms(60_000).unwrap(), 60_000);
    assert_eq!(shared.agree_on_lease_ms(90_000).unwrap(), 60_000);
    assert_eq!(shared.lease_ms().unwrap(), Some(60_000));
    std::fs::write(folder.path().join(LEASE), "a minute").unwrap();
    assert!(shared.lease_ms().is_err());
}
