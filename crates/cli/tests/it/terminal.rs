//! The live view as a person sees it: the real binary on a pseudo-terminal, and an emulator that shows what comes out.

use crate::stage::{LONG, Stage, signal, state, wait_for, wait_until};
use rustix::{
    process::Signal,
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    fs::File,
    io::Read as _,
    num::NonZeroU16,
    os::fd::OwnedFd,
    path::Path,
    process::Child,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Instant,
};

/// Three steps and a loop; `work` waits for a file, then for another one.
const FLOW: &str = r#"flow: shop
title: Mend the shop
steps:
  - id: prepare
    run: "echo Prepared 3 files"
  - id: work
    run: "echo 改善した pricing.py with a line that is longer than eighty columns of any terminal are; until [ -e go ]; do sleep 0.02; done; rm go; echo x >> rounds; echo done"
  - id: critic
    run: "[ $(wc -l < rounds) -ge 2 ] && echo good || { echo bad; exit 1; }"
    routing: { kind: microloop, loop_to: work, status_from_exit: {0: VERIFIED, 1: UNVERIFIED}, success_values: [VERIFIED], max_iterations: 3 }
  - id: report
    run: "mkdir out; echo x > out/report.txt; echo All tests pass"
    artifacts: ["out/*"]
"#;

/// The screen that a person sees.
#[derive(Clone)]
pub(crate) struct Emulator(Arc<Mutex<vt100::Parser>>);

/// A terminal with a command on it.
pub(crate) struct Terminal {
    master: OwnedFd,
    emulator: Emulator,
    reading: JoinHandle<Vec<u8>>,
    child: Child,
}

impl Emulator {
    pub(crate) fn shows(&self) -> String {
        let emulator = self.0.lock().unwrap();
        let screen = emulator.screen();
        let rows: Vec<String> =
            screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned() + "\n"
    }

    /// Waits until the screen is as in the golden file.
    fn wait_for_golden(&self, stage: &Stage, name: &str) {
        let shows = || normal(&self.shows(), &stage.runs_made().pop().unwrap_or_default());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        let until = Instant::now() + LONG;
        while shows() != golden && Instant::now() < until {
            if writes_goldens() && self.is_quiet() {
                std::fs::write(&path, shows()).unwrap();
                return;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        assert_eq!(shows(), golden, "{name}: ENVOI_GOLDEN=write writes it anew");
    }

    /// Whether the screen has been the same for a while.
    fn is_quiet(&self) -> bool {
        let before = normal(&self.shows(), "");
        std::thread::park_timeout(std::time::Duration::from_secs(1));
        before == normal(&self.shows(), "")
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn some(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

impl Terminal {
    pub(crate) fn start(stage: &Stage, arguments: &[&str], columns: u16, env: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, size(30, columns)).unwrap();
        let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        let mut command = stage.command(arguments);
        // The emulator cuts lines when it becomes narrower, as xterm does.
        command.env("TERM", "xterm-256color").env("XTERM_VERSION", "1").env("LANG", "C.UTF-8");
        command.envs(env.iter().copied());
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
        let child = command.spawn().unwrap();
        // The command has its own; with these open the master would never come to an end.
        drop(command);
        let emulator = Emulator(Arc::new(Mutex::new(vt100::Parser::new(some(30), some(columns), 100))));
        let (heard, mut read) = (emulator.clone(), File::from(master.try_clone().unwrap()));
        let reading = std::thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 4096]);
            // A terminal whose last user is gone fails with EIO.
            while let Ok(length @ 1..) = read.read(&mut piece) {
                heard.0.lock().unwrap().process(&piece[..length]);
                all.extend_from_slice(&piece[..length]);
            }
            all
        });
        Self { master, emulator, reading, child }
    }

    pub(crate) fn shows(&self) -> String {
        self.emulator.shows()
    }

    /// Types this text.
    pub(crate) fn types(&self, text: impl AsRef<[u8]>) {
        let mut left = text.as_ref();
        while !left.is_empty() {
            let written = rustix::io::write(&self.master, left).unwrap();
            left = &left[written..];
        }
    }

    /// The command's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The terminal as the shell has it, which outlives the command.
    pub(crate) fn shell(&self) -> File {
        File::from(ioctl_tiocgptpeer(&self.master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap())
    }

    /// Waits until the screen is as in the golden file.
    pub(crate) fn wait_for_golden(&self, stage: &Stage, name: &str) {
        self.emulator.wait_for_golden(stage, name);
    }

    fn resize(&self, columns: u16) {
        self.emulator.0.lock().unwrap().set_size(some(30), some(columns));
        tcsetwinsize(&self.master, size(30, columns)).unwrap();
    }

    /// Waits for the command's end; everything that it wrote, and how it exited.
    pub(crate) fn done(mut self) -> (String, Option<i32>, Emulator) {
        let status = wait_for("the command's end", || self.child.try_wait().unwrap());
        let all = self.reading.join().unwrap();
        (String::from_utf8_lossy(&all).into_owned(), status.code(), self.emulator)
    }
}

fn writes_goldens() -> bool {
    std::env::var_os("ENVOI_GOLDEN").is_some_and(|word| word == "write")
}

/// Without what differs from run to run: durations, with the spaces before them, and the run's id, which may be broken in
/// two or cut.
fn normal(screen: &str, run: &str) -> String {
    let chars: Vec<char> = screen.chars().collect();
    let run: Vec<char> = run.chars().collect();
    let mut text = String::new();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let spaces = rest.iter().take_while(|c| **c == ' ').count();
        let number = rest[spaces..].iter().take_while(|c| c.is_ascii_digit() || **c == '.').count();
        if spaces > 0
            && number > 0
            && rest[spaces + number..].first() == Some(&'s')
            && !rest.get(spaces + number + 1).is_some_and(|c| c.is_alphanumeric())
        {
            text.push_str(" #s");
            at += spaces + number + 1;
            continue;
        }
        let begins_id = run.len() > 4 && rest.starts_with(&run[..4]);
        let mut id = if begins_id { run.iter().peekable() } else { [].iter().peekable() };
        text.push(if begins_id { '_' } else { rest[0] });
        at += 1;
        id.next();
        while let Some(next) = id.peek().copied() {
            // A line that merely begins with the letter that would come next is no other half.
            let rest: Vec<char> = id.clone().take(4).copied().collect();
            let below = chars.get(at + 1..).unwrap_or_default();
            let is_broken = chars.get(at) == Some(&'\n') && below.starts_with(&rest);
            match chars.get(at) {
                Some(c) if *c == *next => {
                    text.push('_');
                    id.next();
                }
                _ if is_broken => text.push('\n'),
                _ => break,
            }
            at += 1;
        }
    }
    text
}

/// A run begins and ends while no viewer can look.
fn run_while_stopped(stage: &Stage, watching: &[&Terminal]) {
    stage.write("short.yaml", "flow: short\nsteps:\n  - id: a\n    run: exit 1\n");
    let all = |what| watching.iter().for_each(|terminal| signal(terminal.child.id(), what));
    all(Signal::STOP);
    wait_until("all to be stopped", || watching.iter().all(|one| state(one.child.id()) == Some('T')));
    stage.expect(1, &["run", "short.yaml"]);
    all(Signal::CONT);
}

#[test]
fn a_run_is_redrawn_in_its_place_and_its_last_picture_stays() {
    for (columns, name) in [(40, "40"), (80, "80"), (120, "120")] {
        let stage = Stage::with_flow(FLOW);
        let terminal = Terminal::start(&stage, &["run", "flow.yaml"], columns, &[]);
        terminal.emulator.wait_for_golden(&stage, &format!("running-{name}.txt"));
        stage.write("go", "");
        wait_until("the second round", || terminal.shows().contains("loop 2 of 4"));
        stage.write("go", "");
        let (_, code, emulator) = terminal.done();
        assert_eq!(code, Some(0));
        emulator.wait_for_golden(&stage, &format!("ended-{name}.txt"));
    }
}

#[test]
fn keys_pressed_do_not_disturb_the_picture() {
    let stage = Stage::with_flow(FLOW);
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 80, &[]);
    terminal.emulator.wait_for_golden(&stage, "running-80.txt");
    terminal.types("\n\nls -l\nxyz");
    wait_until("the keys to be echoed", || terminal.shows().contains("xyz"));
    stage.write("go", "");
    wait_until("the second round", || terminal.shows().contains("loop 2 of 4"));
    terminal.types("\n\n");
    stage.write("go", "");
    let (_, code, emulator) = terminal.done();
    assert_eq!(code, Some(0));
    emulator.wait_for_golden(&stage, "ended-80.txt");
}

#[test]
fn a_resize_leaves_nothing_of_the_old_picture() {
    let stage = Stage::with_flow(FLOW);
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 120, &[]);
    terminal.emulator.wait_for_golden(&stage, "running-120.txt");
    terminal.resize(50);
    terminal.emulator.wait_for_golden(&stage, "resized-50.txt");
    terminal.resize(120);
    terminal.emulator.wait_for_golden(&stage, "resized-120.txt");
    terminal.resize(25);
    terminal.emulator.wait_for_golden(&stage, "resized-25.txt");
}

#[test]
fn where_a_picture_is_not_wanted_there_are_plain_lines() {
    let flow = "flow: two\nsteps:\n  - id: a\n    run: echo hello\n  - id: b\n    run: exit 3\n";
    let plain = "  a.1.1              started\n  a.1                done in #s; hello\n  b.1.1              started\n  \
                 b.1.1              failed after #s: TOOL_EXIT_NON_ZERO";
    let stage = Stage::with_flow(flow);
    let piped = stage.expect(1, &["run", "flow.yaml"]);
    assert!(normal(&piped.err, "").contains(plain), "{}", piped.err);
    assert!(!piped.err.contains('\x1b') && piped.out.lines().count() == 1, "{piped:?}");
    let mut others = Vec::new();
    for (arguments, env) in [
        (&["run", "flow.yaml"][..], ("TERM", "dumb")),
        (&["run", "flow.yaml"], ("TERM", "")),
        (&["--json", "run", "flow.yaml"], ("TERM", "xterm")),
    ] {
        let stage = Stage::with_flow(flow);
        let (text, code, _) = Terminal::start(&stage, arguments, 80, &[env]).done();
        assert_eq!(code, Some(1), "{text}");
        assert!(!text.contains('\x1b'), "{arguments:?} {env:?}: {text:?}");
        others.push(text.replace("\r\n", "\n"));
    }
    assert!(normal(&others[0], "").contains(plain) && normal(&others[1], "").contains(plain), "{others:?}");
    assert!(
        others[2].lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()),
        "{}",
        others[2]
    );
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let flow = "flow: one\nsteps:\n  - id: a\n    run: echo hello\n";
    for (variable, coloured) in [("OTHER", true), ("NO_COLOR", false)] {
        let stage = Stage::with_flow(flow);
        let (text, _, _) = Terminal::start(&stage, &["run", "flow.yaml"], 80, &[(variable, "1")]).done();
        assert!(text.contains("✓") && text.contains("\x1b[?2026h"), "a picture was drawn: {text:?}");
        assert_eq!(text.contains("\x1b[32m"), coloured, "{variable}: {text:?}");
    }
}

#[test]
fn what_a_command_writes_does_not_steer_the_terminal() {
    let flow = "flow: one\nsteps:\n  - id: a\n    run: \"printf '\\\\033]0;title\\\\007\\\\033[2J\\\\033[5;5Hevil'; until [ -e go ]; do sleep 0.02; done\"\n";
    let stage = Stage::with_flow(flow);
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 80, &[]);
    wait_until("its output", || terminal.shows().contains("  evil"));
    stage.write("go", "");
    let (text, code, _) = terminal.done();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("\x1b]") && !text.contains("\x1b[2J") && !text.contains("\x1b[5;5H"), "{text:?}");
    let log = stage.expect(0, &["logs"]);
    assert!(log.out.contains("\x1b[2J"), "the log has it as it came: {log:?}");
}

#[test]
fn a_question_is_shown_with_what_is_known_and_how_it_is_answered() {
    let flow = "flow: loops\nsteps:\n  - id: critic\n    run: \"echo 'Status: UNVERIFIED'\"\n    \
                routing: { kind: microloop, success_values: [VERIFIED], max_iterations: 1 }\n";
    let stage = Stage::with_flow(flow);
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], 100, &[]);
    wait_until("the question", || terminal.shows().contains("proceed, stop, show, later?"));
    terminal.types("later\n");
    let (text, code, emulator) = terminal.done();
    assert_eq!(code, Some(3), "{text}");
    let shows = emulator.shows();
    for part in ["waiting", "? critic", "asks", "loop 2 of 2", "--review proceed"] {
        assert!(shows.contains(part), "{part}: {shows}");
    }
}

#[test]
fn a_question_is_broken_between_words_on_every_terminal() {
    let words: Vec<String> = (10..40).map(|number| format!("word{number}")).collect();
    let stage = Stage::with_flow(&format!("flow: asks\nsteps:\n  - id: ok\n    ask: {}\n", words.join(" ")));
    // A line holds no whole number of them.
    let columns = 61;
    let whole = |shows: &str, command: &str| {
        for word in &words {
            assert!(shows.contains(word.as_str()), "{command} breaks {word}:\n{shows}");
        }
    };
    let terminal = Terminal::start(&stage, &["run", "flow.yaml"], columns, &[]);
    wait_until("the question", || terminal.shows().contains("show, later?"));
    whole(&terminal.shows(), "run");
    terminal.types("later\n");
    assert_eq!(terminal.done().1, Some(3));
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    for arguments in [&["show"][..], &["show", &question], &["why"]] {
        let (text, code, emulator) = Terminal::start(&stage, arguments, columns, &[]).done();
        assert_eq!(code, Some(0), "{text}");
        whole(&emulator.shows(), arguments[0]);
    }
    // `envoi` alone has a line for each thing to do.
    let (_, _, emulator) = Terminal::start(&stage, &[], columns, &[]).done();
    let shows = emulator.shows();
    assert!(shows.lines().next().is_some_and(|line| line.ends_with('…')), "{shows}");
    assert_eq!(shows.trim().lines().count(), 3, "{shows}");
}

#[test]
fn the_runs_of_a_store_are_followed_beside_the_engine_and_their_end_stays() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the run", || stage.attempt("work.1.1").is_some());
    let terminal = Terminal::start(&stage, &["runs", "-f"], 100, &[]);
    wait_until("the run in view", || {
        terminal.shows().contains("● work") && terminal.shows().contains("改善した")
    });
    stage.write("go", "");
    wait_until("its second round", || terminal.shows().contains("loop 2 of 4"));
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    run_while_stopped(&stage, &[&terminal]);
    wait_until("one that came and went", || terminal.shows().contains("short failed in"));
    wait_until("its end", || terminal.shows().contains("shop succeeded in"));
    wait_until("nothing more to show", || terminal.shows().contains("no run is unfinished"));
    signal(terminal.child.id(), Signal::INT);
    let (_, code, emulator) = terminal.done();
    assert_eq!(code, None, "a signal ends it");
    assert!(emulator.shows().contains("shop succeeded in"));
}

#[test]
fn logs_are_followed_beside_the_engine_until_the_run_is_at_rest() {
    let flow = "flow: f\nsteps:\n  - id: a\n    run: \"echo one; echo two >&2; printf thr; until [ -e go ]; do sleep 0.02; done; echo ee; printf four\"\n  \
                - id: b\n    run: echo five\n";
    let stage = Stage::with_flow(flow);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the run", || stage.attempt("a.1.1").is_some());
    let all = Terminal::start(&stage, &["logs", "-f"], 80, &[]);
    let only = stage.start(&["logs", "--follow", "--step", "a", "--stderr"]);
    let json = stage.start(&["--json", "logs", "-f", "--step", "b"]);
    wait_until("what is there", || all.shows().contains("one") && all.shows().contains("two"));
    assert!(!all.shows().contains("thr"), "whole lines only: {}", all.shows());
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    let (text, code, _) = all.done();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a.1.1 ! two", "a.1.1 | four", "a.1.1 | one", "a.1.1 | three", "b.1.1 | five"]);
    assert_eq!(code, Some(0));
    let only = only.done();
    assert_eq!((only.code, only.out.as_str()), (Some(0), "a.1.1 ! two\n"));
    let json = json.done();
    assert_eq!(json.out, "{\"attempt\":\"b.1.1\",\"stream\":\"stdout\",\"line\":\"five\"}\n");
    // For a run that is at rest already everything is printed, and that is all.
    assert_eq!(stage.expect(0, &["logs", "-f"]).out.lines().count(), 5);
}

#[test]
fn json_on_a_terminal_steers_nothing_and_says_the_same_as_in_a_pipe() {
    let stage = Stage::with_flow(
        r#"flow: nasty
steps:
  - { id: a, run: 'printf ''{"x":"\\u009b31m\\u202eevil"}'' > $ENVOI_DATA' }
"#,
    );
    stage.expect(0, &["run", "flow.yaml"]);
    let run = stage.run_id();
    for arguments in [
        ["show", &run, "--events"].as_slice(),
        &["show", &run, "--envelope"],
        &["show", &run, "--handoff", "a"],
        &["--json", "show", &run],
    ] {
        let values = |out: &str| -> Vec<serde_json::Value> {
            let read = serde_json::Deserializer::from_str(out).into_iter();
            read.map(|value| value.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out:?}")))
                .collect()
        };
        let piped = stage.expect(0, arguments).out;
        let (shown, code, _) = Terminal::start(&stage, arguments, 200, &[]).done();
        assert_eq!(code, Some(0), "{shown}");
        let obeyed = |scalar: char| {
            (scalar.is_control() && !"\r\n".contains(scalar)) || ('\u{202a}'..='\u{202e}').contains(&scalar)
        };
        assert!(!shown.contains(obeyed), "{arguments:?}: {shown:?}");
        assert_eq!(values(&shown), values(&piped), "{arguments:?}");
    }
    assert!(stage.expect(0, &["show", &run, "--events"]).out.contains('\u{202e}'), "a pipe gets it as it is");
}

#[test]
fn runs_are_followed_in_lines_where_there_is_no_terminal() {
    let stage = Stage::with_flow(FLOW);
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the run", || stage.attempt("work.1.1").is_some());
    let lines = Terminal::start(&stage, &["runs", "-f"], 120, &[("TERM", "dumb")]);
    let json = Terminal::start(&stage, &["--json", "runs", "-f"], 500, &[]);
    wait_until("what there was", || lines.shows().contains("work.1.1") && json.shows().contains("work.1.1"));
    stage.write("go", "");
    wait_until("the second round", || stage.attempt("work.2.1").is_some());
    stage.write("go", "");
    assert_eq!(engine.done().code, Some(0));
    run_while_stopped(&stage, &[&lines, &json]);
    wait_until("the end in lines", || lines.shows().contains(" succeeded: "));
    wait_until("one that came and went", || lines.shows().contains(" failed: "));
    wait_until("the end in JSON", || json.shows().contains("\"run_ended\""));
    for terminal in [lines, json] {
        signal(terminal.child.id(), Signal::INT);
        let (text, ..) = terminal.done();
        assert!(!text.contains('\x1b'), "{text:?}");
        assert!(text.lines().all(|line| line.contains("run_")), "each line names its run: {text}");
    }
}

#[test]
fn after_a_second_ctrl_c_how_to_go_on_stands_below_the_last_picture() {
    let stage = Stage::with_flow(FLOW);
    let engine = Terminal::start(&stage, &["run", "flow.yaml"], 200, &[]);
    wait_until("the step", || engine.shows().contains("● work"));
    let run = stage.run_id();
    for (signals, said) in [(1, "starting nothing new"), (2, "go on: envoi resume")] {
        signal(engine.child.id(), Signal::INT);
        // A picture may be half read.
        wait_until(said, || {
            let shows = engine.shows();
            shows.contains(said) && (signals == 2 || shows.contains("● work"))
        });
    }
    // The step goes on under its supervisor, and has the terminal open as long.
    assert!(!stage.supervisors().is_empty());
    stage.write("go", "");
    let (text, code, emulator) = engine.done();
    assert_eq!(code, Some(7), "{text}");
    let shows = emulator.shows();
    let lines: Vec<&str> = shows.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = [
        format!("stopped: run {run} is not finished"),
        format!("look: envoi show {run}   go on: envoi resume {run}"),
    ];
    assert!(lines.ends_with(&[&last[0], &last[1]]), "{shows}");
    assert!(lines.iter().any(|line| line.contains("● work")), "the picture is above: {shows}");
}

#[test]
fn who_follows_sees_what_was_before_and_what_a_person_did_stands_above_the_picture() {
    let stage = Stage::with_flow(FLOW);
    let engine = Terminal::start(&stage, &["run", "flow.yaml"], 90, &[]);
    wait_until("the run", || engine.shows().contains("● work"));
    let follower = Terminal::start(&stage, &["resume"], 90, &[]);
    wait_until("what was before", || {
        follower.shows().contains("✓ prepare") && follower.shows().contains("● work")
    });
    // Said when the engine has taken the request; from then on a signal means what it means to a follower.
    wait_until("the engine's word", || follower.shows().contains("run run_"));
    let place = |shows: &str, what: &str| shows.lines().position(|line| line.contains(what));
    signal(follower.child.id(), Signal::INT);
    let (text, code, emulator) = follower.done();
    assert_eq!(code, Some(7), "{text}");
    let shows = emulator.shows();
    assert!(place(&shows, "✓ prepare") < place(&shows, "the run goes on in process"), "{shows}");
    signal(engine.child.id(), Signal::INT);
    // A picture may be half read.
    wait_until("the note above the picture", || {
        let shows = engine.shows();
        let note = place(&shows, "starting nothing new");
        note.is_some() && note < place(&shows, "● work")
    });
    stage.write("go", "");
    let (text, code, emulator) = engine.done();
    assert_eq!(code, Some(7), "{text}");
    assert!(emulator.shows().contains("✓ work"), "the last picture is true: {}", emulator.shows());
    assert!(!text.contains("\x1b[?25"), "the cursor was never hidden");
}
