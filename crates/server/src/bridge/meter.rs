//! A model call on a run's account: counted before it is made, charged when it has ended.
//!
//! A call that does not finish, because its client disconnects or the server stops, ends as broken off, with
//! the usage known so far. If even that cannot be stored, the next engine ends it.

use super::caller::Account;
use crate::{
    auth::random,
    commands::submit,
    http::{problem::Problem, work::blocking},
    limits::concurrency_limit::Permit,
    models::{
        catalog::{ChosenModel, Offer},
        usage::Usage,
    },
    state::app::App,
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_engine::{
    protocol::Refused,
    trace::{Of, Trace, Traceparent, begun},
};
use envoi_kernel::{
    event::CallOutcome,
    ids::{CallId, RunId},
    input::{ModelCall, ModelCalled},
    ledger::Cost,
};
use std::{sync::Arc, time::Instant};
use tokio::runtime::Handle;

/// The meter of one call.
pub(crate) struct Meter {
    app: Arc<App>,
    chosen: ChosenModel,
    /// The run and the call; `None` if no run pays, or once the end is recorded.
    open: Option<(RunId, CallId)>,
    /// The trace of the run, and the span of the call in it.
    trace: Option<Traceparent>,
    began: Instant,
    usage: Option<Usage>,
    /// When the limit ends for which the provider's account refused the call.
    refused_until: Option<Timestamp>,
    /// Number of events of a streamed answer with text. Each is at least one token.
    pieces: u64,
    /// Permission for one of the concurrent calls.
    _permit: Permit,
}

/// Why a call is not allowed.
#[derive(Debug)]
pub(crate) enum Denied {
    /// The run, or the attempt, has used up its budget.
    Exhausted(String),
    /// The attempt has ended.
    AttemptOver,
    /// The run has ended.
    RunOver(String),
    /// A failure of the server.
    Failed(Problem),
}

impl Meter {
    /// Counts the call. It is durable when this returns.
    pub(crate) async fn begin(
        app: &Arc<App>,
        account: Account,
        chosen: ChosenModel,
        permit: Permit,
    ) -> Result<Self, Denied> {
        let mut meter = Self {
            app: Arc::clone(app),
            chosen,
            open: None,
            trace: None,
            began: Instant::now(),
            usage: None,
            refused_until: None,
            pieces: 0,
            _permit: permit,
        };
        let Some(run) = account.run else { return Ok(meter) };
        let call = call_id(app).map_err(Denied::Failed)?;
        let of_attempt = account.attempt.is_some();
        let requested = ModelCall {
            call: call.clone(),
            attempt: account.attempt,
            model: meter.chosen.model.clone(),
            provider: meter.chosen.offer.provider.clone(),
        };
        let shared = Arc::clone(app);
        let of = run.clone();
        // From here on the call is open, even if the client has disconnected: then the meter is dropped on
        // this thread.
        let begin = move || {
            Ok(shared.desk.model_call(&of, requested, || submit::caller_of_run(&shared, &of).ok()).map(
                |_| {
                    meter.trace = traced(&shared, &run, &call);
                    meter.open = Some((run, call));
                    meter.began = Instant::now();
                    meter
                },
            ))
        };
        let begun = blocking(begin).await.map_err(Denied::Failed)?;
        begun.map_err(|refused| denied(refused, of_attempt))
    }

    /// Adds the usage that the provider has reported.
    pub(crate) fn used(&mut self, usage: Option<Usage>) {
        self.usage = match (self.usage, usage) {
            (Some(so_far), Some(later)) => Some(so_far.and(later)),
            (so_far, later) => later.or(so_far),
        };
    }

    /// Records that a limit of the provider's account refused the call, and when the limit ends, if that is
    /// stated.
    pub(crate) fn refused(&mut self, until: Option<Timestamp>) {
        self.refused_until = until;
    }

    /// Counts an event of a streamed answer with text.
    pub(crate) fn came(&mut self) {
        self.pieces = self.pieces.saturating_add(1);
    }

    /// The trace of the run that pays, for the provider.
    pub(crate) fn trace(&self) -> Option<Traceparent> {
        self.trace
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether the journal has a call without an end.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn chosen(&self) -> &ChosenModel {
        &self.chosen
    }

    /// Charges the call. It is durable when this returns. If it cannot be stored, that is logged.
    pub(crate) async fn end(&mut self, outcome: CallOutcome) {
        if let Some(charge) = self.charge(outcome) {
            let charged = blocking(move || {
                charge();
                Ok(())
            });
            if let Err(problem) = charged.await {
                self.app.note(&problem);
            }
        }
    }

    /// Ends a call that was not sent to a provider: its cost is known to be zero.
    pub(crate) async fn end_unasked(&mut self) {
        self.used(Some(Usage::default()));
        self.end(CallOutcome::Failed).await;
    }

    fn charge(&mut self, outcome: CallOutcome) -> Option<impl FnOnce() + Send + 'static> {
        let (run, call) = self.open.take()?;
        let Charge { tokens_in, tokens_out, cost } = Charge::of(self.usage, self.pieces, &self.chosen.offer);
        let called = ModelCalled {
            call,
            outcome,
            tokens_in,
            tokens_out,
            cost,
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            refused_until: self.refused_until,
        };
        let app = Arc::clone(&self.app);
        Some(move || {
            if let Err(refused) =
                app.desk.model_called(&run, called, || submit::caller_of_run(&app, &run).ok())
            {
                (app.settings.log)(&format!("a model call of run {run} is not charged: {}", refused.message));
            }
        })
    }
}

/// The amounts that a call is charged.
#[derive(Debug, PartialEq, Eq)]
struct Charge {
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    cost: Option<Cost>,
}

impl Charge {
    /// From the usage that the provider has reported. Without it, from the minimum for the streamed answer:
    /// one token for each event. The input stays unknown then, because the number of bytes does not give the
    /// number of tokens.
    fn of(usage: Option<Usage>, pieces: u64, offer: &Offer) -> Self {
        let least = (pieces > 0).then_some(Usage { tokens_out: pieces, ..Usage::default() });
        let counted = usage.or(least);
        Self {
            tokens_in: usage.map(|usage| usage.tokens_in),
            tokens_out: counted.map(|usage| usage.tokens_out),
            cost: counted.and_then(|usage| offer.cost(usage)),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let (Some(charge), Ok(runtime)) = (self.charge(CallOutcome::BrokenOff), Handle::try_current()) {
            // It runs in the background; a failure is logged there.
            runtime.spawn_blocking(charge);
        }
    }
}

/// Without a trace the call is made anyway.
fn traced(app: &App, run: &RunId, call: &CallId) -> Option<Traceparent> {
    let first = app.read(|reader| reader.records(run, 0, Some(1))).ok()?;
    Some(Trace::of(begun(&first)?).traceparent(Of::Call(call.as_str())))
}

fn call_id(app: &App) -> Result<CallId, Problem> {
    let text = random::id("call_", app.now())?;
    CallId::new(text).map_err(Problem::internal)
}

fn denied(refused: Refused, of_attempt: bool) -> Denied {
    match refused.code {
        Code::BudgetExhausted => Denied::Exhausted(refused.message),
        Code::AttemptOver => Denied::AttemptOver,
        Code::RunOver | Code::Cancelling if of_attempt => Denied::AttemptOver,
        Code::RunOver | Code::Cancelling => Denied::RunOver(refused.message),
        _ => Denied::Failed(refused.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_kernel::ledger::TokenPrice;

    #[test]
    fn a_stream_without_usage_is_charged_with_its_minimum() {
        let [given, gotten] = ["1", "2"].map(|price| Cost::parse(price).unwrap());
        let price = Some(TokenPrice { given, cache_read: given, cache_write: given, gotten });
        let offer = |price| Offer { provider: String::new(), name: String::new(), price };
        let reported = Some(Usage { tokens_in: 5, tokens_out: 10, ..Usage::default() });
        for (usage, pieces, expected) in [
            (reported, 3, (Some(5), Some(10), Some("0.000025"))),
            (None, 3, (None, Some(3), Some("0.000006"))),
            (None, 0, (None, None, None)),
        ] {
            let (tokens_in, tokens_out, cost) = expected;
            let cost = cost.map(|cost| Cost::parse(cost).unwrap());
            let expected = Charge { tokens_in, tokens_out, cost };
            assert_eq!(Charge::of(usage, pieces, &offer(price)), expected, "{usage:?} {pieces}");
        }
        assert_eq!(Charge::of(reported, 3, &offer(None)).cost, None);
    }
}
