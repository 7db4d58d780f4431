//! Steps that leave more files than an event lists: nothing is lost, nothing is cut, and an engine that dies on the way is
//! made up for.

use crate::stage::{LONG, Stage, wait_for, wait_until};
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

const MANY: usize = 2500;

fn flow() -> String {
    flow_of(MANY)
}

fn flow_of(files: usize) -> String {
    let make = format!(
        "import os\\nos.makedirs('out', exist_ok=True)\\nfor n in range({files}):\\n    open(f'out/{{n:04}}', 'w').write(f'content {{n}}')\\n"
    );
    format!(
        "flow: big\nsteps:\n  - id: make\n    run: [\"python3\", \"-c\", \"{make}\"]\n    artifacts: [\"out/**\", \"dist/*\"]\n  \
         - id: count\n    run: [\"sh\", \"-c\", \"find \\\"$ENVOI_RUN_BASE/big/out\\\" -type f | wc -l\"]\n"
    )
}

/// How many files lie in `folder`; none if it is not there.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn many_artifacts_are_a_manifest_and_lie_in_their_places_before_the_next_step() {
    let stage = Stage::with_flow(&flow());
    let done = stage.expect(0, &["run", "flow.yaml"]);
    assert!(done.err.contains("no file matches `artifacts: dist/*`"), "{done:?}");
    let run = stage.run_id();
    let handoff: serde_json::Value =
        serde_json::from_str(&stage.read(&format!(".envoi/runs/{run}/big/handoff/make.json"))).unwrap();
    assert_eq!(handoff["artifacts"], serde_json::json!({"manifest": "big/make.files.json"}));
    assert_eq!(handoff["file_changes"]["total"], MANY);
    let count = stage.expect(0, &["show", "--handoff", "count", "--json"]).out;
    assert!(count.contains(&MANY.to_string()), "{count}");
    let list: serde_json::Value =
        serde_json::from_str(&stage.read(&format!(".envoi/runs/{run}/big/make.files.json"))).unwrap();
    assert_eq!(list["files"].as_array().unwrap().len(), MANY);
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/big/out/2499")), "content 2499");
    // By the schema, the allowed members and the shapes.
    let held = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/handoffs.py");
    let held = std::process::Command::new("python3")
        .args(["-B", held, ".envoi"])
        .current_dir(stage.path(""))
        .output();
    let held = held.unwrap();
    assert!(held.status.success(), "{held:?}");
    // The lost files are made again from the store, and no other fault is found.
    fs::remove_file(stage.path(&format!(".envoi/runs/{run}/big/out/0007"))).unwrap();
    fs::remove_file(stage.path(&format!(".envoi/runs/{run}/big/make.files.json"))).unwrap();
    stage.expect(0, &["repair"]);
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/big/out/0007")), "content 7");
    assert_eq!(stage.read(&format!(".envoi/runs/{run}/big/make.files.json")).lines().count(), MANY + 2);
    assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
}

#[test]
fn an_engine_that_dies_while_a_large_set_is_settled_or_placed_is_made_up_for() {
    // Ends it as soon as the attempt is settled, then as soon as some files are in their places.
    for placed in [false, true] {
        let stage = Stage::with_flow(&flow());
        let engine = stage.start(&["run", "flow.yaml"]);
        let base = wait_for("the run's folder", || {
            Some(fs::read_dir(stage.path(".envoi/runs")).ok()?.flatten().next()?.path())
        });
        wait_until("the moment", || match placed {
            true => count(&base.join("big/out")) > 10,
            false => base.join("attempts/make.1.1/exit.json").exists(),
        });
        engine.kill();
        stage.expect(0, &["resume"]);
        assert_eq!(count(&base.join("big/out")), MANY, "{placed}");
        assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"), "{placed}");
        assert_eq!(fs::read_to_string(base.join("big/out/1234")).unwrap(), "content 1234");
    }
}

#[test]
fn a_question_does_not_claim_unchanged_files_when_that_is_not_known() {
    let stage = Stage::with_flow(&format!("{}  - id: sure\n    ask: Publish them?\n", flow()));
    stage.expect(3, &["run", "flow.yaml"]);
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    assert!(stage.expect(0, &["show", &question]).out.contains("out/0007"));
    let list = blobs(&stage.path(".envoi/artifacts/sha256")).into_iter().find(|path| {
        fs::read_to_string(path)
            .is_ok_and(|text| text.contains("\"total\": 2500") || text.contains("\"total\":2500"))
    });
    fs::remove_file(list.expect("the list of the files")).unwrap();
    let shown = stage.expect(0, &["show", &question]);
    assert!(shown.out.contains("files      which ones changed is not known: "), "{shown:?}");
    let refused = stage.expect(8, &["--json", "show", &question]);
    assert_eq!(refused.out, "", "a program is shown no empty list: {refused:?}");
}

/// All files below `folder`.
fn blobs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { blobs(&path) } else { vec![path] });
    found.collect()
}

/// The number of files; the steps of another run begin and end while they are kept. `ENVOI_MANY_FILES` sets another number.
fn very_many() -> usize {
    std::env::var("ENVOI_MANY_FILES").map_or(10_000, |number| number.parse().unwrap())
}

#[test]
fn the_steps_of_another_run_go_on_while_a_large_set_is_kept_and_placed() {
    let files = very_many();
    let stage = Stage::with_flow(&flow_of(files));
    let large = stage.start(&["run", "flow.yaml"]);
    let run = wait_for("the run", || stage.runs_made().into_iter().next());
    let base = format!(".envoi/runs/{run}");
    // Each visit looks what is done with the many files at that moment.
    let tick = format!(
        "now=working; [ -e {base}/attempts/make.1.1/exit.json ] && now=storing; [ -e {base}/big/out ] && now=placing; \
         [ -e {base}/big/handoff/make.json ] && now=placed; echo $now >> ticks; \
         [ $now = placed ] && echo \"Status: DONE\" || echo \"Status: UNVERIFIED\""
    );
    let routing = "{ kind: microloop, success_values: [DONE], max_iterations: 10000 }";
    let other = format!("flow: other\nsteps:\n  - id: tick\n    run: '{tick}'\n    routing: {routing}\n");
    stage.write("other.yaml", other);
    // As long as the many files take.
    let other = stage.start(&["run", "other.yaml", "--share-workspace"]).done_after(LONG * 10);
    assert_eq!(other.code, Some(0), "{other:?}");
    // The second of such visits was begun by the loop while its engine was at work with the files.
    let ticks = stage.lines("ticks");
    for moment in ["storing", "placing"] {
        assert!(ticks.iter().filter(|now| *now == moment).count() >= 2, "{moment}: {ticks:?}");
    }
    assert_eq!(large.done().code, Some(0));
    assert_eq!(list(&stage, &format!("{base}/big/make.files.json")), files);
    assert_eq!(count(&stage.path(&format!("{base}/big/out"))), files);
}

/// The sizes of the files of a folder, and the space that they take on the disk (holes take none).
fn room(folder: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for path in blobs(folder) {
        let found = fs::symlink_metadata(path).unwrap();
        sum = (sum.0 + found.len(), sum.1 + found.blocks() * 512);
    }
    sum
}

/// The size of a sparse artifact. `ENVOI_SPARSE_MIB` sets another number; without optimization a gigabyte takes minutes to be read.
fn sparse_bytes() -> u64 {
    std::env::var("ENVOI_SPARSE_MIB").map_or(64, |number| number.parse().unwrap()) << 20
}

/// An artifact has no largest size. A sparse file takes time to be read, and no room: it cannot fill the disk of the store.
#[test]
fn a_sparse_artifact_takes_no_room_in_the_store_and_the_next_step_has_it_whole() {
    let size = sparse_bytes();
    let stage = Stage::with_flow(&format!(
        "flow: sparse\nsteps:\n  - {{ id: make, run: 'truncate -s {size} out.bin', artifacts: [out.bin] }}\n  \
         - {{ id: after, run: 'stat -c %s $ENVOI_RUN_BASE/sparse/out.bin' }}\n"
    ));
    let mut engine = stage.start(&["run", "flow.yaml"]);
    // However long it takes: it may be gigabytes.
    while !engine.is_over() {
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(engine.done().code, Some(0));
    let after = format!(".envoi/runs/{}/attempts/after.1.1/stdout", stage.run_id());
    assert_eq!(stage.read(&after), format!("{size}\n"));
    let (bytes, taken) = room(&stage.store());
    assert!(bytes > 2 * size && taken < 16 << 20, "{bytes} bytes, of which {taken} take room");
}

/// A step makes many files, and puts a file where they belong; `then` is what follows it, if anything.
fn in_the_way(then: &str) -> String {
    let blocked = "], artifacts: [\"out/**\"] }";
    let make = format!(
        "import os, pathlib, shutil\\nos.makedirs('out', exist_ok=True)\\nfor n in range({MANY}):\\n    \
         open(f'out/{{n:04}}', 'w').write(f'content {{n}}')\\nbase = pathlib.Path(os.environ['ENVOI_RUN_BASE'], 'big')\\n\
         shutil.rmtree(base, ignore_errors=True)\\nbase.write_text('in the way')\\n"
    );
    format!("flow: big\nsteps:\n  - {{ id: make, run: [\"python3\", \"-c\", \"{make}\"{blocked}\n{then}")
}

#[test]
fn a_run_whose_large_set_cannot_be_placed_is_set_aside_though_no_attempt_waits_for_it() {
    let asks = "  - { id: sure, ask: { message: Go on? } }\n";
    for (then, code) in [("", 0), (asks, 3)] {
        let stage = Stage::with_flow(&in_the_way(then));
        let done = stage.expect(8, &["run", "flow.yaml"]);
        assert!(done.out.contains("set_aside") && done.err.contains("RUN_FILES_FAILED"), "{done:?}");
        let run = stage.run_id();
        assert_eq!(stage.runs()[0]["set_aside"]["code"], "RUN_FILES_FAILED");
        stage.expect(8, &["resume", &run]);
        let base = stage.path(&format!(".envoi/runs/{run}/big"));
        fs::remove_file(&base).unwrap();
        stage.expect(code, &["resume", &run]);
        assert_eq!(count(&base.join("out")), MANY);
        assert_eq!(stage.runs()[0]["set_aside"], serde_json::Value::Null);
        assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
    }
}

#[test]
fn an_expression_over_artifacts_that_a_manifest_has_fails_and_says_why() {
    let flow = flow().replace("\"sh\", \"-c\"", "\"echo\", \"${{ steps.make.artifacts }}\", \"-c\"");
    let stage = Stage::with_flow(&flow);
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("VALUE_TOO_LARGE") && done.err.contains("make.files.json"), "{done:?}");
}

/// Makes so many files below `folder`, each with content of its own.
fn makes(folder: &str, files: usize) -> String {
    format!(
        "import os\\nos.makedirs('{folder}', exist_ok=True)\\nfor n in range({files}):\\n    \
         open(f'{folder}/{{n:04}}', 'w').write(f'{folder} {{n}}')\\n"
    )
}

/// Enough for a manifest.
const ENOUGH: usize = 1200;

fn list(stage: &Stage, path: &str) -> usize {
    let list: serde_json::Value = serde_json::from_str(&stage.read(path)).unwrap();
    list["files"].as_array().unwrap().len()
}

#[test]
fn listed_files_and_those_of_manifests_stand_beside_each_other_and_follow_one_another() {
    let stage = Stage::with_flow(&format!(
        "flow: mixed\nsteps:\n  - id: many\n    run: [\"python3\", \"-c\", \"{}\"]\n    artifacts: [\"out/**\"]\n  \
         - id: few\n    run: 'echo changed > out/0003; rm out/0004; echo own > own.txt'\n    artifacts: [\"out/000[0-9]\", own.txt]\n  \
         - id: again\n    run: [\"python3\", \"-c\", \"{}\"]\n    artifacts: [\"out/**\"]\n  \
         - id: reads\n    run: 'cat $ENVOI_RUN_BASE/mixed/out/0003 $ENVOI_RUN_BASE/mixed/own.txt'\n",
        makes("out", ENOUGH),
        makes("out", ENOUGH + 5),
    ));
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let base = format!(".envoi/runs/{run}/mixed");
    let few: serde_json::Value =
        serde_json::from_str(&stage.read(&format!("{base}/handoff/few.json"))).unwrap();
    assert_eq!(few["artifacts"]["own.txt"], "mixed/own.txt", "{few}");
    assert_eq!(few["artifacts"]["out/0003"], "mixed/out/0003");
    let changes = few["file_changes"]["files"].as_array().unwrap();
    let change =
        |path: &str| changes.iter().find(|change| change["path"] == path).map(|change| &change["change"]);
    assert_eq!(change("out/0003"), Some(&"modified".into()));
    assert_eq!(change("out/0004"), Some(&"deleted".into()), "{few}");
    assert_eq!(list(&stage, &format!("{base}/many.files.json")), ENOUGH);
    assert_eq!(list(&stage, &format!("{base}/again.files.json")), ENOUGH + 5);
    let reads = stage.expect(0, &["show", "--handoff", "reads", "--json"]).out;
    assert!(reads.contains("out 3") && reads.contains("own"), "the newest version lies there: {reads}");
    // The files that the small steps had changed are restored from a list as well as from a manifest.
    for lost in ["out/0003", "out/1204", "own.txt"] {
        fs::remove_file(stage.path(&format!("{base}/{lost}"))).unwrap();
    }
    stage.expect(0, &["repair"]);
    assert_eq!(stage.read(&format!("{base}/out/0003")), "out 3");
    assert_eq!(stage.read(&format!("{base}/out/1204")), "out 1204");
    assert_eq!(stage.read(&format!("{base}/own.txt")), "own\n");
    assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
}

#[test]
fn a_fork_has_the_files_of_the_manifests_that_its_source_has_lived() {
    let stage = Stage::with_flow(&format!(
        "flow: big\nsteps:\n  - id: make\n    run: [\"python3\", \"-c\", \"{}\"]\n    artifacts: [\"out/**\"]\n  \
         - id: use\n    run: 'sh use.sh'\n",
        makes("out", ENOUGH)
    ));
    stage.write("use.sh", "exit 1");
    stage.expect(1, &["run", "flow.yaml"]);
    let root = stage.run_id();
    // Files that the workspace has lost since do not matter for the fork.
    fs::remove_dir_all(stage.path("out")).unwrap();
    stage.write("use.sh", "cat $ENVOI_RUN_BASE/big/out/1199; ls $ENVOI_RUN_BASE/big/out | wc -l");
    stage.expect(0, &["fork", &root]);
    let fork = stage.runs()[0]["run"].as_str().unwrap().to_owned();
    assert_ne!(fork, root);
    let said = stage.expect(0, &["show", &fork, "--handoff", "use", "--json"]).out;
    assert!(said.contains("out 1199") && said.contains(&ENOUGH.to_string()), "{said}");
    for run in [&root, &fork] {
        assert_eq!(list(&stage, &format!(".envoi/runs/{run}/big/make.files.json")), ENOUGH);
        assert_eq!(count(&stage.path(&format!(".envoi/runs/{run}/big/out"))), ENOUGH);
    }
    assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
}

#[test]
fn items_have_a_manifest_each_and_what_they_made_lies_in_one_place() {
    let make = makes("ITEM", ENOUGH)
        .replace("'ITEM'", "os.environ['ITEM']")
        .replace("f'ITEM", "os.environ['ITEM']+f'");
    let stage = Stage::with_flow(&format!(
        "flow: each\nsteps:\n  - id: make\n    for_each: [x, y]\n    env: {{ ITEM: \"${{{{ item }}}}\" }}\n    \
         run: [\"python3\", \"-c\", \"{make}\"]\n    max_parallel: 1\n    artifacts: [\"x/**\", \"y/**\"]\n  \
         - id: after\n    run: 'ls $ENVOI_RUN_BASE/each/x $ENVOI_RUN_BASE/each/y | wc -l'\n"
    ));
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let base = stage.path(&format!(".envoi/runs/{run}/each"));
    for item in ["x", "y"] {
        assert_eq!(count(&base.join(item)), ENOUGH, "{item}");
    }
    let lists: Vec<String> = fs::read_dir(&base)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".files.json"))
        .collect();
    let sizes = || {
        let sizes = lists.iter().map(|name| list(&stage, &format!(".envoi/runs/{run}/each/{name}")));
        let mut sizes: Vec<usize> = sizes.collect();
        sizes.sort_unstable();
        sizes
    };
    // A list for each item, the second of which hands over all that matches, and one for the step's newest.
    assert_eq!(sizes(), [ENOUGH, 2 * ENOUGH, 2 * ENOUGH]);
    lists.iter().for_each(|name| fs::remove_file(base.join(name)).unwrap());
    fs::remove_file(base.join("y/0042")).unwrap();
    stage.expect(0, &["repair"]);
    assert_eq!(fs::read_to_string(base.join("y/0042")).unwrap(), "y 42");
    assert_eq!(sizes(), [ENOUGH, 2 * ENOUGH, 2 * ENOUGH]);
    assert!(stage.expect(0, &["repair"]).out.contains("everything was as it should be"));
}

#[test]
fn an_artifact_of_another_step_never_lies_in_the_place_of_a_manifest() {
    let many = "  - id: gen\n    run: 'mkdir out && for i in $(seq 1001); do echo $i > out/$i; done'\n    artifacts: [\"out/**\"]\n";
    let file = "  - id: other\n    run: 'echo mine > gen.files.json; echo kept > made.json'\n    artifacts: [\"*.json\"]\n";
    let folder = "  - id: other\n    run: 'mkdir gen.files.json; echo mine > gen.files.json/x; echo kept > made.json'\n    artifacts: [\"**/*.json\", \"gen.files.json/*\"]\n";
    for (steps, left_out) in [
        ([many, file], "gen.files.json"),
        ([file, many], "gen.files.json"),
        ([many, folder], "gen.files.json/x"),
        ([folder, many], "gen.files.json/x"),
    ] {
        let stage = Stage::with_flow(&format!("flow: big\nsteps:\n{}", steps.concat()));
        let done = stage.expect(0, &["run", "flow.yaml"]);
        let warning = format!(
            "artifact `{left_out}` is left out: `STEP.files.json` is the name of the list of a step's files"
        );
        assert!(done.err.contains(&warning), "{done:?}");
        let base = format!(".envoi/runs/{}/big", stage.run_id());
        assert_eq!(list(&stage, &format!("{base}/gen.files.json")), 1001);
        assert_eq!(stage.read(&format!("{base}/made.json")), "kept\n");
        for _ in 0..2 {
            let repaired = stage.expect(0, &["repair"]);
            assert!(repaired.out.contains("everything was as it should be"), "{repaired:?}");
        }
    }
}

#[test]
fn a_critic_whose_text_is_cut_passes_no_gate_and_data_is_never_the_end_of_a_document() {
    let blanks = "head -c 1100000 /dev/zero | tr '\\\\0' ' '";
    let stage = Stage::with_flow(&format!(
        "flow: cut\nsteps:\n  - id: work\n    run: echo done\n  - id: critic\n    run: \"echo 'Status: UNVERIFIED'; {blanks}; echo; echo \
         'Status: VERIFIED'\"\n    routing: {{ kind: microloop, loop_to: work, success_values: [VERIFIED], max_iterations: 2 }}\n"
    ));
    let asked = stage.expect(3, &["run", "flow.yaml"]);
    assert!(asked.err.contains("the step's text is cut: stdout has more than 1 MiB"), "{asked:?}");
    let inbox = stage.json(&["--json", "inbox"]);
    assert!(inbox[0]["text"].as_str().unwrap().contains("Handoff is cut"), "{inbox}");
    for to in ["", "> \\\"$ENVOI_OUTPUT\\\""] {
        let stage = Stage::with_flow(&format!(
            "flow: cut\nsteps:\n  - id: out\n    data: json\n    run: \"{{ echo '['; {blanks}; echo; echo '{{ }}'; }} {to}\"\n"
        ));
        let failed = stage.expect(1, &["run", "flow.yaml"]).err;
        assert!(failed.contains("DATA_INVALID: the data in its text (`data: json`) cannot be read: the text is larger than 1 MiB"), "{failed}");
    }
}
