//! A flow on its way: what has been read, with the places that later checks point at.
//!
//! Owns no rule. Reading fills a [`Draft`]; the checks across steps ([`crate::check::graph`], [`crate::check::expression`]) look at it;
//! what it holds becomes the kernel's flow only if nothing was wrong.

use crate::parse::{
    shell::{ScriptKind, Shell},
    workspace::Workspace,
};
use crate::syntax::{diagnostic::Span, read::Spanned};
use core::fmt;
use envoi_kernel::{
    flow::{Expression, Flow, GoalsPlan},
    ids::StepId,
};
use envoi_kernel::{
    flow::{InputDecl, Limits, Secret, Step, Template},
    notify::Target,
};
use std::{collections::BTreeMap, rc::Rc, sync::Arc};

/// A flow whose parts are read one by one; a part that is wrong is absent, and its problem is reported.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) id: Option<String>,
    /// The version of the language in which it is read.
    pub(crate) language: u32,
    /// A run is pinned to it already.
    pub(crate) pinned: bool,
    /// What runs a command that is a string.
    pub(crate) shell: Shell,
    pub(crate) title: Option<String>,
    pub(crate) inputs: Vec<InputDecl>,
    /// Declared names, also of inputs whose schema is wrong.
    pub(crate) input_names: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) secrets: Vec<Secret>,
    /// Names and places of secrets.
    pub(crate) secret_names: Vec<Spanned<String>>,
    /// Names, or beginnings with a `*`, with their places.
    pub(crate) pass_env: Vec<Spanned<String>>,
    pub(crate) env_file: Option<String>,
    pub(crate) workspace: Workspace,
    pub(crate) env: Vec<(String, Template)>,
    pub(crate) notify: Vec<Target>,
    pub(crate) steps: Vec<DraftStep>,
    pub(crate) goals: Option<DraftGoals>,
    /// There is something that was meant as `goals` and cannot be read.
    pub(crate) goals_unclear: bool,
    pub(crate) expressions: Vec<Usage>,
    /// What is read of other flows.
    pub(crate) outputs: Vec<Outputs>,
    /// The other flows that it names.
    pub(crate) named: NamedFlows,
}

impl Draft {
    /// Whether a flow that it names is wrong, so that it cannot be right itself.
    pub(crate) fn leans_on_wrong_ones(&self) -> bool {
        self.named.values().any(|named| matches!(named, Named::Wrong))
    }
}

/// One step of a [`Draft`].
#[derive(Debug)]
pub(crate) struct DraftStep {
    /// As it was written, also if that is no valid id: references to it are then no second mistake.
    pub(crate) id: Option<Spanned<String>>,
    /// Its id, or where it begins.
    pub(crate) place: Span,
    pub(crate) targets: Targets,
    pub(crate) waits: Waits,
    /// It has `for_each`.
    pub(crate) each: bool,
    /// The goals that it says it reaches.
    pub(crate) marks: Vec<Spanned<String>>,
    /// Absent if something in it is wrong.
    pub(crate) step: Option<Step>,
}

impl DraftStep {
    pub(crate) fn name(&self) -> &str {
        self.id.as_ref().map_or("", |id| id.value.as_str())
    }
}

/// What a step says that it waits for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// It has `needs`, whatever that says: the flow is a graph.
    pub(crate) named: bool,
    /// Its `needs` cannot be read.
    pub(crate) unclear: bool,
    pub(crate) needs: Vec<Spanned<String>>,
}

/// The steps that a step's routing names, or the answers to its question.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// Whether the step asks.
    pub(crate) asks: bool,
    /// Whether it runs another flow.
    pub(crate) nests: bool,
    /// Something in its question cannot be read, so that it may lead elsewhere than it seems.
    pub(crate) unclear: bool,
    pub(crate) next: Option<Spanned<String>>,
    pub(crate) loop_to: Option<Spanned<String>>,
    pub(crate) branches: Vec<Spanned<String>>,
    /// `on_deny` and `on_expire` as they were written: an id, or a word.
    pub(crate) diversions: Vec<Diversion>,
    /// `max_iterations` of a step that asks.
    pub(crate) bound: Option<Span>,
}

/// What follows where a question is not answered with yes.
#[derive(Debug)]
pub(crate) struct Diversion {
    pub(crate) key: &'static str,
    /// "a denial"
    pub(crate) what: &'static str,
    /// What may stand there besides the id of a step.
    pub(crate) words: &'static [&'static str],
    pub(crate) target: Spanned<String>,
}

impl Diversion {
    /// The step it leads to, unless it is one of the words.
    pub(crate) fn step(&self) -> Option<&Spanned<String>> {
        Some(&self.target).filter(|target| !self.words.contains(&target.value.as_str()))
    }
}

/// A place where an expression may stand.
#[derive(Debug)]
pub(crate) struct Usage {
    pub(crate) span: Span,
    pub(crate) source: String,
    /// True: the whole text is one expression; false: `${{ … }}` are filled in.
    pub(crate) bare: bool,
    /// The text is a script, in which an expression becomes a variable.
    pub(crate) script: Option<ScriptKind>,
    /// The place of its step; `None` for the flow's own `env`.
    pub(crate) step: Option<usize>,
    pub(crate) site: Site,
}

/// What an expression is for, which says what it may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// To be filled in: a command, a variable, a folder, a question.
    Text,
    /// An `if`.
    Condition,
    /// A list whose items are not there yet.
    List,
    /// `outputs` of a step that runs a flow: evaluated there.
    Outputs,
    /// The list of goals, before the first round.
    Goals,
}

/// `goals` as it was written.
#[derive(Debug)]
pub(crate) struct DraftGoals {
    /// What is reached, where it is written out.
    pub(crate) known: Option<Vec<String>>,
    pub(crate) list: Option<Expression>,
    pub(crate) from: Option<Spanned<String>>,
    pub(crate) to: Option<Spanned<String>>,
    pub(crate) max_rounds: u64,
    pub(crate) stuck_after: u64,
    pub(crate) place: Span,
}

impl DraftGoals {
    /// The kernel's plan, unless a part is absent because it is wrong.
    pub(crate) fn plan(&self) -> Option<GoalsPlan> {
        let step = |target: &Option<Spanned<String>>| StepId::new(target.as_ref()?.value.as_str()).ok();
        Some(GoalsPlan {
            list: self.list.clone()?,
            from: step(&self.from)?,
            to: step(&self.to)?,
            max_rounds: self.max_rounds,
            stuck_after: self.stuck_after,
        })
    }

    /// The first and the last step of a round, if they exist.
    pub(crate) fn rounds(&self, steps: &[DraftStep]) -> Option<Rounds> {
        let place = |target: &Spanned<String>| steps.iter().position(|step| step.name() == target.value);
        let from = self.from.as_ref()?;
        let to = self.to.as_ref()?;
        Some(Rounds { first: place(from)?, last: place(to)?, to: to.span })
    }
}

/// The steps of a round, by their places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Where the last one is named.
    pub(crate) to: Span,
}

/// Expressions that are evaluated among the steps of another flow.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) of: Rc<Inner>,
    pub(crate) expressions: Vec<Usage>,
}

/// A flow that another one names, read and right.
pub(crate) struct Inner {
    pub(crate) draft: Draft,
    pub(crate) flow: Arc<Flow>,
    /// How many flows deep it is itself.
    pub(crate) height: usize,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("flow", &self.flow.id).finish_non_exhaustive()
    }
}

/// What came of a name.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    Right(Rc<Inner>),
    /// Its mistakes are reported as its own.
    Wrong,
    /// It cannot be named here.
    Refused {
        message: String,
        help: Option<String>,
    },
}

/// The flows that one file names, by the names as they were written.
pub(crate) type NamedFlows = BTreeMap<String, Named>;

/// Remembers a text that has expressions, with its place.
pub(crate) fn note(expressions: &mut Vec<Usage>, span: Span, text: &str, step: Option<usize>) {
    if text.contains("${{") {
        let source = text.to_owned();
        expressions.push(Usage { span, source, bare: false, script: None, step, site: Site::Text });
    }
}
