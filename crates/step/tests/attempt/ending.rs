//! Commands that do not end by themselves, or leave processes behind.

use std::fs::File;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};

use envoi_step::{Cancelled, Lease, Outcome, Spec, boot_ms, cancel, remind};
use envoi_tree::{Bounds, Contents, Order, Stop};

use crate::stage::{ATTEMPT, Stage, assert_gone, exec, kill, lives, wait_for};

pub(crate) fn a_leader_that_ignores_term_is_killed_after_the_grace() {
    // On a busy machine a short limit may be reached before the command has started.
    for timeout_ms in [500, 4_000, 32_000, 256_000] {
        let stage = Stage::new();
        let mut spec = stage.shell("trap 'echo not yet' TERM; echo $$; while true; do sleep 60; done");
        (spec.timeout_ms, spec.grace_ms) = (Some(timeout_ms), 300);
        let exit = stage.run(&spec);
        assert_eq!(exit.outcome, Outcome::TimedOut);
        assert!(exit.duration_ms >= timeout_ms + 300, "{} ms: it had its grace", exit.duration_ms);
        let text = stage.text();
        if let Some(leader) = text.lines().next() {
            assert!(text.ends_with("not yet\n"), "it was asked first: {text}");
            return assert_gone(leader);
        }
    }
    panic!("the command was never up before its time was over");
}

/// Leaves its session and its parents, clears its environment, and ignores TERM.
const DAEMON: &str = "import os, signal, sys, time\n\
    if os.fork() == 0:\n\
    \x20   os.setsid()\n\
    \x20   if os.fork() == 0:\n\
    \x20       signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
    \x20       null = os.open('/dev/null', os.O_RDWR)\n\
    \x20       for fd in (0, 1, 2): os.dup2(null, fd)\n\
    \x20       program = \"import os, time\\nopen('tmp', 'w').write(f'{os.getpid()}\\\\n')\\nos.rename('tmp', 'daemon')\\ntime.sleep(600)\"\n\
    \x20       os.execve(sys.executable, [sys.executable, '-c', program], {})\n\
    \x20   os._exit(0)\n\
    while not os.path.exists('daemon'): time.sleep(0.01)\n";

pub(crate) fn a_daemon_that_hides_is_ended_with_the_command() {
    let stage = Stage::new();
    let mut spec = stage.python(DAEMON);
    spec.grace_ms = 200;
    let exit = stage.run(&spec);
    assert_eq!((exit.outcome, exit.ended_leftovers), (Outcome::Exited { code: 0 }, 1));
    assert_gone(&stage.told("daemon"));
}

pub(crate) fn a_process_is_known_by_its_environment_wherever_it_came_from() {
    let stage = Stage::new();
    let spec = stage.shell("true");
    let sleeper = |base: &std::path::Path| {
        let mut command = std::process::Command::new("sleep");
        command.arg("600").env("ENVOI_ATTEMPT", ATTEMPT).env("ENVOI_RUN_BASE", base).spawn().unwrap()
    };
    let (mut ours, mut other) = (sleeper(&stage.run_base()), sleeper(&stage.workspace()));
    assert_eq!(stage.run(&spec).ended_leftovers, 1);
    assert_eq!(ours.wait().unwrap().signal(), Some(15));
    assert!(other.try_wait().unwrap().is_none(), "another run's attempt of the same name lives on");
    other.kill().unwrap();
    other.wait().unwrap();
}

pub(crate) fn a_grandchild_that_holds_the_pipes_does_not_hold_the_attempt() {
    let stage = Stage::new();
    let exit = stage.run(&stage.shell("sleep 600 & echo $! > child; echo said"));
    assert_eq!((exit.outcome, exit.ended_leftovers), (Outcome::Exited { code: 0 }, 1));
    assert_eq!(stage.text(), "said\n");
    assert_gone(&stage.told("child"));
}

pub(crate) fn a_cancel_ends_a_running_command() {
    let stage = Stage::new();
    let supervisor = stage.spawn(&stage.shell("sleep 600 & echo $! > child; echo $$ > leader; wait"));
    let (leader, child) = (stage.told("leader"), stage.told("child"));
    assert!(lives(&leader) && lives(&child));
    // The supervisor checks for the request whenever it wakes up, so it may have settled before the signal is
    // sent.
    let asked = cancel(&stage.dir).unwrap();
    assert!(matches!(asked, Cancelled::Signalled | Cancelled::AlreadyOver), "{asked:?}");
    supervisor.wait().unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Cancelled);
    assert_gone(&leader);
    assert_gone(&child);
}

pub(crate) fn a_cancel_ends_a_command_whose_supervisor_is_stopped() {
    let stage = Stage::new();
    let supervisor = stage.spawn(&stage.shell("trap '' TERM; echo $$ > leader; while :; do sleep 0.1; done"));
    let leader = stage.told("leader");
    kill(supervisor.pid(), "STOP");
    assert_eq!(cancel(&stage.dir).unwrap(), Cancelled::Signalled);
    // Stopped again while the command has its grace: it is continued again as long as it lives.
    kill(supervisor.pid(), "STOP");
    wait_for("the end", || (!remind(&stage.dir)).then_some(()));
    supervisor.wait().unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Cancelled);
    assert_gone(&leader);
}

pub(crate) fn a_cancel_ends_the_copying_of_an_artifact_that_has_no_end() {
    let stage = Stage::new();
    let command = stage.shell("truncate -s 4T big");
    let supervisor = stage.spawn(&Spec { artifacts: vec!["big".to_owned()], ..command });
    let copy = stage.dir.path().join("files/big");
    wait_for("the copy", || copy.exists().then_some(()));
    cancel(&stage.dir).unwrap();
    supervisor.wait().unwrap();
    let exit = stage.settled();
    // Without its artifact the step has not done its work.
    assert_eq!(exit.outcome, Outcome::Cancelled);
    let said: Vec<_> =
        exit.warnings.iter().filter(|line| line.contains("the attempt is cancelled")).collect();
    assert_eq!(said.len(), 1, "{:?}", exit.warnings);
}

pub(crate) fn a_cancel_before_the_start_runs_nothing() {
    let stage = Stage::new();
    assert_eq!(cancel(&stage.dir).unwrap(), Cancelled::Noted);
    // If it had been started, the outcome would be that there is no such program.
    let exit = stage.run(&stage.spec(exec(&["no-such-program-here"])));
    assert_eq!(exit.outcome, Outcome::Cancelled);
    assert!(stage.dir.exit().exists(), "and nobody else can start it");
}

pub(crate) fn a_command_whose_lease_is_not_renewed_is_ended() {
    // On a busy machine a short lease may end before the command has started.
    for lease_ms in [500, 4_000, 32_000, 256_000] {
        let stage = Stage::new();
        let mut spec = stage.shell("trap '' TERM; echo $$; while true; do sleep 60; done");
        (spec.lease_until_ms, spec.grace_ms) = (Some(boot_ms() + lease_ms), 100);
        assert_eq!(stage.run(&spec).outcome, Outcome::LeaseOver);
        assert!(boot_ms() >= spec.lease_until_ms.unwrap(), "not before its end");
        let leader = stage.text();
        if !leader.is_empty() {
            return assert_gone(&leader);
        }
    }
    panic!("the command was never up before the end of its lease");
}

pub(crate) fn a_renewed_lease_lets_the_command_go_on() {
    let stage = Stage::new();
    let mut spec = stage.shell("echo up > up; while ! test -e go; do sleep 0.01; done; echo done");
    let first = boot_ms() + 300;
    spec.lease_until_ms = Some(first);
    Lease { boot_id: spec.boot_id.clone(), until_ms: first + 3_600_000 }.renew(&stage.dir).unwrap();
    let supervisor = stage.spawn(&spec);
    stage.told("up");
    // The supervisor reads the lease again when the first end has passed, and finds the later one.
    wait_for("the first end of the lease", || (boot_ms() > first + 300).then_some(()));
    File::create(stage.workspace().join("go")).unwrap();
    supervisor.wait().unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 0 });
}

pub(crate) fn nothing_is_started_after_the_end_of_the_lease() {
    let stage = Stage::new();
    // If it had been started, the outcome would be that there is no such program.
    let mut spec = stage.spec(exec(&["no-such-program-here"]));
    spec.lease_until_ms = Some(boot_ms());
    assert_eq!(stage.run(&spec).outcome, Outcome::LeaseOver);
    assert!(stage.dir.exit().exists(), "and nobody else can start it");
}

/// A configuration that includes a pipe: every git command blocks on it.
const HANGING_GIT: &str = "mkfifo behind && git config include.path ../behind";

/// A repository in the workspace, and the order to take snapshots of it.
fn keeps_files(stage: &Stage, mut spec: Spec) -> Spec {
    prepare(stage, "git init --quiet");
    let store = stage.run_base().join("store");
    let contents =
        Contents { files: store.join("files"), temporary: store.join("tmp"), packs: store.join("packs") };
    spec.keep = Some(Order {
        contents,
        caches: store.join("caches"),
        never: Vec::new(),
        too_wide: Vec::new(),
        scope: envoi_tree::Scope::default(),
        bounds: Bounds::default(),
        stop: Stop::default(),
    });
    spec
}

fn prepare(stage: &Stage, script: &str) {
    let mut shell = std::process::Command::new("sh");
    assert!(shell.args(["-c", script]).current_dir(stage.workspace()).status().unwrap().success());
}

/// Opens the pipe as soon as git waits for it.
fn awaited(stage: &Stage) -> File {
    let pipe = stage.workspace().join("behind");
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    wait_for("git", || File::options().write(true).custom_flags(nonblocking).open(&pipe).ok())
}

pub(crate) fn a_cancel_ends_a_git_that_waits_before_the_command() {
    let stage = Stage::new();
    let spec = keeps_files(&stage, stage.shell("touch ran"));
    prepare(&stage, HANGING_GIT);
    let supervisor = stage.spawn(&spec);
    let _pipe = awaited(&stage);
    cancel(&stage.dir).unwrap();
    // Long before git's own time limit.
    wait_for("the end", || stage.dir.exit().exists().then_some(()));
    supervisor.wait().unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Cancelled);
    assert!(!stage.workspace().join("ran").exists());
}

/// Not the message that git has taken too long.
const ENDED: &str = "git was ended before it had answered";

pub(crate) fn a_cancel_ends_a_git_that_waits_after_the_command() {
    let stage = Stage::new();
    let spec = keeps_files(&stage, stage.shell(HANGING_GIT));
    let supervisor = stage.spawn(&spec);
    let _pipe = awaited(&stage);
    cancel(&stage.dir).unwrap();
    supervisor.wait().unwrap();
    let warnings = stage.settled().warnings.join("\n");
    assert!(warnings.contains("after the attempt are not kept: ") && warnings.contains(ENDED), "{warnings}");
}

/// Root may read everything, so the test runs as an ordinary user, for whom such permissions count.
pub(crate) fn a_folder_that_no_snapshot_has_is_named_in_a_warning() {
    const NAME: &str = "started::ending::a_folder_that_no_snapshot_has_is_named_in_a_warning";
    if rustix::process::geteuid().is_root() {
        // A copy, because another user may have no access to this program's folder.
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let program = folder.path().join("tests");
        // Another process copies it: if this process wrote the program, a child between fork and exec could
        // keep it open for writing ("text file busy").
        let copied = std::process::Command::new("cp")
            .arg(std::env::current_exe().unwrap())
            .arg(&program)
            .status()
            .unwrap();
        assert!(copied.success());
        let mut again = std::process::Command::new(&program);
        again.env("TMPDIR", folder.path()).current_dir(folder.path()).uid(65_534).gid(65_534);
        let done = again.args([NAME, "--exact"]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{done:?}");
        return;
    }
    let stage = Stage::new();
    let spec = keeps_files(&stage, stage.shell("mkdir shut && touch shut/file && chmod 000 shut"));
    let exit = stage.run(&spec);
    prepare(&stage, "chmod 755 shut");
    assert!(exit.snapshot_after.is_some());
    assert_eq!(exit.warnings, ["the folder `shut` cannot be read, so nothing of it is kept"]);
    // The snapshot before the command lacks it too.
    let stage = Stage::new();
    prepare(&stage, "mkdir shut && chmod 000 shut");
    let exit = stage.run(&keeps_files(&stage, stage.shell("chmod 755 shut")));
    assert_eq!(
        exit.warnings,
        ["before the attempt, the folder `shut` cannot be read, so nothing of it is kept"]
    );
}

pub(crate) fn a_cancel_may_come_before_the_folder() {
    let stage = Stage::new();
    std::fs::remove_dir_all(stage.run_base()).unwrap();
    assert_eq!(cancel(&stage.dir).unwrap(), Cancelled::Noted);
    let exit = stage.run(&stage.shell("touch ran"));
    assert_eq!(exit.outcome, Outcome::Cancelled);
    assert!(!stage.workspace().join("ran").exists());
}

pub(crate) fn a_cancel_after_the_end_comes_too_late() {
    let stage = Stage::new();
    stage.run(&stage.shell("true"));
    assert_eq!(cancel(&stage.dir).unwrap(), Cancelled::AlreadyOver);
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 0 });
}

pub(crate) fn a_term_without_a_wish_ends_nothing() {
    let stage = Stage::new();
    let supervisor =
        stage.spawn(&stage.shell("echo x > begun; while [ ! -e go ]; do sleep 0.01; done; exit 7"));
    stage.told("begun");
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        kill(supervisor.pid(), signal);
    }
    std::fs::write(stage.workspace().join("go"), "").unwrap();
    supervisor.wait().unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 7 });
}

pub(crate) fn a_command_that_kills_its_own_group_does_not_kill_its_supervisor() {
    let stage = Stage::new();
    let exit = stage.run(&stage.shell("sleep 600 & echo $! > child; kill -9 0"));
    assert_eq!(exit.outcome, Outcome::Signalled { signal: 9 });
    let child = stage.told("child");
    wait_for("the child's end", || (!lives(&child)).then_some(()));
}
