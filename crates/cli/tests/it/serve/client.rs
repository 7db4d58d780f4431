//! A server on a stage, and a client of it.

use crate::stage::{LONG, Process, Stage, text, wait_for};
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader},
    time::Duration,
};
use ureq::{Agent, Body, http, tls::TlsConfig};

/// A server that was started, and its first output.
pub(crate) struct Served {
    pub(crate) process: Process,
    pub(crate) url: String,
    /// The token of the first start.
    pub(crate) first: Option<String>,
}

impl Served {
    pub(crate) fn start(stage: &Stage) -> Self {
        Self::with(stage, &[])
    }

    pub(crate) fn on(stage: &Stage, address: &str) -> Self {
        Self::started(stage, address, &[])
    }

    /// With these arguments besides.
    pub(crate) fn with(stage: &Stage, arguments: &[&str]) -> Self {
        Self::started(stage, &stage.address(), arguments)
    }

    /// With this in place of the machine's authorities.
    pub(crate) fn believing(stage: &Stage, authorities: Option<&str>) -> Self {
        let arguments = ["--json", "serve", "--listen", &stage.address()];
        Self::said(Process::spawn(&mut stage.believing(authorities, &arguments)))
    }

    /// With this failpoint.
    pub(crate) fn failing(stage: &Stage, point: &str) -> Self {
        Self::with_variable(stage, "ENVOI_FAILPOINT", point)
    }

    /// With this variable in its environment.
    pub(crate) fn with_variable(stage: &Stage, name: &str, value: &str) -> Self {
        let mut command = stage.command(&["--json", "serve", "--listen", &stage.address()]);
        Self::said(Process::spawn(command.env(name, value)))
    }

    fn started(stage: &Stage, address: &str, arguments: &[&str]) -> Self {
        Self::said(stage.start(&[&["--json", "serve", "--listen", address], arguments].concat()))
    }

    /// A server that was started in another way, once it listens.
    pub(crate) fn said(mut process: Process) -> Self {
        let line = process.line();
        let Ok(said) = serde_json::from_str::<Value>(&line) else { panic!("{line}{:?}", process.done()) };
        let first = said["token"].as_str().map(str::to_owned);
        Self { url: text(&said["listening"]), process, first }
    }

    /// The address without its scheme.
    pub(crate) fn address(&self) -> String {
        self.url.split_once("://").unwrap().1.to_owned()
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.url, Some(token))
    }
}

/// Makes a token, with these arguments of `token create`.
pub(crate) fn token(stage: &Stage, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["token", "create"].iter().chain(arguments).copied().collect();
    stage.expect(0, &all).out.trim().to_owned()
}

/// Its requests take so long at most, to the end of their answers.
fn agent(longest: Duration) -> Agent {
    let tls = TlsConfig::builder().disable_verification(true).build();
    let config = Agent::config_builder().http_status_as_error(false).tls_config(tls);
    config.timeout_global(Some(longest)).build().into()
}

/// Asks one server, as one bearer.
#[derive(Clone)]
pub(crate) struct Client {
    agent: Agent,
    url: String,
    token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> String {
        self.headers.get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    }
}

impl Client {
    pub(crate) fn new(url: &str, token: Option<&str>) -> Self {
        Self { agent: agent(LONG), url: url.to_owned(), token: token.map(str::to_owned) }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<http::Response<Body>, ureq::Error> {
        let mut request = http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match method {
            "GET" => self.agent.run(request.body(()).unwrap()),
            _ => self.agent.run(request.body(body.to_vec()).unwrap()),
        }
    }

    /// Asks; a server that breaks off is an error.
    pub(crate) fn try_call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Reply, ureq::Error> {
        let mut response = self.send(method, path, headers, body)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec()?;
        Ok(Reply { status, headers, body })
    }

    pub(crate) fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.try_call(method, path, headers, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], &[])
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Reply {
        self.call("POST", path, &[], body.as_bytes())
    }

    /// The body at a path that exists.
    pub(crate) fn json(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply.json()
    }

    /// Registers a flow and starts a run of it; its id.
    pub(crate) fn run(&self, flow: &str) -> String {
        let registered = self.post("/v1/flows", flow);
        assert!([200, 201].contains(&registered.status), "{}", registered.text());
        let body =
            serde_json::json!({"flow": registered.json()["digest"], "workspace": "shared"}).to_string();
        let started = self.post("/v1/runs", &body);
        assert_eq!(started.status, 201, "{}", started.text());
        text(&started.json()["run"])
    }

    /// The only open question of a run, once it is put.
    pub(crate) fn question(&self, run: &str) -> String {
        wait_for("a question", || {
            let found = self.json(&format!("/v1/questions?run={run}"));
            found["questions"][0]["question"].as_str().map(str::to_owned)
        })
    }

    /// Waits until a run is in this status.
    pub(crate) fn wait_until_run_is(&self, run: &str, status: &str) {
        wait_for(status, || (self.json(&format!("/v1/runs/{run}"))["status"] == status).then_some(()));
    }

    /// Opens a stream of events, after this one.
    pub(crate) fn follow(&self, path: &str, after: Option<&str>) -> Result<Stream, ureq::Error> {
        let headers: Vec<(&str, &str)> = after.iter().map(|id| ("last-event-id", *id)).collect();
        self.open("GET", path, &headers, &[])
    }

    /// Asks for something that is answered by a stream of events.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Stream, ureq::Error> {
        // A stream may be read when others have been read to their ends.
        let patient = Self { agent: agent(LONG * 10), ..self.clone() };
        let response = patient.send(method, path, headers, body)?;
        let status = response.status().as_u16();
        Ok(Stream {
            status,
            broke_off: false,
            lines: BufReader::new(Box::new(response.into_body().into_reader())),
        })
    }
}

/// An open stream of events.
pub(crate) struct Stream {
    pub(crate) status: u16,
    /// Whether it ended without an end from the server.
    pub(crate) broke_off: bool,
    lines: BufReader<Box<dyn std::io::Read + Send>>,
}

/// An event of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Stream {
    /// The next line; `None` at the end, however it came.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) => None,
            Err(_) => {
                self.broke_off = true;
                None
            }
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }
}

impl Iterator for Stream {
    type Item = Told;

    fn next(&mut self) -> Option<Told> {
        let (mut id, mut event, mut data) = (None, String::new(), Value::Null);
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("event", value)) => event = value.to_owned(),
                Some(("data", value)) => data = serde_json::from_str(value).ok()?,
                // An event counts once it is whole.
                _ if line.is_empty() && id.is_some() => return Some(Told { id: id?, event, data }),
                _ => {}
            }
        }
    }
}
