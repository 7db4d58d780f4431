//! Calls of models on a run's account: counted before they are made, charged when they are over.
//!
//! Owns the way to a run that the loop does not hold: one that waits for a person, or is over. Who calls the model, and what
//! is told to it, is not known here.

use super::handler::Desk;
use crate::model::{
    message::{Ask, EngineError, Message, Purpose},
    protocol::{CallerWire, Refused},
};
use envoi_contract::code::Code;
use envoi_kernel::{
    ids::{AttemptId, RunId},
    input::{ModelCall, ModelCalled},
};

impl Desk {
    /// Counts a call that is to be made; it is durable when this returns, and only then the model may be called.
    ///
    /// # Errors
    /// `BUDGET_EXHAUSTED`, `RUN_OVER` and the like: the call is not to be made.
    pub fn model_call(
        &self,
        run: &RunId,
        call: ModelCall,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        self.decide(run, Ask::ModelCall(Box::new(call)), caller)
    }

    /// Charges a call that is over. Saying it twice does no harm.
    ///
    /// # Errors
    /// The store or the machine failed, or the loop has ended: the next engine closes the call without what it used.
    pub fn model_called(
        &self,
        run: &RunId,
        told: ModelCalled,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        match self.decide(run, Ask::ModelCalled(Box::new(told)), caller) {
            Err(refused) if refused.code == Code::CallOver => Ok(()),
            decided => decided,
        }
    }

    /// Whether an attempt is to be running, as the journal says.
    ///
    /// # Errors
    /// The run cannot be read, or the loop has ended.
    pub fn is_live(&self, run: &RunId, attempt: &AttemptId) -> Result<bool, Refused> {
        let (tell, told) = std::sync::mpsc::channel();
        // Whoever asked may have gone away in the meantime.
        let reply = Box::new(move |live| tell.send(live).unwrap_or_default());
        let stopping = || Refused::from(EngineError::Stopping { reason: "it is closing".to_owned() });
        let message = Message::IsLive { run: run.clone(), attempt: attempt.clone(), reply };
        self.mailbox.send(message).map_err(|_| stopping())?;
        match told.recv().map_err(|_| stopping())? {
            Some(live) => Ok(live),
            None => Ok(self.load(run)?.is_live(attempt)),
        }
    }

    /// `caller` is what commands of the run may see, asked for if the run has to be looked up.
    fn decide(
        &self,
        run: &RunId,
        ask: Ask,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        let asked = ask.clone();
        match self.exchange(|reply| Message::Ask { run: run.clone(), ask: asked, reply }) {
            Err(EngineError::NotHeld { .. }) => {
                let missing = || Refused::failure(format!("run `{run}` cannot be read"));
                let caller = caller().ok_or_else(missing)?;
                self.adopt(run, &caller, Purpose::Decide.into(), |_| Ok(vec![ask.clone()])).map(drop)
            }
            decided => decided.map_err(Refused::from),
        }
    }
}
