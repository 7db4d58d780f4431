//! Providers whose accounts take so much work in each window of some hours, by the true time, and refuse the rest.
//!
//! Not all of them state when they take work again, and some state a wrong time.

use crate::{instance::BEGINNING_MS, work::Work};
use envoi_contract::time::Timestamp;
use envoi_kernel::event::ProgramCall;
use envoi_testkit::Dice;
use std::collections::BTreeMap;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// How long a window is.
const WINDOW_MS: u64 = 5 * HOUR_MS;

/// See the module. By the name of the account.
pub(crate) struct Provider {
    seed: u64,
    accounts: BTreeMap<String, Account>,
}

struct Account {
    /// How much of its first window is over when the night begins.
    phase_ms: u64,
    /// How many attempts it takes in a window.
    most: u64,
    /// The number of accepted attempts, by window.
    taken: BTreeMap<u64, u64>,
    refusals: u64,
}

/// The answer of an account to an attempt.
enum Answer {
    Taken,
    /// Refused, with the stated time at which it takes work again, by the true time.
    Refused(Option<u64>),
    /// Refused, with a wrong time: too early.
    RefusedWrongly(u64),
}

impl Provider {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, accounts: BTreeMap::new() }
    }

    /// An attempt begins at `now_ms`, and is refused or does its work: its end, and whether the
    /// provider has stated a wrong time.
    pub(crate) fn attempt(&mut self, now_ms: u64, attempt: &str, call: &ProgramCall) -> (Work, bool) {
        let name = call.account.as_deref().unwrap_or(&call.program);
        let seed = self.seed;
        let account = self.accounts.entry(name.to_owned()).or_insert_with(|| {
            let mut dice = Dice::of(seed, &["account", name]);
            let (phase_ms, most) = (dice.below(WINDOW_MS), dice.between(2, 4));
            Account { phase_ms, most, taken: BTreeMap::new(), refusals: 0 }
        });
        let answer = account.ask(seed, name, now_ms);
        let mut dice = Dice::of(seed, &["agent", attempt, &now_ms.to_string()]);
        let thread = || format!("thread-{}", attempt.replace([' ', '.'], "-"));
        let session = call.session.clone().unwrap_or_else(thread);
        let state =
            format!(r#""program":"{}","session":{{"id":"{session}","began_anew":false}}"#, call.program);
        let says_ms = match answer {
            Answer::Taken => None,
            Answer::Refused(says_ms) => says_ms,
            Answer::RefusedWrongly(says_ms) => Some(says_ms),
        };
        let (minutes, code, told) = match &answer {
            Answer::Refused(_) | Answer::RefusedWrongly(_) => {
                let until = says_ms.map(|ms| Timestamp::from_millis(BEGINNING_MS).saturating_add_ms(ms));
                let until = until.map_or_else(String::new, |at| format!(r#","throttled_until":"{at}""#));
                let error = r#""ok":false,"error":{"code":"AGENT_THROTTLED","message":"limit"}"#;
                (dice.below(4), 1, format!(r#"{error},"agent":{{{state}{until}}}"#))
            }
            Answer::Taken if dice.permille(120) => {
                let error = r#""ok":false,"error":{"code":"AGENT_CRASHED","message":"it crashed"}"#;
                (dice.between(1, 20), 1, format!(r#"{error},"agent":{{{state}}}"#))
            }
            Answer::Taken => (dice.between(15, 50), 0, format!(r#""ok":true,"agent":{{{state}}}"#)),
        };
        let report = format!(
            r#"{{"generatedAt":"2026-11-21T00:00:00Z","skillName":"agent","metrics":{{"llm_calls":{}}},{told}}}"#,
            dice.below(5)
        );
        let duration_ms = minutes.saturating_mul(MINUTE_MS).saturating_add(dice.between(500, 2_000));
        (Work::of_agent(duration_ms, code, report), matches!(answer, Answer::RefusedWrongly(_)))
    }
}

impl Account {
    fn ask(&mut self, seed: u64, name: &str, now_ms: u64) -> Answer {
        let window = now_ms.saturating_add(self.phase_ms) / WINDOW_MS;
        let taken = self.taken.entry(window).or_default();
        if *taken < self.most {
            *taken = taken.saturating_add(1);
            return Answer::Taken;
        }
        self.refusals = self.refusals.saturating_add(1);
        let mut dice = Dice::of(seed, &["refusal", name, &self.refusals.to_string()]);
        let opens_ms = window.saturating_add(1).saturating_mul(WINDOW_MS).saturating_sub(self.phase_ms);
        match dice.below(10) {
            0..5 => Answer::Refused(Some(opens_ms)),
            // A program that believes it is refused again.
            5..8 => Answer::RefusedWrongly(now_ms.saturating_add(opens_ms.saturating_sub(now_ms) / 2)),
            _ => Answer::Refused(None),
        }
    }
}
