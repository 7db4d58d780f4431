//! What an agent used, and what of it is new.
//!
//! A program reports some figures for its process and some for its whole session, over all its processes. Only the difference to
//! what was known of the session before is charged.

use envoi_kernel::ledger::Cost;

/// Sums over a whole session, as a program reported them last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Tokens that the model was given.
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave.
    pub tokens_out: Option<u64>,
    /// What it cost, by the program's own estimate.
    pub cost: Option<Cost>,
}

/// What one process reports. What is not known is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls of a model.
    pub llm_calls: Option<u64>,
    /// Of the process alone.
    pub process: Figures,
    /// Of the whole session.
    pub session: Figures,
    /// What the program says that this process has added to the cost of the session.
    pub added_cost: Option<Cost>,
}

impl Usage {
    /// What this process used, if the session had come to `before` when it began. A sum that is smaller than before belongs to
    /// a session that began anew, and counts whole.
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

    /// Of a session that begins with what another one had come to: what that one has cost before, and since, is in the sums, and was
    /// charged there.
    #[must_use]
    pub fn of_fork(self) -> Self {
        let cost = self.process.cost.or(self.added_cost);
        Self { process: Figures { cost, ..self.process }, ..self }
    }

    /// The session's sums after this process; where it reports none, those from before.
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
