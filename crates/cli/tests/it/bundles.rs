//! A run as one file: it is checked without its store, by Envoi and by tools that are not ours, and no change of it passes.

use crate::stage::{Dice, Process, Stage, text, wait_until};
use envoi_contract::digest::Digest;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// A step that fails once, artifacts, data, a question, and more files than an event lists.
const FLOW: &str = "
flow: record
steps:
  - id: make
    run: 'echo made; echo hidden >&2; test -e again || { touch again; exit 3; }; mkdir out; for n in $(seq 1200); do echo $n > out/$n; done'
    retry: { attempts: 2, backoff: 1ms..2ms }
    artifacts: ['out/**']
  - id: look
    run: 'echo {\\\"seen\\\": 7}'
    data: json
  - id: sure
    ask: Publish it?
";

/// A run that is over, as a bundle.
fn bundled() -> (Stage, String, PathBuf) {
    let stage = Stage::with_flow(FLOW);
    stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    stage.expect(0, &["approve", &run, "--note", "as agreed"]);
    stage.expect(0, &["export"]);
    let file = stage.path(&format!("{run}.envoi.tar.zst"));
    (stage, run, file)
}

/// Verifies as a person who has only the file.
fn verify(file: &str, arguments: &[&str]) -> (i32, String) {
    let elsewhere = Stage::new();
    let done = elsewhere.envoi(&[&["verify", file], arguments].concat());
    assert!(!elsewhere.store().exists(), "no store is made");
    (done.code.unwrap(), done.out + &done.err)
}

fn tar(folder: &Path, arguments: &[&str]) {
    let done = Command::new("tar").args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The entries of a bundle in a folder, and their names in order.
fn unpacked(stage: &Stage, file: &Path) -> (PathBuf, Vec<String>) {
    let folder = stage.path("unpacked");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir(&folder).unwrap();
    let plain = zstd::decode_all(fs::File::open(file).unwrap()).unwrap();
    fs::write(stage.path("plain.tar"), plain).unwrap();
    tar(&folder, &["-xf", "../plain.tar"]);
    let listed = Command::new("tar").args(["-tf", "plain.tar"]).current_dir(stage.path("")).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect();
    (folder, names)
}

/// A bundle of these entries of the folder.
fn packed(stage: &Stage, folder: &Path, names: &[String], more: &[&str]) -> String {
    stage.write("names", names.join("\n"));
    let arguments =
        [&["-cf", "../again.tar", "--no-recursion", "--hard-dereference"][..], more, &["-T", "../names"]]
            .concat();
    tar(folder, &arguments);
    let bytes = zstd::encode_all(fs::File::open(stage.path("again.tar")).unwrap(), 1).unwrap();
    stage.write("again.tar.zst", bytes);
    stage.path("again.tar.zst").display().to_string()
}

/// Writes the sums anew, as they are now.
fn sum_again(folder: &Path, names: &[String]) {
    let run = names[0].split('/').next().unwrap();
    let sums = names.iter().filter_map(|name| name.split_once('/')).filter(|(_, name)| *name != "SHA256SUMS");
    let sums = sums.map(|(_, name)| {
        format!("{}  {name}\n", Digest::of(&fs::read(folder.join(run).join(name)).unwrap()).hex())
    });
    let sums: String = sums.collect();
    fs::write(folder.join(run).join("SHA256SUMS"), sums).unwrap();
}

/// The chain over the events, made as in the documentation; written into the bundle with its head.
fn chain_again(folder: &Path, run: &str) -> String {
    let events = fs::read_to_string(folder.join(run).join("events.jsonl")).unwrap();
    let mut sum = Digest::of(run.as_bytes());
    let mut chain = String::new();
    for (at, line) in events.lines().enumerate() {
        sum = Digest::of(&[sum.as_bytes().as_slice(), line.as_bytes()].concat());
        chain.push_str(&format!("{at} {}\n", sum.hex()));
    }
    fs::write(folder.join(run).join("CHAIN"), chain).unwrap();
    let place = folder.join(run).join("MANIFEST.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    manifest["head"] = sum.to_string().into();
    manifest["events"] = events.lines().count().into();
    fs::write(place, serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    sum.to_string()
}

#[test]
fn a_run_is_one_file_that_anybody_can_check() {
    let (stage, run, file) = bundled();
    let before = fs::read(&file).unwrap();
    let again = stage.expect(2, &["export"]);
    let is_refused = again.err.contains("FILE_EXISTS") && fs::read(&file).unwrap() == before;
    assert!(is_refused, "{again:?}");
    let row = stage.json(&["--json", "export", &run, "--output", "second"]);
    assert!(before == fs::read(stage.path("second")).unwrap(), "the same bytes each time");
    let shown = stage.command(&["export", "--output", "-"]).output().unwrap();
    assert!(before == shown.stdout, "the same to standard output");
    assert_eq!(row["size_bytes"], u64::try_from(before.len()).unwrap());
    assert!(row["contents"].as_u64().unwrap() >= 1200, "{row}");
    let (code, said) = verify(&file.display().to_string(), &["--head", &text(&row["head"])]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("run {run} of flow record, succeeded: ")), "{said}");
    // Without Envoi.
    let (folder, names) = unpacked(&stage, &file);
    let sums = Command::new("sha256sum")
        .args(["--check", "--quiet", "--strict", "SHA256SUMS"])
        .current_dir(folder.join(&run))
        .output()
        .unwrap();
    assert!(sums.status.success() && sums.stdout.is_empty(), "{sums:?}");
    let read = |name: &str| fs::read_to_string(folder.join(&run).join(name)).unwrap();
    assert_eq!(read("flow.yaml"), FLOW);
    assert_eq!(
        (read("logs/make.1.1/stderr").as_str(), read("logs/make.1.2/stdout").as_str()),
        ("hidden\n", "made\n")
    );
    assert_eq!(
        read("handoff/look.1.json"),
        stage.read(&format!(".envoi/runs/{run}/record/handoff/look.1.json"))
    );
    let events = read("events.jsonl");
    assert_eq!(events.lines().count(), stage.events(&run).len());
    assert!(events.contains("as agreed"));
    assert_eq!(chain_again(&folder, &run), text(&row["head"]), "the chain is as the page says");
    // Packed again by another program, it is still whole.
    let (folder, _) = unpacked(&stage, &file);
    assert_eq!(verify(&packed(&stage, &folder, &names, &[]), &[]).0, 0);
}

/// A change of an unpacked bundle, and of what is packed of it.
type Change<'c> = Box<dyn Fn(&Path, &mut Vec<String>) + 'c>;

/// The change, and the sums as they are then.
fn summed<'c>(change: Change<'c>) -> Change<'c> {
    Box::new(move |folder, names| {
        change(folder, names);
        sum_again(folder, names);
    })
}

#[test]
fn no_change_of_a_bundle_passes() {
    let (stage, run, file) = bundled();
    let (_, names) = unpacked(&stage, &file);
    let content = names.iter().find(|name| name.contains("/blobs/")).unwrap().clone();
    let inside = |name: &str| format!("{run}/{name}");
    let edit = |folder: &Path, name: &str, from: &str, to: &str| {
        let place = folder.join(&run).join(name);
        let text = fs::read_to_string(&place).unwrap();
        assert!(text.contains(from), "{name} has {from}");
        fs::write(place, text.replacen(from, to, 1)).unwrap();
    };
    let cases: Vec<(&str, Change<'_>, &str)> = vec![
        ("a content", Box::new(|folder, _| fs::write(folder.join(&content), "x").unwrap()), "its sum is "),
        (
            "a content and its sum",
            summed(Box::new(|folder, _| fs::write(folder.join(&content), "x").unwrap())),
            "its name is not its sum",
        ),
        (
            "an event",
            summed(Box::new(|folder, _| edit(folder, "events.jsonl", "as agreed", "as agrees"))),
            "CHAIN has another sum for it",
        ),
        (
            "the end of the run, and all sums",
            summed(Box::new(|folder, _| {
                let place = folder.join(&run).join("events.jsonl");
                let text = fs::read_to_string(&place).unwrap();
                let lines: Vec<&str> = text.lines().collect();
                fs::write(place, lines[..lines.len() - 1].join("\n") + "\n").unwrap();
                chain_again(folder, &run);
            })),
            "MANIFEST.json: it says ",
        ),
        (
            "an event that cannot be, and all sums",
            summed(Box::new(|folder, _| {
                edit(folder, "events.jsonl", "\"attempt\":\"look.1.1\"", "\"attempt\":\"look.1.7\"");
                chain_again(folder, &run);
            })),
            "events.jsonl, line ",
        ),
        (
            "a hand-off",
            summed(Box::new(|folder, _| edit(folder, "handoff/look.1.json", "seen", "sewn"))),
            "it is not what events.jsonl",
        ),
        (
            "the flow",
            summed(Box::new(|folder, _| {
                edit(folder, "flow.yaml", "Publish it?", "Keep it?");
                edit(folder, "flows.json", "Publish it?", "Keep it?");
            })),
            "flow.yaml` has the digest",
        ),
        (
            "the flow for people",
            summed(Box::new(|folder, _| edit(folder, "flow.yaml", "7", "8"))),
            "flow.yaml: ",
        ),
        (
            "what it says of itself",
            summed(Box::new(|folder, _| edit(folder, "MANIFEST.json", "succeeded", "failed"))),
            "MANIFEST.json: it says ",
        ),
        (
            "what it says to people",
            summed(Box::new(|folder, _| edit(folder, "README.txt", "checks all", "checks none"))),
            "README.txt: ",
        ),
        (
            "a content is gone",
            summed(Box::new(|_, names| names.retain(|name| *name != content))),
            "an event names it, and it is missing",
        ),
        (
            "a content more",
            summed(Box::new(|folder, names| {
                let name = inside(&format!("blobs/sha256/{}", Digest::of(b"more").hex()));
                fs::write(folder.join(&name), "more").unwrap();
                names.insert(names.len() - 1, name);
            })),
            "no event names it",
        ),
        (
            "an entry more",
            summed(Box::new(|folder, names| {
                fs::write(folder.join(inside("evil.sh")), "x").unwrap();
                names.insert(1, inside("evil.sh"));
            })),
            "no bundle has such an entry",
        ),
        (
            "an entry twice",
            Box::new(|_, names| names.insert(1, inside("README.txt"))),
            "it stands there twice",
        ),
        (
            "a link",
            Box::new(|folder, _| {
                let place = folder.join(inside("flow.yaml"));
                fs::remove_file(&place).unwrap();
                symlink("/etc/passwd", place).unwrap();
            }),
            "it is no plain file",
        ),
        (
            "the sums are gone",
            Box::new(|_, names| names.truncate(names.len() - 1)),
            "SHA256SUMS: it is missing",
        ),
        ("something after the sums", Box::new(|_, names| names.rotate_right(1)), "it comes after SHA256SUMS"),
    ];
    for (what, change, expected) in cases {
        let (folder, mut names) = unpacked(&stage, &file);
        change(&folder, &mut names);
        let (code, said) = verify(&packed(&stage, &folder, &names, &[]), &[]);
        assert!(
            code == 1 && said.contains("is not whole") && said.contains(expected),
            "{what}: {code} {said}"
        );
    }
    let (folder, names) = unpacked(&stage, &file);
    let elsewhere =
        packed(&stage, &folder, &names, &["-P", "--transform", "s,[^/]*/README.txt,../README.txt,"]);
    let (code, said) = verify(&elsewhere, &[]);
    assert!(code == 1 && said.contains("its name leads elsewhere"), "{said}");
    // An event that was changed with all sums is a possible run: only the owner of the head can detect it.
    let head = text(&stage.json(&["--json", "export", "-o", "third"])["head"]);
    edit(&folder, "events.jsonl", "as agreed", "as agrees");
    chain_again(&folder, &run);
    sum_again(&folder, &names);
    let forged = packed(&stage, &folder, &names, &[]);
    assert_eq!(verify(&forged, &[]).0, 0);
    let (code, said) = verify(&forged, &["--head", &head]);
    assert!(code == 1 && said.contains("the events are others"), "{said}");
    // A head that was kept before more events came is known, and vouches for nothing after it.
    let chain = fs::read_to_string(folder.join(&run).join("CHAIN")).unwrap();
    let (at, sum) = chain.lines().nth(2).unwrap().split_once(' ').unwrap();
    assert_eq!(at, "2");
    let (code, said) = verify(&forged, &["--head", &format!("sha256:{sum}")]);
    let events = chain.lines().count();
    let expected =
        format!("has another head\nthe head: the one that was given is that after 3 of {events} events");
    assert!(code == 1 && said.contains(&expected), "{said}");
}

#[test]
fn a_signature_says_who_made_a_bundle() {
    let (stage, run, unsigned) = bundled();
    let keygen = |arguments: &[&str]| {
        let done = Command::new("ssh-keygen").args(arguments).current_dir(stage.path("")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    for name in ["ada", "eve"] {
        keygen(&["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]);
    }
    let allowed = |name: &str, key: &str| stage.write(name, format!("ada@example.org {}", stage.read(key)));
    allowed("signers", "ada.pub");
    allowed("others", "eve.pub");
    stage.expect(0, &["export", &run, "--sign", "ada", "-o", "signed"]);
    let place = |name: &str| stage.path(name).display().to_string();
    let (code, said) = verify(&place("signed"), &["--signers", &place("signers")]);
    assert!(code == 0 && said.contains("signed by ada@example.org"), "{said}");
    let (code, said) = verify(&place("signed"), &[]);
    assert!(code == 0 && said.contains("was not looked at"), "{said}");
    let (code, said) = verify(&place("signed"), &["--signers", &place("others")]);
    assert!(code == 1 && said.contains("SHA256SUMS.sig: no signer of "), "{said}");
    let (code, said) = verify(&unsigned.display().to_string(), &["--signers", &place("signers")]);
    assert!(code == 1 && said.contains("SHA256SUMS.sig: it is missing"), "{said}");
    let (code, said) = verify(&place("signed"), &["--signers", &place("gone")]);
    assert!(code == 2 && said.contains("FILE_UNREADABLE"), "{said}");
    // A signature of other sums.
    let (folder, names) = unpacked(&stage, &stage.path("signed"));
    fs::write(folder.join(&run).join("logs/make.1.1/stderr"), "nothing\n").unwrap();
    let summed: Vec<String> = names[..names.len() - 1].to_vec();
    sum_again(&folder, &summed);
    let forged = packed(&stage, &folder, &names, &[]);
    assert_eq!(verify(&forged, &[]).0, 0, "output is in no event");
    let (code, said) = verify(&forged, &["--signers", &place("signers")]);
    assert!(code == 1 && said.contains("SHA256SUMS.sig: "), "{said}");
    // By hand.
    let (folder, _) = unpacked(&stage, &stage.path("signed"));
    let sums = fs::File::open(folder.join(&run).join("SHA256SUMS")).unwrap();
    let by_hand = Command::new("ssh-keygen")
        .args([
            "-Y",
            "verify",
            "-f",
            &place("signers"),
            "-I",
            "ada@example.org",
            "-n",
            "envoi-run",
            "-s",
            "SHA256SUMS.sig",
        ])
        .current_dir(folder.join(&run))
        .stdin(sums)
        .output()
        .unwrap();
    assert!(by_hand.status.success(), "{by_hand:?}");
    let done = stage.expect(6, &["export", &run, "--sign", "gone", "-o", "never"]);
    assert!(done.err.contains("SIGNING_FAILED") && !stage.path("never").exists(), "{done:?}");
    let left = fs::read_dir(stage.path(""))
        .unwrap()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(".new-"));
    assert!(!left, "nothing half made is left");
}

#[test]
fn a_bundle_is_unpacked_and_checked_by_tools_that_are_not_ours() {
    let (stage, run, file) = bundled();
    fs::create_dir(stage.path("by-hand")).unwrap();
    let script = "zstd -dc \"$1\" | tar -xf - && cd \"$2\" && sha256sum --check --strict --quiet SHA256SUMS";
    let mut command = Command::new("bash");
    command
        .args(["-o", "pipefail", "-c", script, "-"])
        .arg(&file)
        .arg(&run)
        .current_dir(stage.path("by-hand"));
    let done = command.output().unwrap();
    assert!(done.status.success(), "zstd, tar and sha256sum are needed: {done:?}");
    let there = fs::read_dir(stage.path("by-hand").join(&run)).unwrap().count();
    assert!(there > 5, "{there}");
}

/// `verify` refuses a file in which one bit differs, unless it unpacks to the same bytes.
#[test]
fn a_bit_that_is_changed_anywhere_is_found() {
    let (stage, _, file) = bundled();
    let whole = fs::read(&file).unwrap();
    let unpacked = |bytes: &[u8]| zstd::decode_all(bytes);
    let right = unpacked(&whole).unwrap();
    let mut dice = Dice::new();
    let bits = u64::try_from(whole.len()).unwrap() * 8;
    let mut found = 0;
    for _ in 0..60 {
        let bit = usize::try_from(dice.between(0, bits)).unwrap();
        let mut bent = whole.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        stage.write("bent", &bent);
        match envoi_bundle::verify(&fs::File::open(stage.path("bent")).unwrap()) {
            Err(_) => found += 1,
            // Some bits of a frame of zstd state how much memory it takes to read it, and no more.
            Ok(_) => assert!(unpacked(&bent).unwrap() == right, "bit {bit}"),
        }
    }
    assert!(found > 50, "{found} of 60");
}

#[test]
fn a_file_that_is_no_bundle_is_refused() {
    let (stage, _, file) = bundled();
    let whole = fs::read(&file).unwrap();
    let cut = &whole[..whole.len() / 2];
    let mut bent = whole.clone();
    let middle = bent.len() / 2;
    bent[middle] ^= 1;
    for (what, bytes) in [("empty", &[][..]), ("a text", b"flow: x\n"), ("cut", cut), ("one bit", &bent)] {
        stage.write("wrong", bytes);
        let (code, said) = verify(&stage.path("wrong").display().to_string(), &[]);
        assert!(code == 1 && said.contains("is not whole"), "{what}: {said}");
    }
    for place in ["gone", "."] {
        let (code, said) = verify(&stage.path(place).display().to_string(), &[]);
        assert!(code == 2 && said.contains("FILE_UNREADABLE"), "{place}: {said}");
    }
    let (code, said) = verify(&file.display().to_string(), &["--head", "abc"]);
    assert!(code == 2 && said.contains("REQUEST_INVALID"), "{said}");
    let none = stage.envoi(&["export", "run_of_nobody"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    let nowhere = stage.envoi(&["export", "--output", "no/such/folder/x"]);
    assert!(nowhere.code == Some(8) && nowhere.err.contains("no/such/folder"), "{nowhere:?}");
}

#[test]
fn a_run_at_work_a_fork_and_a_corrected_run_are_bundles_too() {
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - { id: a, run: 'echo a' }\n  - { id: b, run: 'echo begun; exec tail -f /dev/null' }\n",
    );
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("output", || {
        stage.attempt("b.1.1").is_some_and(|folder| {
            fs::read_to_string(folder.join("stdout")).is_ok_and(|text| text == "begun\n")
        })
    });
    let run = stage.run_id();
    stage.expect(0, &["export", &run, "-o", "live"]);
    let (code, said) = verify(&stage.path("live").display().to_string(), &[]);
    assert!(code == 0 && said.contains("of flow f, running"), "{said}");
    stage.envoi(&["cancel", &run]);
    engine.done();
    stage.write(
        "fixed.yaml",
        "flow: f\nsteps:\n  - { id: a, run: 'echo a' }\n  - { id: b, run: 'echo fixed' }\n",
    );
    stage.expect(0, &["resume", &run, "--flow", "fixed.yaml", "--yes"]);
    stage.expect(0, &["export", &run, "-o", "corrected"]);
    let (code, said) = verify(&stage.path("corrected").display().to_string(), &[]);
    assert!(code == 0 && said.contains("of flow f, succeeded"), "{said}");
    let fork = stage.expect(0, &["fork", &run, "--from", "b"]);
    let fork = fork.out.split_whitespace().find(|word| word.starts_with("run_")).map(str::to_owned).unwrap();
    stage.expect(0, &["export", &fork, "-o", "forked"]);
    let (code, said) = verify(&stage.path("forked").display().to_string(), &[]);
    assert!(code == 0 && said.contains(&fork), "{said}");
}

/// A run with two snapshots, and its bundle as `b`.
fn with_snapshots() -> (Stage, String) {
    let stage = Stage::with_flow(
        "flow: f\nworkspace: work\nsteps:\n  - { id: make, run: 'for n in $(seq 100); do seq $n 300 > many-$n; done; ln -sf a.txt link; rm -f a.txt; mkdir -p empty' }\n",
    );
    stage.write("work/a.txt", "a\n");
    stage.expect(0, &["run", "flow.yaml", "--keep-files"]);
    let run = stage.run_id();
    stage.expect(0, &["export", "-o", "b"]);
    (stage, run)
}

#[test]
fn a_bundle_has_the_snapshots_of_its_run() {
    let (stage, run) = with_snapshots();
    let bundle = stage.path("b").display().to_string();
    let (code, said) = verify(&bundle, &[]);
    assert!(code == 0 && said.contains("\n2 snapshots of the workspace, with their files\n"), "{said}");
    let (folder, names) = unpacked(&stage, &stage.path("b"));
    let lists: Vec<_> = names.iter().filter(|name| name.contains("/trees/")).collect();
    assert_eq!(lists.len(), 2, "{names:?}");
    // By hand: each file of each list is there.
    let sums = Command::new("sha256sum")
        .args(["--check", "--quiet", "--strict", "SHA256SUMS"])
        .current_dir(folder.join(&run))
        .output()
        .unwrap();
    assert!(sums.status.success(), "{sums:?}");
    let mut files = 0;
    for list in &lists {
        let list = fs::read_to_string(folder.join(list)).unwrap();
        for line in list.strip_prefix("envoi-tree 1\n").unwrap().split_terminator('\0') {
            if let Some(hex) = line.split(' ').nth(1).and_then(|digest| digest.strip_prefix("sha256:")) {
                assert!(folder.join(&run).join("blobs/sha256").join(hex).exists(), "{line}");
                files += 1;
            }
        }
    }
    assert_eq!(files, 102, "one before; a hundred and the link after");
    assert_eq!(verify(&packed(&stage, &folder, &names, &[]), &[]).0, 0);
    let list = lists[0].clone();
    let blob = {
        let text = fs::read_to_string(folder.join(&list)).unwrap();
        let hex = text.split("sha256:").nth(1).unwrap()[..64].to_owned();
        format!("{run}/blobs/sha256/{hex}")
    };
    let cases: Vec<(&str, Change<'_>, &str)> = vec![
        (
            "a list with a byte more",
            summed(Box::new(|folder, _| {
                let bytes = fs::read(folder.join(&list)).unwrap();
                fs::write(folder.join(&list), [bytes.as_slice(), b"x"].concat()).unwrap();
            })),
            "it is no list of a snapshot",
        ),
        (
            "another list",
            summed(Box::new(|folder, _| fs::write(folder.join(&list), "envoi-tree 1\n").unwrap())),
            "its name is not its sum",
        ),
        (
            "no list",
            summed(Box::new(|_, names| names.retain(|name| *name != list))),
            "an event names it, and it is missing",
        ),
        (
            "no file",
            summed(Box::new(|_, names| names.retain(|name| *name != blob))),
            "an event names it, and it is missing",
        ),
        (
            "a list more",
            summed(Box::new(|folder, names| {
                let name = format!("{run}/trees/{}", Digest::of(b"envoi-tree 1\n").hex());
                fs::write(folder.join(&name), "envoi-tree 1\n").unwrap();
                names.insert(names.len() - 1, name);
            })),
            "no event names it",
        ),
    ];
    for (what, change, expected) in cases {
        let (folder, mut names) = unpacked(&stage, &stage.path("b"));
        change(&folder, &mut names);
        let (code, said) = verify(&packed(&stage, &folder, &names, &[]), &[]);
        assert!(code == 1 && said.contains(expected), "{what}: {code} {said}");
    }
}

#[test]
fn a_bundle_can_be_made_without_files() {
    let (stage, run) = with_snapshots();
    let done = stage.expect(0, &["export", &run, "--without-files", "-o", "less"]);
    assert!(!done.err.contains("not in the bundle"), "{done:?}");
    let (_, names) = unpacked(&stage, &stage.path("less"));
    assert!(!names.iter().any(|name| name.contains("/trees/")), "{names:?}");
    assert!(fs::metadata(stage.path("less")).unwrap().len() < fs::metadata(stage.path("b")).unwrap().len());
    let (code, said) = verify(&stage.path("less").display().to_string(), &[]);
    assert!(code == 0 && said.contains("the snapshots of the workspace were left out"), "{said}");
    // In the place of an archive it is not accepted for the run.
    stage.write(".envoi/config.yaml", "retention: { keep_last: 1, archive: ../old }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    fs::create_dir(stage.path("old")).unwrap();
    let place = stage.path(&format!("old/{run}.envoi.tar.zst"));
    fs::copy(stage.path("less"), &place).unwrap();
    let done = stage.expect(8, &["gc"]);
    assert!(done.err.contains("is not archived: the bundle does not have"), "{done:?}");
    stage.expect(0, &["show", &run]);
    fs::copy(stage.path("b"), &place).unwrap();
    stage.expect(0, &["gc"]);
    stage.expect(2, &["show", &run]);
}

#[test]
fn a_bundle_that_is_older_than_snapshots_in_bundles_is_checked_as_before() {
    let (stage, run) = with_snapshots();
    let (folder, mut names) = unpacked(&stage, &stage.path("b"));
    let events = fs::read_to_string(folder.join(&run).join("events.jsonl")).unwrap();
    let is_named = |name: &String| events.contains(name.split_once("/blobs/sha256/").unwrap().1);
    names.retain(|name| !name.contains("/trees/") && (!name.contains("/blobs/") || is_named(name)));
    let contents = names.iter().filter(|name| name.contains("/blobs/")).count();
    let place = folder.join(&run).join("README.txt");
    let readme = fs::read_to_string(&place).unwrap();
    let (begin, end) = (readme.find("trees/ has").unwrap(), readme.find("If there is a SHA256SUMS").unwrap());
    fs::write(&place, readme[..begin].to_owned() + &readme[end..]).unwrap();
    let place = folder.join(&run).join("MANIFEST.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    manifest["format"] = 1.into();
    manifest["contents"] = contents.into();
    fs::write(&place, serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    sum_again(&folder, &names);
    let old = packed(&stage, &folder, &names, &[]);
    let (code, said) = verify(&old, &[]);
    assert!(code == 0 && !said.contains("snapshots"), "{said}");
    // It is not accepted for a run whose snapshots are there.
    stage.write(".envoi/config.yaml", "retention: { keep_last: 1, archive: ../old }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    fs::create_dir(stage.path("old")).unwrap();
    fs::copy(&old, stage.path(&format!("old/{run}.envoi.tar.zst"))).unwrap();
    let done = stage.expect(8, &["gc"]);
    assert!(done.err.contains("is not archived: the bundle does not have"), "{done:?}");
    // The bundle of a run without snapshots still has the old format.
    let (bundle, run, file) = bundled();
    let (folder, _) = unpacked(&bundle, &file);
    let manifest = fs::read_to_string(folder.join(&run).join("MANIFEST.json")).unwrap();
    assert!(manifest.contains("\"format\": 1,"), "{manifest}");
}

#[test]
fn a_missing_content_is_left_out_and_reported() {
    let (stage, run, _) = bundled();
    let artifacts: Vec<_> = fs::read_dir(stage.path(".envoi/artifacts/sha256")).unwrap().flatten().collect();
    fs::remove_dir_all(artifacts[0].path()).unwrap();
    let done = stage.expect(0, &["export", &run, "-o", "less"]);
    assert!(done.err.contains("are not in the bundle"), "{done:?}");
    let (code, said) = verify(&stage.path("less").display().to_string(), &[]);
    assert!(code == 0 && said.contains("were not there when it was made"), "{said}");
}

/// Everything of a run that `show` has, but for how it came.
fn shown(stage: &Stage, run: &str) -> serde_json::Value {
    let mut detail = stage.json(&["--json", "show", run]);
    // The workspace that lay beside the store lies beside this one.
    for name in ["imported", "workspace"] {
        detail.as_object_mut().unwrap().remove(name);
    }
    detail
}

/// The names of the content files of a store.
fn contents(stage: &Stage) -> usize {
    let folders = fs::read_dir(stage.path(".envoi/artifacts/sha256")).into_iter().flatten().flatten();
    folders.map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count)).sum()
}

#[test]
fn a_bundle_comes_into_another_store_and_is_the_same_run() {
    let (stage, run, file) = bundled();
    let file = file.display().to_string();
    let other = Stage::new();
    let row = other.json(&["--json", "import", &file]);
    assert_eq!((text(&row["run"]), &row["is_new"]), (run.clone(), &true.into()));
    // The head that `show` prints verifies the bundle.
    let head = text(&stage.json(&["--json", "show", &run])["head"]);
    assert_eq!(text(&row["head"]), head);
    assert!(stage.expect(0, &["show", &run]).out.contains(&format!("head       {head}\n")));
    assert_eq!(verify(&file, &["--head", &head]).0, 0);
    assert_eq!(shown(&other, &run), shown(&stage, &run));
    assert_eq!(other.events(&run), stage.events(&run));
    for arguments in [
        &["logs", &run][..],
        &["logs", &run, "--stderr"],
        &["why", &run],
        &["show", &run, "--handoff", "look"],
        &["artifacts", "list", &run],
        &["artifacts", "cat", &run, "out/700"],
    ] {
        assert_eq!(other.expect(0, arguments).out, stage.expect(0, arguments).out, "{arguments:?}");
    }
    let imported = &other.json(&["--json", "show", &run])["imported"];
    assert_eq!((text(&imported["file"]), &imported["signer"]), (file.clone(), &serde_json::Value::Null));
    assert!(other.expect(0, &["show", &run]).out.contains("it never goes on here"));
    assert_eq!(stage.json(&["--json", "show", &run])["imported"], serde_json::Value::Null);
    other.expect(0, &["doctor"]);
    other.expect(0, &["repair"]);
    // It is made again from there, byte for byte.
    other.expect(0, &["export", &run, "-o", "again"]);
    assert!(fs::read(other.path("again")).unwrap() == fs::read(&file).unwrap());
    // The same once more is nothing, also where it was lived.
    let (events, files) = (other.events(&run), contents(&other));
    for stage in [&other, &stage] {
        assert_eq!(stage.json(&["--json", "import", &file])["is_new"], false);
        assert!(stage.expect(0, &["import", &file]).out.contains("there is nothing to do"));
    }
    assert_eq!((other.runs().len(), other.events(&run), contents(&other)), (1, events, files));
    assert_eq!(stage.json(&["--json", "show", &run])["imported"], serde_json::Value::Null);
    // It never goes on, and it can be forked.
    for arguments in
        [&["resume", &run][..], &["cancel", &run], &["restore", &run, "--undo"], &["apply", &run]]
    {
        let refused = other.envoi(arguments);
        assert!([2, 6].contains(&refused.code.unwrap()), "{refused:?}");
    }
    assert!(other.expect(6, &["resume", &run]).err.contains("RUN_FOREIGN"));
    assert_eq!(shown(&other, &run), shown(&stage, &run));
    other.expect(3, &["fork", &run, "--from", "sure"]);
    assert_eq!(other.runs().len(), 2);
}

#[test]
fn a_signature_and_a_head_are_asked_for_before_a_bundle_comes_in() {
    let (stage, run, _) = bundled();
    let place = |name: &str| stage.path(name).display().to_string();
    for name in ["ada", "eve"] {
        let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name];
        let done = Command::new("ssh-keygen").args(arguments).current_dir(stage.path("")).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        stage
            .write(&format!("{name}s"), format!("{name}@example.org {}", stage.read(&format!("{name}.pub"))));
    }
    let head = text(&stage.json(&["--json", "export", &run, "--sign", "ada", "-o", "signed"])["head"]);
    let other = Stage::new();
    let elsewhere = Digest::of(b"elsewhere").to_string();
    for arguments in [["--signers", &place("eves")], ["--head", &elsewhere]] {
        let refused = other.expect(2, &[&["import", &place("signed")][..], &arguments].concat());
        assert!(refused.err.contains("BUNDLE_DAMAGED") && !other.store().exists(), "{refused:?}");
    }
    let arguments = ["--json", "import", &place("signed"), "--signers", &place("adas"), "--head", &head];
    assert_eq!(text(&other.json(&arguments)["signer"]), "ada@example.org");
    assert!(
        other.expect(0, &["show", &run]).out.contains(", signed by ada@example.org; it never goes on here")
    );
    for arguments in [["--strict", ""], ["--output", "x"]] {
        let arguments: Vec<_> = arguments.into_iter().filter(|word| !word.is_empty()).collect();
        let refused = other.expect(2, &[&["import", &place("signed")][..], &arguments].concat());
        assert!(refused.err.contains("REQUEST_INVALID"), "{refused:?}");
    }
    stage.write("flow.txt", "agents: []\n");
    let refused = other.expect(2, &["import", &place("flow.txt"), "--head", &head]);
    assert!(refused.err.contains("REQUEST_INVALID"), "{refused:?}");
}

#[test]
fn a_bundle_with_other_events_or_a_part_of_them_does_not_come_in() {
    let (stage, run, file) = bundled();
    let file = file.display().to_string();
    let has_it = Stage::new();
    has_it.expect(0, &["import", &file]);
    let (folder, names) = unpacked(&stage, Path::new(&file));
    let events = folder.join(&run).join("events.jsonl");
    let changed = fs::read_to_string(&events).unwrap().replacen("as agreed", "as wanted", 1);
    fs::write(&events, changed).unwrap();
    chain_again(&folder, &run);
    sum_again(&folder, &names);
    let forged = packed(&stage, &folder, &names, &[]);
    assert_eq!(verify(&forged, &[]).0, 0);
    let before = has_it.events(&run);
    let refused = has_it.expect(6, &["import", &forged]);
    assert!(refused.err.contains("RUN_EXISTS") && has_it.events(&run) == before, "{refused:?}");
    // Cut, or with a byte changed, it is no bundle; nothing is left of it.
    let bytes = fs::read(&file).unwrap();
    stage.write("cut", &bytes[..bytes.len() / 2]);
    let mut bent = bytes.clone();
    let middle = bent.len() / 2;
    bent[middle] ^= 1;
    stage.write("bent", &bent);
    stage.write("no.envoi.tar.zst", "");
    let other = Stage::new();
    for name in ["cut", "bent", "no.envoi.tar.zst"] {
        let refused = other.expect(2, &["import", &stage.path(name).display().to_string()]);
        assert!(refused.err.contains("BUNDLE_DAMAGED") && !other.store().exists(), "{refused:?}");
    }
    // An unfinished run has no head.
    let waits = Stage::with_flow("flow: f\nsteps:\n  - { id: q, ask: Well? }\n");
    waits.expect(3, &["run", "flow.yaml"]);
    waits.expect(0, &["export", "-o", "open"]);
    assert!(waits.json(&["--json", "show", &waits.run_id()])["head"].is_null());
    let refused = other.expect(2, &["import", &waits.path("open").display().to_string()]);
    assert!(refused.err.contains("was not over when the bundle was made, but waiting"), "{refused:?}");
    assert!(other.runs().is_empty());
    // While an engine works, an import is refused.
    other
        .write("slow.yaml", "flow: s\nsteps:\n  - { id: a, run: 'until test -e go; do sleep 0.01; done' }\n");
    let engine = other.start(&["run", "slow.yaml"]);
    wait_until("the step", || other.attempt("a.1.1").is_some_and(|dir| dir.join("started.json").exists()));
    let refused = other.expect(6, &["import", &file]);
    assert!(refused.err.contains("ENGINE_BUSY"), "{refused:?}");
    other.write("go", "");
    engine.done();
    other.expect(0, &["import", &file]);
}

/// Killed at any moment, there is no run, or all of it; and a further import makes it whole.
#[test]
fn an_import_that_is_killed_has_left_no_run_or_all_of_it() {
    let (stage, run, file) = bundled();
    let file = file.display().to_string();
    for wanted in [1, 300, 900] {
        let other = Stage::new();
        let mut child = other.command(&["import", &file]).spawn().unwrap();
        wait_until("contents, or the end", || {
            contents(&other) >= wanted || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let shown = other.envoi(&["show", &run]);
        assert!([Some(0), Some(2)].contains(&shown.code), "{shown:?}");
        if shown.code == Some(0) {
            assert_eq!(other.events(&run), stage.events(&run));
        }
        other.expect(0, &["import", &file]);
        assert_eq!(other.expect(0, &["logs", &run]).out, stage.expect(0, &["logs", &run]).out);
        assert_eq!(other.expect(0, &["artifacts", "cat", &run, "out/700"]).out, "700\n");
        other.expect(0, &["doctor"]);
        other.expect(0, &["export", &run, "-o", "again"]);
        assert!(fs::read(other.path("again")).unwrap() == fs::read(&file).unwrap());
        // Files that are derived from the run are written again.
        let place = other.path(&format!(".envoi/runs/{run}/record/handoff/look.1.json"));
        fs::remove_file(&place).unwrap();
        other.expect(0, &["import", &file]);
        assert!(place.exists());
    }
}

#[test]
fn the_snapshots_of_a_run_come_with_its_bundle() {
    let (stage, run) = with_snapshots();
    let other = Stage::new();
    other.expect(0, &["import", &stage.path("b").display().to_string()]);
    let of = |stage: &Stage| stage.json(&["--json", "diff", &run]);
    assert_eq!(of(&other), of(&stage));
    other.expect(0, &["restore", &run, "--at", "start", "--into", "began"]);
    assert_eq!(other.read("began/a.txt"), "a\n");
    other.expect(0, &["doctor"]);
    other.expect(0, &["gc", "--trash", "0s"]);
    other.expect(0, &["restore", &run, "--at", "end", "--into", "ended"]);
    assert!(!other.path("ended/a.txt").exists() && other.path("ended/many-7").exists());
}

#[test]
fn a_run_that_was_archived_and_deleted_comes_back() {
    let stage = Stage::with_flow("flow: f\nsteps:\n  - { id: a, run: 'seq 9000 > out', artifacts: [out] }\n");
    stage.write(".envoi/config.yaml", "retention: { keep_last: 1, archive: ../old }\n");
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    let before = shown(&stage, &run);
    stage.expect(0, &["run", "flow.yaml"]);
    stage.expect(0, &["gc", "--trash", "0s"]);
    stage.expect(2, &["show", &run]);
    let bundle = format!("old/{run}.envoi.tar.zst");
    // Another one of its id does not come in its place.
    let (folder, names) = unpacked(&stage, &stage.path(&bundle));
    let events = folder.join(&run).join("events.jsonl");
    let changed =
        fs::read_to_string(&events).unwrap().replacen("\"actor\":\"tester\"", "\"actor\":\"taster\"", 1);
    fs::write(&events, changed).unwrap();
    chain_again(&folder, &run);
    sum_again(&folder, &names);
    let forged = packed(&stage, &folder, &names, &[]);
    assert!(stage.expect(6, &["import", &forged]).err.contains("RUN_EXISTS"));
    stage.expect(0, &["import", &bundle]);
    assert_eq!(shown(&stage, &run), before);
    assert!(stage.expect(0, &["artifacts", "cat", &run, "out"]).out.ends_with("9000\n"));
    stage.expect(0, &["doctor"]);
    stage.expect(0, &["gc", "--keep-last", "2", "--trash", "0s"]);
    assert!(stage.expect(0, &["artifacts", "cat", &run, "out"]).out.ends_with("9000\n"));
    // The rule takes it again.
    stage.expect(0, &["run", "flow.yaml"]);
    stage.expect(0, &["gc", "--trash", "0s"]);
    stage.expect(2, &["show", &run]);
    stage.expect(0, &["import", &bundle]);
    stage.expect(0, &["show", &run]);
}

/// The path of an imported run's tree can hold anything here.
#[test]
fn the_tree_that_an_imported_run_names_is_not_removed() {
    let stage =
        Stage::with_flow("flow: f\nworkspace: work\nsteps:\n  - { id: make, run: 'echo made > made.txt' }\n");
    stage.write("work/a", "a");
    stage.expect(0, &["run", "flow.yaml", "--isolate"]);
    let run = stage.run_id();
    stage.expect(0, &["apply", &run]);
    stage.expect(0, &["export", "-o", "b"]);
    let tree = text(&stage.json(&["--json", "gc", "--dry-run"])["trees"][0]["place"]);
    let other = Stage::new();
    other.expect(0, &["import", &stage.path("b").display().to_string()]);
    let done = other.json(&["--json", "gc", "--trash", "0s"]);
    assert_eq!(done["trees"], serde_json::json!([]));
    assert!(Path::new(&tree).join("made.txt").exists());
}

#[test]
fn an_export_names_what_of_the_machine_and_of_secrets_goes_out() {
    let stage = Stage::with_flow(
        "flow: f\nworkspace: work\nsecrets: { TOKEN: { env: TOKEN }, OTHER: { env: OTHER } }\nsteps:\n  - { id: a, run: 'cp key.txt notes.md', artifacts: [notes.md] }\n",
    );
    stage.write("work/key.txt", "the token is hush-hush-hush\n");
    stage.write("work/plain.txt", "nothing\n");
    stage.write("work/named-hush-hush-hush", "nothing\n");
    let call = |arguments: &[&str], other: Option<&str>| {
        let mut command = stage.command(arguments);
        command.env("TOKEN", "hush-hush-hush").envs(other.map(|value| ("OTHER", value)));
        let done = Process::spawn(&mut command).done();
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(!done.err.contains("hush"), "{done:?}");
        done.err
    };
    call(&["run", "flow.yaml", "--keep-files"], Some("some-other-value"));
    let said = call(&["export", "-o", "all"], None);
    let work = fs::canonicalize(stage.path("work")).unwrap();
    let parts = [
        format!("`{}`", work.display()),
        "artifacts go out as they are: `notes.md`".to_owned(),
        "`notes.md` holds the secret `TOKEN`".to_owned(),
        "`key.txt` holds the secret `TOKEN`".to_owned(),
        "`named-***` holds the secret `TOKEN`".to_owned(),
        "all files of the workspace".to_owned(),
        "not looked for, because it is not at hand or very short: `OTHER`".to_owned(),
    ];
    for part in &parts {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("plain.txt"), "{said}");
    let said = call(&["export", "--without-files", "-o", "less"], Some("some-other-value"));
    for (place, part) in parts.iter().enumerate() {
        assert_eq!(said.contains(part), place < 3, "{part}: {said}");
    }
}
