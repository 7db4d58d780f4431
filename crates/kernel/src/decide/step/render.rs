//! From a step's templates to the command of one attempt.
//!
//! Owns the values that expressions see and the limits of what may be handed to a command as an argument or a variable.

use crate::state::visit;
use crate::{
    decide::{
        draft::{At, Draft},
        model_call, program, set_back, subflow,
    },
    model::{
        command::{Call, Command},
        event::AttemptStarted,
        expression::{self, EvaluationError, Scope, Spent},
        flow::{
            AgentPlan, AskPlan, CommandPlan, Expression, Flow, InnerInput, InnerPlan, ScriptValues, StepKind,
            Template,
        },
        ids::{AttemptId, VisitId},
        ledger::Budget,
        path,
        size::{MAX_COMMAND_BYTES, MAX_ITEMS_BYTES, MAX_QUESTION_BYTES, MAX_VALUE_BYTES},
    },
    state::{control::Control, for_each::MAX_ITEMS, loops, step_result::StepResult, visit::OpenVisit},
};
use envoi_contract::code::Code;
use envoi_contract::{
    handoff::Status,
    json::{Object, Value},
    skill_report::SkillError,
};
use std::cell::OnceCell;

/// The values that expressions see in the flow of `scope`.
fn members(control: &Control, scope: &str) -> Object {
    let mut root = Object::default();
    let Some(started) = control.phase.started() else { return root };
    let flow_state = control.flow_state(scope);
    let steps: Object = flow_state
        .steps
        .iter()
        .filter_map(|(id, state)| {
            Some((id.to_string(), step_value(state.last.as_deref()?, &started.run_base)))
        })
        .collect();
    // A step that was given up before it began counts as skipped.
    let passed_by = flow_state.passed_by.iter().map(|id| (id.to_string(), skipped()));
    let steps: Object = steps.into_iter().chain(passed_by).collect();
    let flow = flow_state.flow.as_ref().unwrap_or(&started.flow);
    let run: Object = [
        ("id".to_owned(), Value::from(started.run.as_str())),
        ("flow".to_owned(), Value::from(flow.as_str())),
        ("workspace".to_owned(), Value::from(started.workspace.as_str())),
        ("user_id".to_owned(), Value::from(started.user_id())),
        ("session_id".to_owned(), Value::from(started.session_id())),
        ("metadata".to_owned(), Value::Object(started.requester.metadata.clone())),
        ("raw_input".to_owned(), Value::from(started.raw_input())),
    ]
    .into_iter()
    .collect();
    root.insert("inputs".to_owned(), Value::Object(flow_state.inputs.clone()));
    root.insert("steps".to_owned(), Value::Object(steps));
    root.insert("run".to_owned(), Value::Object(run));
    root.insert("env".to_owned(), Value::Object(started.env.clone()));
    if let Some(goals) = control.goals.as_ref().filter(|_| scope.is_empty()) {
        root.insert("goals".to_owned(), goals.value());
    }
    root
}

/// Whether the `if` of a step holds; its status functions return `after_failure`.
pub(crate) fn holds(
    draft: &Draft<'_>,
    at: &At<'_>,
    condition: &Expression,
    after_failure: bool,
) -> Result<bool, SkillError> {
    let values = members(&draft.control, &at.scope);
    let scope = Scope::paid_from(&draft.spent, &values).after_failure(after_failure);
    scope.holds(&condition.0).map_err(|error| expression_failed(&error))
}

/// The value of an expression of one visit.
pub(crate) fn evaluate(
    draft: &Draft<'_>,
    visit: &VisitId,
    expression: &Expression,
) -> Result<Value, SkillError> {
    Values::of(draft, visit).evaluate(expression)
}

/// The list of a `for_each`.
pub(crate) fn items(draft: &Draft<'_>, visit: &VisitId, list: &Expression) -> Result<Vec<Value>, SkillError> {
    let failed = |message: String| SkillError::new(Code::ForEachInvalid, message);
    match Values::of(draft, visit).evaluate(list)? {
        Value::Array(items) if items.len() <= MAX_ITEMS => {
            let bytes = items.iter().fold(0_usize, |sum, item| sum.saturating_add(item.compact().len()));
            if bytes > MAX_ITEMS_BYTES {
                let message = format!(
                    "the values of `for_each` have {bytes} bytes together, and at most {MAX_ITEMS_BYTES} can be done; name files instead"
                );
                return Err(SkillError::new(Code::ValueTooLarge, message));
            }
            Ok(items)
        }
        Value::Array(items) => {
            Err(failed(format!("the list has {} items, and at most {MAX_ITEMS} can be done", items.len())))
        }
        other => {
            let text: String = other.compact().chars().take(80).collect();
            Err(failed(format!("`for_each` is no list: {text}")))
        }
    }
}

/// The inputs of the flow that the step of `visit` runs.
pub(crate) fn inputs(
    draft: &Draft<'_>,
    visit: &VisitId,
    plan: &InnerPlan,
    flow: &Flow,
) -> Result<Object, SkillError> {
    let values = Values::of(draft, visit);
    let mut inputs = subflow::defaults(flow);
    for (name, input) in &plan.inputs {
        inputs.insert(name.clone(), values.input(input)?);
    }
    (flow.input_check.0)(flow, &inputs)
        .map_err(|misfit| SkillError::new(Code::InputInvalid, misfit.to_string()))?;
    Ok(inputs)
}

/// The outputs of the flow of `scope`, which is complete, for its caller.
pub(crate) fn outputs(
    draft: &Draft<'_>,
    scope: &str,
    outputs: &[(String, Expression)],
) -> Result<Value, SkillError> {
    let values = Scope::paid_from(&draft.spent, &members(&draft.control, scope));
    let value = |(name, expression): &(String, Expression)| {
        let value = values.evaluate(&expression.0).map_err(|error| expression_failed(&error))?;
        Ok((name.clone(), value))
    };
    Ok(Value::Object(outputs.iter().map(value).collect::<Result<Object, SkillError>>()?))
}

/// The values that the expressions of one visit see, made when the first one needs them: they are as many as the run had
/// steps, and most commands have no expression. All these expressions together are bounded.
pub(crate) struct Values<'a> {
    control: &'a Control,
    visit: &'a VisitId,
    spent: &'a Spent,
    scope: OnceCell<Scope>,
}

impl<'a> Values<'a> {
    fn of(draft: &'a Draft<'_>, visit: &'a VisitId) -> Self {
        Self { control: &draft.control, visit, spent: &draft.spent, scope: OnceCell::new() }
    }

    /// The folder of the run.
    pub(crate) fn run_base(&self) -> &'a str {
        self.control.phase.started().map_or("", |started| started.run_base.as_str())
    }

    /// The value that the visit is for, if it is an item.
    fn item(&self) -> Option<(u64, &'a Value)> {
        let item = self.visit.item()?;
        let whole = self.control.open.get(&self.visit.whole())?;
        Some((item, whole.for_each.as_ref()?.items.get(usize::try_from(item).ok()?)?))
    }

    fn evaluate(&self, Expression(source): &Expression) -> Result<Value, SkillError> {
        self.scope().evaluate(source).map_err(|error| expression_failed(&error))
    }

    fn scope(&self) -> &Scope {
        self.scope.get_or_init(|| {
            let mut root = members(self.control, self.visit.flow_scope());
            if let Some((index, item)) = self.item() {
                root.insert("item".to_owned(), item.clone());
                root.insert("index".to_owned(), Value::from(index));
            }
            Scope::paid_from(self.spent, &root)
        })
    }

    pub(crate) fn input(&self, input: &InnerInput) -> Result<Value, SkillError> {
        Ok(match input {
            InnerInput::Value(value) => value.clone(),
            InnerInput::Expression(expression) => self.evaluate(expression)?,
            InnerInput::Template(template) => Value::from(self.render(template)?),
        })
    }

    fn render(&self, Template(template): &Template) -> Result<String, SkillError> {
        if expression::is_text(template) {
            return Ok(template.clone());
        }
        self.scope().render(template).map_err(|error| expression_failed(&error))
    }

    /// A template, filled in, that is small enough to be handed over.
    pub(crate) fn value(&self, template: &Template) -> Result<String, SkillError> {
        value(self, template)
    }

    fn render_script(
        &self,
        Template(template): &Template,
        read: Option<ScriptValues>,
    ) -> Result<(String, Vec<(String, String)>), SkillError> {
        if expression::is_text(template) {
            return Ok((template.clone(), Vec::new()));
        }
        let Some(read) = read else {
            let message = "nothing can be filled into a script of this program; give it a variable of `env`";
            return Err(SkillError::new(Code::ExpressionFailed, message));
        };
        let rendered = self.scope().render_script(template, |name| read.reference(name));
        rendered.map_err(|error| expression_failed(&error))
    }
}

fn skipped() -> Value {
    Value::Object(Object::from([
        ("status", Value::from("skipped")),
        ("summary", Value::from("")),
        ("text", Value::from("")),
        ("artifacts", Value::Object(Object::default())),
        ("data", Value::Null),
    ]))
}

fn step_value(result: &StepResult, run_base: &str) -> Value {
    let mut members = Object::default();
    let status = match result.status {
        Status::Succeeded => "succeeded",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    };
    members.insert("status".to_owned(), Value::from(status));
    if result.left_out {
        return Value::Object(members);
    }
    members.insert("summary".to_owned(), Value::from(result.summary.as_str()));
    if result.is_text_whole() {
        members.insert("text".to_owned(), Value::from(result.known_text()));
    }
    // If a manifest has them, the scope reports that when an expression reads them. Data too large for the journal is a
    // reference: the scope reports that, too.
    members.insert("artifacts".to_owned(), result.artifacts.clone());
    members.insert("data".to_owned(), result.data.clone());
    if let Some(attempt) = &result.report {
        members
            .insert("report".to_owned(), Value::from(format!("{run_base}/attempts/{attempt}/report.json")));
    }
    Value::Object(members)
}

/// The start of the next attempt of `visit`; `other`: by the agent program that goes on in place of its own.
pub(crate) fn attempt(
    draft: &Draft<'_>,
    visit: &VisitId,
    at: &At<'_>,
    other: bool,
) -> Result<AttemptStarted, SkillError> {
    let values = Values::of(draft, visit);
    let step = at.step;
    let flow_state = draft.flow_state(at);
    let loops = &flow_state.loops;
    let open = draft.control.open.get(visit);
    let (verifies, plan) = open.and_then(|open| visit::next(open, step)).unzip();
    let budget = visit::budget_of_next(open, step);
    let item = values.item().map(|(index, item)| variables_of(index, item)).unwrap_or_default();
    item.iter().try_for_each(|(_, text)| check_size(text))?;
    let mut env = environment(&values, draft.flow.env.iter().chain(inherited(draft, at)).chain(&step.env))?;
    env.extend(item);
    let command = match (plan, &step.kind) {
        (Some(plan), _) | (None, StepKind::Run(plan)) => command(&values, plan, &mut env)?,
        (None, StepKind::A2a(plan)) => call(&values, plan, open)?,
        (None, StepKind::Agent(plan)) => program::call(draft, &values, plan, at, visit, other)?,
        (None, StepKind::Model(plan)) => model_call::call(draft, &values, plan, open, other)?,
        (None, StepKind::Ask(_) | StepKind::Flow(_)) => {
            let message = format!("step `{}` has no command", step.id);
            return Err(SkillError::new(Code::ToolCannotStart, message));
        }
    };
    check_command(&command, &env)?;
    let set_back = if verifies.is_none() { set_back::of_next(draft, step, open)? } else { None };
    let passed_on = open.and_then(|open| open.agent_session.answer());
    Ok(AttemptStarted {
        attempt: visit.attempt(open.map_or(0, |open| open.attempts).saturating_add(1)),
        command,
        env,
        cwd: step.cwd.as_ref().map_or_else(|| Ok(".".to_owned()), |cwd| folder(&values, cwd))?,
        timeout_ms: step.timeout_ms,
        iteration: loops::iteration(at.flow, loops, &visit.step),
        handoff: last_handoff(draft, at),
        feedback: loops::feedback(at.flow, loops, &visit.step).or_else(|| failed_before(open)).cloned(),
        sent_back_by: loops::sent_back_by(at.flow, loops, &visit.step).cloned(),
        answer: passed_on.or(draft.control.last_answer.as_ref()).cloned(),
        boot_id: draft.slot.as_ref().map(|slot| slot.boot_id.clone()).unwrap_or_default(),
        reserved: Some(budget).filter(|budget| *budget != Budget::default()),
        verifies,
        set_back,
        tree: (at.step.isolate && at.item.is_some()).then(|| visit.clone()),
    })
}

/// The failed attempt that the next one tries again. Its output is the feedback where there is none of a critic.
fn failed_before(open: Option<&OpenVisit>) -> Option<&AttemptId> {
    let open = open.filter(|open| open.failures > 0 && open.doubt.is_none())?;
    open.plan.as_ref().map(|plan| &plan.attempt)
}

/// The environment of the step's flow, if that is not the run's own.
fn inherited<'a>(draft: &Draft<'a>, at: &At<'a>) -> &'a [(String, Template)] {
    if core::ptr::eq(draft.flow, at.flow) { &[] } else { &at.flow.env }
}

/// The item as a command finds it: text as it is, anything else as compact JSON.
fn variables_of(index: u64, item: &Value) -> Vec<(String, String)> {
    let text = item.as_str().map_or_else(|| item.compact(), str::to_owned);
    vec![("ENVOI_ITEM".to_owned(), text), ("ENVOI_INDEX".to_owned(), index.to_string())]
}

/// The last hand-off that a step goes on from: in a graph, of what it needs. The first steps of an inner flow go on from what
/// the step that runs it goes on from.
fn last_handoff(draft: &Draft<'_>, at: &At<'_>) -> Option<VisitId> {
    let flow_state = draft.flow_state(at);
    let last = if at.flow.graph {
        flow_state.last_of(at.flow, &at.step.needs)
    } else {
        flow_state.last_handoff.clone()
    };
    let from_the_caller = || {
        let caller = flow_state.caller.as_ref().filter(|_| at.step.needs.is_empty())?;
        last_handoff(draft, &draft.at(caller).ok()?)
    };
    last.or_else(from_the_caller)
}

/// The message of a question, filled in.
pub(crate) fn question(draft: &Draft<'_>, visit: &VisitId, plan: &AskPlan) -> Result<String, SkillError> {
    let text = Values::of(draft, visit).render(&plan.message)?;
    if text.len() > MAX_QUESTION_BYTES {
        let message = format!(
            "the question has {} bytes, and at most {MAX_QUESTION_BYTES} can be put; name a file instead",
            text.len()
        );
        return Err(SkillError::new(Code::ValueTooLarge, message));
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
            Ok(Command::Shell(script(values, template, Some(ScriptValues::Shell), env)?))
        }
        CommandPlan::Script(plan) => {
            let script = script(values, &plan.script, plan.values, env)?;
            Ok(Command::Exec(plan.interpreter.iter().cloned().chain([script]).collect()))
        }
    }
}

fn script(
    values: &Values<'_>,
    template: &Template,
    read: Option<ScriptValues>,
    env: &mut Vec<(String, String)>,
) -> Result<String, SkillError> {
    let (script, variables) = values.render_script(template, read)?;
    for (_, text) in &variables {
        check_size(text)?;
    }
    check_size(&script)?;
    env.extend(variables);
    Ok(script)
}

/// The message to another agent. It goes through a file, but is in the journal.
fn call(values: &Values<'_>, plan: &AgentPlan, open: Option<&OpenVisit>) -> Result<Command, SkillError> {
    let mut data = Object::default();
    for (name, input) in &plan.data {
        data.insert(name.clone(), values.input(input)?);
    }
    let data = (!plan.data.is_empty()).then_some(Value::Object(data));
    if let Some(data) = &data {
        check_size(&data.compact())?;
    }
    let url = value(values, &plan.url)?;
    let message = value(values, &plan.message)?;
    let tenant = plan.tenant.as_ref().map(|tenant| value(values, tenant)).transpose()?;
    let interface = plan.interface.as_ref().map(|interface| value(values, interface)).transpose()?;
    let session = open.map(|open| open.agent_session.clone()).unwrap_or_default();
    let call = Call { url, interface, message, data, tenant, token: plan.token.clone(), ..session.call() };
    Ok(Command::A2a(Box::new(call)))
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

/// The folder of a step. The result of an expression obeys the same rule as a folder in the flow file.
fn folder(values: &Values<'_>, template: &Template) -> Result<String, SkillError> {
    let text = value(values, template)?;
    match path::outside(&text) {
        None => Ok(text),
        Some(why) => Err(SkillError::new(Code::ToolCannotStart, format!("`cwd` is `{text}`; it {why}"))),
    }
}

fn expression_failed(error: &EvaluationError) -> SkillError {
    let code = if error.too_large { Code::ValueTooLarge } else { Code::ExpressionFailed };
    SkillError::new(code, error.to_string())
}

/// Each value is small enough; so are all of them together.
fn check_command(command: &Command, env: &[(String, String)]) -> Result<(), SkillError> {
    let arguments = match command {
        Command::Exec(argv) => argv.iter().map(String::len).fold(0, usize::saturating_add),
        Command::Shell(script) => script.len(),
        // The prompts go through files.
        Command::A2a(_) | Command::Model(_) | Command::Merge(_) => 0,
        Command::Agent(call) => call.args.iter().map(String::len).fold(0, usize::saturating_add),
    };
    let variables = env.iter().map(|(name, value)| name.len().saturating_add(value.len()));
    let bytes = variables.fold(arguments, usize::saturating_add);
    if bytes <= MAX_COMMAND_BYTES {
        return Ok(());
    }
    let message = format!(
        "the arguments and variables have {bytes} bytes together, over the {MAX_COMMAND_BYTES} that a command can be given; pass files"
    );
    Err(SkillError::new(Code::ValueTooLarge, message))
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
    Err(SkillError::new(Code::ValueTooLarge, message))
}
