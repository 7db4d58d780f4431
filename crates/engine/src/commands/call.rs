//! Calls of models on a run's account: counted before they are made, charged when they are over.
//!
//! Owns the way to a run that the loop does not hold: one that waits for a person, or is over. It does not know who calls
//! the model, and with what.

use super::handler::Commands;
use crate::model::{
    message::{EngineError, Message, Purpose},
    protocol::{CallerWire, Refused},
};
use envoi_contract::code::Code;
use envoi_kernel::{
    Input,
    ids::{AttemptId, RunId},
    input::{ModelCall, ModelCalled},
};

impl Commands {
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
        self.decide(run, Input::ModelCall(Box::new(call)), caller)
    }

    /// Charges a call that is over. A second time does no harm.
    ///
    /// # Errors
    /// The store or the machine failed, or the loop has ended: the next engine closes the call without what it used.
    pub fn model_called(
        &self,
        run: &RunId,
        called: ModelCalled,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        match self.decide(run, Input::ModelCalled(Box::new(called)), caller) {
            Err(refused) if refused.code == Code::CallOver => Ok(()),
            decided => decided,
        }
    }

    /// Whether an attempt is live by the journal.
    ///
    /// # Errors
    /// The run cannot be read, or the loop has ended.
    pub fn is_live(&self, run: &RunId, attempt: &AttemptId) -> Result<bool, Refused> {
        let (sender, receiver) = std::sync::mpsc::channel();
        // The requester may be gone by now.
        let reply = Box::new(move |live| {
            let _ = sender.send(live);
        });
        let stopping = || Refused::from(EngineError::Stopping { reason: "it is closing".to_owned() });
        let message = Message::IsLive { run: run.clone(), attempt: attempt.clone(), reply };
        self.mailbox.send(message).map_err(|_| stopping())?;
        match receiver.recv().map_err(|_| stopping())? {
            Some(live) => Ok(live),
            None => Ok(self.load(run)?.is_live(attempt)),
        }
    }

    /// `caller` is what commands of the run may see, called if the run has to be loaded.
    fn decide(
        &self,
        run: &RunId,
        input: Input,
        caller: impl FnOnce() -> Option<CallerWire>,
    ) -> Result<(), Refused> {
        let to_held = |reply| Message::Input { run: run.clone(), input: Box::new(input.clone()), reply };
        match self.exchange(to_held) {
            Err(EngineError::NotHeld { .. }) => {
                let missing = || Refused::failure(format!("run `{run}` cannot be read"));
                let caller = caller().ok_or_else(missing)?;
                self.adopt(run, &caller, Purpose::Decide.into(), |_| Ok(vec![input.clone()])).map(drop)
            }
            decided => decided.map_err(Refused::from),
        }
    }
}
