//! The lines about runs in the log of the process, written after each commit: ids, places, outcomes.
//!
//! No input and no output of a command: inputs, variables, texts, reasons and evidence may be confidential. The journal
//! has all of them.

use envoi_journal::Aside;
use envoi_kernel::{
    Event, Record,
    ids::{RunId, VisitId},
};
use tracing::{
    debug,
    field::{DisplayValue, debug as shown, display},
    info, trace, warn,
};

/// Logs them: at `info` how runs begin, wait and end, at `debug` their attempts and visits, at `trace` every event.
pub(crate) fn log(run: &RunId, records: &[Record]) {
    records.iter().for_each(|record| log_record(run, record));
}

/// The reason and the evidence are in the journal.
pub(crate) fn set_aside(run: &RunId, why: &Aside) {
    warn!(run = run.as_str(), code = why.code, "set aside");
}

fn log_record(run: &RunId, record: &Record) {
    let run = run.as_str();
    let seq = record.seq;
    let event = record.event.name();
    match &record.event {
        Event::RunStarted(started) => {
            let flow = started.flow.as_str();
            let by = &started.by;
            info!(run, seq, event, flow, tenant = by.tenant, actor = by.actor);
        }
        Event::RunForked(forked) => {
            info!(run, seq, event, from = forked.from.as_str(), step = forked.step.as_str());
        }
        Event::CorrectionRequested(correction) | Event::FlowCorrected(correction) => {
            let before = correction.before.to_string();
            let after = correction.after.to_string();
            info!(run, seq, event, before, after, actor = correction.by.actor);
        }
        Event::FilesRestoring(wanted) => {
            let from = wanted.from.to_string();
            let to = wanted.to.to_string();
            info!(run, seq, event, from, to, actor = wanted.by.actor);
        }
        Event::RunReopened(reopened) => {
            info!(run, seq, event, step = reopened.step.as_str(), actor = reopened.by.actor);
        }
        Event::InterruptRaised(raised) => {
            let question = raised.interrupt.as_str();
            let about = shown(raised.about);
            info!(run, seq, event, visit = visit(&raised.visit), question, about);
        }
        Event::InterruptAnswered(answered) | Event::VoteCast(answered) => {
            let question = answered.interrupt.as_str();
            let choice = shown(answered.choice);
            info!(run, seq, event, question, choice, actor = answered.by.actor, channel = answered.channel);
        }
        Event::InterruptExpired(expired) => info!(run, seq, event, question = expired.interrupt.as_str()),
        Event::InterruptCancelled(void) => info!(run, seq, event, question = void.interrupt.as_str()),
        Event::AccountsTried(tried) => info!(run, seq, event, actor = tried.by.actor),
        Event::LimitsRaised(raised) => info!(run, seq, event, actor = raised.by.actor),
        Event::CancelRequested(request) => info!(run, seq, event, actor = request.by.actor),
        Event::RunStopping(ended) | Event::RunEnded(ended) => {
            info!(run, seq, event, outcome = ended.status.word(), reason = ended.terminal_reason.word());
        }
        Event::AttemptStarted(started) => debug!(run, seq, event, attempt = display(&started.attempt)),
        Event::AttemptSettled(settled) => {
            let attempt = display(&settled.attempt);
            let outcome = settled.outcome.word();
            debug!(run, seq, event, attempt, outcome, ok = settled.ok, duration_ms = settled.duration_ms);
        }
        Event::ModelCallStarted(call) => {
            debug!(run, seq, event, call = call.call.as_str(), model = call.model)
        }
        Event::ModelCallEnded(call) => {
            debug!(run, seq, event, call = call.call.as_str(), outcome = call.outcome.word());
        }
        Event::HandoffWritten(written) => {
            debug!(run, seq, event, visit = visit(&written.visit), outcome = written.handoff.status.word());
        }
        _ => trace!(run, seq, event),
    }
}

fn visit(visit: &VisitId) -> DisplayValue<&VisitId> {
    display(visit)
}
