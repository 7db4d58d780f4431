//! `envoi backtest`: shows which decisions of recorded runs a changed flow would make differently, and why.
//! Nothing is started.

use crate::{
    command::why::course,
    process::{args::BacktestArgs, failure::Failure, messages, output},
    store::{
        flow_files::{load, read_flow},
        home::Home,
        select,
    },
    text::{diff, words::counted},
};
use envoi_api::{
    backtest::{Backtest, BacktestDecision, BacktestDifference, BacktestRun},
    words::plain,
};
use envoi_contract::code::Code;
use envoi_engine::flow_versions;
use envoi_journal::{Reader, RunFilter};
use envoi_kernel::{Flow, Lead, Reconsidered, WhatIf, event::AttemptSettled, ids::RunId, what_if};
use std::fmt::Write as _;

/// How many runs are examined if none is named.
const MOST_RUNS: usize = 20;

/// The exit code if a decision would differ.
const DIFFERS: u8 = 1;

/// The exit code if no decision could be compared. Nothing is known about the changed flow then.
const NOTHING_TOLD: u8 = 6;

pub(crate) fn backtest(home: &Home, args: &BacktestArgs) -> Result<u8, Failure> {
    let (file, text) = read_flow(&args.flow)?;
    let flow = load(&args.flow, &file, &text)?.flow;
    let (_, reader) = home.reader()?;
    let mut runs = Vec::new();
    if args.runs.is_empty() {
        let rows = reader.runs(RunFilter::default()).map_err(Failure::store)?;
        let of_flow = rows.into_iter().filter(|row| row.flow == flow.id);
        for row in of_flow.take(args.limit.unwrap_or(MOST_RUNS)) {
            match of_run(&reader, &row.run, &flow) {
                Ok(run) => runs.push(run),
                Err(failure) => messages::say(&format!("note: {}", failure.message)),
            }
        }
        if runs.is_empty() {
            let message = format!("there is no run of flow `{}` that can be looked at", flow.id);
            return Err(Failure::new(Code::RunNotFound, message).hint("name runs: `--runs RUN`"));
        }
    }
    for text in &args.runs {
        runs.push(of_run(&reader, &select::run(&reader, text)?, &flow)?);
    }
    let code = exit_code(&runs);
    let found = Backtest {
        file: args.flow.to_string_lossy().into_owned(),
        flow: flow.id.to_string(),
        flow_digest: flow.digest.to_string(),
        runs,
    };
    if home.json {
        output::row(&found)?;
    } else {
        output::data(&diff::lines(&described(&found)))?;
    }
    if code == NOTHING_TOLD {
        messages::say("no decision could be compared: nothing is known of how the changed flow would decide");
    }
    Ok(code)
}

fn exit_code(runs: &[BacktestRun]) -> u8 {
    if runs.iter().any(|run| !run.differences.is_empty()) {
        return DIFFERS;
    }
    if runs.iter().all(|run| run.unknown == run.decisions) { NOTHING_TOLD } else { 0 }
}

fn of_run(reader: &Reader, run: &RunId, flow: &Flow) -> Result<BacktestRun, Failure> {
    let unreadable =
        |why: String| Failure::new(Code::RunUnreadable, format!("run `{run}` cannot be looked at: {why}"));
    let pinned = reader.pinned(run).map_err(Failure::store)?;
    let versions = flow_versions(&pinned).map_err(|report| unreadable(report.to_string()))?;
    let records = reader.records(run, 0, None).map_err(Failure::store)?;
    let mut text_of = |settled: &AttemptSettled| {
        let bytes = reader.blob(&settled.text.as_ref()?.digest).ok()?;
        String::from_utf8(bytes).ok()
    };
    let found =
        what_if(versions, &records, flow, &mut text_of).map_err(|error| unreadable(error.to_string()))?;
    let unknown = found.iter().filter(|found| found.what_if == WhatIf::Unknown).count();
    Ok(BacktestRun {
        run: run.to_string(),
        decisions: u64::try_from(found.len()).unwrap_or(u64::MAX),
        unknown: u64::try_from(unknown).unwrap_or(u64::MAX),
        differences: found.iter().filter_map(difference).collect(),
    })
}

fn difference(found: &Reconsidered) -> Option<BacktestDifference> {
    let (then, now) = match &found.what_if {
        WhatIf::Same | WhatIf::Unknown => return None,
        WhatIf::Differs { then, now } => (then, Some(now)),
        WhatIf::Gone { then } => (then, None),
    };
    Some(BacktestDifference {
        seq: found.seq,
        visit: found.visit.to_string(),
        then: decision(then),
        now: now.map(|now| decision(now)),
    })
}

fn decision(lead: &Lead) -> BacktestDecision {
    let member = |name| lead.audit.get(name).map(plain);
    BacktestDecision {
        what: what(lead),
        decision: lead.signal.decision.orchestrator_word().to_owned(),
        reason: lead.signal.reason.clone(),
        rule: member("row"),
        because: member("fired_because"),
    }
}

/// Describes what the run does.
fn what(lead: &Lead) -> String {
    let mut text = course(&lead.course);
    if let Some((flow, step)) = &lead.into {
        return format!("into flow {flow}, at {step}");
    }
    if let Some(about) = lead.about {
        text = format!("{text} ({about:?})").to_lowercase();
    }
    if let Some(end) = lead.end {
        text = format!("{text}: {}", end.word());
    }
    if !lead.instead.is_empty() {
        let steps: Vec<&str> = lead.instead.iter().map(|step| step.as_str()).collect();
        text = format!("{text}, without {}", steps.join(", "));
    }
    text
}

fn described(found: &Backtest) -> String {
    let mut text = String::new();
    for BacktestRun { run, decisions, unknown, differences } in &found.runs {
        let all = counted(usize::try_from(*decisions).unwrap_or(usize::MAX), "decision");
        let unknown = match unknown {
            0 => String::new(),
            unknown => {
                format!(
                    ", {unknown} unknown: the text was not kept, or the decision did not depend on the text alone"
                )
            }
        };
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{run}  {all} from texts, {} would differ{unknown}", differences.len());
        for BacktestDifference { visit, then, now, .. } in differences {
            let _ = writeln!(text, "  {visit}\n    then: {}", in_words(then));
            let now = now.as_ref().map_or_else(|| "the flow has no such step".to_owned(), in_words);
            let _ = writeln!(text, "    now:  {now}");
        }
    }
    text
}

fn in_words(decision: &BacktestDecision) -> String {
    let rule = match (&decision.rule, &decision.because) {
        (Some(rule), Some(because)) => format!(" (rule {rule}: {because})"),
        _ => String::new(),
    };
    format!("{}: {}{rule}", decision.what, decision.reason)
}
