//! Shows the notices of a run that are not delivered.

use crate::process::clock;
use envoi_api::run::Notice;
use envoi_journal::DeliveryRow;
use serde_json::Value;

/// Formats the undelivered notices for people.
pub(super) fn lines(rows: &[DeliveryRow]) -> Vec<String> {
    rows.iter().filter(|row| row.delivered_at.is_none()).map(line).collect()
}

fn line(row: &DeliveryRow) -> String {
    let what = format!("{} to {}", row.delivery.kind.word(), target(row));
    let error = row.last_error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
    match row.gave_up_at {
        Some(at) => {
            format!("notice of {what}: given up at {} after {}{error}", clock::local(at), tries(row.tries))
        }
        None if row.tries == 0 => format!("notice of {what}: not tried yet"),
        None if row.last_error.is_none() => {
            let at = clock::local(row.next_try_at);
            let tries = tries(row.tries);
            format!(
                "notice of {what}: no engine has noted the end of {tries}, next try at {at} if an engine is up"
            )
        }
        None => {
            let at = clock::local(row.next_try_at);
            format!(
                "notice of {what}: failed after {}, next try at {at} if an engine is up{error}",
                tries(row.tries)
            )
        }
    }
}

fn tries(count: u32) -> String {
    if count == 1 { "1 try".to_owned() } else { format!("{count} tries") }
}

/// Converts the undelivered notices into JSON rows.
pub(super) fn rows(rows: &[DeliveryRow]) -> Vec<Notice> {
    let open = rows.iter().filter(|row| row.delivered_at.is_none());
    open.map(|row| Notice {
        notice: row.delivery.id.to_string(),
        kind: row.delivery.kind.word().to_owned(),
        target: target(row),
        tries: row.tries,
        next_try_at: row.is_open().then(|| row.next_try_at.into()),
        gave_up_at: row.gave_up_at.map(Into::into),
        last_error: row.last_error.clone(),
    })
    .collect()
}

/// Names a command by its program or script, and a webhook by its host. The path of a webhook is a secret for
/// some receivers.
fn target(row: &DeliveryRow) -> String {
    let posting: Value = serde_json::from_str(&row.delivery.target).unwrap_or(Value::Null);
    let to = posting.get("to");
    let at = |pointer: &str| to.and_then(|to| to.pointer(pointer)).and_then(Value::as_str);
    if let Some(url) = at("/webhook/url") {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        return format!("webhook {}", rest.split_once(['/', '?', '#']).map_or(rest, |(first, _)| first));
    }
    let program = at("/command/exec/0").or_else(|| at("/command/shell")).unwrap_or("?");
    format!("command {}", envoi_api::words::head(program))
}
