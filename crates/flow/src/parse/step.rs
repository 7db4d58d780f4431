//! A step of a flow file.
//!
//! Owns the keys of a step except `ask` and `routing`. References to other steps and inputs are recorded here, and
//! checked when the whole file was read.

use crate::parse::draft::Outputs;
use crate::{
    parse::{
        agent, ask, bounds, cached,
        draft::{self, Draft, DraftStep, NamedFlows, Site, Targets, Usage, Waits},
        files, for_each, goals, model, outputs, program, routing,
        shell::{self, Shell},
        subflow, waits,
    },
    syntax::{
        diagnostic::{Diagnostic, Problems, Span},
        keys, names, path,
        read::{self, Fields, Spanned, refuse},
        yaml::{Key, Kind, Node},
    },
};
use envoi_kernel::{
    expression::{Segment, names::regards_failure, segments},
    flow::{CommandPlan, Expression, InDoubtPolicy, OnConflict, Retry, Secret, Step, StepKind, Template},
    ids::{StepId, is_key},
};

/// The largest number of attempts of a visit.
const MAX_ATTEMPTS: u64 = 100;

pub(crate) fn read(node: &Node, place: usize, draft: &mut Draft, problems: &mut Problems) -> DraftStep {
    let before = problems.count();
    let Some(fields) = Fields::of(node, &keys::STEP, problems) else {
        let targets = Targets::default();
        let waits = Waits::default();
        let marks = Vec::new();
        return DraftStep { id: None, place: node.span, targets, waits, each: false, marks, step: None };
    };
    let id = match fields.get("id") {
        Some(node) => step_id(node, problems),
        None if fields.misspelt("id", &keys::STEP) => None,
        None => refuse(problems, Diagnostic::invalid(first_line(node), "a step without an `id`")),
    };
    let at = id.as_ref().map_or(first_line(node), |id| id.span);
    let (waits, join) = waits::read(&fields, problems);
    let each = fields.get("for_each").is_some();
    let marks = fields.get("marks").map(|node| goals::marks(node, problems)).unwrap_or_default();
    let shell = shell::of_step(&fields, problems).unwrap_or_else(|| draft.shell.clone());
    let mut reader = Reader {
        fields,
        language: draft.language,
        shell,
        place,
        expressions: &mut draft.expressions,
        outputs: &mut draft.outputs,
        secrets: &draft.secret_names,
        named: &draft.named,
        flow: draft.id.as_deref(),
        tokens: &mut draft.secrets,
        problems,
    };
    reader.one_action(at);
    let mut targets = Targets::default();
    let step = match (fields.get("ask"), fields.get("run"), fields.get("flow")) {
        (Some(question), None, None) => reader.asking(question, id.as_ref(), &mut targets),
        (None, None, Some(_)) => reader.nesting(id.as_ref(), &mut targets),
        _ => reader.step(id.as_ref(), &mut targets),
    };
    let step = step.filter(|_| problems.count() == before).map(|step| Step {
        needs: waits.needs.iter().filter_map(|need| StepId::new(need.value.as_str()).ok()).collect(),
        join,
        marks: marks.iter().map(|mark| mark.value.clone()).collect(),
        regardless: step.condition.as_ref().is_some_and(|condition| regards_failure(&condition.0)),
        ..step
    });
    DraftStep { id, place: at, targets, waits, each, marks, step }
}

/// The id of a step as written. Mistakes in it are reported.
fn step_id(node: &Node, problems: &mut Problems) -> Option<Spanned<String>> {
    let text = read::text(node, "`id`", problems)?;
    if !is_key(text) {
        problems.add(names::bad_id(node.span, text, names::ID));
    } else if text == "end" {
        let message = "`end` cannot name a step: `next: end` ends a run";
        problems.add(Diagnostic::invalid(node.span, message));
    }
    Some(Spanned { value: text.to_owned(), span: node.span })
}

/// The beginning of a step: its first key.
fn first_line(node: &Node) -> Span {
    match &node.kind {
        Kind::Mapping(members) => members.first().map_or(node.span, |(key, _)| key.span),
        _ => node.span,
    }
}

struct Reader<'r> {
    fields: Fields<'r>,
    /// The version of the language.
    language: u32,
    /// The interpreter of a string.
    shell: Shell,
    place: usize,
    expressions: &'r mut Vec<Usage>,
    outputs: &'r mut Vec<Outputs>,
    named: &'r NamedFlows,
    secrets: &'r [Spanned<String>],
    /// The flow's id.
    flow: Option<&'r str>,
    /// The secrets of the flow, to which tokens of agents are added.
    tokens: &'r mut Vec<Secret>,
    problems: &'r mut Problems,
}

impl Reader<'_> {
    /// Checks that a step has exactly one action. A kind that is not implemented yet is reported when its key is
    /// read.
    fn one_action(&mut self, place: Span) {
        let mut actions = self.fields.keys().filter(|key| keys::ACTIONS.contains(&key.text.as_str()));
        match (actions.next(), actions.next()) {
            (None, _)
                if ["run", "ask", "flow", "a2a", "agent", "model"]
                    .iter()
                    .any(|key| self.fields.misspelt(key, &keys::STEP)) => {}
            (None, _) => {
                let message = "this step does nothing: it has no `run`, no `ask`, no `flow`, no `a2a`, no `agent` and no `model`";
                let help =
                    "add a command: `run: [\"program\", \"argument\"]`, or a question: `ask: \"Go on?\"`";
                self.problems.add(Diagnostic::invalid(place, message).help(help));
            }
            (Some(_), None) => {}
            (Some(first), Some(second)) => {
                let message = format!("a step does one thing: `{}` or `{}`", first.text, second.text);
                self.problems.add(
                    Diagnostic::invalid(second.span, message)
                        .label(first.span, "the other one is here")
                        .help("make two steps of it"),
                );
            }
        }
    }

    fn step(&mut self, id: Option<&Spanned<String>>, targets: &mut Targets) -> Option<Step> {
        let commands = self.fields.get("run").is_some() && self.fields.get("flow").is_none();
        if let Some((key, _)) = self.fields.pair("inputs").filter(|_| commands) {
            let message = "`inputs` does nothing in a step that runs a command";
            let help = "a command is given values by `${{ inputs.NAME }}` in `run` and `env`";
            self.problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
        if self.fields.get("agent").is_none() && self.fields.get("model").is_none() {
            program::keys_without(&self.fields, self.problems);
        }
        let mut kind = match (self.fields.pair("a2a"), self.fields.pair("agent")) {
            (Some((key, node)), _) => self.talking(key, node, id),
            (None, Some((key, node))) => self.program(key, node, id),
            (None, None) if let Some((key, node)) = self.fields.pair("model") => self.model(key, node),
            (None, None) => {
                self.fields.get("run").and_then(|node| self.command(node, "`run`")).map(StepKind::Run)
            }
        };
        let doubt = match kind {
            // The next attempt finds out by itself what happened to the message.
            Some(StepKind::A2a(_)) => InDoubtPolicy::Rerun,
            _ => InDoubtPolicy::Ask,
        };
        let skill = self.fields.get("skill").and_then(|node| path::fixed(node, "`skill`", self.problems));
        let condition = self.fields.get("if").and_then(|node| self.condition(node));
        let env = self
            .fields
            .get("env")
            .map(|node| environment(node, Some(self.place), self.secrets, self.expressions, self.problems));
        let cwd = self.fields.get("cwd").and_then(|node| self.folder(node));
        let timeout_ms =
            self.fields.get("timeout").and_then(|node| read::duration(node, "`timeout`", self.problems));
        let retry = self.fields.get("retry").and_then(|node| retry(node, self.problems));
        let artifacts = self.fields.get("artifacts").map(|node| path::artifacts(node, self.problems));
        let if_no_artifacts = self.fields.pair("if_no_artifacts");
        let if_no_artifacts = if_no_artifacts
            .and_then(|(key, node)| files::if_no_artifacts(key, node, &self.fields, self.problems));
        let routing = self
            .fields
            .get("routing")
            .and_then(|node| routing::read(node, targets, self.named, self.problems));
        for_each::not_routed(&self.fields, routing.as_ref(), self.problems);
        let for_each = for_each::read(&self.fields, self.place, self.expressions, self.problems);
        let budget = self.fields.get("budget").and_then(|node| bounds::budget(node, self.problems));
        let outputs = outputs::read(&self.fields, self.problems);
        let data = self
            .fields
            .get("data")
            // With any other action it has no effect, which is reported once for any value.
            .filter(|_| commands)
            .and_then(|node| read::choice(node, "`data`", &[("json", true)], self.problems));
        if let Some((key, _)) = self.fields.pair("returns").filter(|_| commands) {
            let message = "`returns` does nothing in a step that runs a command";
            let help = "it says what a step with `flow` hands over; a command hands over data by `data: json`, `$ENVOI_DATA` or its report";
            self.problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
        let is_program = self.fields.get("agent").is_some();
        let on_in_doubt = self.fields.get("on_in_doubt").and_then(|node| self.in_doubt(node, is_program));
        if let Some(StepKind::A2a(plan)) = &mut kind {
            plan.resends = on_in_doubt == Some(InDoubtPolicy::Rerun);
        }
        // With another action it has no effect, which is reported once for any value.
        let works_here = self.fields.get("model").is_none() && self.fields.get("a2a").is_none();
        let files = self.fields.get("files").filter(|_| works_here);
        let files = files.and_then(|node| files::read(node, self.problems));
        let is_command = self.fields.get("run").is_some() && self.fields.get("agent").is_none();
        let cache = self.fields.get("cache").filter(|_| works_here && is_command);
        let cache = cache.and_then(|node| cached::read(node, &self.fields, self.problems));
        let isolate = self.fields.pair("isolate").filter(|_| works_here);
        let isolate = isolate.and_then(|(key, node)| files::isolate(key, node, &self.fields, self.problems));
        let on_conflict = self.fields.pair("on_conflict").filter(|_| works_here);
        let on_conflict =
            on_conflict.and_then(|(key, node)| files::on_conflict(key, node, &self.fields, self.problems));
        let envelope =
            self.fields.get("envelope").and_then(|node| read::boolean(node, "`envelope`", self.problems));
        let continue_on_error = self
            .fields
            .get("continue_on_error")
            .and_then(|node| read::boolean(node, "`continue_on_error`", self.problems));
        Some(Step {
            skill: skill.map(str::to_owned),
            condition,
            env: env.unwrap_or_default(),
            cwd,
            timeout_ms,
            retry: retry.unwrap_or_default(),
            artifacts: artifacts.unwrap_or_default(),
            if_no_artifacts: if_no_artifacts.unwrap_or_default(),
            routing: routing.unwrap_or_default(),
            on_in_doubt: on_in_doubt.unwrap_or(doubt),
            envelope: envelope.unwrap_or(false),
            continue_on_error: continue_on_error.unwrap_or(false),
            for_each,
            budget: budget.unwrap_or_default(),
            data_is_text: data.unwrap_or(false),
            outputs,
            files: files.unwrap_or_default(),
            cache: cache.map(Box::new),
            isolate: isolate.unwrap_or(false),
            on_conflict: on_conflict.unwrap_or(OnConflict::Ask),
            ..Step::new(StepId::new(id?.value.as_str()).ok()?, kind?)
        })
    }

    /// A step that sends a message to another agent.
    fn talking(&mut self, key: &Key, node: &Node, id: Option<&Spanned<String>>) -> Option<StepKind> {
        agent::keys_beside(&self.fields, self.problems);
        let at = agent::StepContext { flow: self.flow, step: id, place: self.place };
        let (plan, token) = agent::read(key, node, &at, self.expressions, self.problems)?;
        self.tokens.extend(token);
        Some(StepKind::A2a(Box::new(plan)))
    }

    /// A step that runs an agent program.
    fn program(&mut self, key: &Key, node: &Node, id: Option<&Spanned<String>>) -> Option<StepKind> {
        program::keys_beside(&self.fields, self.problems);
        let plan = program::read(key, node, id, self.place, &self.fields, self.expressions, self.problems)?;
        Some(StepKind::Agent(Box::new(plan)))
    }

    /// A step that asks a model.
    fn model(&mut self, key: &Key, node: &Node) -> Option<StepKind> {
        model::keys_beside(&self.fields, self.problems);
        let plan = model::read(key, node, self.place, &self.fields, self.expressions, self.problems)?;
        Some(StepKind::Model(Box::new(plan)))
    }

    /// A step that runs another flow.
    fn nesting(&mut self, id: Option<&Spanned<String>>, targets: &mut Targets) -> Option<Step> {
        subflow::keys_beside(&self.fields, self.problems);
        targets.nests = true;
        let part = subflow::read(
            self.language,
            &self.fields,
            self.place,
            self.named,
            self.expressions,
            self.problems,
        );
        let condition = self.fields.get("if").and_then(|node| self.condition(node));
        let for_each = for_each::read(&self.fields, self.place, self.expressions, self.problems);
        let routing = self.fields.get("routing");
        let routing = routing.and_then(|node| routing::of_a_flow(node, targets, self.problems));
        let continue_on_error = self
            .fields
            .get("continue_on_error")
            .and_then(|node| read::boolean(node, "`continue_on_error`", self.problems));
        let subflow::Part { plan, outputs } = part?;
        self.outputs.push(outputs);
        let id = StepId::new(id?.value.as_str()).ok()?;
        Some(Step {
            condition,
            for_each,
            routing: routing.unwrap_or_default(),
            continue_on_error: continue_on_error.unwrap_or(false),
            ..Step::new(id, StepKind::Flow(Box::new(plan)))
        })
    }

    /// A step that asks.
    fn asking(
        &mut self,
        question: &Node,
        id: Option<&Spanned<String>>,
        targets: &mut Targets,
    ) -> Option<Step> {
        ask::keys_beside(&self.fields, self.problems);
        let before = self.problems.count();
        let routing = self.fields.get("routing");
        let routing = routing.and_then(|node| routing::of_a_question(node, targets, self.problems));
        let plan = ask::read(question, self.place, targets, self.expressions, self.problems);
        targets.asks = true;
        targets.unclear = self.problems.count() != before;
        let condition = self.fields.get("if").and_then(|node| self.condition(node));
        let id = StepId::new(id?.value.as_str()).ok()?;
        let kind = StepKind::Ask(Box::new(plan?));
        Some(Step { condition, routing: routing.unwrap_or_default(), ..Step::new(id, kind) })
    }

    fn template(&mut self, span: Span, text: &str) -> Template {
        draft::note(self.expressions, span, text, Some(self.place));
        Template(text.to_owned())
    }

    fn command(&mut self, node: &Node, name: &str) -> Option<CommandPlan> {
        let Kind::Sequence(items) = &node.kind else {
            if read::as_text(node).is_none() {
                let expected = "a string or a list of strings";
                return refuse(self.problems, read::mismatch(node, name, expected));
            }
            let text = read::text(node, name, self.problems)?;
            self.template(node.span, text);
            if let Some(noted) = self.expressions.last_mut().filter(|noted| noted.span == node.span) {
                noted.script = Some(self.shell.script_kind());
            }
            return Some(self.shell.plan(text));
        };
        if items.is_empty() {
            return refuse(self.problems, Diagnostic::invalid(node.span, format!("{name} names no program")));
        }
        let mut arguments = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Some(text) = read::token(item, &format!("an argument of {name}"), self.problems) else {
                continue;
            };
            if index == 0 && text.trim().is_empty() {
                self.problems.add(Diagnostic::invalid(item.span, format!("{name} names no program")));
            }
            arguments.push(self.template(item.span, text));
        }
        Some(CommandPlan::Exec(arguments))
    }

    fn in_doubt(&mut self, node: &Node, is_program: bool) -> Option<InDoubtPolicy> {
        if let Kind::Mapping(_) = &node.kind {
            let fields = Fields::of(node, &keys::IN_DOUBT, self.problems)?;
            let Some(verify) = fields.get("verify") else {
                if fields.keys().next().is_some() {
                    return None;
                }
                let wrong = read::mismatch(node, "`on_in_doubt`", "`{ verify: [program, argument] }`");
                return refuse(self.problems, wrong);
            };
            return self.command(verify, "`verify`").map(InDoubtPolicy::Verify);
        }
        if read::as_token(node) == Some("verify") {
            let message = "`on_in_doubt: verify` does not say how";
            let help = "name the command: `on_in_doubt: { verify: [./was-it-sent] }`";
            return refuse(self.problems, Diagnostic::invalid(node.span, message).help(help));
        }
        // The next attempt of an agent program resumes the session. Nothing is run again from the start.
        let again = if is_program { "continue" } else { "rerun" };
        if is_program && read::as_token(node) == Some("rerun") {
            let message = "an agent is not run again from the start: its session goes on";
            let help = "`on_in_doubt: continue` resumes the session without a question, and tells the agent that its last action is \
                        unknown";
            return refuse(self.problems, Diagnostic::invalid(node.span, message).help(help));
        }
        let words =
            [("ask", InDoubtPolicy::Ask), (again, InDoubtPolicy::Rerun), ("fail", InDoubtPolicy::Fail)];
        read::choice(node, "`on_in_doubt`", &words, self.problems)
    }

    fn folder(&mut self, node: &Node) -> Option<Template> {
        let text = path::inside(node, "`cwd`", self.problems)?;
        Some(self.template(node.span, text))
    }

    /// Reads one expression, bare or as a single `${{ … }}`.
    fn condition(&mut self, node: &Node) -> Option<Expression> {
        let Some(token) = read::as_token(node) else {
            return refuse(self.problems, read::mismatch(node, "`if`", "an expression"));
        };
        let token = token.trim();
        let inside = match segments(token).as_slice() {
            [Segment::Expression(source)] => source.trim(),
            [Segment::Text(source)] => source,
            [] => "",
            _ => {
                let message = "`if` is one expression";
                let help = "combine conditions with `and`, `or` and `not`";
                return refuse(self.problems, Diagnostic::invalid(node.span, message).help(help));
            }
        };
        if inside.is_empty() {
            return refuse(self.problems, Diagnostic::invalid(node.span, "`if` is blank"));
        }
        let usage = Usage {
            span: node.span,
            source: inside.to_owned(),
            bare: true,
            script: None,
            step: Some(self.place),
            site: Site::Condition,
        };
        self.expressions.push(usage);
        Some(Expression(inside.to_owned()))
    }
}

/// Reads `env` of a flow (`step` is `None`) or of a step.
pub(crate) fn environment(
    node: &Node,
    step: Option<usize>,
    secrets: &[Spanned<String>],
    expressions: &mut Vec<Usage>,
    problems: &mut Problems,
) -> Vec<(String, Template)> {
    let mut variables = Vec::new();
    for (key, node) in read::entries(node, "`env`", problems) {
        if let Some(secret) = secrets.iter().find(|secret| secret.value == key.text) {
            problems.add(
                Diagnostic::invalid(key.span, format!("`{}` is a secret and a variable of `env`", key.text))
                    .label(secret.span, "the secret is declared here")
                    .help("a command would see only one of them; rename the other"),
            );
            continue;
        }
        let name = names::variable(key, "a variable", problems);
        let text = read::token(node, &format!("`{}`", key.text), problems);
        if let (Some(name), Some(text)) = (name, text) {
            draft::note(expressions, node.span, text, step);
            variables.push((name, Template(text.to_owned())));
        }
    }
    variables
}

fn retry(node: &Node, problems: &mut Problems) -> Option<Retry> {
    let fields = Fields::of(node, &keys::RETRY, problems)?;
    let default = Retry::default();
    let (backoff_min_ms, backoff_max_ms) = match fields.get("backoff") {
        Some(node) => backoff(node, problems)?,
        None => (default.backoff_min_ms, default.backoff_max_ms),
    };
    if fields.misspelt("attempts", &keys::RETRY) {
        return None;
    }
    let Some(tries) = fields.get("attempts") else {
        let message = "`retry` without `attempts` tries nothing again";
        let help = "say how often in all: `retry: { attempts: 3 }`";
        return refuse(problems, Diagnostic::invalid(node.span, message).help(help));
    };
    let attempts = read::integer(tries, "`attempts`", 1..=MAX_ATTEMPTS, problems)?;
    Some(Retry { attempts: u32::try_from(attempts).ok()?, backoff_min_ms, backoff_max_ms })
}

/// Reads `1s..30s`, or one duration for a constant wait.
fn backoff(node: &Node, problems: &mut Problems) -> Option<(u64, u64)> {
    let token = read::as_token(node).unwrap_or_default();
    let (shortest, longest) = token.split_once("..").unwrap_or((token, token));
    match (read::parse_duration(shortest.trim()), read::parse_duration(longest.trim())) {
        (Some(shortest), Some(longest)) if shortest <= longest => Some((shortest, longest)),
        (Some(_), Some(_)) => {
            let message = format!("`backoff` ends before it begins: `{token}`");
            refuse(problems, Diagnostic::invalid(node.span, message).expecting("the shorter wait first"))
        }
        _ => refuse(problems, read::mismatch(node, "`backoff`", "two durations such as `1s..30s`")),
    }
}
