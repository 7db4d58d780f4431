//! The agent cards of the server: the public one, and the extended one for clients with a token.

use super::client::{Client, read};
use crate::a2a::{
    card::{self, Agent, ServedCard},
    route,
};
use crate::{
    http::{problem::Problem, response},
    state::app::App,
};
use axum::{
    http::{HeaderName, HeaderValue, header, request::Parts},
    response::Response,
};
use envoi_a2a::{
    card::Skill,
    fault::Fault,
    service_parameters::{VERSION, negotiate_version},
    version::Version,
};
use envoi_contract::json::Value;
use envoi_journal::RegisteredFlow;
use std::collections::BTreeSet;

/// The scheme, host and port of the server for clients: the configured ones, else those of this request.
pub(crate) fn base(app: &App, host: &str) -> String {
    if let Some(url) = &app.settings.a2a.url {
        return url.clone();
    }
    let scheme = if app.settings.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{host}")
}

fn about(url: &str) -> Agent<'_> {
    Agent { url, version: env!("CARGO_PKG_VERSION"), push: true }
}

/// The version of a client that reads the card. A client that names no version, or an unknown one, gets the card for
/// 0.3.
fn reader(parts: &Parts) -> Version {
    let header_version = parts.headers.get(VERSION).map(|value| value.to_str().unwrap_or("?"));
    negotiate_version(header_version, None).unwrap_or(Version::V03)
}

/// The card that needs no token. The host was checked before. Below the path of a flow it names the
/// interfaces there, whether or not the flow exists: a client without a token must not learn that.
pub(crate) fn public(app: &App, parts: &Parts) -> Result<Response, Problem> {
    let text_of = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let mut url = format!("{}/a2a", base(app, text_of(header::HOST).unwrap_or_default()));
    if let Some(flow) = route::flow_of_card(parts.uri.path()) {
        url = format!("{url}/{flow}");
    }
    let served = ServedCard::new(&card::public(about(&url), reader(parts)), app.started_at);
    let known = served.is_known(text_of(header::IF_NONE_MATCH), text_of(header::IF_MODIFIED_SINCE));
    let mut response = match known {
        true => response::empty(304),
        false => response::json(200, served.body),
    };
    for (name, text) in [
        (header::ETAG, served.etag.as_str()),
        (header::LAST_MODIFIED, served.last_modified.as_str()),
        (header::CACHE_CONTROL, served.cache_control),
        // The addresses in the card depend on the host of the request.
        (header::VARY, "host, a2a-version"),
    ] {
        let value = HeaderValue::from_str(text).map_err(Problem::internal)?;
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// `GetExtendedAgentCard`: the flows of the client's tenant, as skills.
pub(crate) fn extended(app: &App, client: &Client) -> Result<Value, Fault> {
    let flows = read(app, |reader| reader.registered_flows(&client.bearer.tenant))?;
    let mut seen = BTreeSet::new();
    // For each id the newest flow, which is the one that the id starts.
    let skills: Vec<Skill> =
        flows.iter().filter(|flow| seen.insert(flow.id.as_str())).filter_map(skill).collect();
    let url = format!("{}/a2a", client.base);
    Ok(card::extended(about(&url), client.version, skills))
}

/// A flow as a skill; `None` for a flow that this version cannot read.
fn skill(registered: &RegisteredFlow) -> Option<Skill> {
    let flow =
        envoi_engine::parsed_flow(registered.language, &registered.file, &registered.text, &registered.parts)
            .ok()?
            .flow;
    let names: Vec<String> = flow.inputs.iter().map(|input| format!("`{}`", input.name)).collect();
    let takes_words = flow.inputs.iter().any(|input| input.name == super::message::inputs::MESSAGE);
    let inputs = match names.is_empty() {
        true => "It takes no inputs.".to_owned(),
        false => format!("Its inputs are {}.", names.join(", ")),
    };
    let steps = flow.steps.len();
    let title = flow.title.clone().unwrap_or_else(|| flow.id.to_string());
    let modes = if takes_words { &["text/plain", "application/json"][..] } else { &["application/json"] };
    Some(Skill {
        id: flow.id.to_string(),
        description: format!("{title}: a pipeline of {steps} steps. {inputs}"),
        name: title,
        tags: vec!["pipeline".to_owned()],
        input_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
    })
}
