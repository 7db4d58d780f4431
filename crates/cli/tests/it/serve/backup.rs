//! A backup by the commands that the documentation gives: made while the server runs, and gone on with.

use super::{
    APPROVAL,
    client::{Served, token},
};
use crate::stage::{Stage, text};
use serde_json::json;
use std::{fs, path::Path, process::Command};

const PAGE: &str = include_str!("../../../../../docs/server.md");

/// For machines that have the library of the database, and not its command.
const SQLITE3: &str = "#!/usr/bin/env python3
import sqlite3, sys
to = sys.argv[2].removeprefix(\".backup '\").removesuffix(\"'\")
sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(to))
";

/// The first block of commands after these words of the page.
fn commands(after: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(after).unwrap();
    let (_, block) = rest.split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0
}

/// Follows the documentation for this folder and this place for copies.
fn follow(script: &str, folder: &Path, to: &Path, spare: &Path) {
    let path = format!("{}:{}", std::env::var("PATH").unwrap(), spare.display());
    let mut shell = Command::new("sh");
    shell.args(["-euc", script]).env("FOLDER", folder).env("TO", to).env("PATH", path).current_dir("/");
    let done = shell.output().unwrap();
    assert!(done.status.success(), "{script}{done:?}");
}

#[test]
fn a_store_that_was_backed_up_as_the_page_says_is_gone_on_with_after_all_is_lost() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { hosts: [envoi.example] }\n");
    let served = Served::start(&stage);
    let first = served.first.clone().unwrap();
    let of_north = token(&stage, &["n", "--scope", "admin", "--tenant", "north"]);
    let (local, north) = (served.client(&first), served.client(&of_north));
    let brought = north.call("POST", "/v1/artifacts", &[("content-type", "text/plain")], b"minutes").json();
    let waiting = [&local, &north].map(|client| {
        let run = client.run(APPROVAL);
        let question = client.question(&run);
        (run, question)
    });
    let backup = tempfile::tempdir().unwrap();
    stage.write_program("spare/sqlite3", SQLITE3);
    let folder = stage.path("");
    follow(commands("While it runs, copy the database first"), &folder, backup.path(), &stage.path("spare"));

    served.process.kill();
    for lost in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if lost.is_dir() { fs::remove_dir_all(lost).unwrap() } else { fs::remove_file(lost).unwrap() }
    }
    follow(commands("Restore it to **the same path**"), &folder, backup.path(), &stage.path("spare"));

    let served = Served::start(&stage);
    assert_eq!(served.first, None, "its tokens are those that it had");
    let (local, north) = (served.client(&first), served.client(&of_north));
    let [of_local, of_north] = waiting;
    for (client, (run, question), files) in
        [(&local, of_local, json!([])), (&north, of_north, json!([brought]))]
    {
        let shown = client.json(&format!("/v1/questions/{question}"));
        let body = json!({"choice": "approve", "seen": shown["subject"], "attachments": files}).to_string();
        let answered = client.post(&format!("/v1/questions/{question}/answer"), &body);
        assert_eq!(answered.status, 200, "{}", answered.text());
        client.wait_until_run_is(&run, "succeeded");
        let handoff = client.json(&format!("/v1/runs/{run}/handoffs/draft"));
        let digest = text(&handoff["file_changes"]["files"][0]["digest"]);
        assert_eq!(client.get(&format!("/v1/artifacts/{digest}")).text(), "words\n");
    }
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
    assert_eq!(stage.lines(".envoi/tenants/north/did.txt"), ["draft", "publish"]);
    let named = [("host", "envoi.example")];
    assert_eq!(local.call("GET", "/v1/health", &named, &[]).status, 200, "its configuration is there");
}
