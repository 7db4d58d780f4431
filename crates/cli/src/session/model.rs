//! The attempt of a step that calls a model. This program is the command of the attempt.

use super::attempt_order::{Masked, given_secrets, read};
use envoi_contract::json::Value;
use envoi_model::{Around, KEY_VARIABLE, Misfit, Order, SECRET_VARIABLES};
use std::{env, process::ExitCode};

/// The main function of the process. The engine writes the order to a file. The secrets are in no file.
pub(crate) fn run_attempt() -> ExitCode {
    let Some(order) = read::<Order>(envoi_model::ORDER_VARIABLE, "model") else { return ExitCode::FAILURE };
    let secrets = given_secrets(SECRET_VARIABLES, order.secrets).filter(|_| !order.hides);
    envoi_model::run(&order, env::var(KEY_VARIABLE).ok().as_deref(), &Surroundings(Masked(secrets)))
}

/// Gives `envoi_model` what it lacks: the secrets, and the check of the data.
struct Surroundings(Masked);

/// The message if the unmasked data is valid except inside a secret.
const HIDDEN_MISFIT: &str = "the invalid part is inside a secret, which is not shown";

impl Around for Surroundings {
    fn mask_text(&self, text: &str) -> String {
        self.0.text(text)
    }

    fn mask_value(&self, value: &Value) -> Value {
        self.0.value(value)
    }

    fn check(&self, schema: &Value, data: &Value) -> Result<(), Misfit> {
        let Err(error) = envoi_flow::outputs::check(schema, data) else { return Ok(()) };
        // The message quotes the data, and a part of a secret would not be masked. So the message is about
        // the masked data.
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
    use envoi_step::Secrets;

    #[test]
    fn data_is_masked_before_a_piece_of_it_is_shown_as_what_does_not_fit() {
        let secret = "hunter2-of-the-flow";
        let schema = Value::parse_str(r#"{"properties": {"a": {"type": "integer"}}}"#).unwrap();
        let around = Surroundings(Masked(Some(Secrets::new(&[secret.to_owned()]))));
        for after in ["x".repeat(400), "x".repeat(170), String::new()] {
            let data = Value::parse_str(&format!(r#"{{"a": "{secret}{after}"}}"#)).unwrap();
            let Misfit(words) = around.check(&schema, &data).unwrap_err();
            for from in 0..secret.len() - 4 {
                let piece = secret.get(from..from + 5).unwrap();
                assert!(!words.contains(piece), "{piece}: {words}");
            }
        }
        let data = Value::parse_str(r#"{"a": "plain"}"#).unwrap();
        assert!(around.check(&schema, &data).unwrap_err().0.contains("plain"));
        let short = Value::parse_str(r#"{"properties": {"a": {"maxLength": 3}}}"#).unwrap();
        let data = Value::parse_str(&format!(r#"{{"a": "{secret}"}}"#)).unwrap();
        assert_eq!(around.check(&short, &data), Err(Misfit(HIDDEN_MISFIT.to_owned())));
    }
}
