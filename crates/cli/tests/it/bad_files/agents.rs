//! The same of the files that agent programs and models keep in the folders of their attempts: the engine reads them at the end, and when
//! nothing is known of the end.

use crate::{
    models::Stub,
    stage::{Done, Process, Stage, signal, text, wait_until},
};
use rustix::process::Signal;
use std::{os::unix::process::CommandExt as _, process::Command, sync::Mutex};

/// What is put in the place of the file `$1` of the folder in which the script is called. A socket has a short name there.
const KINDS: [(&str, &str); 10] = [
    ("a folder", "mkdir -p \"$1/in\""),
    ("a pipe", "mkfifo \"$1\""),
    ("a socket", "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \"$1\""),
    ("a device", "mknod \"$1\" c 1 5 2> /dev/null || ln -s /dev/zero \"$1\""),
    ("a link", "echo theirs > ../../../../../outside; ln -s ../../../../../outside \"$1\""),
    ("a link to a device", "ln -s /dev/zero \"$1\""),
    ("a loop", "ln -s \"$1\" \"$1\""),
    ("an unreadable file", "echo 1 > \"$1\"; chmod 0000 \"$1\"; chown 65534 \"$1\" 2> /dev/null || true"),
    ("5 GB", "truncate -s 5G \"$1\""),
    ("nothing", "true"),
];

/// A user whom permissions keep out, unlike root.
const ORDINARY: u32 = 65534;

/// Several rows at a time: most of each is waiting for processes.
fn each(files: &[&'static str], test: impl Fn(&'static str, &'static str, &'static str) + Sync) {
    let rows = files.iter().flat_map(|file| KINDS.map(|(kind, script)| (*file, kind, script)));
    let rows = Mutex::new(rows.collect::<Vec<_>>().into_iter());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let next = rows.lock().unwrap().next();
                    let Some((file, kind, script)) = next else { return };
                    test(file, kind, script);
                }
            });
        }
    });
}

/// A stage whose commands are called as a user for whom an unreadable file is one.
struct AsUser<'s> {
    stage: &'s Stage,
    user: Option<u32>,
}

impl<'s> AsUser<'s> {
    fn of(stage: &'s Stage, kind: &str) -> Self {
        let is_needed = kind == "an unreadable file" && rustix::process::geteuid().is_root();
        if is_needed {
            let given =
                Command::new("chown").args(["-R", &ORDINARY.to_string()]).arg(stage.path("")).status();
            assert!(given.unwrap().success());
        }
        Self { stage, user: is_needed.then_some(ORDINARY) }
    }

    fn start(&self, arguments: &[&str]) -> Process {
        let mut command = self.stage.command(arguments);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        Process::spawn(&mut command)
    }

    fn envoi(&self, arguments: &[&str]) -> Done {
        self.start(arguments).done()
    }

    fn run(&self) -> String {
        let listed = self.envoi(&["--json", "runs"]);
        let runs: serde_json::Value =
            serde_json::from_str(&listed.out).unwrap_or_else(|_| panic!("{listed:?}"));
        text(&runs[0]["run"])
    }

    /// Puts the thing in the place of a file of the attempt.
    fn put(&self, attempt: &str, file: &str, script: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-ec", &format!("rm -rf \"$1\"; {script}"), "put", file]);
        let done = shell.current_dir(self.stage.attempt(attempt).unwrap()).status().unwrap();
        assert!(done.success(), "{file}: {script}");
    }

    /// The attempt has come to an end, the run can be looked at, and another one runs.
    fn assert_goes_on(&self, row: &str, ended: &Done, codes: &[i32]) {
        assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{row}: {ended:?}");
        let run = self.run();
        for arguments in [&["show", &run][..], &["logs", &run], &["logs", &run, "--raw"]] {
            // All of 5 GB would be printed, as it is asked.
            if arguments.contains(&"--raw") && row.starts_with("5 GB") {
                continue;
            }
            let done = self.envoi(arguments);
            let is_named = done.code == Some(8) && done.err.contains("events.jsonl: Permission denied");
            assert!(matches!(done.code, Some(0 | 5)) || is_named, "{row}: {arguments:?}: {done:?}");
        }
        let good = self.envoi(&["run", "--share-workspace", "good.yaml"]);
        assert_eq!(good.code, Some(0), "{row}: {good:?}");
        // A run that has failed would be reopened.
        if ended.code != Some(1) {
            let again = self.envoi(&["resume", &run]);
            assert_eq!(again.code, ended.code, "{row}: {again:?}");
        }
        assert!(!self.stage.path("outside").exists() || self.stage.read("outside") == "theirs\n", "{row}");
        self.stage.assert_nothing_left();
    }
}

fn write_good(stage: &Stage) {
    stage.write("good.yaml", "flow: good\nsteps:\n  - { id: a, run: 'true' }\n");
}

/// An agent program that has said what it has used so far, and waits for `go`.
fn with_program() -> Stage {
    let stage = Stage::new();
    let root = stage.path("").display().to_string();
    let message = |id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{{"type":"text","text":"Hello."}}],"usage":{{"input_tokens":7}}}}}}"#
        )
    };
    stage.write_program(
        "bin/claude",
        format!(
            "#!/bin/sh\ncat > /dev/null\necho '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"'\"$6\"'\",\"claude_code_version\":\"2.1.330\"}}'\necho '{}'\n\
             while [ ! -e {root}/go ]; do sleep 0.01; done\necho '{}'\necho '{}'\n",
            message("one"),
            message("two"),
            r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{"input_tokens":9,"output_tokens":9}}"#
        ),
    );
    let path = std::env::var("PATH").unwrap();
    let flow = format!(
        "flow: agents\nenv: {{ PATH: '{root}/bin:{path}' }}\nsteps:\n  - {{ id: fix, agent: {{ use: claude, prompt: 'Do it.' }} }}\n"
    );
    stage.write("flow.yaml", flow);
    write_good(&stage);
    stage
}

/// What `used.json` says so far.
fn tokens_in(used: &[u8]) -> Option<u64> {
    serde_json::from_slice::<serde_json::Value>(used).ok()?["tokens_in"].as_u64()
}

#[test]
fn an_agent_program_ends_whatever_stands_in_the_files_of_its_attempt() {
    each(&["session", "used.json", "events.jsonl"], |file, kind, script| {
        for killed in [false, true] {
            let row = format!("{kind} at {file}, killed: {killed}");
            let stage = with_program();
            let user = AsUser::of(&stage, kind);
            let engine = user.start(&["run", "flow.yaml"]);
            let has = |name: &str| stage.attempt("fix.1.1").is_some_and(|folder| folder.join(name).exists());
            // The file is written again with each message. The first message is the last one before `go`.
            let is_read = || {
                let used = stage.attempt("fix.1.1").map(|folder| std::fs::read(folder.join("used.json")));
                used.is_some_and(|used| used.is_ok_and(|used| tokens_in(&used) == Some(7)))
            };
            wait_until("the program", || is_read() && has("session") && has("events.jsonl"));
            user.put("fix.1.1", file, script);
            match killed {
                true => signal(stage.supervisor("fix.1.1").unwrap(), Signal::KILL),
                false => stage.write("go", ""),
            }
            let ended = engine.done();
            user.assert_goes_on(&row, &ended, if killed { &[5] } else { &[0, 1] });
        }
    });
}

#[test]
fn a_call_of_a_model_ends_whatever_stands_in_the_files_of_its_attempt() {
    each(&["calls", "unanswered"], |file, kind, script| {
        for killed in [false, true] {
            let row = format!("{kind} at {file}, killed: {killed}");
            let stage = Stage::new();
            let stub = Stub::start(&stage);
            stage.write(
                ".envoi/config.yaml",
                format!(
                    "models:\n  providers: {{ lab: {{ url: 'http://127.0.0.1:{}/lab--silent' }} }}\n  offer: {{ small: {{ provider: lab }} }}\n",
                    stub.port
                ),
            );
            stage.write(
                "flow.yaml",
                "flow: asks\nsteps:\n  - { id: ask, model: { use: small, prompt: 'Say hello.' } }\n",
            );
            write_good(&stage);
            let user = AsUser::of(&stage, kind);
            let engine = user.start(&["run", "flow.yaml"]);
            wait_until("the call", || !stage.lines("asked").is_empty());
            user.put("ask.1.1", file, script);
            let supervisor = stage.supervisor("ask.1.1").unwrap();
            let process = stage.step_processes().into_iter().find(|pid| *pid != supervisor).unwrap();
            signal(if killed { supervisor } else { process }, Signal::KILL);
            let ended = engine.done();
            // Where the record that the call has no answer was removed, the process has just failed.
            let is_known = !killed && (file, kind) == ("unanswered", "nothing");
            user.assert_goes_on(&row, &ended, if is_known { &[1] } else { &[5] });
            assert_eq!(stage.lines("asked").len(), 1, "{row}: it was asked once");
        }
    });
}
