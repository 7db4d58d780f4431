//! The reason of a failed try, without secrets: a command may have read one elsewhere, and print it.

use crate::{
    attempts::secrets::{caller_of, known_secrets},
    model::protocol::CallerWire,
    query::load::{flow_folder, load_run},
};
use envoi_journal::Reader;
use envoi_kernel::{Flow, flow::SecretSource, ids::RunId};
use envoi_notify::Outcome;
use envoi_step::Secrets;

/// The secrets of a flow, as this client has them; `None` if one of them cannot be read, and so cannot be
/// masked.
pub(super) fn secrets_of(flow: &Flow, caller: &CallerWire) -> Option<Secrets> {
    let named = caller_of(flow, caller);
    let values: Vec<String> = known_secrets(&flow.secrets, &named).collect();
    let all = values.len() == flow.secrets.len();
    // The token of a target is among the client's variables, too.
    let variables = caller.secrets.iter().map(|(_, value)| value.clone());
    all.then(|| Secrets::new(&values.into_iter().chain(variables).collect::<Vec<_>>()))
}

/// The secrets of a run whose client is unknown to this engine, from the engine's own environment.
pub(super) fn secrets_here(
    reader: &Reader,
    run: &RunId,
    variable: fn(&str) -> Option<String>,
) -> Option<Secrets> {
    let run = load_run(reader, run).ok()?;
    let flow = run.flow();
    let variables = flow.secrets.iter().filter_map(|secret| match &secret.source {
        SecretSource::Env(name) => Some((name.clone(), variable(name)?)),
        SecretSource::File(_) => None,
    });
    let caller = CallerWire {
        secrets: variables.collect(),
        flow_dir: flow_folder(&run).to_owned(),
        ..CallerWire::default()
    };
    secrets_of(flow, &caller)
}

/// The outcome with its reason masked. If the secrets are not known, the output of the target is removed.
pub(super) fn masked(outcome: Outcome, secrets: Option<&Secrets>) -> Outcome {
    let mask = |error: String| match (secrets, error.split_once(": ")) {
        (Some(secrets), _) => secrets.mask_str(&error),
        (None, Some((how, _))) => {
            format!("{how} (a secret of the flow cannot be had here, so its output is not kept)")
        }
        (None, None) => error,
    };
    match outcome {
        Outcome::Delivered => Outcome::Delivered,
        Outcome::Failed { error, wait } => Outcome::Failed { error: mask(error), wait },
        Outcome::Refused { error } => Outcome::Refused { error: mask(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reply_of_a_target_is_masked_or_not_kept() {
        let secrets = Secrets::new(&["hunter2/x".to_owned()]);
        let said = || Outcome::failed("the command exited with 1: hunter2\\/x: no");
        let error = |outcome| match outcome {
            Outcome::Failed { error, .. } => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(error(masked(said(), Some(&secrets))), "the command exited with 1: ***: no");
        let cut = error(masked(said(), None));
        assert!(cut.starts_with("the command exited with 1 (") && !cut.contains("hunter2"), "{cut}");
        assert_eq!(error(masked(Outcome::failed("it was cut short"), None)), "it was cut short");
        assert_eq!(masked(Outcome::Delivered, None), Outcome::Delivered);
    }
}
