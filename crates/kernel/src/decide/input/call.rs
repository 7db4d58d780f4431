//! A model is called on a run's account: counted before it is called, and charged with what it used when it is over.
//!
//! Both change the account only. The caller of the model is not known here.

use crate::{
    decide::draft::Draft,
    model::{
        event::{Event, ModelCallEnded, ModelCallStarted},
        input::{ModelCall, ModelCalled, Refusal},
    },
    state::bounds,
};

/// Input: a model is to be called.
pub(crate) fn begin(mut draft: Draft<'_>, requested: ModelCall) -> Result<Draft<'_>, Refusal> {
    let ModelCall { call, attempt, model, provider } = requested;
    if draft.control.accounts.call(&call).is_some() {
        return Err(Refusal::CallBegun { call });
    }
    if let Some(attempt) = attempt.clone().filter(|attempt| !draft.control.is_live(attempt)) {
        return Err(Refusal::NotLive { attempt });
    }
    if draft.control.phase.cancelled_by().is_some() {
        return Err(Refusal::Cancelling);
    }
    if let Some(bound) = bounds::for_a_call(&draft.flow.limits, &draft.control, attempt.as_ref()) {
        return Err(Refusal::NoCallsLeft { bound: bound.reason() });
    }
    draft.emit(Event::ModelCallStarted(Box::new(ModelCallStarted { call, attempt, model, provider })))?;
    Ok(draft)
}

/// Input: a call is over.
pub(crate) fn end(mut draft: Draft<'_>, ended: ModelCalled) -> Result<Draft<'_>, Refusal> {
    let ModelCalled { call, outcome, tokens_in, tokens_out, cost, duration_ms, refused_until } = ended;
    let Some(attempt) = draft.control.accounts.call(&call).cloned() else {
        return Err(Refusal::NoCall { call });
    };
    let ended =
        ModelCallEnded { call, attempt, outcome, tokens_in, tokens_out, cost, duration_ms, refused_until };
    draft.emit(Event::ModelCallEnded(Box::new(ended)))?;
    Ok(draft)
}
