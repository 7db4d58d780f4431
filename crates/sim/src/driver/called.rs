//! Commands call models through the engine: it is counted, then the model is called, then it is charged.

use super::{Driver, Happening};
use crate::{
    instance::{Errand, Instance, Key},
    violation::Violation,
};
use envoi_engine::{Adopt, Caller, Message, Purpose};
use envoi_kernel::{Input, ids::CallId, input::ModelCall};
use std::sync::Arc;

impl Driver<'_> {
    /// The possible next events of model calls.
    pub(super) fn model_calls(&self, instance: &Instance) -> Vec<Happening> {
        let answers = self.models.made().cloned().map(Happening::ModelAnswers);
        let running = self.outside.running();
        let asks = running.into_iter().filter(|key| {
            let calls = self.plan.run(&key.0).is_some_and(|planned| planned.calls_models);
            calls && instance.ensured.contains_key(key) && self.models.wants(self.plan.seed, key)
        });
        answers.chain(asks.map(Happening::AskModel)).collect()
    }

    pub(super) fn ask_model(&mut self, key: Key) -> Result<(), Violation> {
        let Some(call) = self.models.ask(&key) else { return Ok(()) };
        let Some(instance) = &self.engine else { return Ok(()) };
        let (run, attempt) = key;
        let reply = instance.reply(&run, Errand::ModelCall(call.clone()));
        let line = format!("{run}: {attempt} asks for a model: {call}");
        let request =
            ModelCall { call, attempt: Some(attempt), model: "m".to_owned(), provider: "p".to_owned() };
        let input = Input::ModelCall(Box::new(request));
        self.handle(line, Message::Input { run, input: Box::new(input), reply })
    }

    pub(super) fn model_answers(&mut self, call: &CallId) -> Result<(), Violation> {
        let Some((run, ended)) = self.models.over(call, &mut self.dice) else { return Ok(()) };
        let Some(instance) = &self.engine else { return Ok(()) };
        let reply = instance.reply(&run, Errand::ModelCalled(call.clone()));
        let line = format!("{run}: {call} is over ({:?})", ended.outcome);
        let input = Input::ModelCalled(Box::new(ended));
        if instance.engine.run(&run).is_some() {
            return self.handle(line, Message::Input { run, input: Box::new(input), reply });
        }
        // A run that is over is looked up, as the engine's commands do.
        let loaded = self.load(&run)?;
        let adopt = Adopt {
            corrected: None,
            run: loaded,
            inputs: vec![input],
            purpose: Purpose::Decide,
            again: None,
            is_inside: true,
            request: None,
            tail_bytes: 0,
            caller: Arc::new(Caller::default()),
            reply,
        };
        self.handle(line, Message::Adopt(Box::new(adopt)))
    }
}
