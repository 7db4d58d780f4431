//! Converts the steps of the source into steps of the flow file.
//!
//! Owns the conversion of a routing, and the notes about parts that cannot be converted exactly.

use super::{
    Command, MadeStep,
    control_flow::ControlFlow,
    exits::Exits,
    finding::Notes,
    ids::Names,
    prompt::{self, Ending, STATUS},
    source::{self, Kind, Source, Step},
};
use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    names::is_word,
    read::Spanned,
};

/// Longest argument that a process start accepts.
const MAX_ARGUMENT: usize = 100 * 1024;

/// The default iteration limit, as in the dialect's own reader.
const DEFAULT_ITERATIONS: u64 = 5;

/// Words that state that a loop is not done. The first one that is not a success value is used.
const NOT_DONE: [&str; 3] = ["UNVERIFIED", "INCOMPLETE", "UNFINISHED"];

/// The `routing` of a step in our flow file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Routing {
    pub(super) kind: Option<&'static str>,
    pub(super) loop_to: Option<String>,
    pub(super) success_values: Vec<String>,
    pub(super) branches: Vec<String>,
    pub(super) max_iterations: Option<u64>,
    /// The id of a step, or `end`.
    pub(super) next: String,
}

/// Converts all reachable steps, in order.
pub(super) fn steps(
    source: &Source<'_>,
    control_flow: &ControlFlow,
    names: &Names,
    command: &Command,
    notes: &mut Notes,
    problems: &mut Problems,
) -> Vec<MadeStep> {
    let flow = source.title.as_deref().unwrap_or(&source.key.value);
    let mut made = Vec::new();
    for (place, step) in
        control_flow.order.iter().filter_map(|place| Some((*place, source.steps.get(*place)?)))
    {
        let (routing, ending) = Maker { control_flow, names, place, notes }.routing(step);
        if step.agents.is_empty() {
            let what = format!("`{}` without `agents`", step.id.value);
            notes.carried(step.id.span, what, "a step without a named agent", "no agent is named");
        }
        let mut last = Some((routing, ending));
        let mut group = Vec::new();
        for (at, id) in names.all(place).iter().enumerate().rev() {
            let (routing, ending) = last.take().map_or((None, Ending::Free), |(r, e)| (Some(r), e));
            let agent = step.agents.get(at).map(|agent| agent.value.as_str());
            let prompt = prompt::of(flow, step, agent, id, &ending);
            let run = command.fill(agent.unwrap_or(id), id, &prompt);
            check(step, &run, problems);
            group.push(MadeStep {
                id: id.clone(),
                needs: Vec::new(),
                continue_on_error: false,
                run: run.iter().map(|word| literal(word)).collect(),
                routing,
            });
        }
        made.extend(group.into_iter().rev());
    }
    made
}

/// Escapes a text for templates: `${{` becomes an expression with the value `${{`.
fn literal(text: &str) -> String {
    text.replace("${{", "${{ '${{' }}")
}

fn check(step: &Step<'_>, run: &[String], problems: &mut Problems) {
    let wrong = |message: String| Diagnostic::invalid(step.id.span, message);
    if run.iter().any(|word| word.len() > MAX_ARGUMENT) {
        let message = format!("the text of `{}` is longer than {MAX_ARGUMENT} bytes", step.id.value);
        problems.add(wrong(message).help("put it into a file that the agent reads"));
    }
    if run.iter().any(|word| word.contains('\0')) {
        problems.add(wrong(format!("the text of `{}` holds a NUL character", step.id.value)));
    }
}

struct Maker<'m> {
    control_flow: &'m ControlFlow,
    names: &'m Names,
    place: usize,
    notes: &'m mut Notes,
}

impl Maker<'_> {
    fn routing(&mut self, step: &Step<'_>) -> (Routing, Ending) {
        let exits = self.control_flow.of(self.place);
        let next = exits.next.map_or("end", |next| self.names.entry(next)).to_owned();
        match &step.routing {
            Some(routing) if routing.kind == Kind::Microloop => self.microloop(&exits, next, routing),
            Some(routing) if routing.kind == Kind::Branch && !routing.branches.is_empty() => {
                self.branch(&exits, next, routing)
            }
            Some(routing) if routing.kind == Kind::Branch => {
                let why = "without `branches` it goes on to `next` whatever happens";
                self.notes.carried(routing.span, "a branch without `branches`", "a linear step", why);
                (Routing { next, ..Routing::default() }, Ending::Free)
            }
            _ => (Routing { next, ..Routing::default() }, Ending::Free),
        }
    }

    fn microloop(&mut self, exits: &Exits, next: String, routing: &source::Routing) -> (Routing, Ending) {
        let field = self.field(routing);
        let words = self.words(&field, routing);
        if routing.loop_target.is_none() {
            let why = "it names no step to go back to";
            self.notes.carried(
                routing.span,
                "a loop without `loop_target`",
                "a loop of the step itself",
                why,
            );
        }
        let why = "there the flow goes on unfinished when the rounds are used up or cannot help; here a person is \
                   asked (for the first, `on_exhausted: proceed` goes on)";
        self.notes.carried(routing.span, "the end of an unfinished loop", "`on_exhausted: ask`", why);
        let mut success_values: Vec<String> = Vec::new();
        for (_, word) in &words {
            if !success_values.contains(word) {
                success_values.push(word.clone());
            }
        }
        let is_success = |word: &str| success_values.iter().any(|value| value.eq_ignore_ascii_case(word));
        let otherwise = NOT_DONE.into_iter().find(|word| !is_success(word)).unwrap_or("PENDING");
        let made = Routing {
            kind: Some("microloop"),
            loop_to: exits.back.map(|back| self.names.entry(back).to_owned()),
            success_values,
            branches: Vec::new(),
            max_iterations: Some(self.bound(routing, "a loop without `max_iterations`")),
            next,
        };
        (made, Ending::Status { field, words, otherwise })
    }

    fn bound(&mut self, routing: &source::Routing, what: &str) -> u64 {
        if let Some(max) = &routing.max_iterations {
            return max.value;
        }
        let carried = format!("`max_iterations: {DEFAULT_ITERATIONS}`");
        self.notes.carried(
            routing.span,
            what,
            carried,
            "what leads back is bounded, and the file states no bound",
        );
        DEFAULT_ITERATIONS
    }

    /// The field that decides. Only the agent can read a field other than `status`.
    fn field(&mut self, routing: &source::Routing) -> String {
        match &routing.field {
            Some(field) if !field.value.eq_ignore_ascii_case(STATUS) => {
                let what = format!("`loop_condition_field: {}`", field.value);
                let why = "what decides is the text of a step, not a field of its receipt";
                self.notes.carried(field.span, what, "an instruction at the end of the prompt", why);
                field.value.clone()
            }
            _ => STATUS.to_owned(),
        }
    }

    /// The success values, and the words that state them.
    fn words(&mut self, field: &str, routing: &source::Routing) -> Vec<(String, String)> {
        if routing.success_values.is_empty() {
            let what = "a loop without `loop_success_values`";
            self.notes.carried(routing.span, what, "`success_values: [VERIFIED]`", "a status ends a loop");
            return vec![("VERIFIED".to_owned(), "VERIFIED".to_owned())];
        }
        let mut words: Vec<(String, String)> = Vec::new();
        for value in &routing.success_values {
            let word = self.word(field, value);
            let same = words.iter().find(|(_, known)| known.eq_ignore_ascii_case(&word));
            match same.map(|(known, _)| known.clone()) {
                Some(known) => {
                    let what = format!("`{}`", value.value);
                    self.notes.carried(value.span, what, format!("`{known}`"), "a status has no case");
                }
                None => words.push((value.value.clone(), word)),
            }
        }
        words
    }

    fn word(&mut self, field: &str, value: &Spanned<String>) -> String {
        if is_word(&value.value) {
            return value.value.clone();
        }
        let text = format!("{field}_{}", value.value).to_ascii_uppercase();
        let spelled: String =
            text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        let begins_well = spelled.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let word = if begins_well { spelled } else { format!("VALUE_{spelled}") };
        let why = "a status is one word of letters, digits, `_` and `-`";
        self.notes.carried(value.span, format!("`{}`", value.value), format!("`{word}`"), why);
        word
    }

    fn branch(&mut self, exits: &Exits, next: String, routing: &source::Routing) -> (Routing, Ending) {
        let field = self.field(routing);
        let why = "a branch follows a line of the step's text; the prompt asks for it";
        let carried = "lines `Go to step 'x'`, one a value";
        self.notes.carried(routing.span, format!("the values of `{field}` in `branches`"), carried, why);
        let values = routing.branches.iter().map(|(value, _)| value.value.clone());
        let targets = exits.branches.iter().map(|place| self.names.entry(*place).to_owned());
        let cases: Vec<(String, String)> = values.zip(targets).collect();
        let otherwise = exits.next.map(|_| next.clone());
        if otherwise.is_none() {
            let why = "there the flow ends; an end cannot be named by a text here";
            self.notes.carried(
                routing.span,
                "a value that is not in `branches`",
                "a question to a person",
                why,
            );
        }
        let mut branches: Vec<String> = Vec::new();
        for id in cases.iter().map(|(_, id)| id).chain(&otherwise) {
            if !branches.contains(id) {
                branches.push(id.clone());
            }
        }
        let leads_back =
            exits.branches.iter().any(|to| self.control_flow.rank(*to) <= self.control_flow.rank(self.place));
        let max_iterations = match &routing.max_iterations {
            Some(max) => Some(max.value),
            None if leads_back => Some(self.bound(routing, "a branch that leads back")),
            None => None,
        };
        let made = Routing { kind: Some("branch"), branches, max_iterations, next, ..Routing::default() };
        (made, Ending::Branch { field, cases, otherwise })
    }
}
