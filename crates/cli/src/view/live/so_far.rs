//! The usage of a live attempt so far, in a few words: what the bridge has metered, or what its agent program
//! has reported.

use envoi_contract::json::Value;
use envoi_kernel::ledger::{Cost, Ledger};
use envoi_program::USED_FILE;
use envoi_step::end_of;
use std::path::Path;

/// The file is one line with a few numbers.
const MAX_BYTES: u64 = 4096;

/// The usage of the attempt in this folder. Empty if nothing is known.
pub(crate) fn so_far(metered: &Ledger, folder: &Path) -> String {
    if metered.llm_calls > 0 {
        return words(
            Some(metered.llm_calls),
            metered.tokens_in.checked_add(metered.tokens_out),
            Some(metered.cost),
        );
    }
    // A file that cannot be read now is read at the next poll.
    let text = end_of(&folder.join(USED_FILE), MAX_BYTES).unwrap_or_default();
    let Ok(used) = Value::parse(&text) else { return String::new() };
    let count = |name: &str| used.get(name).and_then(Value::as_u53);
    let tokens = match (count("tokens_in"), count("tokens_out")) {
        (None, None) => None,
        (given, gotten) => given.unwrap_or(0).checked_add(gotten.unwrap_or(0)),
    };
    words(count("llm_calls"), tokens, used.get("cost_usd").and_then(Value::as_str).and_then(Cost::parse))
}

fn words(calls: Option<u64>, tokens: Option<u64>, cost: Option<Cost>) -> String {
    let calls = calls.filter(|calls| *calls > 0).map(|calls| match calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    });
    let tokens = tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{} tokens", short(tokens)));
    let cost = cost.filter(|cost| *cost != Cost::default()).map(|cost| format!("${}", in_cents(cost)));
    calls.into_iter().chain(tokens).chain(cost).collect::<Vec<_>>().join(", ")
}

/// `999`, `12.3k`, `4.5M`.
fn short(count: u64) -> String {
    let tenths = |unit: u64, letter: char| {
        let tenths = count.saturating_mul(10).checked_div(unit).unwrap_or(count);
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => tenths(1_000, 'k'),
        _ => tenths(1_000_000, 'M'),
    }
}

/// Whole cents, rounded up. Less than a cent is unchanged.
fn in_cents(cost: Cost) -> Cost {
    const CENT: u64 = 10_000_000;
    match cost.nano_usd() {
        0..CENT => cost,
        nano_usd => Cost::from_nano_usd(nano_usd.div_ceil(CENT).saturating_mul(CENT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_metered_usage_counts_and_else_the_reported_one() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = Ledger::default();
        assert_eq!(so_far(&nothing, folder.path()), "");
        for (told, words) in [
            (r#"{"llm_calls":1,"tokens_in":120,"tokens_out":null,"cost_usd":null}"#, "1 call, 120 tokens"),
            (
                r#"{"llm_calls":41,"tokens_in":1000000,"tokens_out":260000,"cost_usd":"3.141"}"#,
                "41 calls, 1.2M tokens, $3.15",
            ),
            (
                r#"{"llm_calls":null,"tokens_in":9000,"tokens_out":999,"cost_usd":"0.00051"}"#,
                "9.9k tokens, $0.00051",
            ),
            (r#"{"llm_calls":0,"tokens_in":0,"tokens_out":null,"cost_usd":"0.00"}"#, ""),
            (r#"{"llm_ca"#, ""),
        ] {
            fs::write(folder.path().join(USED_FILE), told).unwrap();
            assert_eq!(so_far(&nothing, folder.path()), words, "{told}");
        }
        let metered = Ledger { llm_calls: 3, tokens_in: 360, tokens_out: 30, ..nothing };
        assert_eq!(so_far(&metered, folder.path()), "3 calls, 390 tokens");
    }
}
