//! Writes the report of an attempt, and its text.

use crate::{
    Mask, Order, limit,
    process::Finished,
    used::{cost, metrics, of_attempt, of_nothing},
};
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, SkillReport},
    time::Timestamp,
};
use envoi_preset::{Class, Outcome, Preset, ToolCall};
use std::{io, time::SystemTime};

/// Longest error message. The text contains the whole message.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Writes the text, then the report; secrets in both are masked. Returns true if the attempt succeeded.
pub(crate) fn write(order: &Order, preset: Preset, finished: &Finished, mask: &dyn Mask) -> io::Result<bool> {
    let nothing = Outcome::default();
    let (outcome, began_anew) = match finished {
        Finished::Ran { outcome, began_anew } => (outcome.as_ref(), *began_anew),
        Finished::NotStarted(_) => (&nothing, false),
    };
    let error = error(order, finished).map(|(class, message)| SkillError {
        code: class.code().as_str().to_owned(),
        // Masked before it is cut, because a secret that is cut in half would not be masked.
        message: mask.text(&message).chars().take(MAX_MESSAGE_CHARS).collect(),
    });
    if let Some(error) = &error {
        println!("{}: {}", error.code, error.message);
    }
    envoi_durable::renew(&order.output, mask.text(&outcome.text).as_bytes())?;
    let ok = error.is_none();
    let before = if began_anew { Default::default() } else { order.before.figures() };
    let usage = of_attempt(outcome.usage, order, began_anew);
    let mut metrics = match finished {
        Finished::Ran { .. } => metrics(&usage, &before),
        Finished::NotStarted(_) => of_nothing(),
    };
    if outcome.is_cut_off {
        metrics.insert("at_least", Value::from(true));
    }
    for (name, stated) in outcome.unusable.iter() {
        if metrics.get(name).is_none_or(Value::is_null) {
            metrics.insert(name, mask.value(stated));
        }
    }
    let mut agent = Object::from([("program", Value::from(preset.name()))]);
    if let Some(version) = &outcome.version {
        agent.insert("version", Value::from(version.as_str()));
    }
    if let Some(id) = &outcome.session {
        let after = usage.after(&before);
        let mut session = Object::from([("id", Value::from(id.as_str()))]);
        session.insert("tokens_in", Value::from(after.tokens_in));
        session.insert("tokens_out", Value::from(after.tokens_out));
        session.insert("cost_usd", cost(after.cost));
        session.insert("last", Value::from(outcome.last.as_deref()));
        session.insert("began_anew", Value::from(began_anew));
        agent.insert("session", Value::Object(session));
    }
    if let Some(call) = outcome.deferred.as_ref().filter(|_| ok) {
        // Masked before it is formatted, because the person decides about what is shown.
        let shown = ToolCall { input: mask.value(&call.input), ..call.clone() };
        agent.insert("said", Value::from("asks"));
        agent.insert("takes", Value::from(if call.is_own_question() { "words" } else { "decision" }));
        agent.insert("question", Value::from(shown.question()));
        let evidence = Object::from([
            ("tool", Value::from(shown.tool)),
            ("input", shown.input),
            ("call", Value::from(call.digest().to_string())),
        ]);
        agent.insert("evidence", Value::Object(evidence));
    }
    if !outcome.denied.is_empty() {
        agent.insert("denied", Value::from(outcome.denied.clone()));
    }
    if let Some(until) = limit::until(order, preset, outcome, now()) {
        agent.insert("throttled_until", Value::from(until.to_string()));
    }
    let report = SkillReport {
        ok,
        generated_at: now().to_string(),
        skill_name: "agent".to_owned(),
        data: outcome.data.as_ref().map(|data| mask.value(data)),
        metrics: Some(metrics),
        error: error.map(|error| error.to_value()),
        unknown: Object::from([("agent", mask.value(&Value::Object(agent)))]),
    };
    envoi_durable::renew(&order.report, report.to_value().compact().as_bytes())?;
    Ok(ok)
}

fn error(order: &Order, finished: &Finished) -> Option<(Class, String)> {
    match finished {
        Finished::NotStarted(error) => {
            let message = format!("`{}` cannot be started: {error}", order.program.display());
            Some((Class::NotInstalled, message))
        }
        Finished::Ran { outcome, .. } => {
            let failure = outcome.failure.as_ref()?;
            Some((failure.class, failure.message.clone()))
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
