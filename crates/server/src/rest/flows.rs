//! The flows that a tenant may start.

use super::rows;
use crate::{
    http::{problem::Problem, response},
    request::{ApiRequest, text},
    state::app::App,
};
use axum::{http::header, response::Response};
use envoi_api::flow::{Flow, Flows};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_flow::{FileError, Files};
use envoi_journal::RegisteredFlow;
use std::collections::BTreeMap;

const YAML: &str = "application/yaml";
const JSON: &str = "application/json";

/// `listFlows`.
pub(crate) fn list(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let flows = app.read(|reader| reader.registered_flows(&request.bearer.tenant).map_err(Problem::from))?;
    rows::answer(200, &Flows { flows: flows.iter().map(Flow::from).collect() })
}

/// `getFlow`.
pub(crate) fn get(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let name = request.param("flow");
    let flow =
        app.read(|reader| reader.registered_flow(&request.bearer.tenant, name).map_err(Problem::from))?;
    let none = || Problem::new(Code::FlowNotFound, format!("there is no flow `{name}`"));
    let mut flow = flow.ok_or_else(none)?;
    let text = match request.query("file") {
        Some(file) if file != flow.file => {
            flow.parts.remove(file).ok_or_else(|| Problem::not_found("file of this flow", file))?
        }
        _ => flow.text,
    };
    Ok(response::text(YAML, text))
}

/// `registerFlow`.
pub(crate) fn register(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let kind = request.header(&header::CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    let several = kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON));
    let flow = if several {
        submitted(app, request, &request.members(&["flow", "files"])?)?
    } else {
        let flow = SubmittedFlow::text(&request.body)?.checked(app, request)?;
        RegisteredFlow { file: format!("{}.yaml", flow.id), ..flow }
    };
    let new = app.store.register_flow(&request.bearer.tenant, &flow)?;
    rows::answer(if new { 201 } else { 200 }, &Flow::from(&flow))
}

/// The flow of a body with `flow`, a path, and `files`, texts by path. Does not register it.
pub(super) fn submitted(
    app: &App,
    request: &ApiRequest,
    members: &Object,
) -> Result<RegisteredFlow, Problem> {
    SubmittedFlow::files(members)?.checked(app, request)
}

fn invalid(detail: String) -> Problem {
    Problem::new(Code::FlowInvalid, detail)
}

/// A submitted flow, with all files that it can refer to: no file of the machine is read.
struct SubmittedFlow {
    /// With its final `/`, or empty.
    folder: String,
    file: String,
    text: String,
    /// All files, by their full paths.
    files: BTreeMap<String, String>,
}

impl SubmittedFlow {
    /// A single text, which refers to no other file.
    fn text(body: &[u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(body)
            .map_err(|error| invalid(format!("byte {} is not UTF-8", error.valid_up_to())))?;
        let file = "flow.yaml".to_owned();
        Ok(Self { folder: String::new(), file, text: text.to_owned(), files: BTreeMap::new() })
    }

    /// `{"flow": path, "files": {path: text, …}}`.
    fn files(members: &Object) -> Result<Self, Problem> {
        let bad = || Problem::bad_request("`files` is not an object of texts");
        let flow = text(members, "flow")?.ok_or_else(|| Problem::bad_request("`flow` is missing"))?;
        let files = members.get("files").and_then(Value::as_object).ok_or_else(bad)?;
        let read = |(path, text): (&str, &Value)| Some((path.to_owned(), text.as_str()?.to_owned()));
        let files: BTreeMap<_, _> = files.iter().map(read).collect::<Option<_>>().ok_or_else(bad)?;
        let missing = || Problem::bad_request(format!("`flow` is `{flow}`, which is not among `files`"));
        let text = files.get(flow).ok_or_else(missing)?.clone();
        let odd = |segment: &str| matches!(segment, "" | "." | "..") || segment.contains(['\\', '\0']);
        if flow.split('/').any(odd) {
            return Err(Problem::bad_request(format!("`{flow}` is no path of a flow file")));
        }
        let (folder, file) = flow.split_at(flow.rfind('/').map_or(0, |at| at.saturating_add(1)));
        Ok(Self { folder: folder.to_owned(), file: file.to_owned(), text, files })
    }
}

impl SubmittedFlow {
    /// The flow, if it has no error and all files belong to it.
    fn checked(self, app: &App, request: &ApiRequest) -> Result<RegisteredFlow, Problem> {
        let Self { folder, file, text, files } = &self;
        let beside = |(path, text): (&String, &String)| {
            Some((path.strip_prefix(folder.as_str())?.to_owned(), text.clone()))
        };
        let parts = files.iter().filter_map(beside).collect();
        let name = format!("{folder}{file}");
        let loaded = envoi_engine::parsed_flow_of(&name, text, &parts, &self).map_err(|report| {
            // All errors with their positions, as `envoi check` shows them.
            invalid(report.render(envoi_flow::Colour::Never))
        })?;
        let belongs = |path: &str| path == file || loaded.parts.contains_key(path);
        let belongs = |path: &&String| path.strip_prefix(folder.as_str()).is_some_and(belongs);
        if let Some(stray) = files.keys().find(|path| !belongs(path)) {
            return Err(invalid(format!("no flow among these files names `{stray}`"))
                .hint("a flow names the files of others from its own folder: `flow: ./that.yaml` of a step, `flows: [./that.yaml]`"));
        }
        Ok(RegisteredFlow {
            digest: loaded.flow.digest,
            file: file.clone(),
            id: loaded.flow.id.clone(),
            language: loaded.language,
            text: text.clone(),
            parts: loaded.parts.as_ref().clone(),
            registered_at: app.now(),
            registered_by: request.bearer.name.clone(),
        })
    }
}

impl Files for SubmittedFlow {
    fn text(&self, path: &str) -> Result<String, FileError> {
        let found = self.files.get(&format!("{}{path}", self.folder));
        found.cloned().ok_or(FileError::NotAmong("were given"))
    }
}
