//! The changes of a run, over REST: in pages, only of kept files, and only as long as they exist.

use super::{client::Client, served};
use crate::stage::{Stage, text};
use serde_json::{Value, json};

/// Many small files, a deleted one, and one that is not a text.
const MANY: &str = "
flow: many
workspace: { folder: work, isolate: tree }
steps:
  - { id: make, run: 'i=0; while [ $i -lt 250 ]; do echo $i > f$i; i=$((i+1)); done; rm gone; printf \"\\0\" > bytes', artifacts: ['f1*'] }
  - { id: again, run: 'echo more >> f7', artifacts: ['f1*'] }
";

/// A run in a tree of its own; the server keeps its files.
fn kept(admin: &Client, flow: &str) -> String {
    assert_eq!(admin.post("/v1/flows", flow).status, 201);
    let id = flow.lines().find_map(|line| line.strip_prefix("flow: ")).unwrap();
    let started = admin.post("/v1/runs", &json!({"flow": id}).to_string());
    assert_eq!(started.status, 201, "{}", started.text());
    let run = text(&started.json()["run"]);
    admin.wait_until_run_is(&run, "succeeded");
    run
}

fn pages(client: &Client, path: &str, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut page = client.json(path);
    loop {
        all.extend(page[name].as_array().unwrap().clone());
        assert!(page["total"].as_u64().unwrap() >= u64::try_from(all.len()).unwrap());
        let Some(next) = page["next"].as_str() else { return all };
        page = client.json(&format!("{path}&cursor={next}"));
    }
}

#[test]
fn differences_come_in_pages_that_have_each_file_once() {
    let stage = Stage::new();
    stage.write("work/gone", "x\n");
    let (_served, admin) = served(&stage);
    let run = kept(&admin, MANY);
    let path = format!("/v1/runs/{run}/diff");
    for limit in [1, 100, 200] {
        let files = pages(&admin, &format!("{path}?limit={limit}"), "files");
        let paths: Vec<String> = files.iter().map(|file| text(&file["path"])).collect();
        assert_eq!(paths.len(), 252, "{limit}");
        assert!(paths.windows(2).all(|two| two[0] < two[1]), "{limit}: {paths:?}");
    }
    let file = &admin.json(&format!("{path}?path=f7&lines=true&authors=true"))["files"][0];
    assert_eq!([&file["added"], &file["removed"], &file["before"]], [&json!(2), &json!(0), &Value::Null]);
    assert_eq!(file["by"], json!(["make.1.1", "again.1.1"]));
    assert!(text(&file["lines"]).contains("+7\n+more\n"), "{file}");
    let plain = &admin.json(&format!("{path}?path=f7&states=again"))["files"];
    assert_eq!(
        [&plain[0]["added"], &plain[0]["lines"], &plain[0]["by"]],
        [&json!(1), &Value::Null, &json!([])]
    );
    assert_eq!(plain.as_array().unwrap().len(), 1);
    // A cursor of other states, or of nothing, is refused.
    let next = text(&admin.json(&format!("{path}?limit=1"))["next"]);
    for wrong in [
        format!("states=again&cursor={next}"),
        format!("path=f1&cursor={next}"),
        "cursor=x".into(),
        "cursor=1.x".into(),
        "states=now..end".into(),
        "states=..now".into(),
    ] {
        let refused = admin.get(&format!("{path}?{wrong}"));
        assert_eq!(
            (refused.status, text(&refused.json()["code"])),
            (400, "REQUEST_INVALID".into()),
            "{wrong}"
        );
    }
}

#[test]
fn artifacts_come_in_pages_the_newest_or_all_and_their_contents_by_digest() {
    let stage = Stage::new();
    stage.write("work/gone", "x\n");
    let (_served, admin) = served(&stage);
    let run = kept(&admin, MANY);
    let path = format!("/v1/runs/{run}/artifacts?limit=100");
    let newest = pages(&admin, &path, "artifacts");
    assert_eq!(newest.len(), 111, "f1, f10 to f19, f100 to f199");
    let first = &newest[0];
    assert_eq!([&first["path"], &first["visit"]], ["f1", "make.1"]);
    let content = admin.get(&format!("/v1/runs/{run}/contents/{}", text(&first["digest"])));
    assert_eq!(content.text(), "1\n");
    assert_eq!(
        pages(&admin, &format!("{path}&all=true"), "artifacts").len(),
        111,
        "the second step left them as they were"
    );
    let mixed = text(&admin.json(&path)["next"]);
    assert_eq!(admin.get(&format!("{path}&all=true&cursor={mixed}")).status, 400);
}

#[test]
fn a_run_that_was_collected_is_not_there_and_one_that_waits_is_compared_as_far_as_it_went() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    stage.write("work/there", "x\n");
    let flow = "flow: waits\nworkspace: { folder: work, isolate: tree }\nsteps:\n  - { id: a, run: 'echo a > a' }\n  - { id: q, ask: 'On?' }\n";
    assert_eq!(admin.post("/v1/flows", flow).status, 201);
    let run = text(&admin.post("/v1/runs", r#"{"flow": "waits"}"#).json()["run"]);
    let question = admin.question(&run);
    let files = admin.json(&format!("/v1/runs/{run}/diff"));
    assert_eq!([&files["total"], &files["files"][0]["path"]], [&json!(1), &json!("a")]);
    let patch = admin.get(&format!("/v1/runs/{run}/patch"));
    assert!(patch.text().contains("+++ b/a\n+a\n") || patch.text().contains("+a"), "{}", patch.text());
    let answer = admin.post(&format!("/v1/questions/{question}/answer"), r#"{"choice": "approve"}"#);
    assert_eq!(answer.status, 200);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(admin.get(&format!("/v1/runs/{run}/bundle")).status, 200);
    // The newest run of a store stays.
    let later = admin.run("flow: later\nsteps:\n  - { id: a, run: 'true' }\n");
    admin.wait_until_run_is(&later, "succeeded");
    stage.expect(0, &["gc", "--older", "0s", "--trash", "0s", "--drop", &run]);
    for what in ["diff", "patch", "artifacts", "bundle"] {
        let reply = admin.get(&format!("/v1/runs/{run}/{what}"));
        assert_eq!((reply.status, text(&reply.json()["code"])), (404, "RUN_NOT_FOUND".into()), "{what}");
    }
}
