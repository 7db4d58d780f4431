//! Spans as a collector gets them: OTLP over HTTP, protobuf, read here by its wire format alone.

use crate::{
    secrets::{EVERY_WAY, Leaky, seeds},
    stage::{Process, Stage, wait_for, wait_until},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

/// Each command leaves its trace variables.
const FLOW: &str = "
flow: publish
steps:
  - id: draft
    run: echo \"$TRACEPARENT\" >> told.txt; echo unsaid
  - id: approve
    ask: 'unsaid?'
  - id: publish
    run: echo \"$TRACEPARENT\" >> told.txt; exit 3
";

/// A post that the collector received.
#[derive(Debug, Clone)]
struct Posted {
    head: String,
    body: Vec<u8>,
}

/// A collector that answers everything with the same status.
struct Collector {
    url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Collector {
    fn new(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let keep = Arc::clone(&posted);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                while let Some(one) = read(&mut reader) {
                    keep.lock().unwrap().push(one);
                    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                    reader.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        Self { url, posted }
    }

    /// A command whose spans go here.
    fn told(&self, mut command: Command) -> Command {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url).env("OTEL_BSP_SCHEDULE_DELAY", "5");
        command
    }

    fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }

    /// All spans so far, in the order in which they came; none twice.
    fn spans(&self) -> Vec<Span> {
        let spans: Vec<Span> = self.posted().iter().flat_map(|posted| spans_of(&posted.body)).collect();
        let ids: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
        assert_eq!(ids.len(), spans.len(), "each once: {spans:?}");
        spans
    }
}

fn read(reader: &mut BufReader<std::net::TcpStream>) -> Option<Posted> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    Some(Posted { head, body })
}

/// A member of a message: its number, and its value, which for numbers is eight bytes.
type Members = Vec<(u64, Vec<u8>)>;

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn members(mut bytes: &[u8]) -> Members {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, varint(&mut bytes).to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, bytes[..length].to_vec()));
        bytes = &bytes[length..];
    }
    found
}

fn all(members: &Members, number: u64) -> impl Iterator<Item = &[u8]> {
    members.iter().filter(move |(found, _)| *found == number).map(|(_, value)| value.as_slice())
}

fn one(members: &Members, number: u64) -> &[u8] {
    all(members, number).next().unwrap_or_default()
}

fn word(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Attributes, numbers in decimal.
fn attributes(of: &Members, number: u64) -> BTreeMap<String, String> {
    let pair = |bytes: &[u8]| {
        let pair = members(bytes);
        let value = members(one(&pair, 2));
        let value = match value[0].0 {
            3 => i64::from_le_bytes(value[0].1.clone().try_into().unwrap()).to_string(),
            _ => word(&value[0].1),
        };
        (word(one(&pair, 1)), value)
    };
    all(of, number).map(pair).collect()
}

#[derive(Debug, Clone)]
struct Span {
    service: String,
    trace: String,
    id: String,
    parent: String,
    name: String,
    nanos: (u64, u64),
    attributes: BTreeMap<String, String>,
    links: Vec<String>,
    /// 0 unset, 2 an error.
    status: u8,
}

fn spans_of(body: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    for resource in all(&members(body), 1).map(members) {
        let service = attributes(&members(one(&resource, 1)), 1).remove("service.name").unwrap();
        for scope in all(&resource, 2).map(members) {
            found.extend(all(&scope, 2).map(members).map(|span| {
                let time = |number| u64::from_le_bytes(one(&span, number).try_into().unwrap());
                Span {
                    service: service.clone(),
                    trace: hex(one(&span, 1)),
                    id: hex(one(&span, 2)),
                    parent: hex(one(&span, 4)),
                    name: word(one(&span, 5)),
                    nanos: (time(7), time(8)),
                    attributes: attributes(&span, 9),
                    links: all(&span, 13).map(|link| hex(one(&members(link), 2))).collect(),
                    status: one(&members(one(&span, 15)), 3).first().copied().unwrap_or_default(),
                }
            }));
        }
    }
    found
}

fn run(mut command: Command, code: i32) -> String {
    let done = Process::spawn(&mut command).done();
    assert_eq!(done.code, Some(code), "{done:?}");
    done.err
}

#[test]
fn a_run_arrives_at_the_collector_as_one_trace() {
    let collector = Collector::new("200 OK");
    let stage = Stage::with_flow(FLOW);
    let mut first = collector.told(stage.command(&["run", "flow.yaml"]));
    first.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=7").env("OTEL_SERVICE_NAME", "house");
    run(first, 3);
    let sent = collector.spans();
    assert_eq!(
        names(&sent),
        ["envoi.attempt draft", "envoi.run", "envoi.step draft"],
        "at the end, all of it"
    );
    assert!(sent.iter().all(|span| span.service == "house"));
    let head = collector.posted()[0].head.clone();
    assert!(head.starts_with("post /v1/traces ") && head.contains("x-key: 7"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    let question = stage.json(&["--json", "inbox"])[0]["question"].as_str().unwrap().to_owned();
    run(collector.told(stage.command(&["approve", &question])), 1);
    let spans = collector.spans();
    let find = |name: &str| {
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:?}"))
    };
    let runs: Vec<&Span> = spans.iter().filter(|span| span.name == "envoi.run").collect();
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].parent.as_str(), runs[1].parent.as_str()), ("", ""));
    assert_eq!(
        (runs[0].links.len(), &runs[1].links),
        (0, &vec![runs[0].id.clone()]),
        "linked across the pause"
    );
    assert_eq!((runs[0].status, runs[1].status), (0, 2));
    assert_eq!(spans.last().unwrap().service, "envoi", "unless it is said");
    for (step, told) in ["draft", "publish"].iter().zip(stage.lines("told.txt")) {
        let (attempt, visit) = (find(&format!("envoi.attempt {step}")), find(&format!("envoi.step {step}")));
        assert_eq!(told, format!("00-{}-{}-01", attempt.trace, attempt.id), "as the command was told");
        assert_eq!(attempt.parent, visit.id);
        assert!(visit.nanos.0 <= attempt.nanos.0 && attempt.nanos.1 <= visit.nanos.1);
        assert_eq!(attempt.attributes["envoi.attempt"], format!("{step}.1.1"));
    }
    let failed = find("envoi.attempt publish");
    assert_eq!((failed.status, failed.attributes["process.exit.code"].as_str()), (2, "3"));
    assert_eq!(failed.attributes["error.type"], "TOOL_EXIT_NON_ZERO");
    assert!(
        !format!(
            "{:?}",
            collector
                .posted()
                .iter()
                .map(|one| String::from_utf8_lossy(&one.body).into_owned())
                .collect::<Vec<_>>()
        )
        .contains("unsaid")
    );
}

fn names(spans: &[Span]) -> Vec<&str> {
    let mut names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn no_span_has_a_secret_in_it() {
    for seed in seeds() {
        let collector = Collector::new("200 OK");
        let leaky = Leaky::new(seed, EVERY_WAY);
        let mut command = collector.told(leaky.stage.command(&["run", "flow.yaml"]));
        command.env("MY_TOKEN", &leaky.token);
        run(command, 3);
        let failed = collector.spans().into_iter().find(|span| span.name == "envoi.attempt fail").unwrap();
        // The step's own word, `LEAKED` and a secret, is no code of Envoi.
        assert_eq!(failed.attributes["error.type"], "_OTHER", "{failed:?}");
        let sent: Vec<u8> = collector.posted().into_iter().flat_map(|posted| posted.body).collect();
        leaky.assert_clean_text(&sent);
    }
}

#[test]
fn after_kill_9_the_next_engine_goes_on_with_the_trace_and_sends_nothing_again() {
    let collector = Collector::new("200 OK");
    let stage = Stage::with_flow(
        "flow: f\nsteps:\n  - id: a\n    run: 'true'\n  - id: b\n    run: 'touch begun; while [ ! -e go ]; do sleep 0.01; done'\n",
    );
    let first = Process::spawn(&mut collector.told(stage.command(&["run", "flow.yaml"])));
    wait_until("the first spans", || collector.spans().len() == 2);
    wait_until("the second step", || stage.path("begun").exists());
    first.kill();
    stage.write("go", "");
    run(collector.told(stage.command(&["resume", &stage.run_id()])), 0);
    let spans = collector.spans();
    let all = ["envoi.attempt a", "envoi.attempt b", "envoi.run", "envoi.step a", "envoi.step b"];
    assert_eq!(names(&spans), all);
    let whole = spans.iter().find(|span| span.name == "envoi.run").unwrap();
    for span in &spans {
        assert_eq!(span.trace, whole.trace);
        assert!(whole.nanos.0 <= span.nanos.0 && span.nanos.1 <= whole.nanos.1, "from its true beginning");
        let is_step = span.name.starts_with("envoi.step");
        assert_eq!(span.parent == whole.id, is_step, "{span:?}");
    }
}

#[test]
fn a_collector_that_fails_or_is_not_there_costs_a_run_nothing_but_its_spans() {
    let broken = Collector::new("400 Bad Request");
    for url in [broken.url.clone(), "http://127.0.0.1:1".to_owned()] {
        let stage = Stage::with_flow("flow: f\nsteps:\n  - id: a\n    run: 'true'\n");
        let mut command = stage.command(&["run", "flow.yaml"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &url).env("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
        let told = run(command, 0);
        assert!(told.contains("spans are lost"), "{url}: {told}");
    }
    assert!(!broken.posted().is_empty());
}

#[test]
fn nothing_is_sent_of_a_trace_that_is_not_sampled() {
    let collector = Collector::new("200 OK");
    let stage = Stage::with_flow("flow: f\nsteps:\n  - id: a\n    run: 'true'\n");
    let mut unwanted = collector.told(stage.command(&["run", "flow.yaml"]));
    unwanted.env("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
    run(unwanted, 0);
    let mut off = collector.told(stage.command(&["run", "flow.yaml"]));
    off.env("OTEL_SDK_DISABLED", "true");
    run(off, 0);
    assert!(collector.posted().is_empty(), "{:?}", collector.posted());
    let mut wanted = collector.told(stage.command(&["run", "flow.yaml"]));
    wanted.env("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    run(wanted, 0);
    let whole = wait_for("the run", || collector.spans().into_iter().find(|span| span.name == "envoi.run"));
    assert_eq!(
        (whole.trace.as_str(), whole.parent.as_str()),
        ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    );
}
