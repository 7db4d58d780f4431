//! A file system without room, with real commands: the engine stops or the run is set aside, and nothing acknowledged is lost or
//! done twice.

use crate::stage::{Stage, text};
use serde_json::Value;
use std::process::{Command, Stdio};

/// The step `fill` takes all room but for some KiB; the work of each step is noted elsewhere.
fn filling(ledger: &str, leave_kib: u32) -> String {
    let fill = format!(
        "echo fill >> {ledger}; cat /dev/zero > filler 2>/dev/null; truncate -s -{leave_kib}K filler"
    );
    let (before, after) = (noted(ledger, "before", 3), noted(ledger, "after", 40));
    format!("flow: full\nsteps:\n{before}  - {{ id: fill, run: '{fill}' }}\n{after}")
}

fn noted(ledger: &str, name: &str, count: u32) -> String {
    (1..=count).map(|n| format!("  - {{ id: {name}{n}, run: 'echo {name}{n} >> {ledger}' }}\n")).collect()
}

/// The outcome of a run that begins without room and goes on with it.
struct Lived {
    code: String,
    /// The run at its end, once there was room; a step that is in doubt then is taken as failed.
    run: Value,
    was_in_doubt: bool,
    /// `set_aside` before there was room.
    aside: Value,
    /// The steps that ran, in their order.
    ledger: Vec<String>,
    /// Whether the place was a file system of its own.
    is_mounted: bool,
    all: String,
}

/// Whether this machine lets the test mount in a namespace of its own.
pub(crate) fn can_mount(stage: &Stage, mount: &str) -> bool {
    let mut tried = Command::new("unshare");
    tried.args(["-rm", "sh", "-c", mount]).current_dir(stage.path("")).stderr(Stdio::null());
    tried.status().is_ok_and(|done| done.success())
}

/// A script in the folder of the stage, in a namespace where it may mount if `is_mounted`. Its `$0` is the command under test.
pub(crate) fn script_of(stage: &Stage, script: &str, is_mounted: bool) -> Command {
    let envoi = stage.command(&[]);
    let mut command = Command::new(if is_mounted { "unshare" } else { "sh" });
    command
        .args(if is_mounted { &["-rm", "sh"][..] } else { &[] })
        .arg("-c")
        .arg(script)
        .arg(envoi.get_program());
    command.current_dir(stage.path("")).env_clear();
    command.envs(envoi.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null());
    command
}

/// Runs a flow in a small file system of its own, which then gets room; if the machine allows no mount, files have a greatest
/// size, which is then lifted.
fn lived(size_mib: u32, flow: impl FnOnce(&str) -> String) -> Lived {
    let stage = Stage::new();
    std::fs::create_dir(stage.path("small")).unwrap();
    stage.write("flow.yaml", flow(&stage.path("ledger").display().to_string()));
    let mount = format!("mount -t tmpfs -o size={size_mib}m small small");
    let is_mounted = can_mount(&stage, &mount);
    let (mount, limit, room) = match is_mounted {
        true => (mount.as_str(), "true", "rm -f filler; mount -o remount,size=64m ."),
        false => ("true", "trap '' XFSZ; ulimit -S -f 800", "rm -f filler"),
    };
    let script = format!(
        "{mount}; cd small; cp ../flow.yaml .; ({limit}; \"$0\" run flow.yaml > ../first 2>&1; echo $? > ../code); \
         \"$0\" --json runs > ../before; {room}; \"$0\" resume > ../second 2>&1; \
         if [ $? = 5 ]; then touch ../doubt; \"$0\" resume --in-doubt fail > ../third 2>&1; fi; \
         \"$0\" --json runs > ../after; \"$0\" repair > ../repair 2>&1 || echo repaired with $? >> ../repair"
    );
    assert!(script_of(&stage, &script, is_mounted).status().unwrap().success());
    let all = ["first", "second", "third", "repair"].map(|name| stage.read(name)).join("\n");
    let run = |name: &str| {
        let runs: Value =
            serde_json::from_str(&stage.read(name)).unwrap_or_else(|error| panic!("{error}: {all}"));
        runs[0].clone()
    };
    assert!(stage.read("repair").ends_with("everything was as it should be\n"), "{all}");
    Lived {
        code: stage.read("code").trim().to_owned(),
        run: run("after"),
        was_in_doubt: stage.path("doubt").exists(),
        aside: run("before")["set_aside"].clone(),
        ledger: stage.lines("ledger"),
        is_mounted,
        all,
    }
}

#[test]
fn without_room_for_the_journal_the_engine_stops_and_the_run_goes_on_when_there_is_room() {
    for leave_kib in [0, 4, 16, 64, 128, 256, 1024] {
        let lived = lived(3, |ledger| filling(ledger, leave_kib));
        let Lived { code, run, was_in_doubt, ledger, is_mounted, all, .. } = &lived;
        assert_eq!(code, "8", "left {leave_kib}: {all}");
        assert!(
            all.contains("disk full") || !is_mounted && all.contains("disk I/O error"),
            "left {leave_kib}: {all}"
        );
        let expected: Vec<String> = steps().into_iter().take(ledger.len()).collect();
        assert_eq!(*ledger, expected, "left {leave_kib}: each step once, in its place: {all}");
        match was_in_doubt {
            // The step that took all room could not even leave how it ended.
            true => assert_eq!(text(&run["status"]), "failed", "left {leave_kib}: {all}"),
            false => assert_eq!(
                (text(&run["status"]).as_str(), ledger.len()),
                ("succeeded", 44),
                "left {leave_kib}: {all}"
            ),
        }
    }
}

/// The ids of the steps of [`filling`].
fn steps() -> Vec<String> {
    let some = |name: &str, count: u32| (1..=count).map(|n| format!("{name}{n}")).collect::<Vec<_>>();
    [some("before", 3), vec!["fill".to_owned()], some("after", 40)].concat()
}

#[test]
fn without_room_for_an_artifact_its_run_is_set_aside_with_the_cause_and_goes_on_when_there_is_room() {
    for size_mib in [3, 4] {
        let lived = lived(size_mib, |ledger| {
            format!(
                "flow: big\nsteps:\n  - {{ id: big, run: 'echo big >> {ledger}; head -c 1200000 /dev/urandom > big', \
                 artifacts: [big] }}\n  - {{ id: after, run: 'wc -c < big >> {ledger}' }}\n"
            )
        });
        let Lived { code, run, aside, ledger, is_mounted, all, .. } = &lived;
        if !is_mounted {
            // No file of that size can be made then: the step itself fails.
            assert_eq!((code.as_str(), ledger.first().map(String::as_str)), ("1", Some("big")), "{all}");
            continue;
        }
        assert_eq!(code, "8", "{size_mib} MiB: {all}");
        assert!(matches!(aside["code"].as_str(), Some("ATTEMPT_UNKNOWN" | "RUN_FILES_FAILED")), "{aside:#}");
        assert!(text(&aside["reason"]).contains("No space left on device"), "{aside:#}");
        assert_eq!(text(&run["status"]), "succeeded", "{size_mib} MiB: {all}");
        assert_eq!(*ledger, ["big", "1200000"], "{size_mib} MiB: {all}");
    }
}

/// Bit 24 is SIGXFSZ.
const IGNORES_XFSZ: u64 = 1 << 24;

#[test]
fn a_store_at_the_limit_of_file_sizes_says_so_and_goes_on_without_the_limit() {
    let stage = Stage::new();
    let signals = "  - { id: signals, run: grep SigIgn /proc/self/status }\n";
    stage.write("flow.yaml", format!("flow: full\nsteps:\n{signals}{}", noted("ledger", "step", 60)));
    // The journal is what grows beyond it.
    let script = "(ulimit -S -f 800; \"$0\" run flow.yaml > first 2>&1; echo $? > code); \"$0\" resume > second 2>&1; echo $? > again";
    assert!(script_of(&stage, script, false).status().unwrap().success());
    let all = ["first", "second"].map(|name| stage.read(name)).join("\n");
    assert_eq!(stage.read("code").trim(), "8", "it says what is wrong, and is not killed: {all}");
    assert!(stage.read("first").contains("the journal could not be written"), "{all}");
    assert_eq!(stage.read("again").trim(), "0", "{all}");
    let said = stage.expect(0, &["show", "--handoff", "signals"]).out;
    let mask = said.split("SigIgn:").nth(1).unwrap().trim_start().trim_start_matches("\\t");
    let mask: String = mask.chars().take_while(char::is_ascii_hexdigit).collect();
    assert_eq!(
        u64::from_str_radix(&mask, 16).unwrap() & IGNORES_XFSZ,
        0,
        "a command is ended by it, as everywhere"
    );
}
