//! A real zygote and real copies. The zygote must be started before this program has threads, so each test
//! starts this program once more, with the name of its story.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test without the built-in harness is not recognised as one"
)]

use envoi_zygote::{ForkError, Forked, Program, Zygote};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{FlockOperation, flock},
    process::{Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open},
};
use std::{
    collections::BTreeSet,
    env, fs,
    fs::File,
    io::{self, PipeWriter, Read as _, Write as _},
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::Barrier,
    thread,
    time::Duration,
};

type Story = (&'static str, fn(&Path));

const STORIES: [Story; 8] = [
    ("a_copy_has_its_files_its_name_and_a_session_of_its_own", a_copy_has_its_files),
    ("copies_outlive_the_zygote_which_is_gone_for_good_then", copies_outlive_the_zygote),
    ("a_stopped_zygote_is_given_up_and_keeps_no_file_open", a_stopped_zygote_is_given_up),
    ("threads_that_ask_at_once_each_have_their_own_copy", threads_ask_at_once),
    ("a_zygote_killed_at_any_moment_leaves_whole_copies_or_none", killed_at_any_moment),
    ("a_copy_that_panics_ends_alone", a_copy_that_panics),
    ("copies_that_have_ended_leave_no_zombie", no_zombies),
    ("a_process_with_threads_is_not_copied", not_with_threads),
];

const PROGRAM: Program = Program { main: copy, copy: &["copy", "of"], zygote: &["the zygote"] };

fn main() -> ExitCode {
    let words: Vec<String> = env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("story") => {
            let (_, story) = STORIES.iter().find(|(name, _)| *name == words[2]).unwrap();
            story(Path::new(&words[3]));
            ExitCode::SUCCESS
        }
        Some("wait") => wait_for_the_end(),
        _ => {
            let mut trials: Vec<Trial> =
                STORIES.iter().map(|(name, _)| Trial::test(*name, || tell(name))).collect();
            trials.push(Trial::test("the_zygote_ends_when_its_original_is_killed", ends_with_its_original));
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
        }
    }
}

fn tell(name: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env::current_exe()?).args(["story", name]).arg(folder.path()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// The work of a copy: reads an order to its end, and answers on its standard output. It ignores an empty
/// order.
fn copy() {
    let mut order = String::new();
    io::stdin().read_to_string(&mut order).unwrap();
    match order.as_str() {
        "" => {}
        "panic" => panic!("as it was ordered"),
        order => {
            let line = fs::read("/proc/self/cmdline").unwrap();
            let words = String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
            let pid = std::process::id();
            let session = rustix::process::getsid(None).unwrap().as_raw_pid();
            println!("{order} by {words}, child of {}, {pid}, in {session}", getppid().unwrap().as_raw_pid());
        }
    }
}

/// A copy that has its files, and waits for its order.
fn ask(zygote: &Zygote, stdout: &File) -> Result<(Forked, PipeWriter), ForkError> {
    let (reader, writer) = io::pipe().unwrap();
    let stderr = io::stderr();
    Ok((zygote.fork(OwnedFd::from(reader), stdout.as_fd(), stderr.as_fd())?, writer))
}

fn order(zygote: &Zygote, words: &str, place: &Path) -> (u32, String) {
    let (copy, mut pipe) = ask(zygote, &File::create(place).unwrap()).unwrap();
    let pid = copy.pid();
    pipe.write_all(words.as_bytes()).unwrap();
    drop(pipe);
    copy.wait().unwrap();
    (pid, fs::read_to_string(place).unwrap())
}

fn kill(zygote: &Zygote, signal: Signal) {
    kill_process(pid(zygote.pid()), signal).unwrap();
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.try_into().unwrap()).unwrap()
}

fn a_copy_has_its_files(folder: &Path) {
    let zygote = Zygote::start(&PROGRAM).unwrap();
    let (pid, said) = order(&zygote, "done", &folder.join("out"));
    assert_eq!(said, format!("done by copy of, child of {0}, {pid}, in {0}\n", zygote.pid()));
    let line = fs::read(format!("/proc/{}/cmdline", zygote.pid())).unwrap();
    assert_eq!(String::from_utf8_lossy(&line).trim_end_matches('\0'), "the zygote");
    let long = "x".repeat(1 << 20);
    let (_, said) = order(&zygote, &long, &folder.join("long"));
    assert!(said.starts_with(&long), "an order that no pipe holds at once");
}

fn copies_outlive_the_zygote(folder: &Path) {
    let zygote = Zygote::start(&PROGRAM).unwrap();
    let place = folder.join("out");
    let (copy, mut pipe) = ask(&zygote, &File::create(&place).unwrap()).unwrap();
    kill(&zygote, Signal::KILL);
    for _ in 0..2 {
        let asked = ask(&zygote, &File::create(folder.join("none")).unwrap());
        assert!(matches!(asked, Err(ForkError::Gone)), "{asked:?}");
    }
    pipe.write_all(b"still").unwrap();
    drop(pipe);
    copy.wait().unwrap();
    assert!(fs::read_to_string(place).unwrap().starts_with("still by copy of"));
}

fn a_stopped_zygote_is_given_up(folder: &Path) {
    let zygote = Zygote::start(&PROGRAM).unwrap().with_patience(Duration::from_millis(1));
    kill(&zygote, Signal::STOP);
    let place = folder.join("lock");
    let lock = File::create(&place).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let asked = ask(&zygote, &lock);
    assert!(matches!(asked, Err(ForkError::Gone)), "{asked:?}");
    drop((asked, lock));
    let other = File::open(&place).unwrap();
    flock(&other, FlockOperation::NonBlockingLockExclusive).expect("nobody else has the file open");
}

fn threads_ask_at_once(folder: &Path) {
    let zygote = Zygote::start(&PROGRAM).unwrap();
    let begin = Barrier::new(8);
    let pids = thread::scope(|scope| {
        let asking = |number: usize| {
            let (zygote, begin) = (&zygote, &begin);
            move || {
                begin.wait();
                (0..20)
                    .map(|turn| {
                        let words = format!("{number}.{turn}");
                        let (pid, said) = order(zygote, &words, &folder.join(&words));
                        assert!(said.starts_with(&format!("{words} by copy of")), "{said}");
                        pid
                    })
                    .collect::<Vec<u32>>()
            }
        };
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(asking(number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<u32>>()
    });
    assert_eq!(pids.len(), 160);
    assert!(pids.iter().collect::<BTreeSet<_>>().len() > 1);
}

/// The parent is killed after each possible number of copies, at a moment that differs from round to round.
fn killed_at_any_moment(folder: &Path) {
    for round in 0..40_u32 {
        // Each round has its own process, because a process with threads cannot start another zygote.
        let place = folder.join(round.to_string());
        let ended = match round % 2 {
            0 => Command::new(env::current_exe().unwrap()).args(["wait", "kill"]).arg(&place).status(),
            _ => Command::new(env::current_exe().unwrap()).args(["wait", "term"]).arg(&place).status(),
        };
        assert!(ended.unwrap().success());
    }
}

/// A round of the story above, or an original that another process kills.
fn wait_for_the_end() -> ExitCode {
    let words: Vec<String> = env::args().collect();
    let zygote = Zygote::start(&PROGRAM).unwrap();
    let signal = match words.get(2).map(String::as_str) {
        Some("kill") => Signal::KILL,
        Some("term") => Signal::TERM,
        _ => {
            println!("{}", zygote.pid());
            io::stdin().read_to_end(&mut Vec::new()).unwrap();
            return ExitCode::SUCCESS;
        }
    };
    let place = &words[3];
    thread::scope(|scope| {
        scope.spawn(|| kill(&zygote, signal));
        for turn in 0..1000 {
            let place = format!("{place}.{turn}");
            let out = File::create(&place).unwrap();
            flock(&out, FlockOperation::NonBlockingLockExclusive).unwrap();
            match ask(&zygote, &out) {
                Ok((copy, mut pipe)) => {
                    pipe.write_all(b"whole").unwrap();
                    drop(pipe);
                    copy.wait().unwrap();
                    assert!(fs::read_to_string(&place).unwrap().starts_with("whole by copy of"));
                }
                Err(error) => {
                    assert!(matches!(error, ForkError::Gone), "{error}");
                    drop(out);
                    // A copy that was made without an answer ends by itself, and has written nothing.
                    let again = File::open(&place).unwrap();
                    flock(&again, FlockOperation::LockExclusive).unwrap();
                    assert_eq!(fs::read_to_string(&place).unwrap(), "");
                    return ExitCode::SUCCESS;
                }
            }
        }
        panic!("it was never killed")
    })
}

fn a_copy_that_panics(folder: &Path) {
    let zygote = Zygote::start(&PROGRAM).unwrap();
    assert_eq!(order(&zygote, "panic", &folder.join("panic")).1, "");
    assert!(order(&zygote, "next", &folder.join("next")).1.starts_with("next by copy of"));
}

fn no_zombies(folder: &Path) {
    let zygote = Zygote::start(&PROGRAM).unwrap();
    for turn in 0..20 {
        order(&zygote, "done", &folder.join(turn.to_string()));
    }
    // A process is reported as ended a moment before it is removed. If it is never removed, this test hangs,
    // and its caller reports that.
    let children = format!("/proc/{0}/task/{0}/children", zygote.pid());
    while !fs::read_to_string(&children).unwrap().trim().is_empty() {
        thread::yield_now();
    }
}

fn not_with_threads(_: &Path) {
    let begin = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| begin.wait());
        let refused = Zygote::start(&PROGRAM).unwrap_err();
        assert_eq!(refused.to_string(), "this process has 2 threads, and can be copied with one only");
        begin.wait();
    });
}

fn ends_with_its_original() -> Result<(), Failed> {
    let mut original = Command::new(env::current_exe()?)
        .args(["wait", "for", "it"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(original.stdout.take().unwrap()), &mut line)?;
    let zygote = pidfd_open(pid(line.trim().parse()?), PidfdFlags::empty())?;
    original.kill()?;
    original.wait()?;
    poll(&mut [PollFd::new(&zygote, PollFlags::IN)], None)?;
    Ok(())
}
