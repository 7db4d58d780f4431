//! Finds names in the steps of a flow that the configuration does not define.
//!
//! A flow is read without the configuration, because it may run with another one. These are therefore only warnings.
//! A step whose name is not defined fails when it runs.

use super::Config;
use envoi_contract::suggestion::nearest;
use envoi_kernel::flow::{AfterWait, Flow, OnThrottled, ProgramPlan, StepKind};
use envoi_preset::{May, Preset};

/// A sentence for each undefined model and account of the steps, for the flow and the flows that it names.
#[must_use]
pub fn missing(config: &Config, flow: &Flow) -> Vec<String> {
    let parts = flow.flows.values().map(|part| (&**part, format!(" of flow `{}`", part.id)));
    let mut found = Vec::new();
    for (part, of) in core::iter::once((flow, String::new())).chain(parts) {
        for step in &part.steps {
            let wrong = match &step.kind {
                StepKind::Agent(plan) if plan.by_bridge => {
                    let other = match &plan.on_throttled.then {
                        AfterWait::Use(other) => Some((&other.name, &other.model)),
                        AfterWait::Fail | AfterWait::Ask => None,
                    };
                    let own = Some((&plan.program, &plan.model));
                    own.into_iter()
                        .chain(other)
                        .filter_map(|(program, model)| of_bridge(config, program, &model.as_ref()?.0))
                        .collect()
                }
                StepKind::Agent(plan) => {
                    let other = other(&plan.on_throttled);
                    let own = Some((plan.program.as_str(), plan.account.as_str()));
                    own.into_iter()
                        .chain(other)
                        .filter_map(|(program, account)| {
                            of_account(config, program, account, May::of(&plan.may))
                        })
                        .collect()
                }
                StepKind::Model(plan) => {
                    let other = other(&plan.on_throttled).map(|(model, _)| model);
                    let own = Some(plan.model.as_str());
                    own.into_iter().chain(other).filter_map(|model| of_model(config, model)).collect()
                }
                StepKind::Run(_) | StepKind::Ask(_) | StepKind::Flow(_) | StepKind::A2a(_) => Vec::new(),
            };
            found.extend(wrong.into_iter().map(|wrong: String| format!("step `{}`{of}: {wrong}", step.id)));
        }
    }
    found
}

/// The account that is used when the step's account is limited: its program or model, and its name.
fn other(policy: &OnThrottled) -> Option<(&str, &str)> {
    match &policy.then {
        AfterWait::Use(other) => Some((&other.name, &other.account)),
        AfterWait::Fail | AfterWait::Ask => None,
    }
}

fn of_account(config: &Config, program: &str, account: &str, may: Option<May>) -> Option<String> {
    let name = ProgramPlan::name_of(account)?;
    match config.accounts.get(name) {
        None => {
            let known: Vec<&str> = config.accounts.keys().map(String::as_str).collect();
            Some(format!("`accounts` of the configuration has no `{name}`{}", near(name, &known)))
        }
        Some(account) if account.preset.name() != program => Some(format!(
            "account `{name}` is for `{}`, and the step uses `{program}`",
            account.preset.name()
        )),
        Some(account) => match may.zip(account.may) {
            Some((may, most)) if may > most => Some(format!(
                "account `{name}` is for at most `may: {}`, and the step says `may: {}`",
                most.word(),
                may.word()
            )),
            _ => None,
        },
    }
}

/// Checks that the model has the program's protocol. A program uses one protocol, and the bridge does not translate.
fn of_bridge(config: &Config, program: &str, model: &str) -> Option<String> {
    let Some(offer) = config.models.offer.get(model) else { return of_model(config, model) };
    let provider = config.models.providers.get(&offer.provider)?;
    let protocol = Preset::named(program)?.protocol()?;
    (provider.protocol != protocol).then(|| {
        format!(
            "model `{model}` is called in the protocol `{}`, and `{program}` calls models in `{}`",
            provider.protocol.word(),
            protocol.word()
        )
    })
}

fn of_model(config: &Config, model: &str) -> Option<String> {
    let known: Vec<&str> = config.models.offer.keys().map(String::as_str).collect();
    let is_there = config.models.offer.contains_key(model);
    (!is_there)
        .then(|| format!("`models.offer` of the configuration has no `{model}`{}", near(model, &known)))
}

fn near(name: &str, known: &[&str]) -> String {
    nearest(name, known, false).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, load};

    const CONFIG: &str = "accounts: { work: { use: claude }, look: { use: claude, may: read } }\nmodels:\n  providers: { lab: { url: 'http://127.0.0.1:1' }, own: { url: 'http://127.0.0.1:1', protocol: responses } }\n  offer: { small: { provider: lab }, told: { provider: own } }\n";

    fn missing_of(step: &str) -> Vec<String> {
        let flow = load("flow.yaml", &format!("flow: f\nsteps:\n  - {{ id: a, {step} }}\n")).unwrap().flow;
        missing(&config::load("config.yaml", CONFIG).unwrap(), &flow)
    }

    #[test]
    fn what_the_configuration_does_not_have_is_named_with_what_was_meant() {
        for (step, expected) in [
            ("agent: { use: claude, prompt: p }", &[][..]),
            ("agent: { use: claude, account: work, prompt: p }", &[]),
            ("agent: { use: claude/work, prompt: p }", &[]),
            ("agent: { use: claude/look, prompt: p, may: read }", &[]),
            (
                "agent: { use: claude/look, prompt: p, may: run }",
                &["step `a`: account `look` is for at most `may: read`, and the step says `may: run`"],
            ),
            ("model: { use: small, prompt: p }", &[]),
            ("run: x", &[]),
            (
                "agent: { use: claude, account: wrok, prompt: p }",
                &["step `a`: `accounts` of the configuration has no `wrok`; did you mean `work`?"],
            ),
            (
                "agent: { use: codex, account: work, prompt: p }",
                &["step `a`: account `work` is for `claude`, and the step uses `codex`"],
            ),
            (
                "agent: { use: claude, prompt: p }, on_throttled: { use: codex, account: spare }",
                &["step `a`: `accounts` of the configuration has no `spare`"],
            ),
            ("agent: { use: codex, bridge: true, model: told, prompt: p }", &[]),
            (
                "agent: { use: claude, bridge: true, model: small, prompt: p }, on_throttled: { use: codex, model: smal }",
                &[
                    "step `a`: model `small` is called in the protocol `chat`, and `claude` calls models in `messages`",
                    "step `a`: `models.offer` of the configuration has no `smal`; did you mean `small`?",
                ],
            ),
            (
                "model: { use: smal, prompt: p }, on_throttled: { use: big }",
                &[
                    "step `a`: `models.offer` of the configuration has no `smal`; did you mean `small`?",
                    "step `a`: `models.offer` of the configuration has no `big`",
                ],
            ),
        ] {
            assert_eq!(missing_of(step), expected, "{step}");
        }
    }
}
