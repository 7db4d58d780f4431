//! The usage of an agent, and the part of it that is new.
//!
//! A program reports some figures for its process, and some for its whole session over all processes. Only the
//! difference to the session's usage before the attempt is charged.

use envoi_kernel::ledger::Cost;

/// Sums over a whole session, as a program last reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Input tokens.
    pub tokens_in: Option<u64>,
    /// Output tokens.
    pub tokens_out: Option<u64>,
    /// The cost, as estimated by the program.
    pub cost: Option<Cost>,
}

/// The usage that one process reports. `None` means unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Model calls.
    pub llm_calls: Option<u64>,
    /// The usage of this process only.
    pub process: Figures,
    /// The usage of the whole session.
    pub session: Figures,
    /// The cost that this process added to the session, as the program reports it.
    pub added_cost: Option<Cost>,
}

impl Usage {
    /// The usage of this process if the session had used `before` at its beginning. A sum smaller than before belongs
    /// to a session that began again, and counts completely.
    #[must_use]
    pub fn since(&self, before: &Figures) -> Figures {
        let count = |process: Option<u64>, session: Option<u64>, before: Option<u64>| {
            let before = before.unwrap_or(0);
            process.or(session.map(|sum| sum.checked_sub(before).unwrap_or(sum)))
        };
        let cost_before = before.cost.unwrap_or_default();
        let cost = self.session.cost.map(|sum| match sum < cost_before {
            true => sum,
            false => sum.saturating_sub(cost_before),
        });
        Figures {
            tokens_in: count(self.process.tokens_in, self.session.tokens_in, before.tokens_in),
            tokens_out: count(self.process.tokens_out, self.session.tokens_out, before.tokens_out),
            cost: self.process.cost.or(cost),
        }
    }

    /// The usage of a forked session. Its sums contain the cost of the source session, which was charged there.
    #[must_use]
    pub fn of_fork(self) -> Self {
        let cost = self.process.cost.or(self.added_cost);
        Self { process: Figures { cost, ..self.process }, ..self }
    }

    /// The session's sums after this process. A sum that the process does not report keeps its earlier value.
    #[must_use]
    pub fn after(&self, before: &Figures) -> Figures {
        Figures {
            tokens_in: self.session.tokens_in.or(before.tokens_in),
            tokens_out: self.session.tokens_out.or(before.tokens_out),
            cost: self.session.cost.or(before.cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_of_a_session_is_charged() {
        let cost = |text: &str| Cost::parse(text);
        let usage = Usage {
            llm_calls: Some(1),
            process: Figures { tokens_in: Some(7), ..Figures::default() },
            session: Figures { tokens_out: Some(30), cost: cost("0.0012"), tokens_in: None },
            added_cost: cost("0.0002"),
        };
        let before = Figures { tokens_out: Some(20), cost: cost("0.0005"), tokens_in: None };
        let used = usage.since(&before);
        assert_eq!((used.tokens_in, used.tokens_out, used.cost), (Some(7), Some(10), cost("0.0007")));
        assert_eq!(usage.after(&before).cost, cost("0.0012"));
        let anew = Figures { tokens_out: Some(99), cost: cost("1"), tokens_in: None };
        assert_eq!(usage.since(&anew).cost, cost("0.0012"), "a session that began anew counts whole");
        assert_eq!(usage.since(&anew).tokens_out, Some(30));
        assert_eq!(
            usage.of_fork().since(&Figures::default()).cost,
            cost("0.0002"),
            "the rest was charged elsewhere"
        );
        let nothing = Usage::default();
        assert_eq!(nothing.since(&before), Figures::default(), "what is not known is not zero");
        assert_eq!(nothing.after(&before), before);
    }
}
