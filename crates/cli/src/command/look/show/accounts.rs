//! Shows what a run has used: one row per bound and one row per step.

use crate::{
    process::{output, terminal},
    text::{duration::took, known::known},
};
use envoi_api::step::{ModelAmounts, StepRows};
use envoi_contract::time::Timestamp;
use envoi_journal::{ReadError, Reader};
use envoi_kernel::{Run, ids::RunId, ledger::Ledger};
use std::ops::ControlFlow;

/// A counter of the ledger with its name for people.
struct Counter {
    name: &'static str,
    /// The short name for the table of steps, which has less room.
    short: &'static str,
    of: fn(&Ledger) -> u64,
    shown: fn(&Ledger) -> String,
    /// For how many attempts and calls the amount is unknown.
    unknown: fn(&Ledger) -> u64,
}

impl Counter {
    fn is_worth_a_word(&self, ledger: &Ledger) -> bool {
        (self.of)(ledger) > 0 || (self.unknown)(ledger) > 0
    }

    fn used(&self, ledger: &Ledger) -> String {
        known((self.shown)(ledger), (self.of)(ledger) == 0, (self.unknown)(ledger))
    }
}

const COUNTERS: [Counter; 9] = [
    Counter {
        name: "attempts",
        short: "ATTEMPTS",
        of: |used| used.agent_hops,
        shown: |used| used.agent_hops.to_string(),
        unknown: |_| 0,
    },
    Counter {
        name: "loop-backs",
        short: "LOOPS",
        of: |used| used.iterations,
        shown: |used| used.iterations.to_string(),
        unknown: |_| 0,
    },
    Counter {
        name: "rounds of goals",
        short: "ROUNDS",
        of: |used| used.rounds,
        shown: |used| used.rounds.to_string(),
        unknown: |_| 0,
    },
    Counter {
        name: "model calls",
        short: "CALLS",
        of: |used| used.llm_calls,
        shown: |used| used.llm_calls.to_string(),
        unknown: |used| used.unknown_calls,
    },
    Counter {
        name: "tokens in",
        short: "TOK IN",
        of: |used| used.tokens_in,
        shown: |used| used.tokens_in.to_string(),
        unknown: |used| used.unknown_tokens,
    },
    Counter {
        name: "tokens out",
        short: "TOK OUT",
        of: |used| used.tokens_out,
        shown: |used| used.tokens_out.to_string(),
        unknown: |used| used.unknown_tokens,
    },
    Counter {
        name: "cost",
        short: "COST",
        of: |used| u64::from(used.cost != <_>::default()),
        shown: |used| format!("${}", used.cost),
        unknown: |used| used.unknown_costs,
    },
    Counter {
        name: "time of work",
        short: "TIME",
        of: |used| used.wall_time_ms,
        shown: |used| took(used.wall_time_ms),
        unknown: |_| 0,
    },
    Counter {
        name: "waiting for accounts",
        short: "WAITING",
        of: |used| used.waiting_ms,
        shown: |used| took(used.waiting_ms),
        unknown: |_| 0,
    },
];

/// Formats both tables. The table of steps is shown only for several steps. Counters at zero without a limit
/// are left out.
pub(super) fn tables(run: &Run, now: Timestamp) -> String {
    let columns = terminal::columns_of_stdout();
    let bounds = output::fitted(&bounds(run, now), columns);
    let steps = steps(run);
    let several = steps.len() > 2;
    if several { format!("{bounds}\n{}", output::fitted(&steps, columns)) } else { bounds }
}

/// The usage of each model by the run itself. If it made no call, no event is read.
pub(super) fn by_model(reader: &Reader, id: &RunId, run: &Run) -> Result<Vec<ModelAmounts>, ReadError> {
    let used = run.own_share().used;
    if used.llm_calls == 0 && used.unknown_calls == 0 {
        return Ok(Vec::new());
    }
    let mut rows = StepRows::default();
    reader.events_between(id, 0, run.next_seq(), |event| {
        if event.name().starts_with("attempt_") || event.name().starts_with("model_call_") {
            rows.take_later(&event.record()?);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows.by_model())
}

/// Formats the same as a table. The result is empty if no model was used.
pub(super) fn table_by_model(models: &[ModelAmounts]) -> String {
    if models.is_empty() {
        return String::new();
    }
    let header = ["MODEL", "PROVIDER", "CALLS", "TOK IN", "TOK OUT", "COST"].map(str::to_owned).to_vec();
    let rows = models.iter().map(|used| {
        let tokens = |count: u64| known(count.to_string(), count == 0, used.unknown_tokens);
        let is_free = used.cost_usd.chars().all(|digit| matches!(digit, '0' | '.'));
        vec![
            used.model.clone(),
            used.provider.clone().unwrap_or_else(|| "-".to_owned()),
            used.llm_calls.to_string(),
            tokens(used.tokens_in),
            tokens(used.tokens_out),
            known(format!("${}", used.cost_usd), is_free, used.unknown_costs),
        ]
    });
    let table: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    format!("\n{}", output::fitted(&table, terminal::columns_of_stdout()))
}

/// Describes the part of the first table that other runs have used.
pub(super) fn of_family(run: &Run) -> String {
    let others = run.known_share().beyond(&run.own_share());
    let shown = COUNTERS.iter().filter(|counter| counter.is_worth_a_word(&others.used));
    let shown: Vec<String> =
        shown.map(|counter| format!("{} {}", counter.used(&others.used), counter.name)).collect();
    if shown.is_empty() {
        return String::new();
    }
    format!("other runs of its family used of these: {}\n", shown.join(", "))
}

/// Describes on one line what the run itself has used. Empty if it has used nothing.
pub(crate) fn in_a_line(run: &Run) -> String {
    let used = run.own_share().used;
    let shown = COUNTERS.iter().filter(|counter| counter.is_worth_a_word(&used));
    let shown = shown.map(|counter| format!("{} {}", counter.used(&used), counter.name));
    shown.collect::<Vec<_>>().join(", ")
}

fn bounds(run: &Run, now: Timestamp) -> Vec<Vec<String>> {
    let used = &Ledger { waiting_ms: run.waited_ms(now), ..run.ledger().clone() };
    let reserved = run.reserved();
    let raised = run.raised();
    let limits = limits(run);
    let header = ["BOUND", "USED", "RESERVED", "LIMIT"].map(str::to_owned).to_vec();
    let rows = COUNTERS.iter().zip(&limits).filter_map(|(counter, limit)| {
        let is_worth_a_row = limit.is_some() || counter.is_worth_a_word(used) || (counter.of)(&reserved) > 0;
        let part = |ledger: &Ledger| ((counter.of)(ledger) > 0).then(|| (counter.shown)(ledger));
        let more = part(raised).map_or_else(String::new, |more| format!(", raised by {more}"));
        let limit = limit.as_ref().map_or_else(|| "none".to_owned(), |limit| (counter.shown)(limit) + &more);
        let reserved = part(&reserved).unwrap_or_else(|| "-".to_owned());
        is_worth_a_row.then(|| vec![counter.name.to_owned(), counter.used(used), reserved, limit])
    });
    std::iter::once(header).chain(rows).collect()
}

/// The limits in force, each alone, in the order of [`COUNTERS`].
fn limits(run: &Run) -> [Option<Ledger>; 9] {
    let limits = run.limits();
    [
        limits.agent_hops.map(|agent_hops| Ledger { agent_hops, ..Ledger::default() }),
        limits.iterations.map(|iterations| Ledger { iterations, ..Ledger::default() }),
        run.max_rounds().map(|rounds| Ledger { rounds, ..Ledger::default() }),
        limits.llm_calls.map(|llm_calls| Ledger { llm_calls, ..Ledger::default() }),
        None,
        None,
        limits.cost.map(|cost| Ledger { cost, ..Ledger::default() }),
        limits.wall_time_ms.map(|wall_time_ms| Ledger { wall_time_ms, ..Ledger::default() }),
        limits.waiting_ms.map(|waiting_ms| Ledger { waiting_ms, ..Ledger::default() }),
    ]
}

fn steps(run: &Run) -> Vec<Vec<String>> {
    let shown: Vec<&Counter> = COUNTERS
        .iter()
        .filter(|counter| counter.name != "rounds of goals" && counter.is_worth_a_word(run.ledger()))
        .collect();
    let header = std::iter::once("STEP").chain(shown.iter().map(|counter| counter.short));
    let header: Vec<String> = header.map(str::to_owned).collect();
    let rows = in_order(run).into_iter().map(|(step, used)| {
        let cells = shown
            .iter()
            .map(|counter| if counter.is_worth_a_word(used) { counter.used(used) } else { "-".to_owned() });
        std::iter::once(step.to_owned()).chain(cells).collect()
    });
    std::iter::once(header).chain(rows).collect()
}

/// The accounts of the steps, in the order of the flow. Steps of an inner flow follow each other.
fn in_order(run: &Run) -> Vec<(&str, &Ledger)> {
    let place = |step: &str| {
        let outer = step.split_once('.').map_or(step, |(first, _)| first);
        run.flow().steps.iter().position(|listed| listed.id.as_str() == outer)
    };
    let mut accounts: Vec<(&str, &Ledger)> =
        run.ledger_by_step().iter().map(|(step, used)| (step.as_str(), used)).collect();
    accounts.sort_by_key(|(step, _)| place(step));
    accounts
}
