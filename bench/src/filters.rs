//! The resolver and the hand-off writer, from bytes to bytes.

use crate::{Outcome, raw, row::Row};
use envoi_contract::{handoff, routing};
use std::{hint::black_box, time::Instant};

const TIMES: u32 = 20_000;

const ROUTE: &str = "Handoff text: \"The code review is complete. Status: VERIFIED\"\nStep routing: loop_target=VERIFIED, \
                     max_iterations=5, success_values=[VERIFIED], can_further_iteration_help=false\n";

/// The resolver, the writer with a short text, and the writer with a text that needs a digest.
pub(crate) fn both() -> Outcome<Vec<Row>> {
    let long = "The step wrote a line about what it did.\\n".repeat(150);
    let short = draft("Analyzed 15 user stories. Created requirements.md.");
    let long = draft(&long);
    Ok(vec![
        row("resolver", "<= 10 us", || {
            let input =
                routing::decode_input(black_box(ROUTE.as_bytes())).map_err(|error| error.to_string())?;
            let resolution = routing::resolve(&input).map_err(|error| error.to_string())?;
            Ok(resolution.signal.resolver().pretty().len())
        })?,
        row("hand-off writer, a line of text", "<= 50 us", || write(&short))?,
        row("hand-off writer, 6 KB of text", "<= 50 us", || write(&long))?,
    ])
}

fn draft(output: &str) -> String {
    format!(
        "{{\"step_id\":\"analyze\",\"flow_key\":\"signal\",\"run_id\":\"run-20251228-010000-abc123\",\
         \"output\":\"{output}\",\"status\":\"succeeded\",\"duration_ms\":45000}}"
    )
}

fn write(draft: &str) -> Outcome<usize> {
    let draft = handoff::decode_draft(black_box(draft.as_bytes())).map_err(|error| error.to_string())?;
    let written = handoff::write(draft).map_err(|error| error.to_string())?;
    Ok(written.to_value().pretty().len())
}

fn row(what: &str, target: &'static str, work: impl Fn() -> Outcome<usize>) -> Outcome<Row> {
    let began = Instant::now();
    let mut written = 0_usize;
    for _ in 0..TIMES {
        written = black_box(work()?);
    }
    Ok(Row {
        what: what.to_owned(),
        value: format!("{:.1} us", raw::each_s(began.elapsed(), TIMES) * 1e6),
        raw: format!("{written} bytes written"),
        figure: String::new(),
        spread: String::new(),
        target,
    })
}
