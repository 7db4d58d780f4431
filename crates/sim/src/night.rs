//! A night: runs whose agents share accounts with limits, while engines, machines and clocks come and go.
//!
//! Owns the flows of a night. `provider` has the behaviour of the providers, `watch` the promises and counts.

mod provider;
mod watch;

pub(crate) use watch::{Clock, Watch};

use crate::work::Work;
use envoi_engine::Job;
use envoi_kernel::event::Command;
use envoi_testkit::Dice;
use provider::Provider;

/// The state that only the worlds of a night have.
pub(crate) struct Night {
    provider: Provider,
    pub(crate) watch: Watch,
}

impl Night {
    pub(crate) fn new(seed: u64) -> Self {
        Self { provider: Provider::new(seed), watch: Watch::default() }
    }

    /// The work of an attempt of an agent that begins now.
    pub(crate) fn work(&mut self, job: &Job, now: Clock) -> Option<Work> {
        let Command::Agent(call) = &job.started.command else { return None };
        let attempt = format!("{} {}", job.run, job.started.attempt);
        let (work, is_wrong) = self.provider.attempt(now.steady_ms, &attempt, call);
        if is_wrong {
            self.watch.count("refusals with a wrong time");
        }
        Some(work)
    }
}

/// Tries of an agent's step, its first one included.
pub(crate) const ATTEMPTS: usize = 3;

/// The flows of a night, as text: many packages with one account, and another one where that is closed for long; steps that share a
/// session; and a loop of an agent and a test, which goes on with another program.
pub(crate) fn flows(dice: &mut Dice) -> [String; 3] {
    let retry =
        format!("    retry: {{ attempts: {ATTEMPTS}, backoff: 1s..2s }}\n    on_in_doubt: continue\n");
    let agent = |id: &str, more: &str, use_: &str| {
        format!("  - id: {id}\n{more}    agent: {{ {use_}, prompt: Work. }}\n    timeout: 2h\n{retry}")
    };
    let items = ["a", "b", "c", "d", "e"];
    let items: Vec<&str> = items.iter().take(dice.index(3).saturating_add(3)).copied().collect();
    let items = items.join(", ");
    let each = format!("    for_each: [{items}]\n    max_parallel: {}\n", dice.between(2, 3));
    // At once, or when the reset is later than that.
    let then = |dice: &mut Dice, waits: &[&str], use_: &str| match dice.word(waits) {
        "" => format!("    on_throttled: {{ {use_} }}\n"),
        wait => format!("    on_throttled: {{ wait: {wait}, then: {{ {use_} }} }}\n"),
    };
    let other = then(dice, &["", "30m", "2h"], "use: claude, account: spare");
    let packages = agent("migrate", &each, "use: claude, account: work");
    let packages = format!("{packages}{other}");
    let waiting = |dice: &mut Dice, most: &[&str]| match dice.word(most) {
        "" => String::new(),
        most => format!("limits: {{ waiting: {most} }}\n"),
    };
    let packages_wait = waiting(dice, &["", "", "1h", "7m"]);
    let talk_waits = waiting(dice, &["", "", "6h"]);
    let label = "use: claude, account: work, session: talk";
    let talk = ["plan", "build"].map(|id| agent(id, "    needs: []\n", label)).concat();
    let talk = format!("{talk}{}", agent("sum", "    needs: [plan, build]\n", label));
    let write = agent("write", "", "use: claude, account: spare");
    let other = then(dice, &["", "1h", "8h"], "use: codex");
    let write = format!("{write}{other}");
    let test = "  - id: test\n    run: [work]\n    on_in_doubt: rerun\n    routing: { kind: microloop, loop_to: write, success_values: [VERIFIED], \
                status_from_exit: { 0: VERIFIED, 1: UNVERIFIED }, max_iterations: 2, on_exhausted: proceed }\n";
    [
        format!("flow: packages\n{packages_wait}steps:\n{packages}"),
        format!("flow: talk\n{talk_waits}steps:\n{talk}"),
        format!("flow: loop\nlimits: {{ iterations: 3 }}\nsteps:\n{write}{test}"),
    ]
}
