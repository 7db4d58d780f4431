//! Words for the events of a run in every view: what a person did, what a visit does, how a question is
//! answered.

use crate::{
    process::invocation,
    text::{diff::printable, duration::took, known::at_least, shell},
};
use envoi_contract::{
    envelope::{InterruptKind, TerminalReason},
    json::Value,
};
use envoi_kernel::{
    Event, Run,
    event::{
        About, AttemptSettled, CallOutcome, FannedOut, FlowEntered, InterruptRaised, LateFile,
        ModelCallEnded, Reach, RunEnded,
    },
    flow::Step,
    ids::{RunId, StepId},
    part::Part,
};

/// The outcome of a model call.
pub(crate) fn model_call(ended: &ModelCallEnded) -> &'static str {
    match ended.outcome {
        CallOutcome::Ok => "a model answered",
        CallOutcome::Failed => "a model call failed",
        CallOutcome::BrokenOff => "a model call was broken off",
    }
}

/// How a person answers this question of `step`: every accepted answer with its command. Commands that decide
/// all questions of a run are listed only if it is the only one.
///
/// A shell refuses the line if it is pasted unchanged: no `;` or `|` splits it into commands, so nothing is
/// decided by accident.
pub(crate) fn how_to_answer(
    run: &RunId,
    raised: &InterruptRaised,
    is_alone: bool,
    step: Option<&Step>,
) -> String {
    let envoi = invocation::envoi();
    let form = step.and_then(|step| form_of(step, raised));
    // If the step of a question can loop back, the question has a third answer besides yes and no, with a
    // text for the loop.
    let goes_back = raised.about == About::Ask && step.is_some_and(|step| step.routing.loop_to.is_some());
    let again = match goes_back {
        true => format!("{envoi} answer {} --choice again --text …, or ", raised.interrupt),
        false => String::new(),
    };
    let with_words = || {
        format!(
            "; another round with words for it: {envoi} answer {} --choice again --text …",
            raised.interrupt
        )
    };
    let fields = form.map(required_fields).unwrap_or_default();
    let choose = |choices: &str| format!("{envoi} answer {} --choice {choices}", raised.interrupt);
    match raised.about {
        About::Throttled if raised.evidence.get("bound").is_some() => {
            format!(
                "{}, or {envoi} resume {run} --now, or {envoi} raise {run} --waiting 2h",
                choose("rerun, or fail")
            )
        }
        About::Throttled => format!("{}, or {envoi} resume {run} --now", choose("rerun, or fail")),
        About::InDoubt if !is_alone => choose("rerun, or fail"),
        About::Exhausted if !is_alone => choose("proceed, or stop"),
        About::Conflict if !is_alone => choose("again, ours, theirs, proceed (without them) or stop"),
        About::Conflict => {
            format!("{envoi} resume {run} --review again, ours, theirs, proceed (without them) or stop")
        }
        About::Blocked | About::Review | About::Stuck if !is_alone => {
            choose("proceed, again or stop") + &with_words()
        }
        About::InDoubt => format!("{envoi} resume {run} --in-doubt rerun, or fail"),
        About::Exhausted => format!("{envoi} resume {run} --review proceed, or stop"),
        About::Blocked | About::Review | About::Stuck => {
            format!("{envoi} resume {run} --review proceed, again or stop{}", with_words())
        }
        About::Limit => format!("{envoi} answer {} --raise MORE, or {envoi} deny {0}", raised.interrupt),
        About::Agent if raised.kind() == InterruptKind::Confirmation => {
            format!("{envoi} approve {}, or {envoi} deny {0} --reason …", raised.interrupt)
        }
        About::Agent => format!("{envoi} answer {} --text …, or {envoi} deny {0}", raised.interrupt),
        About::Ask if raised.kind() == InterruptKind::Clarification && form.is_some() => {
            format!("{envoi} answer {}{fields}, or {again}{envoi} deny {0}", raised.interrupt)
        }
        About::Ask if raised.kind() == InterruptKind::Clarification => {
            format!("{envoi} answer {} --text …, or {again}{envoi} deny {0}", raised.interrupt)
        }
        About::Ask => format!("{envoi} approve {}{fields}, or {again}{envoi} deny {0}", raised.interrupt),
    }
}

/// The option of `envoi raise` for the bound that ended a run with this reason. Without a higher bound, the
/// run ends again at once.
pub(crate) fn raised_by(terminal_reason: &str) -> Option<&'static str> {
    const OPTIONS: [(TerminalReason, &str); 6] = [
        (TerminalReason::MaxAgentHopsExceeded, "--agent-hops N"),
        (TerminalReason::MaxIterationsExceeded, "--iterations N"),
        (TerminalReason::MaxLlmCallsExceeded, "--llm-calls N"),
        (TerminalReason::TimeLimitExceeded, "--wall-time 10m"),
        (TerminalReason::CostLimitExceeded, "--cost-usd DOLLARS"),
        (TerminalReason::MaxStagesExceeded, "--rounds N"),
    ];
    OPTIONS.into_iter().find(|(reason, _)| reason.word() == terminal_reason).map(|(_, option)| option)
}

/// The part of its flow that a run executes, and what replaces the rest.
pub(crate) fn part(part: &Part) -> String {
    let steps: Vec<&str> = part.taken.iter().map(|taken| taken.visit.step.as_str()).collect();
    let options = part.selection.options();
    match &part.with {
        Some(with) if steps.is_empty() => format!("{options} (nothing is taken from {with})"),
        Some(with) => format!("{options} (taken from {with}: {})", steps.join(", ")),
        None => options,
    }
}

/// Says that the questions of these steps are not asked. `None` if there are none.
pub(crate) fn not_asked(steps: &[StepId]) -> Option<String> {
    let names: Vec<String> = steps.iter().map(|step| format!("`{step}`")).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("the question of {one} is not asked")),
        several => Some(format!("the questions of {} are not asked", several.join(", "))),
    }
}

/// The options for the required fields of a form: ` --field to=…`.
fn required_fields(form: &Value) -> String {
    let needed = envoi_flow::answers::fields(form).into_iter();
    let needed = needed.filter(|field| field.required && field.default.is_none());
    needed.map(|field| format!(" --field {}=…", shell::word(&field.name))).collect()
}

/// The form of a question, if its step has one.
fn form_of<'s>(step: &'s Step, raised: &InterruptRaised) -> Option<&'s Value> {
    step.asks().filter(|_| raised.about == About::Ask)?.schema.as_ref()
}

/// How to allow more rounds of a loop that has used all its rounds.
pub(crate) fn more_rounds(run: &RunId, raised: &InterruptRaised) -> Option<String> {
    let envoi = invocation::envoi();
    (raised.about == About::Exhausted).then(|| {
        format!(
            "more rounds: set a higher `max_iterations` in the flow file, then {envoi} resume {run} --flow FILE"
        )
    })
}

/// Describes a notable use of the cache: the command was not started, or it will be started again next
/// time.
fn cached(settled: &AttemptSettled) -> Option<String> {
    let cache = settled.cache.as_deref()?;
    let not_kept = || cache.not_kept.as_ref().filter(|_| settled.ok);
    match &cache.from {
        Some(from) => Some(format!("from the cache: {} of run {}", from.attempt, from.run)),
        None => not_kept().map(|why| format!("not kept in the cache: {why}")),
    }
}

/// The permanent lines of an event, also above a picture: actions of a person, and warnings.
pub(crate) fn remarks(event: &Event) -> Vec<String> {
    match event {
        Event::AttemptSettled(settled) => {
            let line = |warning| format!("  {:<18} warning: {warning}", settled.attempt.to_string());
            let late = settled.set_back.iter().flat_map(|set_back| &set_back.late);
            let late = late.chain(settled.cache.iter().flat_map(|cache| &cache.late));
            let late = late.map(|late| format!("  {:<18} {}", settled.attempt.to_string(), late_file(late)));
            let warnings = settled.warnings.iter().filter(|warning| !envoi_engine::is_aside(warning));
            let cached = cached(settled).map(|what| format!("  {:<18} {what}", settled.attempt.to_string()));
            warnings.map(line).chain(late).chain(cached).collect()
        }
        Event::RunStarted(started) => {
            started.part.iter().map(|wanted| format!("part: {}", part(wanted))).collect()
        }
        Event::InterruptAnswered(answered) => {
            vec![format!("answered: {} (by {})", answered.choice.word(), answered.by.actor)]
        }
        Event::CancelRequested(cancel) => vec![format!("cancelling (requested by {})", cancel.by.actor)],
        Event::AccountsTried(tried) => {
            vec![format!("{} tried before its time (by {})", tried.accounts.join(", "), tried.by.actor)]
        }
        Event::LimitsRaised(raised) => vec![format!("limits raised (by {})", raised.by.actor)],
        Event::RunReopened(reopened) => {
            vec![format!("reopened at {} by {}", reopened.step, reopened.by.actor)]
        }
        Event::CorrectionRequested(wanted) => {
            vec![format!(
                "flow corrected by {}; the new flow applies when the running attempts have settled",
                wanted.by.actor
            )]
        }
        Event::FlowCorrected(correction) => vec![format!("flow corrected by {}", correction.by.actor)],
        Event::FilesRestoring(wanted) => match &wanted.reach {
            Reach::Workspace => vec![format!("files are set back by {}", wanted.by.actor)],
            Reach::Folder(folder) => vec![format!("files are changed in {folder} by {}", wanted.by.actor)],
            Reach::Paths { paths: named } => {
                vec![format!("files are set back by {}: {}", wanted.by.actor, paths(named))]
            }
        },
        Event::FilesRestored(_) => vec!["the files are changed".to_owned()],
        Event::FilesKeptAsTheyWere(kept) => vec![format!("files kept as they were: {}", kept.reason)],
        Event::CorrectionDropped(dropped) => {
            vec![format!("the corrected flow cannot take over: {}", dropped.reason)]
        }
        Event::RunForked(forked) => {
            vec![format!("forked from {} at {} by {}", forked.from, forked.step, forked.by.actor)]
        }
        _ => Vec::new(),
    }
}

/// The paths that a restore changes. Without any, it undoes the previous restore.
pub(crate) fn paths(named: &[String]) -> String {
    match named {
        [] => "what was set back before".to_owned(),
        named => named.iter().map(|path| format!("`{}`", printable(path))).collect::<Vec<_>>().join(", "),
    }
}

/// Describes content that was written into a file that was being replaced.
fn late_file(late: &LateFile) -> String {
    let path = printable(&late.path);
    match late.digest {
        Some(digest) => {
            format!(
                "`{path}` was written to while other files came in place of those of the workspace; that content is kept: {digest}"
            )
        }
        None => format!(
            "`{path}` was written to while other files came in place of those of the workspace, and is too large to be kept"
        ),
    }
}

/// Describes the items of a visit, or that it works in a separate tree.
pub(crate) fn has_items(fanned: &FannedOut) -> String {
    let items = match fanned.items.len() {
        1 => "1 item".to_owned(),
        many => format!("{many} items"),
    };
    let bound = if fanned.width < fanned.items.len() {
        format!(", {} at a time", fanned.width)
    } else {
        String::new()
    };
    format!("has {items}{bound}")
}

/// The flow that a visit runs.
pub(crate) fn flow_of(entered: &FlowEntered) -> String {
    match &entered.at {
        Some(step) => format!("leads into flow {} at {step}", entered.flow),
        None if entered.resumes => format!("takes up flow {} where it stopped", entered.flow),
        None => format!("runs flow {}", entered.flow),
    }
}

/// The goals of the run that a visit has reached.
pub(crate) fn goals(goals: &[String]) -> String {
    match goals {
        [] => "reaches no goal that was open".to_owned(),
        goals => format!("reaches {}", goals.join(", ")),
    }
}

/// Describes a run that starts nothing more.
pub(crate) fn stopping(end: &RunEnded) -> String {
    format!("stopping, as soon as what is running is over: {}", end.reason)
}

pub(crate) fn used(run: &Run) -> String {
    let used = run.ledger();
    let limits = run.limits();
    let waited = took(run.waited_ms(run.last_at()));
    let waiting =
        limits.waiting_ms.map(|limit| format!(", {waited} of {} of waiting for accounts", took(limit)));
    let of = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    format!(
        "{}{} attempts, {}{} loop-backs, {}{} model calls, {}{}, {}{} of work{}",
        used.agent_hops,
        of(limits.agent_hops.map(|n| n.to_string())),
        used.iterations,
        of(limits.iterations.map(|n| n.to_string())),
        at_least(used.llm_calls.to_string(), used.unknown_calls),
        of(limits.llm_calls.map(|n| n.to_string())),
        at_least(format!("${}", used.cost), used.unknown_costs),
        of(limits.cost.map(|cost| format!("${cost}"))),
        took(used.wall_time_ms),
        of(limits.wall_time_ms.map(took)),
        waiting.unwrap_or_default(),
    )
}
