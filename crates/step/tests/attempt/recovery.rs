//! Attempts as an engine finds them after a crash.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use envoi_step::{
    Cancelled, Change, Doubt, Given, Outcome, Probe, Start, Unseen, boot_id, cancel, end_leftovers, probe,
    wait_until_free,
};

use crate::stage::{ATTEMPT, Stage, assert_gone, kill, launcher, lives, read, start_in};

pub(crate) fn nothing_is_started_twice() {
    let stage = Stage::new();
    let spec = stage.shell("echo ran >> ran");
    let first = stage.run(&spec);
    let record = read(&stage.dir.exit());
    stage.spawn(&spec).wait().unwrap();
    assert_eq!(read(&stage.workspace().join("ran")), "ran\n");
    assert_eq!(read(&stage.dir.exit()), record);
    assert_eq!(stage.settled(), first);
    assert!(read(&stage.dir.supervisor_log()).contains("started before"));
}

pub(crate) fn a_broken_order_runs_nothing() {
    let stage = Stage::new();
    let mut spec = stage.shell("touch ran");
    spec.secrets = vec!["hunter2".to_owned()];
    let order = serde_json::json!({ "dir": stage.dir.path(), "spec": spec }).to_string();
    for length in [0, 1, order.len() / 2, order.len() - 1] {
        send(&stage, &order.as_bytes()[..length]);
        assert!(!stage.dir.started().exists(), "{length} of {} bytes", order.len());
        assert!(matches!(stage.rested(), Probe::NotStarted(_)));
    }
    send(&stage, order.replace("\"grace_ms\":", "\"grace_ms\":\"hunter2\",\"x\":").as_bytes());
    assert!(!read(&stage.dir.supervisor_log()).contains("hunter2"), "the order is never quoted");
    assert!(!stage.workspace().join("ran").exists());
    send(&stage, order.as_bytes());
    assert!(stage.workspace().join("ran").exists(), "a whole one runs");
}

pub(crate) fn a_supervisor_without_the_lock_runs_nothing() {
    let stage = Stage::new();
    let order = serde_json::json!({ "dir": stage.dir.path(), "spec": stage.shell("touch ran") }).to_string();
    let lock = stage.dir.try_lock().unwrap();
    send(&stage, order.as_bytes());
    assert!(!stage.dir.started().exists() && !stage.workspace().join("ran").exists());
    assert!(read(&stage.dir.supervisor_log()).contains("does not hold the lock"));
    drop(lock);
    wait_until_free(&stage.dir).unwrap();
    send(&stage, order.as_bytes());
    assert!(stage.workspace().join("ran").exists());
}

/// Starts a supervisor directly, with these bytes as its order.
fn send(stage: &Stage, order: &[u8]) {
    let lock = fs::OpenOptions::new().create(true).append(true).open(stage.dir.lock()).unwrap();
    let log = fs::OpenOptions::new().create(true).append(true).open(stage.dir.supervisor_log()).unwrap();
    let launcher = launcher();
    let mut supervisor = std::process::Command::new(launcher.exe)
        .args(launcher.args)
        .stdin(Stdio::piped())
        .stdout(lock)
        .stderr(log)
        .spawn()
        .unwrap();
    supervisor.stdin.take().unwrap().write_all(order).unwrap();
    supervisor.wait().unwrap();
}

pub(crate) fn what_never_started_is_started_with_the_very_lock_of_the_probe() {
    let stage = Stage::new();
    let boot = boot_id().unwrap();
    let first = probe(&stage.dir, Given::Never, start_in(&boot), &boot).unwrap();
    let Probe::NotStarted(lock) = first else { panic!("nothing was started") };
    assert!(matches!(stage.probe(), Probe::Running), "the lock is held");
    let spec = stage.shell("while [ ! -e go ]; do sleep 0.01; done");
    let supervisor = launcher().spawn(&stage.dir, &spec, lock).unwrap();
    assert!(matches!(stage.probe(), Probe::Running), "the supervisor has it");
    fs::write(stage.workspace().join("go"), "").unwrap();
    supervisor.wait().unwrap();
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 0 });
    let rebooted = Stage::new();
    let lost = probe(&rebooted.dir, Given::Maybe, start_in("an earlier boot"), &boot_id().unwrap()).unwrap();
    assert!(matches!(lost, Probe::Lost(found) if found == Doubt::Rebooted));
}

/// A backup was unpacked over the store, so the journal is older than the content of the folder.
pub(crate) fn what_another_start_of_an_attempt_has_left_is_not_the_result_of_this_one() {
    let boot = boot_id().unwrap();
    let stage = Stage::new();
    let other = Start { id: "another start", boot_id: &boot };
    let exit = stage.run(&stage.shell("echo old"));
    let probed = |given, start| probe(&stage.dir, given, start, &boot).unwrap();
    assert!(matches!(probed(Given::Maybe, start_in(&boot)), Probe::Settled(found) if *found == exit));
    let doubt = probed(Given::Maybe, other);
    assert!(matches!(doubt, Probe::Lost(found) if found == Doubt::OtherStart));
    // This engine was stopped for long before it probed, and another engine has started the attempt
    // meanwhile.
    assert!(matches!(probed(Given::Never, start_in(&boot)), Probe::Settled(found) if *found == exit));
    // This start was given to no supervisor: the other one's folder is moved away, and its files stay.
    let Probe::NotStarted(lock) = probed(Given::Never, other) else { panic!("nothing was started") };
    let replaced = stage.run_base().join("_replaced/work.1.1.1");
    assert_eq!(read(&replaced.join("stdout")), "old\n");
    let mut spec = stage.shell("echo new");
    spec.start = "another start".to_owned();
    launcher().spawn(&stage.dir, &spec, lock).unwrap().wait().unwrap();
    assert!(matches!(probed(Given::Maybe, other), Probe::Settled(_)));
    assert_eq!(read(&stage.dir.stdout()), "new\n");
    // An older supervisor does not record which start it was.
    let record = read(&stage.dir.exit()).replace(",\"start\":\"another start\"", "");
    fs::write(stage.dir.exit(), &record).unwrap();
    assert!(!record.contains("start\":\"") && matches!(stage.rested(), Probe::Settled(_)), "{record}");
    let doubt = probed(Given::Never, start_in(&boot));
    assert!(matches!(doubt, Probe::Lost(found) if found == Doubt::OtherStart), "whose it is is not known");
}

pub(crate) fn a_live_attempt_of_another_start_is_waited_for() {
    let boot = boot_id().unwrap();
    let stage = Stage::new();
    let supervisor = stage.spawn(&stage.shell("echo x > begun; while [ ! -e go ]; do sleep 0.01; done"));
    stage.told("begun");
    let other = Start { id: "another start", boot_id: &boot };
    assert!(matches!(probe(&stage.dir, Given::Never, other, &boot).unwrap(), Probe::Running));
    fs::write(stage.workspace().join("go"), "").unwrap();
    supervisor.wait().unwrap();
    assert!(matches!(probe(&stage.dir, Given::Never, other, &boot).unwrap(), Probe::NotStarted(_)));
}

/// An earlier step of the run can predict the name of the folder.
pub(crate) fn an_attempt_does_not_begin_in_a_folder_that_is_a_link() {
    let boot = boot_id().unwrap();
    let stage = Stage::new();
    let outside = stage.run_base().with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    for linked in [stage.dir.path(), stage.dir.path().parent().unwrap()] {
        fs::remove_dir_all(linked).unwrap();
        std::os::unix::fs::symlink(&outside, linked).unwrap();
        let error = probe(&stage.dir, Given::Never, start_in(&boot), &boot).unwrap_err();
        assert!(!error.is_of_machine(), "{error}");
        assert_eq!(cancel(&stage.dir).unwrap(), Cancelled::Lost);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(linked).unwrap();
        stage.dir.create().unwrap();
    }
    assert!(matches!(probe(&stage.dir, Given::Never, start_in(&boot), &boot), Ok(Probe::NotStarted(_))));
}

pub(crate) fn a_killed_supervisor_leaves_a_lost_attempt_and_nothing_alive() {
    let stage = Stage::new();
    fs::write(stage.workspace().join("kept.txt"), "before").unwrap();
    let mut spec = stage.shell(
        "echo output so far; printf after > kept.txt; setsid sleep 600 & \
         echo $! > child; trap '' TERM; echo $$ > leader; while true; do sleep 1; done",
    );
    spec.artifacts = vec!["*.txt".to_owned()];
    let supervisor = stage.spawn(&spec);
    let (leader, child) = (stage.told("leader"), stage.told("child"));
    crate::stage::wait_for("the output", || (!read(&stage.dir.stdout()).is_empty()).then_some(()));
    kill(supervisor.pid(), "KILL");
    supervisor.wait().unwrap();
    assert!(lives(&leader) && lives(&child), "they outlive it");
    let Probe::Lost(doubt) = stage.rested() else { panic!("nobody knows how it ended") };
    let evidence = envoi_step::evidence(&stage.dir, doubt);
    assert_eq!(evidence.doubt, Doubt::SupervisorGone);
    assert_eq!(evidence.output_tail, "output so far\n");
    assert!(evidence.ran_ms.is_some());
    let files = evidence.files_changed.unwrap();
    let changed: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(changed, [("kept.txt", Change::Modified)]);
    assert!(files.iter().all(|file| file.before.is_none()));
    // For a cancelled run a small file is read, and a large one is not.
    assert_eq!(cancel(&stage.dir).unwrap(), Cancelled::Lost);
    assert_eq!(envoi_step::living_supervisor(&stage.dir), None);
    let looked = || envoi_step::evidence(&stage.dir, Doubt::SupervisorGone).files_changed;
    assert_eq!(looked().unwrap(), files);
    fs::File::options()
        .write(true)
        .open(stage.workspace().join("kept.txt"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert_eq!(looked().unwrap_err(), Unseen::Cancelled);
    fs::write(stage.dir.before(), "no record").unwrap();
    let unseen = || envoi_step::evidence(&stage.dir, Doubt::SupervisorGone).files_changed.unwrap_err();
    assert_eq!(unseen(), Unseen::Unreadable, "it is not known, and not said to be none");
    assert!(!stage.dir.path().join("before.pack").exists() && !stage.dir.before_files().exists());
    assert_eq!(end_leftovers(ATTEMPT, &stage.workspace()).unwrap(), 0, "of another run");
    assert_eq!(end_leftovers("work.1.2", &stage.run_base()).unwrap(), 0, "of another attempt");
    assert!(lives(&leader) && lives(&child));
    assert!(end_leftovers(ATTEMPT, &stage.run_base()).unwrap() >= 2);
    assert_gone(&leader);
    assert_gone(&child);
}

pub(crate) fn a_record_of_an_older_supervisor_is_read() {
    let stage = Stage::new();
    fs::write(stage.workspace().join("changed.txt"), "before").unwrap();
    let mut spec = stage.shell("printf after > changed.txt");
    spec.artifacts = vec!["*.txt".to_owned()];
    let mut expected = stage.run(&spec);
    let mut record: serde_json::Value = serde_json::from_str(&read(&stage.dir.exit())).unwrap();
    assert!(record["files"][0].as_object_mut().unwrap().remove("before").is_some(), "it kept nothing yet");
    fs::write(stage.dir.exit(), record.to_string()).unwrap();
    expected.files[0].before = None;
    assert_eq!(stage.settled(), expected);
}

pub(crate) fn a_record_of_an_earlier_boot_counts_only_if_its_files_are_whole() {
    let stage = Stage::new();
    fs::write(stage.workspace().join("changed.txt"), "before").unwrap();
    let mut spec = stage.shell("echo text; printf x > made.txt; printf after > changed.txt");
    spec.artifacts = vec!["*.txt".to_owned()];
    let exit = stage.run(&spec);
    assert!(exit.handed_over().any(|file| file.path == "before/changed.txt"));
    let later = || probe(&stage.dir, Given::Maybe, start_in(&exit.boot_id), "a later boot").unwrap();
    assert!(matches!(later(), Probe::Settled(found) if *found == exit));
    fs::write(stage.dir.stderr(), "x").unwrap();
    let doubt = Doubt::FileDiffers { path: "stderr".to_owned() };
    assert!(matches!(later(), Probe::Lost(found) if found == doubt), "nothing was written there");
    fs::remove_file(stage.dir.stderr()).unwrap();
    for file in exit.handed_over().filter(|file| **file != exit.stderr.file) {
        let path = stage.dir.path().join(&file.path);
        let whole = fs::read(&path).unwrap();
        let zeroed = vec![0; whole.len()];
        for damaged in [[&whole, &b"x"[..]].concat(), zeroed].iter().filter(|bytes| **bytes != whole) {
            fs::write(&path, damaged).unwrap();
            let doubt = Doubt::FileDiffers { path: file.path.clone() };
            assert!(matches!(later(), Probe::Lost(found) if found == doubt), "{damaged:?}");
        }
        fs::remove_file(&path).unwrap();
        assert!(matches!(later(), Probe::Lost(_)), "{path:?} is missing");
        fs::write(&path, whole).unwrap();
    }
    let record = read(&stage.dir.exit());
    for damaged in
        ["", "{", &record.replace("work.1.1", "work.1.2"), &record.replace("\"version\":1", "\"version\":2")]
    {
        fs::write(stage.dir.exit(), damaged).unwrap();
        assert!(matches!(stage.rested(), Probe::Lost(found) if found == Doubt::Damaged), "{damaged}");
    }
}

pub(crate) fn waiting_for_an_attempt_ends_with_it() {
    let stage = Stage::new();
    let supervisor = stage.spawn(&stage.shell("while [ ! -e go ]; do sleep 0.01; done"));
    let dir = stage.dir.clone();
    let waiting = std::thread::spawn(move || wait_until_free(&dir).unwrap());
    assert!(!waiting.is_finished());
    fs::write(stage.workspace().join("go"), "").unwrap();
    waiting.join().unwrap();
    assert!(stage.dir.exit().exists());
    assert_eq!(stage.settled().outcome, Outcome::Exited { code: 0 });
    supervisor.wait().unwrap();
}
