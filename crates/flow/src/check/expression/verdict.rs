//! Checks one path of an expression, such as `steps.critic.sumary`.
//!
//! Owns the names that exist and their members. The diagnostics here have no location yet; the caller adds it.

use super::comparison::schema;
use crate::{
    check::{
        data_fields,
        graph::{Graph, Standing},
    },
    parse::draft::{Draft, DraftStep, Site, Usage},
    syntax::{
        diagnostic::{Diagnostic, Span},
        read::listed,
        suggestion::did_you_mean,
    },
};
use envoi_kernel::{
    expression::names::{self, Call, Found, Kind, STATUS},
    flow::SecretSource,
};
use std::ops::Range;

const ROOTS: &[&str] = &["inputs", "steps", "run", "env"];
const OF_AN_ITEM: &[&str] = &["item", "index"];
const OF_GOALS: &[&str] = &["all", "remaining", "done", "round"];
const OF_A_STEP: &[&str] = &["status", "summary", "text", "data", "artifacts", "report"];
const OF_A_RUN: &[&str] = &["id", "flow", "workspace", "user_id", "session_id", "metadata", "raw_input"];

/// The result of checking a path.
pub(super) struct Verdict {
    pub(super) wrong: Vec<Diagnostic>,
    /// The part of the source that this check covers.
    pub(super) covers: Range<usize>,
}

/// The names that an expression may use.
pub(super) struct Names<'c> {
    pub(super) draft: &'c Draft,
    pub(super) graph: &'c Graph<'c>,
    pub(super) usage: &'c Usage,
}

impl Names<'_> {
    pub(super) fn judge(&self, found: &Found, members: &[String], call: Call) -> Verdict {
        let first = members.first().map(String::as_str);
        let wrong = match (found.name.as_str(), first) {
            ("inputs", Some(name)) => return self.input(name, found),
            ("steps", Some(id)) => {
                let mut verdict = self.step(id, members.get(1).map(String::as_str), found);
                verdict.wrong.extend(self.field(id, members, call));
                return verdict;
            }
            ("run", Some(name)) => no_member("a run", name, OF_A_RUN),
            ("env", Some(name)) => self.variable(name),
            ("env", None) => Some(
                unplaced("`env` is not a value by itself".to_owned()).help("name a variable: `env.NAME`"),
            ),
            ("goals", Some(name)) if self.roots().contains(&"goals") => no_member("`goals`", name, OF_GOALS),
            (root, _) if self.roots().contains(&root) => None,
            (root, _) if STATUS.contains(&root) => self.status(root, call),
            (root, _) => Some(self.unknown_root(root)),
        };
        Verdict { wrong: wrong.into_iter().collect(), covers: found.range.clone() }
    }

    /// The names with which an expression at this location can begin.
    fn roots(&self) -> Vec<&'static str> {
        let step = self.usage.step.and_then(|place| self.draft.steps.get(place));
        let items = self.usage.site == Site::Text && step.is_some_and(|step| step.each);
        let items = if items { OF_AN_ITEM } else { &[] };
        let goals: &[&str] =
            if self.draft.goals.is_some() && self.usage.site != Site::Goals { &["goals"] } else { &[] };
        ROOTS.iter().chain(goals).chain(items).copied().collect()
    }

    fn status(&self, name: &str, call: Call) -> Option<Diagnostic> {
        let message = match call {
            _ if self.usage.site != Site::Condition => format!("`{name}()` stands in `if` alone"),
            Call::No => format!("`{name}` is a function: `{name}()`"),
            Call::WithArguments => {
                format!("`{name}()` is about every step before this one, and takes no argument")
            }
            Call::Bare => return None,
        };
        Some(unplaced(message).help("what became of one step is `steps.ID.status`"))
    }

    fn unknown_root(&self, name: &str) -> Diagnostic {
        let roots = self.roots();
        let help = match name {
            "secrets" => {
                Some("a command reads a secret from the environment variable of that name".to_owned())
            }
            "goals" if self.usage.site == Site::Goals => None,
            "goals" => {
                Some("a flow has them if it says so: `goals: { list: [a], from: STEP, to: STEP }`".to_owned())
            }
            _ if OF_AN_ITEM.contains(&name) => Some(
                "`item` and `index` are there in `run`, `env` and `cwd` of a step with `for_each`".to_owned(),
            ),
            _ => did_you_mean(name, roots.iter().copied()),
        };
        unplaced(format!("unknown name `{name}`")).expecting(listed(&roots)).maybe_help(help)
    }

    /// Checks a variable that is read when the run starts and is then stored in the journal.
    fn variable(&self, name: &str) -> Option<Diagnostic> {
        let draft = self.draft;
        let help = "what an expression reads is stored in the journal; a command reads it from its environment: `$NAME`";
        let refuse = |what: &str| {
            Some(unplaced(format!("`env.{name}` reads {what}, whose values are never stored")).help(help))
        };
        if !crate::syntax::names::is_variable(name) || name.starts_with("ENVOI_") {
            let message = format!("`env.{name}` is no variable of the caller's");
            return Some(unplaced(message).help("`run` and `inputs` have what Envoi knows"));
        }
        let is_source = |secret: &envoi_kernel::flow::Secret| matches!(&secret.source, SecretSource::Env(variable) if variable == name);
        if draft.secret_names.iter().any(|secret| secret.value == name) || draft.secrets.iter().any(is_source)
        {
            return refuse("a secret");
        }
        let passes = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => pattern == name,
        };
        if draft.pass_env.iter().any(|pattern| passes(&pattern.value)) {
            return refuse("a variable of `pass_env`");
        }
        None
    }

    fn input(&self, name: &str, found: &Found) -> Verdict {
        let names = || self.draft.input_names.iter().map(String::as_str);
        let known = |word: &str| names().any(|declared| declared == word);
        if known(name) {
            return Verdict { wrong: Vec::new(), covers: found.range.clone() };
        }
        self.subtraction(found, name, known).unwrap_or_else(|| {
            let help = did_you_mean(name, names())
                .unwrap_or_else(|| format!("declare it: `inputs: {{ {name}: {{ type: string }} }}`"));
            let wrong = vec![unplaced(format!("there is no input `{name}`")).help(help)];
            Verdict { wrong, covers: found.range.clone() }
        })
    }

    fn step(&self, id: &str, member: Option<&str>, found: &Found) -> Verdict {
        let covers = found.range.clone();
        if let Some(place) = self.graph.place(id) {
            let step = self.draft.steps.get(place);
            let asks = step.is_some_and(|step| step.targets.asks);
            let nests = step.is_some_and(|step| step.targets.nests);
            let member = member.and_then(|member| match member {
                "report" if asks => Some(no_report(id)),
                "report" if nests => Some(no_report_of_a_flow(id)),
                _ => no_member("a step", member, OF_A_STEP),
            });
            return Verdict { wrong: member.into_iter().chain(self.order(id, place)).collect(), covers };
        }
        let known = |word: &str| self.graph.place(word).is_some();
        self.subtraction(found, id, known).unwrap_or_else(|| {
            let help = did_you_mean(id, self.graph.ids());
            Verdict { wrong: vec![unplaced(format!("there is no step `{id}`")).maybe_help(help)], covers }
        })
    }

    /// A field that no data of the step can have.
    fn field(&self, id: &str, members: &[String], call: Call) -> Option<Diagnostic> {
        let [_, data, fields @ ..] = members else { return None };
        // The last name of a call is a method of the value.
        let called = usize::from(call != Call::No);
        let fields = fields.get(..fields.len().saturating_sub(called))?;
        // A run keeps the flow that it began with, and fails where it reads the field.
        if data != "data" || self.draft.pinned || self.asks_whether_it_is_there() {
            return None;
        }
        let step = self.draft.steps.iter().find(|step| step.name() == id)?;
        let unknown = data_fields::unknown(schema(step)?, fields).filter(|unknown| unknown.is_impossible)?;
        let message =
            format!("the data of step `{id}` has no `{}`: its schema allows no other fields", unknown.name);
        Some(unplaced(message).help(unknown.help()))
    }

    /// Checks that the step that is read can have run before.
    fn order(&self, id: &str, read: usize) -> Option<Diagnostic> {
        if self.usage.site == Site::Outputs {
            return None;
        }
        let Some(reader) = self.usage.step else {
            let message =
                format!("`env` of the flow cannot read step `{id}`: it is filled in for every step");
            return Some(unplaced(message).help("give it to the steps that need it"));
        };
        if self.usage.site == Site::Goals && read >= reader {
            let message =
                format!("step `{id}` is not over when the first round begins and the goals are listed");
            return Some(unplaced(message));
        }
        let message = match self.graph.standing(read, reader) {
            Standing::Before => return self.first_visit(id, read, reader),
            Standing::Itself => {
                format!("step `{id}` reads its own result, which is not there before it has run")
            }
            Standing::Later => format!("step `{id}` runs later: nothing leads from it to here"),
            Standing::Beside => {
                let reader = self.draft.steps.get(reader).map_or("", DraftStep::name);
                let message = format!("step `{id}` is not among what `{reader}` waits for");
                return Some(unplaced(message).help(format!("add it: `needs: [{id}]`")));
            }
        };
        Some(unplaced(message))
    }

    /// Checks a read of a later step, or of the step's own last visit, in a loop. At the first visit there is no
    /// value.
    fn first_visit(&self, id: &str, read: usize, reader: usize) -> Option<Diagnostic> {
        // A run that was begun with version 1 keeps its flow, which passed the checks of that version.
        let checks = self.draft.language >= 2 && self.graph.is_first_without(read, reader);
        if !checks || self.asks_whether_it_is_there() {
            return None;
        }
        // An `if` may skip the step at its first visit.
        let step = self.draft.steps.get(reader)?;
        let may_skip = step.step.as_ref().is_none_or(|step| step.condition.is_some());
        if may_skip && self.usage.site != Site::Condition {
            return None;
        }
        let whose = if read == reader { "its own last visit" } else { "a visit of the last round" };
        let message =
            format!("`steps.{id}` is {whose}, and at the first visit of `{}` there is none", step.name());
        Some(unplaced(message).help("say what holds then: `| default('…')`, or ask `is defined`"))
    }

    /// True if the text handles an undefined value, by a default or by a test.
    fn asks_whether_it_is_there(&self) -> bool {
        super::sources(self.usage).into_iter().flat_map(names::names).any(|found| match found.kind {
            Kind::Filter => matches!(found.name.as_str(), "default" | "d"),
            Kind::Test => matches!(found.name.as_str(), "defined" | "undefined"),
            Kind::Path { .. } => false,
        })
    }

    /// `steps.fix-it.status` means `steps.fix` minus `it.status`. If a known name contains the hyphen, it was
    /// probably meant.
    fn subtraction(&self, found: &Found, member: &str, known: impl Fn(&str) -> bool) -> Option<Verdict> {
        let start = found.range.start.checked_add(found.name.len())?.checked_add(1)?;
        let written = self.usage.source.get(start..).filter(|written| written.starts_with(member))?;
        let part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        let end = written.find(|letter: char| !part(letter)).unwrap_or(written.len());
        let word = written.get(..end).filter(|word| known(word))?;
        let root = &found.name;
        let wrong = unplaced(format!("`{root}.{word}` is read as a subtraction"))
            .help(format!("write `{root}['{word}']`"));
        Some(Verdict { wrong: vec![wrong], covers: found.range.start..start.checked_add(word.len())? })
    }
}

fn unplaced(message: String) -> Diagnostic {
    Diagnostic::invalid(Span::default(), message)
}

fn no_member(what: &str, name: &str, members: &[&'static str]) -> Option<Diagnostic> {
    if members.contains(&name) {
        return None;
    }
    let help =
        did_you_mean(name, members.iter().copied()).unwrap_or_else(|| format!("it has {}", listed(members)));
    Some(unplaced(format!("{what} has no `{name}`")).help(help))
}

fn no_report_of_a_flow(id: &str) -> Diagnostic {
    unplaced(format!("step `{id}` runs a flow, which leaves no report"))
        .help("what it hands over is its `data`: the `returns` of the step")
}

fn no_report(id: &str) -> Diagnostic {
    unplaced(format!("step `{id}` asks, and an answer leaves no report"))
        .help("the answer is its `summary` and its `data`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/expressions.md` explains each name, and shows it in a row that another test evaluates.
    #[test]
    fn the_page_of_expressions_explains_and_shows_every_name() {
        const PAGE: &str = include_str!("../../../../../docs/expressions.md");
        let (explained, shown) = PAGE.split_once("| expression | value |").unwrap();
        let explained = explained.split_once("| name | what it is |").unwrap().1;
        let rows: String = shown.lines().filter(|line| line.starts_with("| `")).collect();
        let names = [
            ("run.", "run.", OF_A_RUN),
            ("steps.ID.", "steps.build.", OF_A_STEP),
            ("goals.", "goals.", OF_GOALS),
            ("", "", OF_AN_ITEM),
            ("", "", ROOTS),
        ];
        for (head, example, names) in names {
            for name in names {
                let is_explained = explained.contains(&format!("`{head}{name}`"))
                    || head.is_empty() && explained.contains(&format!("`{name}."));
                assert!(is_explained, "{head}{name}");
                assert!(rows.contains(&format!("{example}{name}")), "{example}{name}");
            }
        }
    }
}
