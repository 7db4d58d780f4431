//! A `model` step: the request of its next attempt.

use crate::{
    decide::{draft::Draft, render::Values, throttle},
    model::{
        command::{Command, ModelCall},
        flow::{AfterWait, ModelPlan},
    },
    state::visit::OpenVisit,
};
use envoi_contract::{code::Code, json::Value, skill_report::SkillError};

/// The most files of one call.
const MAX_FILES: usize = 100;

/// See the module. `open` is the visit; `instead`: the other model of `on_throttled` goes on.
pub(crate) fn call(
    draft: &Draft<'_>,
    values: &Values<'_>,
    plan: &ModelPlan,
    open: Option<&OpenVisit>,
    instead: bool,
) -> Result<Command, SkillError> {
    let other = match &plan.on_throttled.then {
        AfterWait::Use(other) if instead => Some(other),
        _ => None,
    };
    let account = other.map_or_else(|| plan.account(), |other| other.account.clone());
    // Only what is wrong with an answer helps the model to give a better one.
    let about_the_answer = [Code::AgentSchema, Code::OutputInvalid];
    let failure = open
        .filter(|open| open.failures > 0)
        .and_then(|open| open.error.as_ref())
        .filter(|error| about_the_answer.iter().any(|code| error.is(*code)))
        .map(|error| format!("{}: {}", error.code, error.message));
    let mut files = Vec::new();
    for input in &plan.files {
        add(&values.input(input)?, values.run_base(), &mut files)?;
    }
    if files.len() > MAX_FILES {
        let message =
            format!("`files` names {} files, and a model is given at most {MAX_FILES}", files.len());
        return Err(SkillError::new(Code::ValueTooLarge, message));
    }
    let call = ModelCall {
        model: other.map_or(&plan.model, |other| &other.name).clone(),
        instead: other.is_some(),
        refusals: throttle::refusals(draft, &account),
        account,
        prompt: values.value(&plan.prompt)?,
        system: plan.system.as_ref().map(|system| values.value(system)).transpose()?,
        files,
        temperature: plan.temperature.clone(),
        max_tokens: plan.max_tokens,
        repair: plan.repair,
        failure,
    };
    Ok(Command::Model(Box::new(call)))
}

/// Adds the files that a value names: a path, a list of them, or the artifacts of a step. The paths of artifacts are relative to the
/// folder of the run.
fn add(value: &Value, run_base: &str, files: &mut Vec<String>) -> Result<(), SkillError> {
    let wrong = |value: &Value| {
        let message = format!(
            "`files` takes a path, a list of paths, or the artifacts of a step; this is `{}`",
            crate::model::size::shortened(value.compact(), 100)
        );
        SkillError::new(Code::ExpressionFailed, message)
    };
    match value {
        Value::String(path) if !path.is_empty() => files.push(path.clone()),
        Value::Array(items) => {
            for item in items {
                let path = item.as_str().filter(|path| !path.is_empty()).ok_or_else(|| wrong(item))?;
                files.push(path.to_owned());
            }
        }
        Value::Object(artifacts) => {
            for path in artifacts.values() {
                let path = path.as_str().ok_or_else(|| wrong(path))?;
                files.push(format!("{run_base}/{path}"));
            }
        }
        other => return Err(wrong(other)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_paths_lists_of_paths_or_artifacts() {
        let mut files = Vec::new();
        for text in [r#""notes.md""#, r#"["a.txt", "b.txt"]"#, r#"{"report": "flow/report.md"}"#, "[]", "{}"]
        {
            add(&Value::parse_str(text).unwrap(), "/runs/1", &mut files).unwrap();
        }
        assert_eq!(files, ["notes.md", "a.txt", "b.txt", "/runs/1/flow/report.md"]);
        for text in ["7", "null", r#""""#, r#"[["a"]]"#, r#"{"report": 1}"#] {
            let error = add(&Value::parse_str(text).unwrap(), "/runs/1", &mut files).unwrap_err();
            assert_eq!(error.code, "EXPRESSION_FAILED", "{text}");
        }
    }
}
