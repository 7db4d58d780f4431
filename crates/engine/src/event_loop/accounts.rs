//! The accounts of agent programs and models that have refused an attempt, as this engine knows them.
//!
//! The journal has the durable part: the event of the refusal, and a row from which an engine starts. Like an
//! alarm, an account opens when the first of the two clocks reaches the time. It is never closed for longer
//! than was decided at the refusal. The first attempt after that runs alone for a moment: if it is refused
//! too, the others have not been refused in vain.
//!
//! Each tenant has its own record of a limit. The source is the output of a program in a tenant's own run,
//! which must not block the runs of other tenants.

use crate::model::clock::Now;
use envoi_contract::time::Timestamp;
use envoi_journal::ClosedAccount;
use envoi_kernel::{
    Event, Record, Run,
    event::AttemptStarted,
    ids::RunId,
    throttle::{self, Standing, Standings},
};
use std::{collections::BTreeMap, sync::Arc};

/// How long others wait for the first attempt after a reset. A refusal comes with the first call.
const TRIAL_MS: u64 = 60_000;

/// The accounts that have refused an attempt, by tenant and name.
#[derive(Debug, Default)]
pub(crate) struct Accounts(BTreeMap<String, BTreeMap<String, Account>>);

#[derive(Debug)]
struct Account {
    /// The account opens when the first of the clocks reaches its time.
    wall: Timestamp,
    steady_ms: u64,
    resets_at: Option<Timestamp>,
    refusals: u32,
    /// It is open again, and the first attempt is in progress.
    is_tried: bool,
}

impl Account {
    fn closes_for_ms(&self, now: Now) -> u64 {
        let wall = self.wall.as_millis().saturating_sub(now.wall.as_millis());
        self.steady_ms.saturating_sub(now.steady_ms).min(u64::try_from(wall).unwrap_or(0))
    }
}

impl Accounts {
    /// Restores the accounts from the journal.
    pub(crate) fn restore(&mut self, closed: Vec<ClosedAccount>, now: Now) {
        for ClosedAccount { tenant, account, at, until, resets_at, refusals, is_tried } in closed {
            // If an earlier engine started a first attempt, others wait for it as long as they would have
            // there.
            let until = if is_tried { at.saturating_add_ms(TRIAL_MS) } else { until };
            // If the clock was set back since, the account is not closed for longer than was decided.
            let from = now.wall.max(at);
            let wait_ms = until.as_millis().saturating_sub(from.as_millis());
            let wait_ms = u64::try_from(wait_ms).unwrap_or(0);
            self.close(&tenant, account.clone(), wait_ms, resets_at, refusals, now);
            self.get_mut(&tenant, &account).into_iter().for_each(|account| account.is_tried = is_tried);
        }
    }

    fn close(
        &mut self,
        tenant: &str,
        account: String,
        wait_ms: u64,
        resets_at: Option<Timestamp>,
        refusals: u32,
        now: Now,
    ) {
        // A refusal without a stated time does not replace a known time.
        let known = self.get_mut(tenant, &account).filter(|known| {
            let is_stated = known.resets_at.is_some() && !known.is_tried;
            is_stated && resets_at.is_none() && known.closes_for_ms(now) > wait_ms
        });
        if let Some(known) = known {
            known.refusals = refusals;
            return;
        }
        let wall = now.wall.saturating_add_ms(wait_ms);
        let steady_ms = now.steady_ms.saturating_add(wait_ms);
        let closed = Account { wall, steady_ms, resets_at, refusals, is_tried: false };
        self.0.entry(tenant.to_owned()).or_default().insert(account, closed);
    }

    /// The state of the accounts for a decision of a run of this tenant, by the time of the run.
    pub(crate) fn standings(&self, tenant: &str, time: Timestamp, now: Now) -> Arc<Standings> {
        let standing = |account: &Account| Standing {
            until: time.saturating_add_ms(account.closes_for_ms(now)),
            resets_at: account.resets_at,
            refusals: account.refusals,
            is_tried: account.is_tried,
        };
        let accounts = self.0.get(tenant).into_iter().flatten();
        Arc::new(accounts.map(|(name, account)| (name.clone(), standing(account))).collect())
    }

    /// Updates the accounts with records of a run that are about to be committed. `run` is the state before
    /// them.
    pub(crate) fn decided(&mut self, tenant: &str, run: &Run, records: &[Record], now: Now) {
        for record in records {
            match &record.event {
                Event::AttemptStarted(started) => self.started(tenant, started, now),
                Event::AttemptSettled(settled) => match &settled.throttled {
                    Some(throttled) => {
                        let wait_ms = throttled.until.as_millis().saturating_sub(record.at.as_millis());
                        self.close(
                            tenant,
                            throttled.account.clone(),
                            u64::try_from(wait_ms).unwrap_or(0),
                            throttled.resets_at,
                            throttled.refusals,
                            now,
                        );
                    }
                    None => {
                        let started = run.attempt(&settled.attempt);
                        self.passed(tenant, started.and_then(|started| account_of(started)), now);
                    }
                },
                Event::AccountsTried(tried) => {
                    tried.accounts.iter().for_each(|account| self.open(tenant, account));
                }
                Event::RunEnded(_) => {
                    run.started().into_iter().for_each(|started| self.over(tenant, &started.run));
                }
                _ => {}
            }
        }
    }

    /// Removes the waits of an ended run.
    fn over(&mut self, tenant: &str, run: &RunId) {
        let Some(accounts) = self.0.get_mut(tenant) else { return };
        accounts.retain(|account, _| !throttle::is_of_run(account, run));
        if accounts.is_empty() {
            self.0.remove(tenant);
        }
    }

    fn get_mut(&mut self, tenant: &str, account: &str) -> Option<&mut Account> {
        self.0.get_mut(tenant)?.get_mut(account)
    }

    fn open(&mut self, tenant: &str, account: &str) {
        if let Some(account) = self.get_mut(tenant, account) {
            (account.steady_ms, account.is_tried) = (0, false);
        }
    }

    fn started(&mut self, tenant: &str, started: &AttemptStarted, now: Now) {
        let Some(account) = account_of(started).and_then(|name| self.get_mut(tenant, name)) else { return };
        // The time of the reset is not known, so this may be the last try of a step whose longest wait has
        // passed.
        let is_last_try = account.resets_at.is_none() && !account.is_tried;
        if account.closes_for_ms(now) == 0 || is_last_try {
            (account.resets_at, account.is_tried) = (None, true);
            account.wall = now.wall.saturating_add_ms(TRIAL_MS);
            account.steady_ms = now.steady_ms.saturating_add(TRIAL_MS);
        }
    }

    /// An attempt with this account was not refused. An attempt that began before another one's refusal
    /// proves nothing.
    fn passed(&mut self, tenant: &str, account: Option<&str>, now: Now) {
        let (Some(name), Some(accounts)) = (account, self.0.get_mut(tenant)) else { return };
        let is_open = |account: &Account| account.is_tried || account.closes_for_ms(now) == 0;
        if accounts.get(name).is_some_and(is_open) {
            accounts.remove(name);
        }
        if accounts.is_empty() {
            self.0.remove(tenant);
        }
    }
}

fn account_of(started: &AttemptStarted) -> Option<&str> {
    started.command.account().map(|(account, _)| account)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(wall: i64, steady_ms: u64) -> Now {
        Now { wall: Timestamp::from_millis(wall), steady_ms }
    }

    fn closed(at: i64, until: i64) -> Vec<ClosedAccount> {
        let [at, until] = [at, until].map(Timestamp::from_millis);
        let (tenant, account) = ("north".to_owned(), "claude".to_owned());
        vec![ClosedAccount {
            tenant,
            account,
            at,
            until,
            resets_at: Some(until),
            refusals: 3,
            is_tried: false,
        }]
    }

    #[test]
    fn an_account_of_a_run_alone_is_forgotten_with_the_end_of_the_run() {
        let mut accounts = Accounts::default();
        let [ended, other] = ["run_a", "run_ba"].map(|id| RunId::new(id).unwrap());
        for name in ["claude", "claude of run run_a", "claude of run run_ba"] {
            accounts.close("north", name.to_owned(), 1_000, None, 1, now(0, 0));
        }
        accounts.close("south", "claude of run run_a".to_owned(), 1_000, None, 1, now(0, 0));
        accounts.over("north", &ended);
        let left = |accounts: &Accounts, tenant: &str| {
            accounts
                .standings(tenant, Timestamp::from_millis(0), now(0, 0))
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(left(&accounts, "north"), ["claude", "claude of run run_ba"]);
        assert_eq!(left(&accounts, "south"), ["claude of run run_a"]);
        accounts.over("north", &other);
        assert_eq!(left(&accounts, "north"), ["claude"]);
    }

    #[test]
    fn an_attempt_that_tries_an_account_is_waited_for_by_the_next_engine_too() {
        let begun = 5 * 3_600_000;
        for (later_ms, left_ms) in [(0, 60_000), (20_000, 40_000), (60_000, 0), (-3_600_000, 60_000)] {
            let mut accounts = Accounts::default();
            let row = ClosedAccount { resets_at: None, is_tried: true, ..closed(begun, begun).remove(0) };
            let up = now(begun + later_ms, 0);
            accounts.restore(vec![row], up);
            let standing = &accounts.standings("north", up.wall, up)["claude"];
            let left = standing.until.as_millis() - up.wall.as_millis();
            assert_eq!((left, standing.is_tried, standing.refusals), (left_ms, true, 3), "{later_ms}");
        }
    }

    #[test]
    fn a_refusal_without_a_time_opens_no_account_earlier() {
        let hour = 3_600_000_u64;
        let at = Timestamp::from_millis(1);
        // The first refusal and the second one: for how long, and whether a time was stated. Then when, and how long it is closed.
        for (first, second, later, expected) in [
            ((2 * hour, true), (hour, false), 0, 2 * hour),
            ((2 * hour, true), (hour, true), 0, hour),
            ((2 * hour, true), (3 * hour, false), 0, 3 * hour),
            ((2 * hour, false), (hour, false), 0, hour),
            // The reset has passed.
            ((2 * hour, true), (hour, false), 2 * hour, hour),
        ] {
            let mut accounts = Accounts::default();
            let later = now(i64::try_from(later).unwrap(), later);
            for ((wait_ms, is_stated), refusals, now) in [(first, 1, now(0, 0)), (second, 2, later)] {
                let account = "claude".to_owned();
                accounts.close("north", account, wait_ms, is_stated.then_some(at), refusals, now);
            }
            let standing = &accounts.standings("north", Timestamp::from_millis(0), later)["claude"];
            let left = u64::try_from(standing.until.as_millis()).unwrap();
            assert_eq!((left, standing.refusals), (expected, 2), "{first:?} {second:?} {later:?}");
        }
    }

    #[test]
    fn an_account_opens_by_whichever_clock_gets_there_first_and_is_never_closed_longer_than_it_was_to_be() {
        let hour = 3_600_000;
        let rows = [
            // The clock when the engine comes up; then both clocks; and how long it is still closed.
            (now(10 * hour, 0), now(10 * hour, 0), 2 * hour),
            (now(11 * hour, 0), now(11 * hour, 0), hour),
            (now(13 * hour, 0), now(13 * hour, 0), 0),
            // Set back by a day before the engine came up.
            (now(-14 * hour, 0), now(-14 * hour, 0), 2 * hour),
            (now(-14 * hour, 0), now(-14 * hour, 2 * 3_600_000), 0),
            // Set back while it is up: the steady clock counts.
            (now(10 * hour, 0), now(0, 3_600_000), hour),
            // Suspended, or set forward.
            (now(10 * hour, 0), now(12 * hour, 5), 0),
        ];
        for (up, later, expected) in rows {
            let mut accounts = Accounts::default();
            accounts.restore(closed(10 * hour, 12 * hour), up);
            let time = Timestamp::from_millis(77);
            let standings = accounts.standings("north", time, later);
            let left = standings["claude"].until.as_millis() - 77;
            assert_eq!((left, standings["claude"].refusals), (expected, 3), "{up:?} {later:?}");
            assert!(accounts.standings("south", time, later).is_empty(), "it is closed for one tenant alone");
        }
    }
}
