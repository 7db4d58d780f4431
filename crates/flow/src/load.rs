//! Loads flows that name other flows: where their texts come from, and the order in which they are read.
//!
//! Owns paths between flows, cycles and depth, and the keys that a flow may not have when it is a part of another.
//! Reads no file itself: [`Files`] is an argument.

use crate::{
    LANGUAGE,
    check::{cached, expression, files, forms, goals, graph::Graph},
    parse::{
        draft::{Inner, Named, NamedFlows},
        file,
    },
    syntax::document::MAX_BYTES,
    values::inputs,
};
use crate::{
    parse::draft::Draft,
    syntax::{
        diagnostic::{Diagnostic, Problems, Report, Span},
        document::{root, without_mark},
        read, tree,
        yaml::{Key, Kind, Node},
    },
};
use envoi_contract::json::Value;
use envoi_kernel::flow::{Flow, Secret, SecretSource};
use envoi_kernel::{
    flow::{InputCheck, KnownStructure},
    ids::FlowId,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

/// The source of the texts of named flows.
pub trait Files {
    /// The text of the file at `path`. The path is relative to the folder of the outermost flow, with names separated
    /// by `/`, none of them `.` or `..`.
    ///
    /// # Errors
    /// The file cannot be read.
    fn text(&self, path: &str) -> Result<String, FileError>;
}

/// The reason why the text of a named flow is not available, in words that complete "cannot be read: …".
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The source is a fixed set of files, and this file is not in it.
    #[error("it is not among the files that {0}")]
    NotAmong(&'static str),
    /// The operating system's reason.
    #[error(transparent)]
    Machine(#[from] std::io::Error),
}

/// The files to which a run is pinned ([`crate::load::Loaded::parts`]).
impl Files for BTreeMap<String, String> {
    fn text(&self, path: &str) -> Result<String, FileError> {
        self.get(path).cloned().ok_or(FileError::NotAmong("belong to the flow"))
    }
}

/// The largest nesting depth of flows, including the outermost one. People could not understand a deeper nesting.
const MAX_DEPTH: usize = 3;

/// The largest number of flows in a run.
const MAX_FILES: usize = 100;

/// Keys that apply to a whole run.
const OF_A_RUN: &[(&str, &str)] = &[
    ("limits", "the run has the bounds of its outermost flow"),
    ("notify", "the outermost flow names the recipients"),
    ("goals", "only the outermost flow has rounds"),
    ("workspace", "the run is in the folder of its outermost flow"),
];

/// How strictly a file is read.
#[derive(Debug, Clone, Copy)]
struct Edition {
    /// The version of the language.
    language: u32,
    /// True if a run is already pinned to the flow.
    pinned: bool,
}

/// Reads a flow and the flows that it names.
pub(crate) struct Loader<'f> {
    edition: Edition,
    files: &'f dyn Files,
    /// The folder of the outermost flow, as named in messages.
    folder: String,
    known: BTreeMap<String, Option<Rc<Inner>>>,
    /// By flow id: the path and the text of the first flow with that id.
    ids: BTreeMap<String, (String, String)>,
    parts: BTreeMap<String, Part>,
    reports: Vec<Report>,
}

struct Part {
    text: String,
    value: Value,
    /// The paths of the flows that it names directly.
    names: Vec<String>,
}

/// A file in the chain that leads to the file being read.
struct Link<'l> {
    path: &'l str,
    text: &'l str,
    before: Option<&'l Link<'l>>,
}

impl Link<'_> {
    fn depth(&self) -> usize {
        self.before.map_or(1, |before| before.depth().saturating_add(1))
    }

    /// The chain as `a -> b -> c`, ending with `last`.
    fn chain(&self, last: &str) -> String {
        let so_far = format!("{} -> {last}", self.path);
        self.before.map_or(so_far.clone(), |before| before.chain(&so_far))
    }

    fn leads_through(&self, path: &str, text: &str) -> bool {
        self.path == path
            || self.text == text
            || self.before.is_some_and(|before| before.leads_through(path, text))
    }
}

/// A flow that was read, with all its parts.
pub(crate) struct Whole {
    pub(crate) flow: Flow,
    pub(crate) parts: BTreeMap<String, String>,
}

/// A flow that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The checked flow: all names exist, loops are bounded, expressions parse.
    pub flow: Flow,
    /// The version of the language with which it was read.
    pub language: u32,
    /// The texts of the flows that it names, directly or indirectly, by their paths relative to its folder. Together
    /// with its own text they are everything that was read, so [`load_with`] can read the flow from them again.
    pub parts: BTreeMap<String, String>,
}

/// Reads a flow that names no other flow from the text of a file. `name` is the file's name in messages.
///
/// # Errors
/// All mistakes of the file, in their order. If the text is not YAML, only the first syntax error. Naming another
/// flow is a mistake here, because that needs [`load_with`].
pub fn load(name: &str, text: &str) -> Result<Loaded, Report> {
    load_with(name, text, &BTreeMap::new())
}

/// Like [`load`], with the named flows from `files`.
///
/// # Errors
/// As [`load`]. The mistakes of other files are in [`Report::others`], with their locations there.
pub fn load_with(name: &str, text: &str, files: &dyn Files) -> Result<Loaded, Report> {
    let Whole { flow, parts } = whole(Edition { language: LANGUAGE, pinned: false }, name, text, files)?;
    Ok(Loaded { flow, language: LANGUAGE, parts })
}

/// Like [`load_with`], for a flow to which a run is pinned, in the language version with which the run was begun.
/// Constructs that can never be true, such as a comparison with a word that is not a status, are accepted, because
/// earlier builds accepted them.
///
/// # Errors
/// As [`load_with`]. If the version is newer than [`LANGUAGE`], that is the only mistake.
pub fn load_as(language: u32, name: &str, text: &str, files: &dyn Files) -> Result<Loaded, Report> {
    if language > LANGUAGE {
        let mut problems = Problems::default();
        let message =
            format!("this flow is in version {language} of the language, and this build reads {LANGUAGE}");
        problems.add(Diagnostic::invalid(Span::default(), message).help("use a newer Envoi"));
        return Err(problems.into_report(name, text));
    }
    let Whole { flow, parts } = whole(Edition { language, pinned: true }, name, text, files)?;
    Ok(Loaded { flow, language, parts })
}

/// Like [`load`], from the bytes of a file.
///
/// # Errors
/// As [`load`]. Bytes that are not UTF-8 are a mistake at their location.
pub fn load_bytes(name: &str, bytes: &[u8]) -> Result<Loaded, Report> {
    match core::str::from_utf8(bytes) {
        Ok(text) => load(name, text),
        Err(error) => {
            let mut problems = Problems::default();
            let at = error.valid_up_to();
            problems.add(Diagnostic::syntax(Span::new(at, at), "the file is not UTF-8"));
            let valid = bytes.get(..at.min(MAX_BYTES)).map(String::from_utf8_lossy).unwrap_or_default();
            Err(problems.into_report(name, &valid))
        }
    }
}

/// Reads the outermost flow.
fn whole(edition: Edition, name: &str, text: &str, files: &dyn Files) -> Result<Whole, Report> {
    let text = without_mark(text);
    let folder = folder_of(name);
    let file = name.get(folder.len()..).unwrap_or(name);
    let mut loader = Loader {
        edition,
        files,
        folder: folder.to_owned(),
        known: BTreeMap::new(),
        ids: BTreeMap::new(),
        parts: BTreeMap::new(),
        reports: Vec::new(),
    };
    let mut problems = Problems::default();
    let link = Link { path: file, text, before: None };
    let read = loader.read(&link, "", &mut problems);
    let Loader { parts, reports, .. } = loader;
    match read {
        Some((_, flow)) if problems.is_empty() && reports.is_empty() => {
            Ok(Whole { flow, parts: parts.into_iter().map(|(path, part)| (path, part.text)).collect() })
        }
        _ => {
            let mut report = problems.into_report(name, text);
            report.others = reports;
            Err(report)
        }
    }
}

impl Loader<'_> {
    /// Reads the file at the end of `link`, which is in `folder`.
    fn read(&mut self, link: &Link<'_>, folder: &str, problems: &mut Problems) -> Option<(Draft, Flow)> {
        let Some(root) = root(link.text, problems) else {
            if problems.is_empty() {
                let message = "the file is empty";
                let empty = Diagnostic::invalid(Span::default(), message);
                problems.add(empty.help("a flow has `flow` and `steps`"));
            }
            return None;
        };
        self.check_id(link, &root, problems);
        if link.before.is_some() {
            of_a_run(&root, problems);
        }
        let (names, paths) = self.names(link, &root, folder);
        let (draft, flow) = reading(&root, self.edition, names, link.text, problems)?;
        let flow = self.joined(flow, &draft, &root, &paths, link.before.is_none(), problems)?;
        if link.before.is_none() {
            cached::check(&draft, &flow, root.span, problems);
        }
        if link.before.is_some() {
            let text = link.text.to_owned();
            let value = tree::value(&root);
            self.parts.insert(link.path.to_owned(), Part { text, value, names: paths });
        }
        Some((draft, flow))
    }

    /// Checks that different flows of a run have different ids. A copy of a file counts as the same flow.
    fn check_id(&mut self, link: &Link<'_>, root: &Node, problems: &mut Problems) {
        let Some((_, node)) = member(root, "flow") else { return };
        let Some(id) = read::as_text(node) else { return };
        let own = (link.path.to_owned(), link.text.to_owned());
        let (path, text) = self.ids.entry(id.to_owned()).or_insert(own);
        if *path != link.path && *text != link.text {
            let message = format!("`{id}` is also the id of the flow in `{path}`");
            let help = "flows that are parts of one run have different ids";
            problems.add(Diagnostic::invalid(node.span, message).help(help));
        }
    }

    /// The flows that the file names, and their paths.
    fn names(&mut self, link: &Link<'_>, root: &Node, folder: &str) -> (NamedFlows, Vec<String>) {
        let mut names = NamedFlows::new();
        let mut paths = Vec::new();
        for written in named_in(root) {
            if names.contains_key(written) {
                continue;
            }
            let named = match path_of(written, folder) {
                Ok(path) => {
                    let named = self.named(link, &path);
                    paths.push(path);
                    named
                }
                Err((message, help)) => Named::Refused { message, help: Some(help) },
            };
            names.insert(written.to_owned(), named);
        }
        (names, paths)
    }

    fn named(&mut self, link: &Link<'_>, path: &str) -> Named {
        let refused = |message: String| Named::Refused { message, help: None };
        let too_deep = |chain: String| Named::Refused {
            message: format!("flows are nested at most {MAX_DEPTH} deep: `{chain}`"),
            help: Some("name the innermost flow from one further out".to_owned()),
        };
        if let Some(known) = self.known.get(path) {
            let Some(inner) = known else { return Named::Wrong };
            if link.depth().saturating_add(inner.height) > MAX_DEPTH {
                return too_deep(link.chain(path));
            }
            return Named::Right(Rc::clone(inner));
        }
        let text = match self.files.text(path) {
            Ok(text) => without_mark(&text).to_owned(),
            Err(reason) => return refused(format!("`{path}` cannot be read: {reason}")),
        };
        if link.leads_through(path, &text) {
            return Named::Refused {
                message: format!("a flow cannot be a part of itself: `{}`", link.chain(path)),
                help: Some("`routing` leads back within a flow".to_owned()),
            };
        }
        if link.depth() >= MAX_DEPTH {
            return too_deep(link.chain(path));
        }
        if self.known.len() >= MAX_FILES {
            return refused(format!("a run is made of at most {MAX_FILES} flows"));
        }
        let mut problems = Problems::default();
        let below = Link { path, text: &text, before: Some(link) };
        let read = self.read(&below, folder_of(path), &mut problems);
        let inner = match read {
            Some((draft, flow)) if problems.is_empty() => {
                let deepest = draft.named.values().filter_map(|named| match named {
                    Named::Right(inner) => Some(inner.height),
                    Named::Wrong | Named::Refused { .. } => None,
                });
                let height = deepest.max().unwrap_or(0).saturating_add(1);
                Some(Rc::new(Inner { draft, flow: Arc::new(flow), height }))
            }
            _ => {
                if !problems.is_empty() {
                    self.reports.push(problems.into_report(&format!("{}{path}", self.folder), &text));
                }
                None
            }
        };
        self.known.insert(path.to_owned(), inner.clone());
        inner.map_or(Named::Wrong, Named::Right)
    }

    /// Adds what the flow takes from the flows that it names: their part in its digest and, for the outermost flow,
    /// the flows themselves and their secrets.
    fn joined(
        &self,
        mut flow: Flow,
        draft: &Draft,
        root: &Node,
        paths: &[String],
        outermost: bool,
        problems: &mut Problems,
    ) -> Option<Flow> {
        let mut parts = BTreeMap::new();
        self.collect(paths, &mut parts);
        for path in parts.keys().filter(|_| outermost) {
            let Some(Some(inner)) = self.known.get(path) else { return None };
            add_new(&mut flow.pass_env, inner.flow.pass_env.iter().cloned());
            add_new(&mut flow.env_read, inner.flow.env_read.iter().cloned());
            flow.reads_text |= inner.flow.reads_text;
            let folder = folder_of(path);
            add_new(&mut flow.env_files, inner.flow.env_files.iter().map(|file| format!("{folder}{file}")));
            for secret in &inner.draft.secrets {
                join_secret(&mut flow, draft, &placed(secret, folder_of(path)), path, root, problems);
            }
            let before = flow.flows.insert(inner.flow.id.clone(), Arc::clone(&inner.flow));
            if before.is_some_and(|before| before.steps != inner.flow.steps) {
                let message =
                    format!("there are two files of flow `{}`, and they name different flows", inner.flow.id);
                problems.add(
                    Diagnostic::invalid(root.span, message).help("name one of the two files everywhere"),
                );
            }
        }
        if outermost && !parts.is_empty() {
            check_pinned_variables(&flow, root, problems);
            self.check_variables(&flow, root, parts.keys(), problems);
        }
        if !parts.is_empty() {
            flow.digest = tree::digest_with(root, parts);
        }
        Some(flow)
    }

    /// Checks that no secret of the run is a variable of another flow, because the commands of all flows see the
    /// secrets.
    fn check_variables<'p>(
        &self,
        flow: &Flow,
        root: &Node,
        paths: impl Iterator<Item = &'p String>,
        problems: &mut Problems,
    ) {
        let named =
            paths.filter_map(|path| Some((format!("`{path}`"), &*self.known.get(path)?.as_ref()?.flow)));
        for (path, of) in core::iter::once(("this file".to_owned(), flow)).chain(named) {
            let variables = of.env.iter().chain(of.steps.iter().flat_map(|step| &step.env));
            let mut reported = BTreeSet::new();
            for (name, _) in variables {
                if flow.secrets.iter().any(|secret| secret.name == *name) && reported.insert(name) {
                    let message =
                        format!("`{name}` is a secret of the run, and a variable of `env` in {path}");
                    let help = "a command would see only one of them; rename the other";
                    problems.add(Diagnostic::invalid(root.span, message).help(help));
                }
            }
        }
    }

    /// Collects all flows that `paths` name, directly or indirectly.
    fn collect(&self, paths: &[String], into: &mut BTreeMap<String, Value>) {
        for path in paths {
            if let Some(part) = self.parts.get(path).filter(|_| !into.contains_key(path)) {
                into.insert(path.clone(), part.value.clone());
                self.collect(&part.names, into);
            }
        }
    }
}

fn add_new(all: &mut Vec<String>, more: impl Iterator<Item = String>) {
    for name in more {
        if !all.contains(&name) {
            all.push(name);
        }
    }
}

/// Checks that no flow reads a variable into the journal that another flow of the run keeps out of it.
fn check_pinned_variables(flow: &Flow, root: &Node, problems: &mut Problems) {
    for name in &flow.env_read {
        let is_secret = flow.secrets.iter().any(|secret| {
            secret.name == *name || matches!(&secret.source, SecretSource::Env(variable) if variable == name)
        });
        if is_secret || flow.passes(name) {
            let message = format!(
                "`env.{name}` is read in one flow of the run, and is a secret or in `pass_env` in another"
            );
            let help =
                "what an expression reads is stored in the journal; a command reads it from its environment";
            problems.add(Diagnostic::invalid(root.span, message).help(help));
        }
    }
}

/// The folder of a path with its `/`, or an empty text.
fn folder_of(path: &str) -> &str {
    path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or_default()
}

/// A secret of a flow in `folder`, with its path relative to the outermost flow.
fn placed(secret: &Secret, folder: &str) -> Secret {
    let source = match &secret.source {
        SecretSource::File(path) if !path.starts_with('/') => SecretSource::File(format!("{folder}{path}")),
        other => other.clone(),
    };
    Secret { name: secret.name.clone(), source }
}

/// Adds a secret of another flow. The commands of all flows see the same secrets, so each name must have one source.
fn join_secret(
    flow: &mut Flow,
    draft: &Draft,
    secret: &Secret,
    path: &str,
    root: &Node,
    problems: &mut Problems,
) {
    match flow.secrets.iter().find(|own| own.name == secret.name) {
        None => flow.secrets.push(secret.clone()),
        Some(own) if own.source == secret.source => {}
        Some(_) => {
            let declared = draft.secret_names.iter().find(|name| name.value == secret.name);
            let span = declared.map_or(root.span, |name| name.span);
            let message = format!("secret `{}` has another source in `{path}`", secret.name);
            let help = "flows of one run read a secret from one place; rename one of the two";
            problems.add(Diagnostic::invalid(span, message).help(help));
        }
    }
}

fn of_a_run(root: &Node, problems: &mut Problems) {
    for (name, why) in OF_A_RUN {
        if let Some((key, _)) = member(root, name) {
            let message = format!("`{name}` in a flow that is a part of another one: {why}");
            let help = "leave it out here; a file that is also run by itself can be named by one that has it";
            problems.add(Diagnostic::invalid(key.span, message).help(help));
        }
    }
}

fn member<'n>(node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    match &node.kind {
        Kind::Mapping(members) => {
            members.iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node))
        }
        _ => None,
    }
}

fn items(node: &Node) -> &[Node] {
    match &node.kind {
        Kind::Sequence(items) => items,
        _ => &[],
    }
}

/// The names of other flows in a file, as written.
fn named_in(root: &Node) -> impl Iterator<Item = &str> {
    let list = |name| member(root, name).map(|(_, node)| items(node)).unwrap_or_default();
    let steps = list("steps").iter().filter_map(|step| member(step, "flow")).map(|(_, node)| node);
    steps.chain(list("flows")).filter_map(read::as_text)
}

/// The path of `written`, named in a file in `folder`, relative to the folder of the outermost flow.
fn path_of(written: &str, folder: &str) -> Result<String, (String, String)> {
    let help = "name it from this file's folder, such as `./build.yaml` or `parts/build.yaml`".to_owned();
    let bad = |why: &str| Err((format!("`{}` {why}", crate::syntax::yaml::shortened(written)), help.clone()));
    let path = written.strip_prefix("./").unwrap_or(written);
    if written.contains("${{") {
        return bad("is a template, and the flow must be named as a plain text");
    }
    if path.starts_with('/') {
        return bad("is an absolute path");
    }
    if path.split('/').any(|segment| segment == "..") {
        return bad("leads out of this file's folder");
    }
    if path.contains('\\') || path.split('/').any(|segment| segment.is_empty() || segment == ".") {
        return bad("is no path of a flow file");
    }
    Ok(format!("{folder}{path}"))
}

/// Reads one file, with the flows that it names. `None` if it or one of them has a mistake.
fn reading(
    root: &Node,
    edition: Edition,
    named: NamedFlows,
    text: &str,
    problems: &mut Problems,
) -> Option<(Draft, Flow)> {
    let draft = Draft { pinned: edition.pinned, ..file::read(root, edition.language, named, problems) };
    goals::check(&draft, problems);
    files::check(&draft, problems);
    forms::check(&draft, problems);
    let rounds = draft.goals.as_ref().and_then(|goals| goals.rounds(&draft.steps));
    let graph = Graph::check(&draft.steps, rounds, problems);
    expression::check(&draft, &graph, text, problems);
    let flow = finish(&draft, root, text);
    if flow.is_none() && problems.is_empty() && !draft.leans_on_wrong_ones() {
        problems.add(Diagnostic::invalid(root.span, "this flow cannot be read, and Envoi cannot say why"));
    }
    flow.map(|flow| (draft, flow))
}

/// The kernel's flow, unless a part is missing because of a mistake.
fn finish(draft: &Draft, root: &Node, text: &str) -> Option<Flow> {
    let goals = match &draft.goals {
        Some(goals) => Some(goals.plan()?),
        None => None,
    };
    Some(Flow {
        id: FlowId::new(draft.id.as_deref()?).ok()?,
        language: draft.language,
        title: draft.title.clone(),
        inputs: draft.inputs.clone(),
        limits: draft.limits.clone(),
        secrets: draft.secrets.clone(),
        pass_env: draft.pass_env.iter().map(|name| name.value.clone()).collect(),
        env_files: draft.env_file.iter().cloned().collect(),
        env_read: expression::variables(draft).into_iter().collect(),
        reads_text: expression::reads_text(draft),
        workspace: draft.workspace.folder.clone()?,
        isolation: draft.workspace.isolation.clone(),
        keep_files: draft.workspace.keep,
        keep_also: draft.workspace.keep_also.clone(),
        env: draft.env.clone(),
        notify: draft.notify.clone(),
        steps: draft.steps.iter().map(|step| step.step.clone()).collect::<Option<_>>()?,
        graph: draft.steps.iter().any(|step| step.waits.named),
        goals,
        input_check: InputCheck(inputs::check_all),
        reads: expression::reads(draft, text),
        flows: BTreeMap::new(),
        digest: tree::digest(root),
        known_structure: KnownStructure::default(),
    })
}
