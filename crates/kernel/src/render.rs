//! From a step's templates to the command of one attempt.
//!
//! Owns the values that expressions see and the limits of what may be handed to a command as an argument or a variable.

use crate::{
    control::{Control, StepResult},
    draft::Draft,
    event::{AttemptStarted, Command},
    expression::{self, EvaluationError, Scope},
    flow::{AskPlan, Budget, CommandPlan, Step, StepKind, Template},
    ids::VisitId,
    loops, verify,
};
use envoi_contract::{
    handoff::Status,
    json::{Object, Value},
    skill_report::SkillError,
};
use std::cell::OnceCell;

/// Longest value handed over as one argument or variable (Linux refuses single ones over 128 KiB).
const MAX_VALUE_BYTES: usize = 100 * 1024;

/// Longest question: a person reads it, and each list of questions carries it.
const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// The values that expressions see now.
pub(crate) fn scope(control: &Control) -> Scope {
    let mut root = Object::default();
    let Some(started) = control.started.as_deref() else { return Scope::new(&root) };
    let steps: Object = control
        .steps
        .iter()
        .filter_map(|(id, state)| {
            Some((id.to_string(), step_value(state.last.as_deref()?, &started.run_base)))
        })
        .collect();
    let run: Object = [
        ("id".to_owned(), Value::from(started.run.as_str())),
        ("flow".to_owned(), Value::from(started.flow.as_str())),
        ("workspace".to_owned(), Value::from(started.workspace.as_str())),
    ]
    .into_iter()
    .collect();
    root.insert("inputs".to_owned(), Value::Object(started.inputs.clone()));
    root.insert("steps".to_owned(), Value::Object(steps));
    root.insert("run".to_owned(), Value::Object(run));
    Scope::new(&root)
}

/// The values that expressions see now, made when the first expression needs them: they are as many as the run had steps,
/// and most commands have no expression.
struct Values<'a> {
    control: &'a Control,
    scope: OnceCell<Scope>,
}

impl<'a> Values<'a> {
    fn of(control: &'a Control) -> Self {
        Self { control, scope: OnceCell::new() }
    }

    fn scope(&self) -> &Scope {
        self.scope.get_or_init(|| scope(self.control))
    }

    fn render(&self, Template(template): &Template) -> Result<String, SkillError> {
        if expression::is_text(template) {
            return Ok(template.clone());
        }
        self.scope().render(template).map_err(|error| expression_failed(&error))
    }

    fn render_script(
        &self,
        Template(template): &Template,
    ) -> Result<(String, Vec<(String, String)>), SkillError> {
        if expression::is_text(template) {
            return Ok((template.clone(), Vec::new()));
        }
        self.scope().render_script(template).map_err(|error| expression_failed(&error))
    }
}

fn step_value(result: &StepResult, run_base: &str) -> Value {
    let mut members = Object::default();
    let status = match result.status {
        Status::Succeeded => "succeeded",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    };
    members.insert("status".to_owned(), Value::from(status));
    members.insert("summary".to_owned(), Value::from(result.summary.as_str()));
    members.insert("artifacts".to_owned(), result.artifacts.clone());
    if !is_reference(&result.data) {
        members.insert("data".to_owned(), result.data.clone());
    }
    if let Some(attempt) = &result.report {
        members
            .insert("report".to_owned(), Value::from(format!("{run_base}/attempts/{attempt}/report.json")));
    }
    Value::Object(members)
}

/// Data too large to stand in the journal is a reference, and cannot be used in an expression.
fn is_reference(data: &Value) -> bool {
    data.get("$artifact").is_some()
}

/// What the next attempt of `visit` is started with.
pub(crate) fn attempt(draft: &Draft<'_>, visit: &VisitId, step: &Step) -> Result<AttemptStarted, SkillError> {
    let values = Values::of(&draft.control);
    let loops = &draft.control.loops;
    let StepKind::Run(own) = &step.kind else {
        let message = format!("step `{}` asks a person and has no command", step.id);
        return Err(SkillError { code: "TOOL_CANNOT_START".to_owned(), message });
    };
    let open = draft.control.open.get(visit);
    let (verifies, plan) = open.and_then(|open| verify::next(open, step)).unzip();
    let budget = verify::budget_of_next(open, step);
    let mut env = environment(&values, draft.flow.env.iter().chain(&step.env))?;
    let command = command(&values, plan.unwrap_or(own), &mut env)?;
    Ok(AttemptStarted {
        attempt: visit.attempt(open.map_or(0, |open| open.attempts).saturating_add(1)),
        command,
        env,
        cwd: step.cwd.as_ref().map_or_else(|| Ok(".".to_owned()), |cwd| value(&values, cwd))?,
        timeout_ms: step.timeout_ms,
        iteration: loops::iteration(draft.flow, loops, &visit.step),
        handoff: draft.control.last_handoff.clone(),
        feedback: loops::feedback(draft.flow, loops, &visit.step).cloned(),
        sent_back_by: loops::sent_back_by(draft.flow, loops, &visit.step).cloned(),
        answer: draft.control.last_answer.clone(),
        boot_id: draft.slot.as_ref().map(|slot| slot.boot_id.clone()).unwrap_or_default(),
        reserved: Some(budget).filter(|budget| *budget != Budget::default()),
        verifies,
    })
}

/// The message of a question, filled in.
pub(crate) fn question(draft: &Draft<'_>, plan: &AskPlan) -> Result<String, SkillError> {
    let text = Values::of(&draft.control).render(&plan.message)?;
    if text.len() > MAX_QUESTION_BYTES {
        let message = format!(
            "the question has {} bytes, and at most {MAX_QUESTION_BYTES} can be put; name a file instead",
            text.len()
        );
        return Err(SkillError { code: "VALUE_TOO_LARGE".to_owned(), message });
    }
    Ok(text)
}

/// In a script, values travel as variables, which are added to `env`: a value is never read as shell code.
fn command(
    values: &Values<'_>,
    plan: &CommandPlan,
    env: &mut Vec<(String, String)>,
) -> Result<Command, SkillError> {
    match plan {
        CommandPlan::Exec(argv) => {
            let argv = argv.iter().map(|argument| value(values, argument)).collect::<Result<_, _>>()?;
            Ok(Command::Exec(argv))
        }
        CommandPlan::Shell(template) => {
            let (script, variables) = values.render_script(template)?;
            for (_, text) in &variables {
                check_size(text)?;
            }
            check_size(&script)?;
            env.extend(variables);
            Ok(Command::Shell(script))
        }
    }
}

fn environment<'a>(
    values: &Values<'_>,
    variables: impl Iterator<Item = &'a (String, Template)>,
) -> Result<Vec<(String, String)>, SkillError> {
    let mut rendered: Vec<(String, String)> = Vec::new();
    for (name, template) in variables {
        let text = value(values, template)?;
        rendered.retain(|(earlier, _)| earlier != name);
        rendered.push((name.clone(), text));
    }
    Ok(rendered)
}

fn value(values: &Values<'_>, template: &Template) -> Result<String, SkillError> {
    let text = values.render(template)?;
    check_size(&text)?;
    Ok(text)
}

fn expression_failed(error: &EvaluationError) -> SkillError {
    SkillError { code: "EXPRESSION_FAILED".to_owned(), message: error.to_string() }
}

fn check_size(text: &str) -> Result<(), SkillError> {
    let message = if text.len() > MAX_VALUE_BYTES {
        let bytes = text.len();
        format!(
            "a value of {bytes} bytes is over the {MAX_VALUE_BYTES} that a command can be given; pass the report's path"
        )
    } else if text.contains('\0') {
        "a value with a NUL character cannot be given to a command; pass the report's path".to_owned()
    } else {
        return Ok(());
    };
    Err(SkillError { code: "VALUE_TOO_LARGE".to_owned(), message })
}
