//! Writes the report of an attempt, and its text.

use crate::{
    Around, Order,
    asking::{Finished, Made, cost},
    calling::now,
};
use envoi_contract::{
    json::{Object, Value},
    skill_report::{SkillError, SkillReport},
};
use envoi_kernel::ledger::Cost;
use std::io;

/// Longest error message. The text contains the whole message.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Writes the text, then the report; secrets in both are masked. Returns true if the attempt succeeded.
pub(crate) fn write(order: &Order, finished: &Finished, around: &dyn Around) -> io::Result<bool> {
    let error = finished.error.as_ref().map(|error| SkillError {
        code: error.code.clone(),
        // Masked before it is cut, because a secret that is cut in half would not be masked.
        message: around.mask_text(&error.message).chars().take(MAX_MESSAGE_CHARS).collect(),
    });
    if let Some(error) = &error {
        println!("{}: {}", error.code, error.message);
    }
    envoi_durable::renew(&order.output, around.mask_text(&finished.text).as_bytes())?;
    let ok = error.is_none();
    let report = SkillReport {
        ok,
        generated_at: now().to_string(),
        skill_name: "model".to_owned(),
        data: finished.data.as_ref().map(|data| around.mask_value(data)),
        metrics: Some(metrics(order, finished)),
        error: error.map(|error| error.to_value()),
        unknown: Object::from([("model", around.mask_value(&model(order, finished)))]),
    };
    envoi_durable::renew(&order.report, report.to_value().compact().as_bytes())?;
    Ok(ok)
}

/// The usage of the attempt. A figure is unknown if the provider did not report it for every call.
fn metrics(order: &Order, finished: &Finished) -> Object {
    let sum = |of: fn(&Made) -> Option<u64>| {
        let all: Option<Vec<u64>> = finished.calls.iter().map(of).collect();
        all.map(|all| all.into_iter().fold(0, u64::saturating_add))
    };
    let tokens_in = sum(|made| made.reply.tokens_in);
    let tokens_out = sum(|made| made.reply.tokens_out);
    let price = order.access.as_ref().and_then(|access| access.price);
    let known = tokens_in.is_some() && tokens_out.is_some();
    let cost = price.filter(|_| known).map(|price| Cost::from_nano_usd(cost(price, finished)).to_string());
    let ids: Vec<Value> =
        finished.calls.iter().filter_map(|made| made.request.as_deref().map(Value::from)).collect();
    let calls = u64::try_from(finished.calls.len()).unwrap_or(u64::MAX);
    let mut metrics = Object::from([
        ("llm_calls", Value::from(calls)),
        ("tokens_in", Value::from(tokens_in)),
        ("tokens_out", Value::from(tokens_out)),
        ("cost_usd", Value::from(cost)),
    ]);
    if let Some(cached) = sum(|made| made.reply.tokens_cached).filter(|_| calls > 0) {
        metrics.insert("tokens_cached", Value::from(cached));
    }
    if !ids.is_empty() {
        metrics.insert("request_ids", Value::Array(ids));
    }
    metrics
}

/// The model and the provider that were used.
fn model(order: &Order, finished: &Finished) -> Value {
    let mut model = Object::from([("name", Value::from(order.model.as_str()))]);
    if let Some(access) = &order.access {
        model.insert("provider", Value::from(access.provider.as_str()));
        model.insert("protocol", Value::from(access.protocol.as_str()));
        model.insert("provider_name", Value::from(access.name.as_str()));
    }
    if let Some(until) = finished.throttled_until {
        model.insert("throttled_until", Value::from(until.to_string()));
    }
    Value::Object(model)
}
