//! The content of a notice: the event of the journal as a CloudEvent, and as variables for a command.
//!
//! Owns both vocabularies. Everything except the address of the page comes from the journal up to the event,
//! so that every try sends the same content.

use super::error::NotPrepared;
use crate::{
    event_loop::outbox::notice_id,
    model::trace::{Of, Trace, Traceparent, begun, spans::Trail},
};
use envoi_contract::json::{Object, Value};
use envoi_journal::{DeliveryRow, Reader};
use envoi_kernel::{
    Event, Record,
    event::{InterruptRaised, RunEnded},
    ids::{FlowId, InterruptId, RunId, StepId, VisitId},
    notify::Moment,
};
use envoi_notify::{CloudEvent, ID_VARIABLE};

/// A notice in both forms.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) event: CloudEvent,
    pub(super) variables: Vec<(String, String)>,
    /// The trace of the run, and the span in it that the notice is of: the visit that asks, or the run as it has ended.
    pub(super) trace: Option<Traceparent>,
}

/// Records that are read at a time.
const PAGE: u32 = 1_000;

/// The content. Members that do not apply are empty, and omitted from the event.
#[derive(Default)]
struct Content<'a> {
    step: Option<&'a StepId>,
    interrupt: Option<&'a InterruptId>,
    about: Option<Value>,
    question: Option<&'a str>,
    answer: Option<String>,
    expires_at: Option<String>,
    status: &'static str,
    terminal_reason: Option<&'a str>,
    reason: Option<&'a str>,
    /// For the end of a run: the head of the hash chain over all events up to it. A receiver that keeps it
    /// can check later that no event was changed.
    head: Option<String>,
}

/// The notice of this delivery. `page`: the address of the web page.
///
/// # Errors
/// The journal cannot be read, or the event is of a kind without notices.
pub(super) fn compose(
    reader: &Reader,
    row: &DeliveryRow,
    how_to_answer: fn(&RunId, &InterruptRaised) -> String,
    page: Option<&str>,
) -> Result<Notice, NotPrepared> {
    let records = reader.records(&row.run, row.delivery.seq, Some(1))?;
    let record = records.into_iter().next().ok_or(NotPrepared::NoEvent)?;
    let expected = notice_id(&row.run, record.seq);
    if row.delivery.id != expected {
        return Err(NotPrepared::OtherId { id: row.delivery.id.clone(), expected });
    }
    let flow = reader.run(&row.run)?.flow;
    let notice = |content: &Content<'_>, trace| notice(row, &flow, &record, content, page, trace);
    match &record.event {
        Event::InterruptRaised(raised) => {
            let answer = how_to_answer(&row.run, raised);
            let trace = of_visit(reader, row, &raised.visit)?;
            Ok(notice(&of_question(raised, "waiting", Some(answer)), trace))
        }
        Event::RunEnded(ended) => {
            let trace = of_run(reader, row)?;
            let head = reader.head_at(&row.run, record.seq)?;
            let content = Content { head: Some(head.to_string()), ..of_end(ended) };
            Ok(notice(&content, trace))
        }
        Event::InterruptExpired(expired) => {
            let earlier = reader.records(&row.run, 0, None)?;
            let raised = earlier.iter().find_map(|record| raised_as(record, &expired.interrupt));
            let raised = raised.ok_or(NotPrepared::NoQuestion)?;
            let trace = of_visit(reader, row, &raised.visit)?;
            Ok(notice(&of_question(raised, "expired", None), trace))
        }
        other => Err(NotPrepared::NoNotice { event: other.name() }),
    }
}

fn of_visit(reader: &Reader, row: &DeliveryRow, visit: &VisitId) -> Result<Option<Traceparent>, NotPrepared> {
    let first = reader.records(&row.run, 0, Some(1))?;
    Ok(begun(&first).map(|started| Trace::of(started).traceparent(Of::Visit(visit))))
}

/// The trace of the run at the event of this row, so that every try sends the same.
fn of_run(reader: &Reader, row: &DeliveryRow) -> Result<Option<Traceparent>, NotPrepared> {
    let mut trail = None::<Trail>;
    let mut next = 0;
    while next <= row.delivery.seq {
        let page = reader.records(&row.run, next, Some(PAGE))?;
        let lived = page.partition_point(|record| record.seq <= row.delivery.seq);
        let Some(last) = page.last() else { break };
        next = last.seq.saturating_add(1);
        trail = trail.or_else(|| begun(&page).map(Trail::of));
        if let (Some(trail), Some(lived)) = (&mut trail, page.get(..lived)) {
            trail.take(lived);
        }
    }
    Ok(trail.and_then(|trail| trail.traceparent()))
}

fn raised_as<'r>(record: &'r Record, interrupt: &InterruptId) -> Option<&'r InterruptRaised> {
    match &record.event {
        Event::InterruptRaised(raised) if raised.interrupt == *interrupt => Some(raised),
        _ => None,
    }
}

fn of_question<'a>(raised: &'a InterruptRaised, status: &'static str, answer: Option<String>) -> Content<'a> {
    let about = serde_json::to_value(raised.about).ok();
    Content {
        step: Some(&raised.visit.step),
        interrupt: Some(&raised.interrupt),
        about: about.as_ref().and_then(serde_json::Value::as_str).map(Value::from),
        question: Some(&raised.question),
        answer,
        expires_at: raised.expires_at.map(|at| at.to_string()),
        status,
        ..Content::default()
    }
}

fn of_end(ended: &RunEnded) -> Content<'_> {
    Content {
        step: ended.stopped_by.as_ref(),
        status: ended.status.word(),
        terminal_reason: Some(ended.terminal_reason.word()),
        reason: Some(&ended.reason),
        ..Content::default()
    }
}

fn notice(
    row: &DeliveryRow,
    flow: &FlowId,
    record: &Record,
    content: &Content<'_>,
    page: Option<&str>,
    trace: Option<Traceparent>,
) -> Notice {
    let kind = row.delivery.kind;
    // The link does not sign anyone in: the reader needs a session of that page.
    let link = page.map(|page| match content.interrupt {
        Some(interrupt) => format!("{page}/#/q/{interrupt}"),
        None => format!("{page}/#/r/{}", row.run),
    });
    let text = |text: &str| Some(Value::from(text));
    let members = [
        ("kind", text(kind.word())),
        ("run", text(row.run.as_str())),
        ("flow", text(flow.as_str())),
        ("step", content.step.map(|step| step.as_str().into())),
        ("interrupt", content.interrupt.map(|interrupt| interrupt.as_str().into())),
        ("about", content.about.clone()),
        ("question", content.question.map(Value::from)),
        ("answer", content.answer.as_deref().map(Value::from)),
        ("expires_at", content.expires_at.as_deref().map(Value::from)),
        ("status", text(content.status)),
        ("terminal_reason", content.terminal_reason.map(Value::from)),
        ("reason", content.reason.map(Value::from)),
        ("head", content.head.as_deref().map(Value::from)),
        ("link", link.as_deref().map(Value::from)),
    ];
    let data: Object = members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let event = CloudEvent {
        id: row.delivery.id.clone(),
        source: format!("/envoi/runs/{}", row.run),
        kind: type_of(kind),
        subject: content.interrupt.map_or_else(|| row.run.to_string(), ToString::to_string),
        time: record.at,
        data,
    };
    Notice { variables: variables(row, flow, content, link.as_deref()), event, trace }
}

fn type_of(kind: Moment) -> &'static str {
    match kind {
        Moment::Question => "dev.envoi.question.raised",
        Moment::Expiry => "dev.envoi.question.expired",
        Moment::End => "dev.envoi.run.ended",
    }
}

/// Operating systems limit the length of a variable; the event has the whole text.
const VARIABLE_CHARS: usize = 4_000;

/// All of them are always set, so that a script may rely on it. NUL is not possible in a variable.
fn variables(
    row: &DeliveryRow,
    flow: &FlowId,
    content: &Content<'_>,
    link: Option<&str>,
) -> Vec<(String, String)> {
    [
        (ID_VARIABLE, row.delivery.id.as_str()),
        ("ENVOI_NOTICE", row.delivery.kind.word()),
        ("ENVOI_RUN_ID", row.run.as_str()),
        ("ENVOI_FLOW", flow.as_str()),
        ("ENVOI_STEP", content.step.map(StepId::as_str).unwrap_or_default()),
        ("ENVOI_INTERRUPT", content.interrupt.map(InterruptId::as_str).unwrap_or_default()),
        ("ENVOI_QUESTION", content.question.unwrap_or_default()),
        ("ENVOI_STATUS", content.status),
        ("ENVOI_HEAD", content.head.as_deref().unwrap_or("")),
        ("ENVOI_LINK", link.unwrap_or_default()),
    ]
    .map(|(name, value)| {
        (name.to_owned(), value.chars().filter(|letter| *letter != '\0').take(VARIABLE_CHARS).collect())
    })
    .into()
}

#[cfg(test)]
mod tests;
