//! A part of a flow at a server: the hand-offs that it takes, and the permission to go past a question.

use super::client::{Served, token};
use crate::stage::{Stage, text};
use serde_json::{Value, json};

const FLOW: &str = "
flow: ship
steps:
  - { id: build, run: 'echo built >> did.txt; echo {\\\"n\\\": 1}', data: json }
  - { id: sign, ask: 'Sign it?' }
  - { id: publish, run: 'echo \"${{ steps.build.data.n }}\" >> did.txt' }
";

#[test]
fn a_part_takes_from_a_run_of_its_tenant_and_only_admin_goes_past_a_question() {
    let stage = Stage::new();
    let served = Served::start(&stage);
    let of = |arguments: &[&str]| served.client(&token(&stage, arguments));
    let (admin, ann) = (of(&["boss", "--scope", "admin"]), of(&["ann", "--scope", "run"]));
    let other = of(&["eve", "--scope", "admin", "--tenant", "theirs"]);
    let whole = admin.run(FLOW);
    admin.wait_until_run_is(&whole, "waiting");
    let start = |client: &super::client::Client, part: Value| {
        client.post("/v1/runs", &json!({"flow": "ship", "workspace": "shared", "part": part}).to_string())
    };
    let publish = json!({"only": ["publish"], "with": whole});
    for (client, part, status, code) in [
        (&ann, publish.clone(), 403, "SCOPE_TOO_SMALL"),
        (&ann, json!({"skip": ["sign"]}), 403, "SCOPE_TOO_SMALL"),
        (&admin, json!({"only": ["publish"]}), 422, "PART_INCOMPLETE"),
        (&admin, json!({"only": ["nothing"]}), 422, "PART_INVALID"),
        (&admin, json!({"only": "publish"}), 400, "REQUEST_INVALID"),
        (&admin, json!({"steps": ["publish"]}), 400, "REQUEST_INVALID"),
        (&admin, json!({"from": "Not an id"}), 400, "REQUEST_INVALID"),
    ] {
        let refused = start(client, part.clone());
        assert_eq!((refused.status, refused.json()["code"].as_str()), (status, Some(code)), "{part}");
    }
    // The steps before the question need no right of their own.
    let before = start(&ann, json!({"until": "build"}));
    assert_eq!(before.status, 201, "{}", before.text());
    admin.wait_until_run_is(&text(&before.json()["run"]), "succeeded");
    let begun = start(&admin, publish.clone());
    assert_eq!(begun.status, 201, "{}", begun.text());
    let run = text(&begun.json()["run"]);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["built", "built", "1"]);
    let started = &stage.events(&run)[0];
    assert_eq!((&started["by"]["actor"], &started["part"]["with"]), (&json!("boss"), &json!(whole)));
    // Nor does a fork go past it with less.
    for (client, body, status) in
        [(&ann, r#"{"from": "publish"}"#, 403), (&admin, r#"{"from": "publish"}"#, 201)]
    {
        let forked = client.post(&format!("/v1/runs/{run}/fork"), body);
        assert_eq!(forked.status, status, "{}", forked.text());
    }
    // Another tenant's run is as one that is not there.
    assert_eq!(other.post("/v1/flows", FLOW).status, 201);
    let asked = |with: &str| {
        let reply = start(&other, json!({"only": ["publish"], "with": with}));
        (reply.status, text(&reply.json()["code"]), text(&reply.json()["detail"]).replace(with, "RUN"))
    };
    assert_eq!(asked(&whole), asked("run_nowhere"));
    assert_eq!(asked(&whole).0, 404);
}
