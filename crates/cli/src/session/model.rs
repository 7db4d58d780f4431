//! The attempt of a step that asks a model: this program as its command.

use crate::process::stderr;
use envoi_contract::json::Value;
use envoi_model::{Around, KEY_VARIABLE, Misfit, Order, SECRET_VARIABLES};
use envoi_step::Secrets;
use std::{env, fs, process::ExitCode};

/// The whole of the process. Its order stands in a file that the engine has written; secrets nowhere.
pub(crate) fn run_attempt() -> ExitCode {
    let place = env::var_os(envoi_model::ORDER_VARIABLE).unwrap_or_default();
    let order = fs::read(&place).map_err(|error| error.to_string());
    let order: Result<Order, _> =
        order.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
    match order {
        Ok(order) => {
            envoi_model::run(&order, env::var(KEY_VARIABLE).ok().as_deref(), &Surroundings::of(&order))
        }
        Err(error) => {
            stderr::line(format_args!(
                "`{}`: {error}; it is started for a step with `model`, never by hand",
                place.display()
            ));
            ExitCode::FAILURE
        }
    }
}

/// Finds the secrets that the engine has given to this process; none: everything is hidden.
struct Surroundings(Option<Secrets>);

/// What stands in place of what cannot be masked.
const HIDDEN: &str = "(left out: a secret cannot be had, so this cannot be masked)";

/// What does not fit, where only the masked data does.
const HIDDEN_MISFIT: &str = "what is wrong stands in a secret, which is not shown";

impl Surroundings {
    fn of(order: &Order) -> Self {
        let secrets = (0..order.secrets).map(|number| env::var(format!("{SECRET_VARIABLES}{number}")));
        let secrets = secrets.collect::<Result<Vec<String>, _>>().ok();
        Self(secrets.filter(|_| !order.hides).map(|secrets| Secrets::new(&secrets)))
    }
}

impl Around for Surroundings {
    fn mask_text(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| HIDDEN.to_owned(), |secrets| secrets.mask_str(text))
    }

    fn mask_value(&self, value: &Value) -> Value {
        self.0.as_ref().map_or(Value::Null, |secrets| secrets.mask_value(value))
    }

    fn check(&self, schema: &Value, data: &Value) -> Result<(), Misfit> {
        let Err(error) = envoi_flow::outputs::check(schema, data) else { return Ok(()) };
        // The words show pieces of the data, and half a secret is not found: so they are those about the masked data.
        let masked = self.mask_value(data);
        let words = match envoi_flow::outputs::check(schema, &masked) {
            _ if masked == *data => error.to_string(),
            Err(error) => error.to_string(),
            Ok(()) => HIDDEN_MISFIT.to_owned(),
        };
        Err(Misfit(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_masked_before_a_piece_of_it_is_shown_as_what_does_not_fit() {
        let secret = "hunter2-of-the-flow";
        let schema = Value::parse_str(r#"{"properties": {"a": {"type": "integer"}}}"#).unwrap();
        let around = Surroundings(Some(Secrets::new(&[secret.to_owned()])));
        for after in ["x".repeat(400), "x".repeat(170), String::new()] {
            let data = Value::parse_str(&format!(r#"{{"a": "{secret}{after}"}}"#)).unwrap();
            let Misfit(said) = around.check(&schema, &data).unwrap_err();
            for from in 0..secret.len() - 4 {
                let piece = secret.get(from..from + 5).unwrap();
                assert!(!said.contains(piece), "{piece}: {said}");
            }
        }
        let data = Value::parse_str(r#"{"a": "plain"}"#).unwrap();
        assert!(around.check(&schema, &data).unwrap_err().0.contains("plain"));
        let short = Value::parse_str(r#"{"properties": {"a": {"maxLength": 3}}}"#).unwrap();
        let data = Value::parse_str(&format!(r#"{{"a": "{secret}"}}"#)).unwrap();
        assert_eq!(around.check(&short, &data), Err(Misfit(HIDDEN_MISFIT.to_owned())));
    }
}
