//! Workloads for counting instructions or measuring time. `instructions WORK TIMES` runs a workload that many times
//! and prints nothing; `instructions` alone lists the names; `instructions time` measures each workload.
//! `bench/instructions.sh` uses it to count instructions.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it measures the crate from outside: the crate itself reads neither clock nor arguments"
)]

use envoi_contract::envelope::{Envelope, ProcessingRecord};
use envoi_contract::json::{Object, Value};
use envoi_contract::{handoff, routing};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

/// A measured workload.
struct Work {
    name: &'static str,
    /// The input.
    input: String,
    /// Runs it once, and returns the number of output bytes.
    once: fn(&str) -> usize,
}

fn works() -> Vec<Work> {
    let envelope = envelope();
    vec![
        Work { name: "resolver-seed", input: SEED.to_owned(), once: resolve },
        Work { name: "resolver-long", input: resolver_input(), once: resolve },
        Work {
            name: "writer-line",
            input: draft("Analyzed 15 user stories. Created requirements.md."),
            once: write,
        },
        Work {
            name: "writer-6kb",
            input: draft(&"The step wrote a line about what it did.\\n".repeat(150)),
            once: write,
        },
        Work { name: "envelope-decode-100kb", input: envelope.clone(), once: decode },
        Work { name: "envelope-decode-encode-100kb", input: envelope, once: decode_encode },
    ]
}

const SEED: &str = "Handoff text: \"The code review is complete. Status: VERIFIED\"\nStep routing: loop_target=VERIFIED, \
                    max_iterations=5, success_values=[VERIFIED], can_further_iteration_help=false\n";

/// The expensive case: 4.7 KB without a label, a status inferred from one word near the end, and a search for hints.
fn resolver_input() -> String {
    let line = "The reviewer went to look at each module in turn, and noted that 3 of 12: parser, writer, table are fine.\\n";
    let text = line.repeat(44) + "All of it is VERIFIED now.";
    format!(
        "{{\"handoff_text\":\"{text}\",\"routing\":{{\"routing_kind\":\"microloop\",\"loop_target\":\"VERIFIED\"}}}}"
    )
}

fn draft(output: &str) -> String {
    format!(
        "{{\"step_id\":\"analyze\",\"flow_key\":\"signal\",\"run_id\":\"run-20251228-010000-abc123\",\
         \"output\":\"{output}\",\"status\":\"succeeded\",\"duration_ms\":45000}}"
    )
}

/// An envelope of 100 KB, as a run of forty steps writes it: texts, small data, a history.
fn envelope() -> String {
    let mut envelope = Envelope { envelope_id: "run_0198".to_owned(), ..Envelope::default() };
    for step in 0..40_u64 {
        let summary = format!("Step {step} looked at \"module {step}\" and wrote é down.\n").repeat(38);
        let data = Object::from([
            ("files", Value::from(vec!["src/a.rs", "src/b.rs"])),
            ("passed", Value::from(true)),
            ("seconds", Value::from(step)),
            ("notes", Value::Null),
        ]);
        let output = Object::from([
            ("summary", Value::from(summary)),
            ("data", Value::from(data)),
            ("artifacts", Value::from(Object::from([("a.rs", Value::from("flow/src/a.rs"))]))),
        ]);
        envelope.outputs.insert(format!("step-{step}"), Value::from(output));
        envelope.stage_order.push(format!("step-{step}"));
        envelope.completed_stage_set.insert(format!("step-{step}"), true);
        envelope.processing_history.push(ProcessingRecord {
            agent: format!("step-{step}"),
            stage_order: step,
            started_at: Some("2026-01-02T03:04:05.000Z".to_owned()),
            completed_at: Some("2026-01-02T03:04:06.000Z".to_owned()),
            duration_ms: 1000,
            ..ProcessingRecord::default()
        });
    }
    envelope.compact()
}

fn resolve(input: &str) -> usize {
    let resolution = routing::decode_input(input.as_bytes()).and_then(|input| routing::resolve(&input));
    resolution.map_or(0, |resolution| resolution.signal.resolver().pretty().len())
}

fn write(input: &str) -> usize {
    let written = handoff::decode_draft(input.as_bytes()).and_then(handoff::write);
    written.map_or(0, |handoff| handoff.to_value().pretty().len())
}

fn decode(input: &str) -> usize {
    Envelope::decode(input.as_bytes()).map_or(0, |envelope| envelope.processing_history.len())
}

fn decode_encode(input: &str) -> usize {
    Envelope::decode(input.as_bytes()).map_or(0, |envelope| envelope.compact().len())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => works().iter().for_each(|work| println!("{}", work.name)),
        ["time"] => works().iter().for_each(time),
        [name, times] => return repeat(name, times.parse().unwrap_or(0)),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn repeat(name: &str, times: u32) -> ExitCode {
    let Some(work) = works().into_iter().find(|work| work.name == name) else { return ExitCode::from(2) };
    for _ in 0..times {
        if black_box((work.once)(black_box(&work.input))) == 0 {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Prints the fastest of several rounds, because the machine is shared.
fn time(work: &Work) {
    let mut best_us = f64::MAX;
    for _ in 0..40 {
        let began = Instant::now();
        for _ in 0..50 {
            black_box((work.once)(black_box(&work.input)));
        }
        best_us = best_us.min(began.elapsed().as_secs_f64() * 1e6 / 50.0);
    }
    let bytes = work.input.len();
    let rate = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / best_us;
    println!("{:<30} {best_us:8.1} us  {bytes:7} bytes  {rate:6.0} MB/s", work.name);
}
