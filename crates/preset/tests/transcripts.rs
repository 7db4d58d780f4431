//! Tests the interpretation of transcripts of the real programs against a stub provider. `tests/programs/record.py`
//! makes the transcripts.
//!
//! `ENVOI_TRANSCRIPTS` may name a folder with other transcripts. `tests/programs/matrix.sh` of this repository
//! records all of them again and tests them. If the folder has none for a program, the stored ones are used.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as a test expects ends it"
)]

use envoi_contract::json::Value;
use envoi_preset::{Class, Exit, Masking, Outcome, Preset, Reading};
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

struct Transcript {
    exit: Exit,
    /// True if the program ended by itself, or by the one signal that the scenario tests.
    ends: bool,
    stderr: String,
    stdout: Vec<u8>,
}

fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn recorded() -> Option<PathBuf> {
    env::var_os("ENVOI_TRANSCRIPTS").map(PathBuf::from)
}

fn folder(preset: Preset) -> PathBuf {
    let recorded = recorded().map(|folder| folder.join(preset.name()));
    recorded.filter(|folder| folder.is_dir()).unwrap_or_else(|| kept().join(preset.name()))
}

fn transcript(preset: Preset, name: &str) -> Transcript {
    let place = folder(preset).join(format!("{name}.jsonl"));
    let text = fs::read_to_string(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let (notes, events): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("# "));
    let code: i32 = notes[0].strip_prefix("# exit ").unwrap().parse().unwrap();
    let exit = if code < 0 { Exit::Signal(-code) } else { Exit::Code(code) };
    let (endless, notes): (Vec<&str>, Vec<&str>) = notes[1..].iter().partition(|note| **note == "# no end");
    let stderr: Vec<&str> = notes.iter().map(|note| note.strip_prefix("# stderr ").unwrap()).collect();
    let stdout = events.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    Transcript { exit, ends: endless.is_empty(), stderr: stderr.join("\n"), stdout }
}

fn read(preset: Preset, name: &str, wants_data: bool) -> Outcome {
    let transcript = transcript(preset, name);
    let mut reading = Reading::of(preset, Masking::default());
    reading.push(&transcript.stdout);
    reading.finish(transcript.exit, &transcript.stderr, wants_data)
}

const CLAUDE: &[(&str, Option<Class>)] = &[
    ("hello", None),
    ("resume", None),
    ("tool", None),
    ("data", None),
    ("busy-once", None),
    ("denied", Some(Class::Denied)),
    ("no-data", Some(Class::Schema)),
    ("limit", Some(Class::Throttled)),
    ("busy", Some(Class::Throttled)),
    ("long", Some(Class::Throttled)),
    ("drips", None),
    ("overloaded", Some(Class::Overloaded)),
    ("unauthorized", Some(Class::Auth)),
    ("forbidden", Some(Class::Auth)),
    ("no-login", Some(Class::Auth)),
    ("no-model", Some(Class::Model)),
    ("credit", Some(Class::Billing)),
    ("too-long", Some(Class::TooLong)),
    ("turns", Some(Class::Turns)),
    ("no-network", Some(Class::Network)),
    ("lost", Some(Class::Crashed)),
    ("taken", Some(Class::Crashed)),
    ("ended", Some(Class::Crashed)),
    ("interrupted", Some(Class::Crashed)),
    ("hung-up", Some(Class::Crashed)),
    ("killed", Some(Class::Crashed)),
    ("failing", Some(Class::Overloaded)),
    ("budget", Some(Class::Budget)),
    ("cut-once", None),
    ("malformed", Some(Class::Crashed)),
    ("silent", Some(Class::Crashed)),
    ("length", Some(Class::TooLong)),
    ("filter", Some(Class::Refused)),
    // The first tested version.
    ("2.1.197/hello", None),
    ("2.1.197/resume", None),
    ("2.1.197/tool", None),
    ("2.1.197/data", None),
    ("2.1.197/limit", Some(Class::Throttled)),
    ("2.1.197/budget", Some(Class::Budget)),
];

const CODEX: &[(&str, Option<Class>)] = &[
    ("hello", None),
    ("resume", None),
    ("tool", None),
    ("data", None),
    ("stopped", None),
    ("denied", Some(Class::Denied)),
    ("denied-patch", Some(Class::Denied)),
    ("limit", Some(Class::Throttled)),
    ("busy", Some(Class::Throttled)),
    ("long", Some(Class::Crashed)),
    ("drips", None),
    ("overloaded", Some(Class::Overloaded)),
    ("unauthorized", Some(Class::Auth)),
    ("no-login", Some(Class::Auth)),
    ("no-model", Some(Class::Model)),
    ("credit", Some(Class::Billing)),
    ("too-long", Some(Class::TooLong)),
    ("lost", Some(Class::Crashed)),
    ("ended", Some(Class::Crashed)),
    ("interrupted", Some(Class::Crashed)),
    ("hung-up", Some(Class::Crashed)),
    ("killed", Some(Class::Crashed)),
    ("failing", Some(Class::Overloaded)),
    ("no-data", Some(Class::Schema)),
    ("busy-once", None),
    ("forbidden", Some(Class::Auth)),
    ("no-network", Some(Class::Crashed)),
    ("cut-once", None),
    ("malformed", Some(Class::Network)),
    ("silent", Some(Class::Crashed)),
    ("length", Some(Class::TooLong)),
    ("filter", Some(Class::Refused)),
];

const GEMINI: &[(&str, Option<Class>)] = &[
    ("hello", None),
    ("resume", None),
    ("tool", None),
    ("data", None),
    ("busy-once", None),
    ("denied", Some(Class::Denied)),
    ("no-data", Some(Class::Schema)),
    ("limit", Some(Class::Throttled)),
    ("busy", Some(Class::Throttled)),
    ("long", Some(Class::Throttled)),
    ("drips", None),
    ("overloaded", Some(Class::Overloaded)),
    ("unauthorized", Some(Class::Auth)),
    ("forbidden", Some(Class::Auth)),
    ("no-login", Some(Class::Auth)),
    ("no-model", Some(Class::Model)),
    ("credit", Some(Class::Billing)),
    ("too-long", Some(Class::TooLong)),
    ("turns", Some(Class::Turns)),
    ("no-network", Some(Class::Network)),
    ("lost", Some(Class::Crashed)),
    ("taken", Some(Class::Crashed)),
    ("ended", Some(Class::Crashed)),
    ("interrupted", Some(Class::Crashed)),
    ("hung-up", Some(Class::Crashed)),
    ("killed", Some(Class::Crashed)),
    ("failing", Some(Class::Overloaded)),
    ("cut-once", Some(Class::Crashed)),
    ("malformed", Some(Class::Crashed)),
    ("silent", Some(Class::Network)),
    ("length", None),
    ("filter", None),
];

const OPENCODE: &[(&str, Option<Class>)] = &[
    ("hello", None),
    ("resume", None),
    ("tool", None),
    ("data", None),
    ("busy-once", None),
    ("denied", Some(Class::Denied)),
    ("denied-by-rule", Some(Class::Denied)),
    ("no-data", Some(Class::Schema)),
    ("busy", Some(Class::Throttled)),
    ("long", Some(Class::Crashed)),
    ("drips", None),
    ("unauthorized", Some(Class::Auth)),
    ("forbidden", Some(Class::Auth)),
    ("no-login", Some(Class::Crashed)),
    ("no-model", Some(Class::Model)),
    ("too-long", Some(Class::TooLong)),
    ("turns", None),
    ("lost", Some(Class::Crashed)),
    ("ended", Some(Class::Crashed)),
    ("interrupted", Some(Class::Crashed)),
    ("hung-up", Some(Class::Crashed)),
    ("killed", Some(Class::Crashed)),
    ("failing", Some(Class::Overloaded)),
    ("limit", Some(Class::Throttled)),
    ("credit", Some(Class::Billing)),
    ("overloaded", Some(Class::Overloaded)),
    ("no-network", Some(Class::Network)),
    ("cut-once", None),
    ("malformed", Some(Class::Crashed)),
    ("silent", Some(Class::Crashed)),
    ("length", Some(Class::TooLong)),
    ("filter", Some(Class::Refused)),
];

/// Scenarios that do not end by themselves. The transcript stops where the program was ended. Nothing after the
/// beginning counts as a sign of work, so `idle` ends the program.
const WITHOUT_END: &[(Preset, &[&str])] = &[
    (Preset::Claude, &["silent"]),
    (Preset::Codex, &["long", "no-network", "silent"]),
    (Preset::OpenCode, &["long", "silent"]),
];

fn is_without_end(preset: Preset, name: &str) -> bool {
    WITHOUT_END.iter().any(|(of, names)| *of == preset && names.contains(&name))
}

fn all() -> impl Iterator<Item = (Preset, &'static str, Option<Class>)> {
    let claude = CLAUDE.iter().map(|(name, class)| (Preset::Claude, *name, *class));
    let codex = CODEX.iter().map(|(name, class)| (Preset::Codex, *name, *class));
    let gemini = GEMINI.iter().map(|(name, class)| (Preset::Gemini, *name, *class));
    let opencode = OPENCODE.iter().map(|(name, class)| (Preset::OpenCode, *name, *class));
    claude.chain(codex).chain(gemini).chain(opencode)
}

/// The rows of the table in `docs/agents.md`, and the transcript for each.
const ROWS: &[(&str, &str)] = &[
    ("an answer", "hello"),
    ("the session goes on", "resume"),
    ("a tool is used", "tool"),
    ("data that fits `outputs`", "data"),
    ("text in place of data", "no-data"),
    ("a tool that is not allowed", "denied"),
    ("a command that its sandbox stops", "stopped"),
    ("429 once", "busy-once"),
    ("429 each time", "busy"),
    ("429 for two hours, with a key", "long"),
    ("the limit of the account", "limit"),
    ("529 or 503 each time", "overloaded"),
    ("500 each time", "failing"),
    ("401", "unauthorized"),
    ("403", "forbidden"),
    ("a model that does not exist", "no-model"),
    ("no credit", "credit"),
    ("a prompt that is too long", "too-long"),
    ("an answer that is cut at its most tokens", "length"),
    ("an answer that the provider stops", "filter"),
    ("the limit on turns", "turns"),
    ("its own limit on cost", "budget"),
    ("no login", "no-login"),
    ("no network", "no-network"),
    ("an answer that comes slowly", "drips"),
    ("an answer that breaks off, once", "cut-once"),
    ("something that is no answer", "malformed"),
    ("no answer at all", "silent"),
    ("a session that is not there", "lost"),
    ("the id of a session that is there", "taken"),
    ("TERM while a tool works", "ended"),
    ("INT while a tool works", "interrupted"),
    ("HUP while a tool works", "hung-up"),
    ("KILL while a tool works", "killed"),
];

/// The table cell for a program in a scenario.
fn cell(preset: Preset, name: &str) -> String {
    if !all().any(|(of, known, _)| of == preset && known == name) {
        return "none".to_owned();
    }
    if is_without_end(preset, name) {
        return "no end".to_owned();
    }
    let exit = match transcript(preset, name).exit {
        Exit::Code(code) => code.to_string(),
        Exit::Signal(signal) => format!("signal {signal}"),
    };
    let outcome = read(preset, name, wants_data(name));
    match outcome.failure {
        _ if outcome.lost => format!("begins anew ({exit})"),
        None => format!("success ({exit})"),
        Some(failure) => format!("`{}` ({exit})", failure.class.code()),
    }
}

#[test]
fn the_table_of_the_documents_says_what_the_transcripts_say() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md")).unwrap();
    let (_, tried) = page.split_once("## What was tried\n").unwrap();
    let table: Vec<&str> = tried
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .collect();
    let expected: Vec<String> = ROWS
        .iter()
        .map(|(title, name)| {
            let cells = Preset::ALL.map(|preset| cell(preset, name)).join(" | ");
            format!("| {title} | {cells} |")
        })
        .collect();
    assert_eq!(table, expected);
}

fn wants_data(name: &str) -> bool {
    name.ends_with("data")
}

#[test]
fn every_way_to_fail_has_its_class_and_only_success_is_success() {
    for (preset, name, class) in all() {
        let outcome = read(preset, name, wants_data(name));
        let found = outcome.failure.as_ref().map(|failure| failure.class);
        assert_eq!(found, class, "{} {name}: {outcome:?}", preset.name());
        assert_eq!(outcome.unread, 0, "{} {name}", preset.name());
        let ends = transcript(preset, name).ends;
        assert_eq!(ends, !is_without_end(preset, name), "{} {name}", preset.name());
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The names of the transcripts in a folder. A transcript of another version has the version's folder before its
/// name.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let of_entry = |path: PathBuf| {
        if path.is_dir() {
            let version = path.file_name().unwrap().to_str().unwrap();
            return names_in(&path).into_iter().map(|name| format!("{version}/{name}")).collect();
        }
        vec![path.file_stem().unwrap().to_str().unwrap().to_owned()]
    };
    entries(folder).into_iter().flat_map(of_entry).collect()
}

#[test]
fn each_transcript_is_of_a_scenario_and_each_folder_of_a_program() {
    let place = recorded().unwrap_or_else(kept);
    let folders = entries(&place);
    assert!(!folders.is_empty(), "{} has no transcripts", place.display());
    let programs = Preset::ALL.map(|preset| place.join(preset.name()));
    let others: Vec<&PathBuf> = folders.iter().filter(|folder| !programs.contains(folder)).collect();
    assert!(others.is_empty(), "{others:?}");
    for preset in Preset::ALL {
        let names: BTreeSet<String> =
            all().filter(|(of, ..)| *of == preset).map(|(_, name, _)| name.to_owned()).collect();
        assert_eq!(names_in(&folder(preset)), names, "{}", preset.name());
    }
}

#[test]
fn a_piece_of_the_output_may_end_anywhere() {
    for (preset, name, _) in all() {
        let transcript = transcript(preset, name);
        let whole = read(preset, name, wants_data(name));
        for size in [1, 7, 1000] {
            let mut reading = Reading::of(preset, Masking::default());
            let lines: usize = transcript.stdout.chunks(size).map(|piece| reading.push(piece).len()).sum();
            assert_eq!(lines, transcript.stdout.iter().filter(|byte| **byte == b'\n').count());
            let torn = reading.finish(transcript.exit, &transcript.stderr, wants_data(name));
            assert_eq!(torn, whole, "{} {name} in pieces of {size}", preset.name());
        }
    }
}

#[test]
fn an_output_that_was_cut_off_is_never_a_success() {
    for (preset, name, _) in all() {
        let transcript = transcript(preset, name);
        let closing = transcript.stdout.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        for end in [0, closing / 2, closing, closing + (transcript.stdout.len() - closing) / 2] {
            let mut reading = Reading::of(preset, Masking::default());
            reading.push(&transcript.stdout[..end]);
            let outcome = reading.finish(Exit::Code(0), "", false);
            assert!(outcome.failure.is_some(), "{} {name} cut at {end}: {outcome:?}", preset.name());
        }
    }
}

#[test]
fn what_is_no_event_between_the_events_changes_nothing_but_its_count() {
    let long = format!(
        "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"text\":\"{}\"}}]}}}}\n",
        "x".repeat(1 << 20)
    );
    let noise: [&[u8]; 4] = [b"not json\n", b"\xff\xfe\x00\n", b"[1,2]\n", long.as_bytes()];
    for (preset, name, _) in all().filter(|(_, name, _)| !wants_data(name)) {
        let transcript = transcript(preset, name);
        let mut reading = Reading::of(preset, Masking::default());
        for line in transcript.stdout.split_inclusive(|byte| *byte == b'\n') {
            noise.iter().for_each(|noise| drop(reading.push(noise)));
            reading.push(line);
        }
        let found = reading.finish(transcript.exit, &transcript.stderr, false);
        let lines = transcript.stdout.iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(found.unread, lines * 3, "{} {name}", preset.name());
        assert_eq!(Outcome { unread: 0, ..found }, read(preset, name, false), "{} {name}", preset.name());
    }
}

#[test]
fn a_session_is_known_before_the_first_answer_and_a_lost_one_is_noticed() {
    for preset in Preset::ALL {
        let transcript = transcript(preset, "ended");
        let mut reading = Reading::of(preset, Masking::default());
        let first = transcript.stdout.iter().position(|byte| *byte == b'\n').unwrap();
        reading.push(&transcript.stdout[..=first]);
        assert!(reading.session().is_some(), "{}", preset.name());
        let lost: Vec<&str> = all()
            .filter(|(of, name, _)| *of == preset && read(preset, name, false).lost)
            .map(|(_, name, _)| name)
            .collect();
        assert_eq!(lost, ["lost"], "{}", preset.name());
        assert_eq!(read(preset, "hello", false).session, read(preset, "resume", false).session);
    }
}

#[test]
fn a_resumed_session_is_charged_with_what_is_new() {
    let cost = |text| envoi_kernel::ledger::Cost::parse(text);
    let (first, second) =
        (read(Preset::Claude, "hello", false).usage, read(Preset::Claude, "resume", false).usage);
    let known = first.after(&Default::default());
    assert_eq!((known.cost, second.session.cost), (cost("0.000604"), cost("0.001208")));
    let used = second.since(&known);
    assert_eq!((used.tokens_in, used.tokens_out, used.cost), (Some(120), Some(10), cost("0.000604")));
    assert_eq!(second.llm_calls, Some(1));

    // The first tested version states the cost of each process.
    for name in ["2.1.197/hello", "2.1.197/resume"] {
        let usage = read(Preset::Claude, name, false).usage;
        assert_eq!((usage.process.cost, usage.session.cost), (cost("0.00076"), None), "{name}");
        let used = usage.since(&known);
        assert_eq!((used.tokens_in, used.tokens_out, used.cost), (Some(120), Some(10), cost("0.00076")));
    }

    let (first, second) =
        (read(Preset::Codex, "hello", false).usage, read(Preset::Codex, "resume", false).usage);
    assert_eq!((second.session.tokens_in, second.session.tokens_out), (Some(200), Some(20)));
    let used = second.since(&first.after(&Default::default()));
    assert_eq!((used.tokens_in, used.tokens_out, used.cost), (Some(100), Some(10), None));
    assert_eq!(second.llm_calls, None, "it does not say how many calls it made");

    let (first, second) =
        (read(Preset::Gemini, "hello", false).usage, read(Preset::Gemini, "resume", false).usage);
    let used = second.since(&first.after(&Default::default()));
    assert_eq!((used.tokens_in, used.tokens_out, used.cost), (Some(100), Some(10), None));

    let (first, second) =
        (read(Preset::OpenCode, "hello", false).usage, read(Preset::OpenCode, "resume", false).usage);
    let used = second.since(&first.after(&Default::default()));
    assert_eq!((used.tokens_in, used.tokens_out, used.cost), (Some(100), Some(10), cost("0.0001")));
    assert_eq!(read(Preset::OpenCode, "tool", false).usage.llm_calls, Some(2));
    assert_eq!(read(Preset::OpenCode, "turns", false).usage.llm_calls, Some(4), "its own bound was one");
}

#[test]
fn what_the_helpers_of_opencode_use_is_not_known_and_a_model_without_a_price_has_no_cost() {
    let start = r#"{"type":"step_start","sessionID":"ses_1"}"#;
    let end = |cost: &str| {
        format!(
            r#"{{"type":"step_finish","part":{{"reason":"stop","tokens":{{"input":5,"output":1}},"cost":{cost}}}}}"#
        )
    };
    let helper = r#"{"type":"tool_use","part":{"tool":"task","state":{"status":"completed"}}}"#;
    let used = |lines: &[&str]| {
        let usage = heard(Preset::OpenCode, lines).usage;
        (usage.llm_calls, usage.process.tokens_in, usage.process.cost.map(|cost| cost.to_string()))
    };
    assert_eq!(used(&[start, &end("2.5e-1")]), (Some(1), Some(5), Some("0.25".to_owned())));
    assert_eq!(used(&[start, &end("0")]), (Some(1), Some(5), None));
    assert_eq!(
        used(&[start, &end("0"), start, &end("1")]),
        (Some(2), Some(10), None),
        "a part of it is not known"
    );
    assert_eq!(used(&[start, helper, &end("1")]), (None, None, None));
}

#[test]
fn a_process_that_was_ended_is_charged_with_what_its_calls_were_given() {
    for name in ["ended", "hung-up", "killed"] {
        let usage = read(Preset::Claude, name, false).usage;
        let given = (usage.llm_calls, usage.process.tokens_in, usage.process.cost);
        assert_eq!(given, (Some(1), Some(120), None), "{name}");
        let usage = read(Preset::OpenCode, name, false).usage;
        assert_eq!((usage.llm_calls, usage.process.tokens_out), (Some(1), None), "{name}");
    }
}

#[test]
fn a_program_that_stops_at_its_limit_on_cost_is_charged_with_the_call_that_passed_it() {
    let cost = |text| envoi_kernel::ledger::Cost::parse(text);
    // The closing event then says that no tokens were used.
    for (name, expected) in [("budget", "0.000604"), ("2.1.197/budget", "0.00076")] {
        let outcome = read(Preset::Claude, name, false);
        let used = outcome.usage.since(&Default::default());
        let figures = (used.tokens_in, used.tokens_out, used.cost);
        assert_eq!(figures, (Some(120), Some(10), cost(expected)), "{name}");
        assert_eq!(outcome.usage.llm_calls, Some(1), "{name}");
        let message = outcome.failure.unwrap().message;
        assert_eq!(message, "Reached maximum budget ($0.0001)", "{name}");
    }
}

#[test]
fn what_does_not_end_gives_no_sign_of_work_after_its_beginning() {
    for (preset, names) in WITHOUT_END {
        for name in *names {
            let Transcript { stdout, .. } = transcript(*preset, name);
            let mut reading = Reading::of(*preset, Masking::default());
            // Only the events at the beginning, none of an answer.
            let most = if *preset == Preset::Codex { 3 } else { 2 };
            reading.push(&stdout);
            assert!(reading.events() <= most, "{} {name}: {}", preset.name(), reading.events());
            let outcome = reading.finish(Exit::Signal(15), "", false);
            assert_eq!(outcome.text, "", "{} {name}", preset.name());
        }
    }
    let is_limited = |name: &str| {
        let mut reading = Reading::of(Preset::Codex, Masking::default());
        reading.push(&transcript(Preset::Codex, name).stdout);
        reading.is_limited()
    };
    assert_eq!(["long", "no-network", "silent"].map(is_limited), [true, false, false]);
    let said = String::from_utf8(transcript(Preset::Codex, "no-network").stdout).unwrap();
    assert!(said.contains("waiting for network"), "it says again and again that it waits: {said}");
}

#[test]
fn the_reason_of_a_failure_may_stand_in_the_event_before_its_end() {
    let failure = read(Preset::Gemini, "malformed", false).failure.unwrap();
    assert_eq!(failure.message, "Model stream ended without a finish reason.");
}

#[test]
fn data_denials_limits_and_versions_are_found() {
    let expected = Value::parse_str(r#"{"verdict":"good","score":7}"#).unwrap();
    for name in ["data", "2.1.197/data"] {
        assert_eq!(read(Preset::Claude, name, true).data.as_ref(), Some(&expected), "{name}");
    }
    for preset in [Preset::Codex, Preset::Gemini, Preset::OpenCode] {
        assert_eq!(read(preset, "data", true).data.unwrap().compact(), expected.compact());
        let unwanted = read(preset, "data", false).data;
        assert_eq!(unwanted, None, "text that looks like data is text where none is wanted");
    }

    for (preset, name, is_tolerated) in [
        (Preset::Claude, "denied", true),
        (Preset::Codex, "denied", true),
        (Preset::Codex, "denied-patch", true),
        (Preset::Gemini, "denied", true),
        (Preset::OpenCode, "denied", true),
        // The program ended there, so the work is not done.
        (Preset::OpenCode, "denied-by-rule", false),
    ] {
        for (most, succeeds) in [(0, false), (1, is_tolerated), (9, is_tolerated)] {
            let transcript = transcript(preset, name);
            let mut reading = Reading::of(preset, Masking::default());
            reading.push(&transcript.stdout);
            reading.allow_denials(most);
            let outcome = reading.finish(transcript.exit, &transcript.stderr, false);
            let class = outcome.failure.as_ref().map(|failure| failure.class);
            assert_eq!(class, (!succeeds).then_some(Class::Denied), "{preset:?} {name} {most}");
            assert_eq!(outcome.denied.len(), 1, "what was refused is said all the same");
        }
    }
    let denied = read(Preset::Claude, "denied", false);
    assert!(denied.denied[0].starts_with("Bash python3 -c"), "{:?}", denied.denied);
    let denied = read(Preset::Gemini, "denied", false);
    assert!(denied.denied[0].starts_with("run_shell_command python3 -c"), "{:?}", denied.denied);
    let denied = read(Preset::Codex, "denied", false).denied;
    assert!(
        denied.len() == 1 && denied[0].starts_with("approval policy is Never; reject command"),
        "{denied:?}"
    );
    let denied = read(Preset::Codex, "denied-patch", false).denied;
    assert_eq!(
        denied,
        ["patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"]
    );
    assert_eq!(read(Preset::OpenCode, "denied", false).denied, ["bash"]);
    let denied = read(Preset::OpenCode, "denied-by-rule", false);
    assert!(denied.denied[0].starts_with("bash python3 -c"), "{:?}", denied.denied);
    for name in ["limit", "2.1.197/limit"] {
        let stdout = String::from_utf8(transcript(Preset::Claude, name).stdout).unwrap();
        let (_, stated) = stdout.split_once(r#""resetsAt":"#).unwrap();
        let stated = stated.split(',').next().unwrap().parse().unwrap();
        assert_eq!(read(Preset::Claude, name, false).throttled_until, Some(stated), "{name}");
    }
    assert_eq!(read(Preset::Claude, "busy", false).throttled_until, None);
    let (first, last) = Preset::Claude.tried();
    let expected = Some(last.to_string());
    assert_eq!(read(Preset::Claude, "hello", false).version, expected, "the last that was tried");
    for name in ["hello", "resume", "tool", "data", "limit", "budget"] {
        let version = read(Preset::Claude, &format!("{first}/{name}"), false).version;
        assert_eq!(version, Some(first.to_string()), "the first that was tried: {name}");
    }
}

#[test]
fn people_are_shown_what_the_agent_says_and_does() {
    let shown = |preset, name| {
        let mut reading = Reading::of(preset, Masking::default());
        let heard = reading.push(&transcript(preset, name).stdout);
        heard.into_iter().flat_map(|heard| heard.shown).collect::<Vec<_>>()
    };
    let claude = shown(Preset::Claude, "tool");
    assert!(claude[0].starts_with("claude 2.1.330, model "), "{claude:?}");
    let done = ["> Bash echo made > out.txt", "STATUS: VERIFIED", "Done.", "end after 2 turns: completed"];
    assert_eq!(claude[1..], done);
    assert_eq!(shown(Preset::Claude, "2.1.197/tool")[1..], done);
    let codex = shown(Preset::Codex, "tool");
    assert!(codex.iter().any(|line| line == "> /bin/bash -lc 'echo made > out.txt'"), "{codex:?}");
    assert!(codex.iter().any(|line| line == "STATUS: VERIFIED"), "{codex:?}");
    assert_eq!(
        shown(Preset::Gemini, "tool"),
        [
            "gemini, model stub-model",
            "> run_shell_command echo made > out.txt",
            "STATUS: VERIFIED",
            "Done.",
            "end: success"
        ]
    );
    let opencode = shown(Preset::OpenCode, "tool");
    assert!(opencode[0].starts_with("opencode, session ses_"), "{opencode:?}");
    assert_eq!(opencode[1..], ["> bash echo made > out.txt", "STATUS: VERIFIED", "Done.", "end: stop"]);
    assert!(shown(Preset::Claude, "busy-once").contains(&"retry 1 of 10: rate_limit (429)".to_owned()));
}

fn heard(preset: Preset, lines: &[&str]) -> Outcome {
    let mut reading = Reading::of(preset, Masking::default());
    reading.push(lines.join("\n").as_bytes());
    reading.finish(Exit::Code(0), "", false)
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s-1"}"#;
const END: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1"}"#;

#[test]
fn only_the_last_end_of_the_own_session_counts() {
    let other = END.replace("s-1", "s-2");
    let turn = r#"{"type":"assistant","session_id":"s-1","message":{"id":"m","content":[{"type":"text","text":"more"}]}}"#;
    for (lines, ends) in [
        (vec![INIT, END], true),
        (vec![INIT, &other], false),
        (vec![INIT, END, &other], true),
        (vec![INIT, END, turn], false),
        (vec![INIT, END, turn, END], true),
    ] {
        let outcome = heard(Preset::Claude, &lines);
        assert_eq!((outcome.failure.is_none(), outcome.session.as_deref()), (ends, Some("s-1")), "{lines:?}");
    }
}

#[test]
fn a_refusal_counts_in_whatever_form_it_is_stated() {
    for (denials, counts) in [
        (r#"[]"#, false),
        (r#"null"#, false),
        (r#"{}"#, false),
        (r#"[{"tool_name":"Bash"}]"#, true),
        (r#"{"Bash":{"command":"rm"}}"#, true),
        (r#""Bash""#, true),
        (r#"2"#, true),
    ] {
        let end = END.replace("\"result\":", &format!("\"permission_denials\":{denials},\"result\":"));
        let outcome = heard(Preset::Claude, &[INIT, &end]);
        let is_denied = outcome.failure.is_some_and(|failure| failure.class == Class::Denied);
        assert_eq!(is_denied, counts, "{denials}");
    }
}

#[test]
fn a_result_that_is_no_text_is_no_success() {
    for (said, class) in [
        ("\"done\"", None),
        ("\"\"", None),
        ("null", None),
        ("7", Some(Class::Crashed)),
        ("[]", Some(Class::Crashed)),
        ("{\"ok\":true}", Some(Class::Crashed)),
    ] {
        let end = END.replace("\"done\"", said);
        let outcome = heard(Preset::Claude, &[INIT, &end]);
        assert_eq!(outcome.failure.map(|failure| failure.class), class, "{said}");
    }
}

#[test]
fn what_looks_like_an_option_is_no_id_of_a_session() {
    for id in ["--yolo", "-c", "", "a b", "a\\nb", "$(id)"] {
        let started = format!(r#"{{"type":"thread.started","thread_id":"{id}"}}"#);
        let done = r#"{"type":"turn.completed","usage":{}}"#;
        assert_eq!(heard(Preset::Codex, &[&started, done]).session, None, "{id}");
        assert_eq!(heard(Preset::Claude, &[&INIT.replace("s-1", id)]).session, None, "{id}");
        let began = format!(r#"{{"type":"init","session_id":"{id}"}}"#);
        assert_eq!(heard(Preset::Gemini, &[&began]).session, None, "{id}");
        let began = format!(r#"{{"type":"step_start","sessionID":"{id}"}}"#);
        assert_eq!(heard(Preset::OpenCode, &[&began]).session, None, "{id}");
    }
}

#[test]
fn a_figure_that_cannot_be_is_handed_over_as_it_is_and_does_not_count() {
    let cost = |text: &str| envoi_kernel::ledger::Cost::parse(text);
    let end = |figures: &str| END.replace("\"result\":", &format!("{figures},\"result\":"));
    for (figures, charged, unusable) in [
        (r#""total_cost_usd":0.5"#, cost("0.5"), "{}"),
        (r#""total_cost_usd":"0.5""#, cost("0.5"), "{}"),
        (r#""total_cost_usd":null"#, None, "{}"),
        (r#""total_cost_usd":-5"#, None, r#"{"cost_usd":-5}"#),
        (r#""total_cost_usd":1e300"#, None, r#"{"cost_usd":1e300}"#),
        (r#""total_cost_usd":[1]"#, None, r#"{"cost_usd":[1]}"#),
        (r#""usage":{"input_tokens":-1,"output_tokens":"2"}"#, None, r#"{"tokens_in":-1,"tokens_out":"2"}"#),
        (r#""usage":"no""#, None, r#"{"tokens_in":"no","tokens_out":"no"}"#),
    ] {
        let outcome = heard(Preset::Claude, &[INIT, &end(figures)]);
        assert_eq!(outcome.usage.process.cost, charged, "{figures}");
        assert_eq!(Value::Object(outcome.unusable).compact(), unusable, "{figures}");
    }
    let started = r#"{"type":"thread.started","thread_id":"t"}"#;
    let done = r#"{"type":"turn.completed","usage":{"input_tokens":1.5,"output_tokens":2}}"#;
    let outcome = heard(Preset::Codex, &[started, done]);
    assert_eq!(Value::Object(outcome.unusable).compact(), r#"{"tokens_in":1.5}"#);
}

#[test]
fn what_a_success_has_cost_is_charged_whatever_follows_it() {
    let cost = |text: &str| envoi_kernel::ledger::Cost::parse(text);
    let success = END.replace("\"result\":", "\"total_cost_usd\":0.01,\"result\":");
    let error = END.replace("\"success\",\"is_error\":false", "\"error_during_execution\",\"is_error\":true");
    let more = error.replace("\"result\":", "\"total_cost_usd\":0.03,\"result\":");
    let turn = r#"{"type":"assistant","session_id":"s-1","message":{"id":"m","content":[]}}"#;
    for (lines, charged) in [
        (vec![INIT, &success, &error], cost("0.01")),
        (vec![INIT, &success, &more], cost("0.03")),
        (vec![INIT, &success, turn], cost("0.01")),
        (vec![INIT, &error], None),
    ] {
        let outcome = heard(Preset::Claude, &lines);
        assert!(outcome.failure.is_some(), "{lines:?}");
        assert_eq!(outcome.usage.process.cost, charged, "{lines:?}");
    }
}

#[test]
fn a_text_in_pieces_is_that_of_the_last_turn_and_shown_in_whole_lines() {
    let said =
        |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    let tool = r#"{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"file_path":"a"}}"#;
    let end = r#"{"type":"result","status":"success","stats":{}}"#;
    let lines =
        [&said("I lo"), &said("ok at\\nit."), tool, &said("Fou"), &said("nd"), &said(" it.\\nBye."), end];
    let mut reading = Reading::of(Preset::Gemini, Masking::default());
    let heard = reading.push(format!("{}\n", lines.join("\n")).as_bytes());
    let shown: Vec<String> = heard.into_iter().flat_map(|line| line.shown).collect();
    assert_eq!(shown, ["I look at", "it.", "> read_file a", "Found it.", "Bye.", "end: success"]);
    assert_eq!(reading.finish(Exit::Code(0), "", false).text, "Found it.\nBye.");
}

#[test]
fn a_name_of_a_tool_that_the_model_made_up_is_no_refusal() {
    let end = r#"{"type":"result","status":"success","stats":{}}"#;
    for (tool, kind, counts) in [
        ("run_shell_command", "tool_not_registered", true),
        ("make_coffee", "tool_not_registered", false),
        ("make_coffee", "policy_violation", true),
        ("run_shell_command", "shell_execute_error", false),
    ] {
        let call = format!(r#"{{"type":"tool_use","tool_name":"{tool}","tool_id":"1","parameters":{{}}}}"#);
        let done = format!(
            r#"{{"type":"tool_result","tool_id":"1","status":"error","error":{{"type":"{kind}","message":"m"}}}}"#
        );
        let outcome = heard(Preset::Gemini, &[&call, &done, end]);
        assert_eq!(!outcome.denied.is_empty(), counts, "{tool} {kind}");
    }
}

#[test]
fn an_exit_code_that_is_a_status_modulo_256_gives_the_class_where_the_words_do_not() {
    for (code, class) in [
        (145, Class::Auth),
        (173, Class::Throttled),
        (247, Class::Overloaded),
        (1, Class::Crashed),
        (53, Class::Crashed),
    ] {
        let mut reading = Reading::of(Preset::Gemini, Masking::default());
        reading.push(br#"{"type":"result","status":"error","error":{"type":"unknown","message":"no"}}"#);
        let outcome = reading.finish(Exit::Code(code), "", false);
        assert_eq!(outcome.failure.map(|failure| failure.class), Some(class), "{code}");
    }
}

#[test]
fn a_line_that_is_too_long_to_be_read_is_named() {
    let long = END.replace("done", &"y".repeat(17 * 1024 * 1024));
    let outcome = heard(Preset::Claude, &[INIT, &long]);
    let failure = outcome.failure.unwrap();
    assert_eq!(
        failure.message,
        "the program ended with exit code 0 without its closing event; a line that it wrote has more than 16 MiB, which is \
         not read"
    );
    assert_eq!(outcome.unread, 1);
    assert_eq!(heard(Preset::Claude, &[INIT, &long, END]).failure, None, "the rest counts");
}
