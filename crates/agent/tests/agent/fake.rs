//! A scripted agent on loopback, in one version of the protocol. It keeps every call that it received.
//!
//! It accepts every message, including a repeated one, so that a test can detect a message that was sent twice.

use envoi_contract::json::{Object, Value};
use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::Duration,
};

/// The agent's action for a message.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Completes(&'static str),
    /// Completes with these artifacts (in the form of 1.0) and without text.
    HandsOver(&'static str),
    Asks(&'static str),
    WantsToBeAuthorized(&'static str),
    Fails(&'static str),
    Rejects(&'static str),
    /// Works until the test calls `goes_on`.
    Works,
    /// Keeps working at the first poll, and completes at the second.
    Dawdles(&'static str),
    /// Answers without a task.
    Answers(&'static str),
    /// Returns this error.
    Errs(&'static str),
    /// Queues the message, which shows only in the task's history. Acts on it after this number of polls.
    Queues(u32, &'static Act),
}

/// The behaviour of the connection for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Good,
    /// The connection breaks before the message is accepted.
    BreaksBefore,
    /// The connection breaks after the message is accepted.
    BreaksAfter,
    /// The message is accepted, and no reply comes.
    Hangs,
    /// The connection breaks. The message is accepted after this number of searches that found nothing.
    TakesLate(u32),
    /// The same, but the connection stays open and the reply comes then.
    RepliesLate(u32),
    /// The connection breaks and the message is not accepted, but the task reports a change.
    BreaksAndTouches,
}

/// The properties of the agent.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    pub(crate) version: &'static str,
    pub(crate) lists: bool,
    pub(crate) dates: bool,
    pub(crate) extension: Option<&'static str>,
    pub(crate) token: Option<&'static str>,
    /// Whether it keeps messages in the history of its tasks.
    pub(crate) remembers: bool,
    /// The metadata of its questions.
    pub(crate) metadata: Option<&'static str>,
    /// Whether its questions have ids. Each question gets a new one.
    pub(crate) names: bool,
    /// Whether ids and times of its questions change at each poll.
    pub(crate) renews: bool,
    /// Whether only the ids change.
    pub(crate) renews_ids: bool,
    /// Whether the question is in the task's history instead of its status.
    pub(crate) asks_in_history: bool,
    /// Whether it replaces the ids of contexts with its own.
    pub(crate) own_contexts: bool,
    /// The state of a task after it was asked to cancel it.
    pub(crate) canceled: &'static str,
}

impl Default for Ways {
    fn default() -> Self {
        let (version, lists, dates, remembers) = ("1.0", true, true, true);
        let (names, renews, asks_in_history, own_contexts) = (true, false, false, false);
        Self {
            version,
            lists,
            dates,
            extension: None,
            token: None,
            remembers,
            metadata: None,
            names,
            renews,
            renews_ids: false,
            asks_in_history,
            own_contexts,
            canceled: "canceled",
        }
    }
}

/// A received call.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) head: String,
}

impl Heard {
    pub(crate) fn message(&self) -> &Value {
        self.params.get("message").unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.message().get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The nth part of the message.
    pub(crate) fn part(&self, place: usize) -> String {
        self.message().get("parts").and_then(Value::as_array).unwrap()[place].compact()
    }
}

struct Known {
    id: String,
    context: String,
    state: &'static str,
    says: String,
    artifacts: &'static str,
    at: u64,
    /// The text with which it completes after a poll.
    dawdles: Option<&'static str>,
    /// Role, id and text of each message.
    heard: Vec<(&'static str, String, String)>,
    /// Queued actions, each with the number of polls before it.
    queue: VecDeque<(u32, &'static Act)>,
    looks: u64,
    said: Vec<String>,
    handled: Vec<(String, String)>,
}

/// A message that the agent has not processed yet.
struct Late {
    looks: u32,
    params: Value,
    act: Act,
    result: Option<String>,
}

struct State {
    ways: Ways,
    script: VecDeque<(Act, Line)>,
    tasks: Vec<Known>,
    heard: Vec<Heard>,
    clock: u64,
    late: Option<Late>,
    /// Statuses for the next calls, as if a proxy answered them.
    statuses: VecDeque<&'static str>,
}

/// The agent; see the module documentation.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) url: String,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Agent {
    pub(crate) fn new(ways: Ways, script: &[(Act, Line)]) -> Self {
        Self::at("127.0.0.1:0", ways, script)
    }

    pub(crate) fn at(address: &str, ways: Ways, script: &[(Act, Line)]) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = script.iter().cloned().collect();
        let state = State {
            ways,
            script,
            tasks: Vec::new(),
            heard: Vec::new(),
            clock: 0,
            late: None,
            statuses: VecDeque::new(),
        };
        let agent = Self { url, shared: Arc::new((Mutex::new(state), Condvar::new())) };
        let serving = agent.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (agent, stream) = (serving.clone(), stream.unwrap());
                thread::spawn(move || agent.serve(stream));
            }
        });
        agent
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap()
    }

    /// All calls, in order.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.state().heard.clone()
    }

    /// The calls that sent a message.
    pub(crate) fn sent(&self) -> Vec<Heard> {
        let heard = self.heard().into_iter();
        heard.filter(|heard| matches!(heard.method.as_str(), "SendMessage" | "message/send")).collect()
    }

    pub(crate) fn tasks(&self) -> usize {
        self.state().tasks.len()
    }

    /// The state of the nth task.
    pub(crate) fn stands(&self, place: usize) -> &'static str {
        self.state().tasks[place].state
    }

    /// Waits until the method was called this number of times. Panics after a timeout.
    pub(crate) fn wait_for(&self, method: &str, times: usize) {
        let mut state = self.state();
        let count = |state: &State| state.heard.iter().filter(|heard| heard.method == method).count();
        while count(&state) < times {
            let (next, timeout) = self.shared.1.wait_timeout(state, Duration::from_secs(60)).unwrap();
            state = next;
            assert!(!timeout.timed_out(), "{method} was not asked {times} times");
        }
    }

    /// Applies an action to the nth task, without a message.
    pub(crate) fn goes_on(&self, place: usize, act: Act) {
        let mut state = self.state();
        state.clock += 1;
        let clock = state.clock;
        let asks_in_history = state.ways.asks_in_history;
        let task = &mut state.tasks[place];
        task.does(&act, clock);
        if asks_in_history && !task.says.is_empty() {
            task.heard.push(("agent", format!("h{clock}"), task.says.clone()));
        }
    }

    /// Answers the next calls with these statuses, and does not record the calls. An empty status lets a call pass.
    pub(crate) fn is_away(&self, statuses: &[&'static str]) {
        self.state().statuses.extend(statuses);
    }

    /// Each answer that the agent processed: its text, and the question that was open at that time.
    pub(crate) fn handled(&self, place: usize) -> Vec<(String, String)> {
        self.state().tasks[place].handled.clone()
    }

    /// Removes all tasks.
    pub(crate) fn forgets(&self) {
        self.state().tasks.clear();
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some((head, body)) = request(&mut stream) else { return };
        if head.starts_with("get ") {
            let card = self.card();
            let status = if head.starts_with("get /.well-known/agent-card.json ") {
                "200 OK"
            } else {
                "404 Not Found"
            };
            return answer(&mut stream, status, &card);
        }
        let asked = Value::parse_str(&body).unwrap();
        let method = asked.get("method").and_then(Value::as_str).unwrap().to_owned();
        let params = asked.get("params").cloned().unwrap();
        let mut state = self.state();
        let sends = matches!(method.as_str(), "SendMessage" | "message/send");
        let guarded = state.ways.token.map(|token| format!("authorization: bearer {token}").to_lowercase());
        if guarded.is_some_and(|line| !head.contains(&line)) {
            return answer(&mut stream, "401 Unauthorized", "{}");
        }
        if let Some(status) = state.statuses.pop_front().filter(|status| !status.is_empty()) {
            return answer(&mut stream, status, "");
        }
        let line = state.script.front().map_or(Line::Good, |(_, line)| *line);
        if sends && line == Line::BreaksBefore {
            state.script.pop_front();
            return;
        }
        state.heard.push(Heard { method: method.clone(), params: params.clone(), head });
        if let (true, Line::TakesLate(looks) | Line::RepliesLate(looks)) = (sends, line) {
            let (act, _) = state.script.pop_front().unwrap();
            state.late = Some(Late { looks, params, act, result: None });
            self.shared.1.notify_all();
            while line == Line::RepliesLate(looks) {
                if let Some(result) = state.late.as_mut().and_then(|late| late.result.take()) {
                    // A late message is accepted only once, so later polls do not find it again.
                    state.late = None;
                    return answer(&mut stream, "200 OK", &format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#));
                }
                state = self.shared.1.wait(state).unwrap();
            }
            return;
        }
        if sends && line == Line::BreaksAndTouches {
            state.script.pop_front();
            state.clock += 1;
            let clock = state.clock;
            state.tasks.last_mut().unwrap().at = clock;
            return;
        }
        let result = state.does(&method, &params);
        drop(state);
        self.shared.1.notify_all();
        match line {
            Line::BreaksAfter if sends => {}
            // Blocks until the client closes the connection.
            Line::Hangs if sends => drop(stream.read(&mut [0])),
            _ => answer(&mut stream, "200 OK", &format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#)),
        }
    }

    fn card(&self) -> String {
        let state = self.state();
        let extension = state.ways.extension.map(|uri| format!(r#"{{"uri":"{uri}"}}"#)).unwrap_or_default();
        let can = format!(r#""capabilities":{{"extensions":[{extension}]}}"#);
        match state.ways.version {
            "1.0" => format!(
                r#"{{"name":"fake",{can},"supportedInterfaces":[{{"url":"{}/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}]}}"#,
                self.url
            ),
            _ => format!(r#"{{"name":"fake",{can},"url":"{}/rpc"}}"#, self.url),
        }
    }
}

impl State {
    /// Counts a poll, and accepts the late message once there were enough of them.
    fn is_looked_at(&mut self) {
        match &mut self.late {
            Some(late) if late.result.is_some() => {}
            Some(late) if late.looks > 0 => late.looks -= 1,
            Some(late) => {
                let (params, act) = (late.params.clone(), late.act.clone());
                let result = self.takes(&params, act);
                self.late.as_mut().unwrap().result = Some(result);
            }
            None => {}
        }
    }

    fn does(&mut self, method: &str, params: &Value) -> String {
        if matches!(method, "GetTask" | "tasks/get" | "ListTasks") {
            self.is_looked_at();
        }
        let id = params.get("id").and_then(Value::as_str).unwrap_or_default();
        let old = self.ways.version != "1.0";
        match method {
            "SendMessage" | "message/send" => {
                let (act, _) = self.script.pop_front().unwrap_or((Act::Completes("ok"), Line::Good));
                self.takes(params, act)
            }
            "GetTask" | "tasks/get" => match self.tasks.iter_mut().find(|task| task.id == id) {
                Some(task) => {
                    task.looks += 1;
                    if let Some((looks, act)) = task.queue.front_mut() {
                        match looks.checked_sub(1) {
                            Some(left) => *looks = left,
                            None => {
                                let act = *act;
                                task.queue.pop_front();
                                self.clock += 1;
                                let (said, asked) = (task.said.remove(0), task.says.clone());
                                task.handled.push((said, asked));
                                task.does(act, self.clock);
                            }
                        }
                    }
                    let told = task.told(&self.ways);
                    if let Some(words) = task.dawdles.take() {
                        self.clock += 1;
                        task.does(&Act::Completes(words), self.clock);
                    }
                    format!(r#""result":{told}"#)
                }
                None => r#""error":{"code":-32001,"message":"Task not found"}"#.to_owned(),
            },
            "CancelTask" | "tasks/cancel" => match self.tasks.iter_mut().find(|task| task.id == id) {
                Some(task) => {
                    task.state = self.ways.canceled;
                    format!(r#""result":{}"#, task.told(&self.ways))
                }
                None => r#""error":{"code":-32001,"message":"Task not found"}"#.to_owned(),
            },
            "ListTasks" if self.ways.lists && !old => {
                let context = params.get("contextId").and_then(Value::as_str);
                let tasks = self
                    .tasks
                    .iter()
                    .rev()
                    .filter(|task| context.is_none_or(|context| task.context == context));
                let told: Vec<String> = tasks.map(|task| task.told(&self.ways)).collect();
                format!(r#""result":{{"tasks":[{}],"nextPageToken":""}}"#, told.join(","))
            }
            _ => r#""error":{"code":-32601,"message":"Method not found"}"#.to_owned(),
        }
    }

    fn takes(&mut self, params: &Value, act: Act) -> String {
        let message = params.get("message").unwrap();
        let text = |name: &str| message.get(name).and_then(Value::as_str).map(str::to_owned);
        let wrap = |result: String, name: &str| {
            if self.ways.version == "1.0" {
                format!(r#""result":{{"{name}":{result}}}"#)
            } else {
                format!(r#""result":{result}"#)
            }
        };
        if let Act::Answers(words) = act {
            return wrap(
                format!(
                    r#"{{"kind":"message","messageId":"r","role":"agent","parts":[{{"kind":"text","text":"{words}"}}]}}"#
                ),
                "message",
            );
        }
        if let Act::Errs(error) = act {
            return format!(r#""error":{error}"#);
        }
        self.clock += 1;
        let task = match text("taskId") {
            Some(id) => self.tasks.iter_mut().find(|task| task.id == id).expect("a task of ours"),
            None => {
                let id = format!("task-{}", self.tasks.len() + 1);
                let own = self.ways.own_contexts.then(|| format!("own-{id}"));
                self.tasks.push(Known {
                    id,
                    context: own.unwrap_or_else(|| text("contextId").unwrap()),
                    state: "working",
                    says: String::new(),
                    artifacts: "",
                    at: 0,
                    dawdles: None,
                    heard: Vec::new(),
                    queue: VecDeque::new(),
                    looks: 0,
                    said: Vec::new(),
                    handled: Vec::new(),
                });
                self.tasks.last_mut().unwrap()
            }
        };
        task.heard.push(("user", text("messageId").unwrap(), "…".to_owned()));
        if let Act::Queues(looks, then) = act {
            let parts = message.get("parts").and_then(Value::as_array).unwrap();
            let words = parts[0].get("text").and_then(Value::as_str).unwrap_or_default();
            task.said.push(words.to_owned());
            task.queue.push_back((looks, then));
        } else {
            task.does(&act, self.clock);
            if self.ways.asks_in_history && !task.says.is_empty() {
                task.heard.push(("agent", format!("h{}", self.clock), task.says.clone()));
            }
        }
        let told = task.told(&self.ways);
        wrap(told, "task")
    }
}

impl Known {
    fn does(&mut self, act: &Act, at: u64) {
        let (state, says) = match act {
            Act::Completes(words) => ("completed", *words),
            Act::HandsOver(artifacts) => {
                self.artifacts = artifacts;
                ("completed", "")
            }
            Act::Asks(words) => ("input-required", *words),
            Act::WantsToBeAuthorized(words) => ("auth-required", *words),
            Act::Fails(words) => ("failed", *words),
            Act::Rejects(words) => ("rejected", *words),
            Act::Works => ("working", ""),
            Act::Dawdles(words) => {
                self.dawdles = Some(words);
                return;
            }
            Act::Answers(_) | Act::Errs(_) | Act::Queues(..) => unreachable!(),
        };
        (self.state, self.says, self.at) = (state, says.to_owned(), at);
    }

    fn told(&self, ways: &Ways) -> String {
        let new = ways.version == "1.0";
        let state = match new {
            true => format!("TASK_STATE_{}", self.state.to_uppercase().replace('-', "_")),
            false => self.state.to_owned(),
        };
        let role = |name: &str| if new { format!("ROLE_{}", name.to_uppercase()) } else { name.to_owned() };
        let mut status = Object::from([("state", Value::from(state))]);
        let look = if ways.renews { self.at + self.looks } else { self.at };
        let in_history = ways.asks_in_history && self.state.ends_with("required");
        if !(self.says.is_empty() || in_history) {
            let part = Value::Object(Object::from([("text", Value::from(self.says.as_str()))]));
            let members = [("role", Value::from(role("agent"))), ("parts", Value::from(vec![part]))];
            let mut message = Object::from(members);
            if ways.names {
                let look = if ways.renews_ids { self.at + self.looks } else { look };
                message.insert("messageId", Value::from(format!("s{look}")));
            }
            if let Some(metadata) = ways.metadata {
                message.insert("metadata", Value::parse_str(metadata).unwrap());
            }
            status.insert("message", Value::Object(message));
        }
        if ways.dates {
            status.insert("timestamp", Value::from(format!("2026-11-22T00:00:{look:02}Z")));
        }
        let history = self.heard.iter().filter(|_| ways.remembers).map(|(by, id, words)| {
            let part = Value::Object(Object::from([("text", Value::from(words.as_str()))]));
            let members = [
                ("messageId", Value::from(id.as_str())),
                ("role", Value::from(role(by))),
                ("parts", Value::from(vec![part])),
            ];
            Value::Object(Object::from(members))
        });
        let artifacts = Value::parse_str(&format!("[{}]", self.artifacts)).unwrap();
        let members = [
            ("id", Value::from(self.id.as_str())),
            ("contextId", Value::from(self.context.as_str())),
            ("status", Value::Object(status)),
            ("history", Value::from(history.collect::<Vec<_>>())),
            ("artifacts", artifacts),
        ];
        Value::Object(Object::from(members)).compact()
    }
}

/// Reads a request: the head in lower case, and the body.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}

fn answer(stream: &mut TcpStream, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap_or_default();
}
