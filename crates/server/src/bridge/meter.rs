//! One call of a model on a run's account: counted before it is made, charged when it is over.
//!
//! A call that nobody says the end of, because the client went away or the server is stopping, is ended as broken off, with what
//! is known by then. If not even that can be kept, the next engine ends it.

use super::{caller::Account, models::Chosen, usage::Usage};
use crate::{
    app::{App, blocking},
    call::random_seed,
    problem::Problem,
    runs,
};
use envoi_engine::protocol::Refused;
use envoi_kernel::{
    event::CallOutcome,
    ids::{CallId, RunId, uuid_v7_text},
    input::{ModelCall, ModelCalled},
};
use std::{sync::Arc, time::Instant};
use tokio::runtime::Handle;

/// See the module.
pub(crate) struct Meter {
    app: Arc<App>,
    chosen: Chosen,
    /// The run and the call; `None` if nobody pays, or once the end is told.
    open: Option<(RunId, CallId)>,
    began: Instant,
    usage: Option<Usage>,
}

/// Why a call is not to be made.
#[derive(Debug)]
pub(crate) enum Denied {
    /// The run, or the attempt, may use no more.
    Exhausted(String),
    /// The attempt is over.
    AttemptOver,
    /// The run is over.
    RunOver(String),
    /// Ours.
    Failed(Problem),
}

impl Meter {
    /// Counts the call; it is durable when this returns.
    pub(crate) async fn begin(app: &Arc<App>, account: Account, chosen: Chosen) -> Result<Self, Denied> {
        let (began, usage) = (Instant::now(), None);
        let mut meter = Self { app: Arc::clone(app), chosen, open: None, began, usage };
        let Some(run) = account.run else { return Ok(meter) };
        let call = call_id(app).map_err(Denied::Failed)?;
        let of_attempt = account.attempt.is_some();
        let asked = ModelCall {
            call: call.clone(),
            attempt: account.attempt,
            model: meter.chosen.model.clone(),
            provider: meter.chosen.offer.provider.clone(),
        };
        let (shared, of) = (Arc::clone(app), run.clone());
        let begun = move || Ok(shared.desk.model_call(&of, asked, || runs::caller(&shared, &of).ok()));
        let begun = blocking(begun).await.map_err(Denied::Failed)?;
        begun.map_err(|refused| denied(refused, of_attempt))?;
        (meter.open, meter.began) = (Some((run, call)), Instant::now());
        Ok(meter)
    }

    /// What the provider says of the call so far.
    pub(crate) fn used(&mut self, usage: Option<Usage>) {
        self.usage = usage.or(self.usage);
    }

    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    pub(crate) fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Charges the call; it is durable when this returns. What cannot be kept is told to whoever runs the server.
    pub(crate) async fn end(&mut self, outcome: CallOutcome) {
        if let Some(charge) = self.charge(outcome) {
            drop(
                blocking(move || {
                    charge();
                    Ok(())
                })
                .await,
            );
        }
    }

    fn charge(&mut self, outcome: CallOutcome) -> Option<impl FnOnce() + Send + 'static> {
        let (run, call) = self.open.take()?;
        let told = ModelCalled {
            call,
            outcome,
            tokens_in: self.usage.map(|usage| usage.tokens_in),
            tokens_out: self.usage.map(|usage| usage.tokens_out),
            cost: self.usage.and_then(|usage| self.chosen.offer.cost(usage)),
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        let app = Arc::clone(&self.app);
        Some(move || {
            if let Err(refused) = app.desk.model_called(&run, told, || runs::caller(&app, &run).ok()) {
                (app.settings.log)(&format!("a model call of run {run} is not charged: {}", refused.message));
            }
        })
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let (Some(charge), Ok(runtime)) = (self.charge(CallOutcome::BrokenOff), Handle::try_current()) {
            drop(runtime.spawn_blocking(charge));
        }
    }
}

fn call_id(app: &App) -> Result<CallId, Problem> {
    let text = format!("call_{}", uuid_v7_text(app.now(), &random_seed()?));
    CallId::new(text).map_err(Problem::internal)
}

fn denied(refused: Refused, of_attempt: bool) -> Denied {
    match refused.code.as_str() {
        "BUDGET_EXHAUSTED" => Denied::Exhausted(refused.message),
        "ATTEMPT_OVER" => Denied::AttemptOver,
        "RUN_OVER" | "CANCELLING" if of_attempt => Denied::AttemptOver,
        "RUN_OVER" | "CANCELLING" => Denied::RunOver(refused.message),
        _ => Denied::Failed(refused.into()),
    }
}
