//! A flow that is being read, with the locations for later checks.
//!
//! Has no rules of its own. Reading fills a [`Draft`], and the checks across steps ([`crate::check::graph`],
//! [`crate::check::expression`]) use it. It becomes the kernel's flow only if there are no mistakes.

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

/// A flow whose parts are read one by one. A part with a mistake is absent, and the mistake is reported.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) id: Option<String>,
    /// The version of the language with which it is read.
    pub(crate) language: u32,
    /// True if a run is already pinned to it.
    pub(crate) pinned: bool,
    /// The interpreter of a command that is a string.
    pub(crate) shell: Shell,
    pub(crate) title: Option<String>,
    pub(crate) inputs: Vec<InputDecl>,
    /// The names of all declared inputs, even if their schema is invalid.
    pub(crate) input_names: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) secrets: Vec<Secret>,
    /// The names of secrets, with their locations.
    pub(crate) secret_names: Vec<Spanned<String>>,
    /// Names, or prefixes with a `*`, with their locations.
    pub(crate) pass_env: Vec<Spanned<String>>,
    pub(crate) env_file: Option<String>,
    pub(crate) workspace: Workspace,
    pub(crate) env: Vec<(String, Template)>,
    pub(crate) notify: Vec<Target>,
    pub(crate) steps: Vec<DraftStep>,
    pub(crate) goals: Option<DraftGoals>,
    /// True if there is a `goals` that cannot be read.
    pub(crate) goals_unclear: bool,
    pub(crate) expressions: Vec<Usage>,
    /// The values that it reads from other flows.
    pub(crate) outputs: Vec<Outputs>,
    /// The flows that it names.
    pub(crate) named: NamedFlows,
}

impl Draft {
    /// True if it names a flow with mistakes, so that it cannot be valid itself.
    pub(crate) fn leans_on_wrong_ones(&self) -> bool {
        self.named.values().any(|named| matches!(named, Named::Wrong))
    }
}

/// A step of a [`Draft`].
#[derive(Debug)]
pub(crate) struct DraftStep {
    /// The id as written, even if it is invalid: references to it are then not reported as further mistakes.
    pub(crate) id: Option<Spanned<String>>,
    /// The location of its id, or its beginning.
    pub(crate) place: Span,
    pub(crate) targets: Targets,
    pub(crate) waits: Waits,
    /// True if it has `for_each`.
    pub(crate) each: bool,
    /// The goals in its `marks`.
    pub(crate) marks: Vec<Spanned<String>>,
    /// `None` if a part of it has a mistake.
    pub(crate) step: Option<Step>,
}

impl DraftStep {
    pub(crate) fn name(&self) -> &str {
        self.id.as_ref().map_or("", |id| id.value.as_str())
    }
}

/// The `needs` of a step.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// True if it has `needs` with any value: the flow is a graph.
    pub(crate) named: bool,
    /// True if its `needs` cannot be read.
    pub(crate) unclear: bool,
    pub(crate) needs: Vec<Spanned<String>>,
}

/// The steps that a step's routing or the answers to its question name.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// True if the step asks a question.
    pub(crate) asks: bool,
    /// True if it runs another flow.
    pub(crate) nests: bool,
    /// True if a part of its question cannot be read, so that the targets may be incomplete.
    pub(crate) unclear: bool,
    pub(crate) next: Option<Spanned<String>>,
    pub(crate) loop_to: Option<Spanned<String>>,
    pub(crate) branches: Vec<Spanned<String>>,
    /// `on_deny` and `on_expire` as written: an id or a special word.
    pub(crate) diversions: Vec<Diversion>,
    /// The location of `max_iterations` in a step that asks.
    pub(crate) bound: Option<Span>,
}

/// The target or action if a question is denied or expires.
#[derive(Debug)]
pub(crate) struct Diversion {
    pub(crate) key: &'static str,
    /// A description for messages, such as "a denial".
    pub(crate) what: &'static str,
    /// Valid words besides the id of a step.
    pub(crate) words: &'static [&'static str],
    pub(crate) target: Spanned<String>,
}

impl Diversion {
    /// The target step, unless the value is one of the words.
    pub(crate) fn step(&self) -> Option<&Spanned<String>> {
        Some(&self.target).filter(|target| !self.words.contains(&target.value.as_str()))
    }
}

/// A location that may contain an expression.
#[derive(Debug)]
pub(crate) struct Usage {
    pub(crate) span: Span,
    pub(crate) source: String,
    /// True if the whole text is one expression. False if `${{ … }}` are replaced in it.
    pub(crate) bare: bool,
    /// The language, if the text is a script. An expression in it becomes a variable.
    pub(crate) script: Option<ScriptKind>,
    /// The index of its step; `None` for the `env` of the flow.
    pub(crate) step: Option<usize>,
    pub(crate) site: Site,
}

/// The purpose of an expression, which determines the names that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// Text in which expressions are replaced: a command, a variable, a folder, a question.
    Text,
    /// An `if`.
    Condition,
    /// A list whose items do not exist yet.
    List,
    /// `outputs` of a step that runs a flow; evaluated in that flow.
    Outputs,
    /// The list of goals, before the first round.
    Goals,
}

/// `goals` as written.
#[derive(Debug)]
pub(crate) struct DraftGoals {
    /// The goals, if they are a literal list.
    pub(crate) known: Option<Vec<String>>,
    pub(crate) list: Option<Expression>,
    pub(crate) from: Option<Spanned<String>>,
    pub(crate) to: Option<Spanned<String>>,
    pub(crate) max_rounds: u64,
    pub(crate) stuck_after: u64,
    pub(crate) place: Span,
}

impl DraftGoals {
    /// The kernel's plan, unless a part is absent because of a mistake.
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

/// The steps of a round, by their indexes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The location that names the last step.
    pub(crate) to: Span,
}

/// Expressions that are evaluated with the steps of another flow.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) of: Rc<Inner>,
    pub(crate) expressions: Vec<Usage>,
}

/// A valid flow that another flow names.
pub(crate) struct Inner {
    pub(crate) draft: Draft,
    pub(crate) flow: Arc<Flow>,
    /// The nesting depth of this flow itself.
    pub(crate) height: usize,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("flow", &self.flow.id).finish_non_exhaustive()
    }
}

/// The result of loading a named flow.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    Right(Rc<Inner>),
    /// It has mistakes, which are reported for it.
    Wrong,
    /// It cannot be named here.
    Refused {
        message: String,
        help: Option<String>,
    },
}

/// The flows that a file names, by the names as written.
pub(crate) type NamedFlows = BTreeMap<String, Named>;

/// Records a text that has expressions, with its location.
pub(crate) fn note(expressions: &mut Vec<Usage>, span: Span, text: &str, step: Option<usize>) {
    if text.contains("${{") {
        let source = text.to_owned();
        expressions.push(Usage { span, source, bare: false, script: None, step, site: Site::Text });
    }
}
