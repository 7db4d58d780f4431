//! Reads a file of the swarm dialect.
//!
//! Owns its keys and the types of their values. An unknown key is noted, not refused; a value of the wrong type is a
//! mistake. Other modules of the importer interpret the keys.

use super::finding::Notes;
use crate::{
    Span,
    syntax::{
        diagnostic::{Diagnostic, Problems},
        read::{self, Spanned, refuse},
        suggestion::did_you_mean,
        yaml::{Key, Kind as NodeKind, Meaning, Node},
    },
};

/// The largest number of steps, as in our flow files.
const MAX_STEPS: usize = 10_000;

/// The largest number of iterations of a loop, as in our flow files.
const MAX_ITERATIONS: u64 = 10_000;

/// A flow of the dialect.
pub(super) struct Source<'n> {
    pub(super) key: Spanned<String>,
    pub(super) title: Option<String>,
    /// Texts about the flow for people: `description`, `charter`, `teaching`.
    pub(super) prose: Vec<(&'n Key, &'n Node)>,
    /// The steps; at least one.
    pub(super) steps: Vec<Step<'n>>,
    /// True if the branches of forks continue when one of them fails.
    pub(super) continue_all: bool,
}

/// A step of the dialect.
pub(super) struct Step<'n> {
    pub(super) id: Spanned<String>,
    /// The agents that do the step, one after the other.
    pub(super) agents: Vec<Spanned<String>>,
    /// Its instructions, in the order of the file: `role`, `teaching_note`, `teaching_notes`.
    pub(super) prose: Vec<(&'n Key, &'n Node)>,
    /// The routing. Without one the next step of the list follows.
    pub(super) routing: Option<Routing>,
}

/// `routing` of a step.
pub(super) struct Routing {
    pub(super) kind: Kind,
    /// The span of the value of `kind`, or of the whole routing.
    pub(super) span: Span,
    pub(super) next: Option<Spanned<String>>,
    pub(super) loop_target: Option<Spanned<String>>,
    pub(super) field: Option<Spanned<String>>,
    pub(super) success_values: Vec<Spanned<String>>,
    pub(super) max_iterations: Option<Spanned<u64>>,
    /// Each value with its step.
    pub(super) branches: Vec<(Spanned<String>, Spanned<String>)>,
    pub(super) fork_targets: Vec<Spanned<String>>,
}

/// `kind` of a routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Linear,
    Microloop,
    Branch,
    Terminal,
    Fork,
    Join,
}

const KINDS: &[(&str, Kind)] = &[
    ("linear", Kind::Linear),
    ("microloop", Kind::Microloop),
    ("branch", Kind::Branch),
    ("terminal", Kind::Terminal),
    ("fork", Kind::Fork),
    ("join", Kind::Join),
];

/// Every key of the dialect, for suggestions.
const OF_A_FLOW: &[&str] = &["key", "title", "description", "charter", "teaching", "steps", "cross_cutting"];
const OF_A_STEP: &[&str] = &["id", "agents", "role", "teaching_note", "teaching_notes", "routing"];
const OF_A_ROUTING: &[&str] = &[
    "kind",
    "next",
    "loop_target",
    "loop_condition_field",
    "loop_success_values",
    "max_iterations",
    "branches",
    "fork_targets",
];

/// Known keys without a counterpart, each with the reason.
const KNOWN_LOSSES: &[(&str, &str)] = &[
    ("teaching_highlight", "it marks the step on a page and changes no run"),
    ("parallel", "what runs side by side follows from `fork_targets`"),
    ("parallel_branch", "what runs side by side follows from `fork_targets`"),
    ("join_point", "where branches meet follows from their `next`"),
    ("join_from", "where branches meet follows from their `next`"),
    ("join_strategy", "what follows a fork waits for all of its branches"),
];

/// The value that makes branches continue when one of them fails, under any key.
const CONTINUE_ALL: &str = "continue_all";

/// True if a value is that word, or a mapping that contains it.
fn says_continue_all(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(scalar) => scalar.text == CONTINUE_ALL,
        NodeKind::Mapping(members) => members.iter().any(|(_, node)| says_continue_all(node)),
        NodeKind::Sequence(_) => false,
    }
}

pub(super) fn read<'n>(root: &'n Node, notes: &mut Notes, problems: &mut Problems) -> Option<Source<'n>> {
    let mut reader = Reader { notes, problems, continue_all: false };
    let members = read::mapping(root, "the file", reader.problems)?;
    let known = |name: &str| members.iter().find(|(key, _)| key.text == name).map(|(_, node)| node);
    if known("key").is_none() || known("steps").is_none() {
        let missing = if known("key").is_none() { "key" } else { "steps" };
        let message = format!("this is no flow of the swarm dialect: it has no `{missing}`");
        let help = "such a file has `key` and `steps`; `envoi check` reads a flow file of Envoi's own";
        return refuse(reader.problems, Diagnostic::invalid(root.span, message).help(help));
    }
    reader.flow(members)
}

struct Reader<'r> {
    continue_all: bool,
    notes: &'r mut Notes,
    problems: &'r mut Problems,
}

impl Reader<'_> {
    fn flow<'n>(&mut self, members: &'n [(Key, Node)]) -> Option<Source<'n>> {
        let mut name = None;
        let mut title = None;
        let mut prose = Vec::new();
        let mut steps = Vec::new();
        for (key, node) in members {
            match key.text.as_str() {
                "key" => name = self.name(node, "`key`"),
                "title" if is_null(node) => {}
                "title" => title = self.line(node, "`title`"),
                "description" | "charter" | "teaching" => {
                    let why = "it is for people; no step gets it";
                    self.notes.carried(key.span, format!("`{}`", key.text), "a comment", why);
                    prose.push((key, node));
                }
                "steps" => steps = self.steps(node),
                "cross_cutting" => self.cross_cutting(key, node),
                _ => self.unknown((key, node), OF_A_FLOW),
            }
        }
        let continue_all = self.continue_all;
        Some(Source { key: name?, title, prose, steps, continue_all })
            .filter(|source| !source.steps.is_empty())
    }

    fn cross_cutting(&mut self, key: &Key, node: &Node) {
        let agents = self.names(node, "`cross_cutting`");
        if agents.is_empty() {
            return;
        }
        let named: Vec<String> = agents.into_iter().map(|agent| agent.value).collect();
        let what = format!("`cross_cutting`: {}", named.join(", "));
        self.notes.lost(key.span, what, "a flow runs its steps and nothing beside them");
    }

    fn unknown(&mut self, (key, node): (&Key, &Node), known: &[&str]) {
        let what = format!("`{}`", key.text);
        if says_continue_all(node) {
            self.continue_all = true;
            let why = "a branch that fails stops neither the others nor what follows";
            let what = format!("{what} with `{CONTINUE_ALL}`");
            return self.notes.carried(key.span, what, "`continue_on_error` of the branches", why);
        }
        if let Some((_, why)) = KNOWN_LOSSES.iter().find(|(name, _)| *name == key.text) {
            return self.notes.lost(key.span, what, *why);
        }
        let meant = did_you_mean(&key.text, known.iter().copied());
        let hint = meant.map_or_else(String::new, |meant| format!("; {meant}"));
        self.notes.lost(key.span, what, format!("the importer does not know this key{hint}"));
    }

    fn steps<'n>(&mut self, node: &'n Node) -> Vec<Step<'n>> {
        let items = read::items(node, "`steps`", "a list of steps", self.problems);
        if items.is_empty() && matches!(node.kind, NodeKind::Sequence(_)) {
            self.problems.add(Diagnostic::invalid(node.span, "a flow has at least one step"));
        }
        if items.len() > MAX_STEPS {
            let message = format!("a flow has at most {MAX_STEPS} steps");
            self.problems.add(Diagnostic::invalid(node.span, message));
            return Vec::new();
        }
        items.iter().filter_map(|item| self.step(item)).collect()
    }

    fn step<'n>(&mut self, node: &'n Node) -> Option<Step<'n>> {
        let members = read::mapping(node, "a step", self.problems)?;
        let mut id = None;
        let mut agents = Vec::new();
        let mut prose = Vec::new();
        let mut routing = None;
        if !members.iter().any(|(key, _)| key.text == "id") {
            self.problems.add(Diagnostic::invalid(first(members, node), "a step without an `id`"));
        }
        for (key, node) in members {
            match key.text.as_str() {
                "id" => id = self.name(node, "`id`"),
                "agents" => agents = self.names(node, "`agents`"),
                "role" | "teaching_note" | "teaching_notes" => prose.push((key, node)),
                "routing" => routing = self.routing(node),
                _ => self.unknown((key, node), OF_A_STEP),
            }
        }
        Some(Step { id: id?, agents, prose, routing })
    }

    fn routing(&mut self, node: &Node) -> Option<Routing> {
        if is_null(node) {
            return None;
        }
        let members = read::mapping(node, "`routing`", self.problems)?;
        let mut routing = Routing {
            kind: Kind::Linear,
            span: node.span,
            next: None,
            loop_target: None,
            field: None,
            success_values: Vec::new(),
            max_iterations: None,
            branches: Vec::new(),
            fork_targets: Vec::new(),
        };
        for (key, node) in members.iter().filter(|(_, node)| !is_null(node)) {
            match key.text.as_str() {
                "kind" => {
                    routing.kind = read::choice(node, "`kind`", KINDS, self.problems)?;
                    routing.span = node.span;
                }
                "next" => routing.next = self.name(node, "`next`"),
                "loop_target" => routing.loop_target = self.name(node, "`loop_target`"),
                "loop_condition_field" => routing.field = self.name(node, "`loop_condition_field`"),
                "loop_success_values" => routing.success_values = self.names(node, "`loop_success_values`"),
                "max_iterations" => routing.max_iterations = self.count(node),
                "branches" => routing.branches = self.branches(node),
                "fork_targets" => routing.fork_targets = self.names(node, "`fork_targets`"),
                _ => self.unknown((key, node), OF_A_ROUTING),
            }
        }
        self.idle_keys(routing.kind, members);
        Some(routing)
    }

    /// Notes keys that have no effect in a routing of this kind, neither in the dialect nor here.
    fn idle_keys(&mut self, kind: Kind, members: &[(Key, Node)]) {
        let idle: &[&str] = match kind {
            Kind::Microloop => &["branches", "fork_targets"],
            Kind::Branch => &["loop_target", "loop_success_values", "fork_targets"],
            Kind::Linear | Kind::Join => LOOP_KEYS,
            Kind::Terminal => &[
                "next",
                "loop_target",
                "loop_condition_field",
                "loop_success_values",
                "max_iterations",
                "branches",
                "fork_targets",
            ],
            Kind::Fork => &[
                "next",
                "loop_target",
                "loop_condition_field",
                "loop_success_values",
                "max_iterations",
                "branches",
            ],
        };
        for (key, _) in
            members.iter().filter(|(key, node)| idle.contains(&key.text.as_str()) && !is_null(node))
        {
            let (word, _) =
                KINDS.iter().find(|(_, known)| *known == kind).copied().unwrap_or(("linear", kind));
            let why = format!("it does nothing in a routing of kind `{word}`");
            self.notes.lost(key.span, format!("`{}`", key.text), why);
        }
    }

    fn branches(&mut self, node: &Node) -> Vec<(Spanned<String>, Spanned<String>)> {
        let members = read::entries(node, "`branches`", self.problems);
        let mut branches = Vec::new();
        for (key, node) in members {
            if let Some(step) = self.name(node, "a step in `branches`") {
                branches.push((Spanned { value: key.text.clone(), span: key.span }, step));
            }
        }
        branches
    }

    fn count(&mut self, node: &Node) -> Option<Spanned<u64>> {
        let value = read::integer(node, "`max_iterations`", 0..=MAX_ITERATIONS, self.problems)?;
        Some(Spanned { value, span: node.span })
    }

    /// A word on one line: an id, a value, or the name of a field or an agent.
    fn name(&mut self, node: &Node, name: &str) -> Option<Spanned<String>> {
        let value = self.line(node, name)?;
        Some(Spanned { value, span: node.span })
    }

    fn line(&mut self, node: &Node, name: &str) -> Option<String> {
        let text = read::token(node, name, self.problems)?.trim();
        if text.is_empty() || text.contains(char::is_control) {
            let message = format!("{name}: expected a text on one line");
            return refuse(self.problems, Diagnostic::invalid(node.span, message));
        }
        Some(text.to_owned())
    }

    /// A list of names, or a single name.
    fn names(&mut self, node: &Node, name: &str) -> Vec<Spanned<String>> {
        match &node.kind {
            _ if is_null(node) => Vec::new(),
            NodeKind::Scalar(_) => self.name(node, name).into_iter().collect(),
            _ => {
                let items = read::items(node, name, "a list of names", self.problems);
                items.iter().filter_map(|item| self.name(item, &format!("an item of {name}"))).collect()
            }
        }
    }
}

const LOOP_KEYS: &[&str] = &[
    "loop_target",
    "loop_condition_field",
    "loop_success_values",
    "max_iterations",
    "branches",
    "fork_targets",
];

fn is_null(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Scalar(scalar) if scalar.meaning() == Meaning::Null)
}

/// The span at which a step begins.
fn first(members: &[(Key, Node)], node: &Node) -> Span {
    members.first().map_or(node.span, |(key, _)| key.span)
}
