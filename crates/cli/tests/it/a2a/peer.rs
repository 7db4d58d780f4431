//! Another agent: speaks one version over one binding.

use crate::serve::client::{Client, Reply, Stream};
use serde_json::{Value, json};

/// Says what it wants in the version and the binding that it speaks.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) way: Way,
    /// The path of the server: `/a2a`, or below it the flow.
    door: String,
}

/// How a peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// 1.0 over JSON-RPC.
    Rpc,
    /// 1.0 over HTTP+JSON.
    Rest,
    /// 0.3, which has JSON-RPC alone.
    Old,
}

/// The name of an error: its code in JSON-RPC, its reason over HTTP+JSON.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) code: Value,
    /// The text that a client shows if it reads nothing else of an error.
    pub(crate) message: String,
    /// The whole reply.
    pub(crate) text: String,
}

impl Peer {
    pub(crate) fn new(client: &Client, way: Way) -> Self {
        Self { client: client.clone(), way, door: "/a2a".to_owned() }
    }

    /// A peer for one flow only.
    pub(crate) fn of_flow(client: &Client, way: Way, flow: &str) -> Self {
        Self { door: format!("/a2a/{flow}"), ..Self::new(client, way) }
    }

    fn headers(&self) -> Vec<(&'static str, &'static str)> {
        let mut headers = vec![("content-type", "application/json")];
        if self.way != Way::Old {
            headers.push(("a2a-version", "1.0"));
        }
        headers
    }

    /// A call of JSON-RPC, with headers of its own.
    pub(crate) fn call(&self, method: &str, params: Value, more: &[(&str, &str)]) -> Reply {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        let headers: Vec<(&str, &str)> = self.headers().into_iter().chain(more.iter().copied()).collect();
        self.client.call("POST", &self.door, &headers, body.as_bytes())
    }

    /// A request of HTTP+JSON.
    pub(crate) fn ask(&self, verb: &str, path: &str, body: &Value, more: &[(&str, &str)]) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers: Vec<(&str, &str)> = self.headers().into_iter().chain(more.iter().copied()).collect();
        self.client.call(verb, &format!("{}{path}", self.door), &headers, body.as_bytes())
    }

    fn outcome(&self, reply: &Reply) -> Result<Value, Refused> {
        let body = reply.json();
        let code = match self.way {
            Way::Rest => body["error"]["details"][0]["reason"].clone(),
            _ => body["error"]["code"].clone(),
        };
        if body["error"].is_null() {
            assert_eq!(reply.status, 200, "{}", reply.text());
            return Ok(if self.way == Way::Rest { body } else { body["result"].clone() });
        }
        let message = body["error"]["message"].as_str().unwrap_or_default().to_owned();
        Err(Refused { status: reply.status, code, message, text: reply.text() })
    }

    /// A message with its parts; the task or context that it names is among `more`.
    pub(crate) fn message(&self, id: &str, parts: &[Value], more: &Value) -> Value {
        let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": parts});
        if self.way == Way::Old {
            message["kind"] = "message".into();
            message["role"] = "user".into();
        }
        for (name, value) in more.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        message
    }

    pub(crate) fn text(&self, text: &str) -> Value {
        match self.way {
            Way::Old => json!({"kind": "text", "text": text}),
            _ => json!({"text": text}),
        }
    }

    pub(crate) fn data(&self, data: Value) -> Value {
        match self.way {
            Way::Old => json!({"kind": "data", "data": data}),
            _ => json!({"data": data}),
        }
    }

    /// Sends a message and waits for the task to rest; the task.
    pub(crate) fn send(&self, message: Value, more: &[(&str, &str)]) -> Result<Value, Refused> {
        let reply = match self.way {
            Way::Rpc => self.call("SendMessage", json!({"message": message}), more),
            Way::Rest => self.ask("POST", "/message:send", &json!({"message": message}), more),
            Way::Old => {
                let configuration = json!({"blocking": true, "acceptedOutputModes": ["text"]});
                let params = json!({"message": message, "configuration": configuration});
                self.call("message/send", params, more)
            }
        };
        let result = self.outcome(&reply)?;
        Ok(if self.way == Way::Old { result } else { result["task"].clone() })
    }

    /// Starts a task with words and waits for it to rest.
    pub(crate) fn start(&self, words: &str) -> Value {
        let message = self.message("first", &[self.text(words)], &Value::Null);
        self.send(message, &[]).unwrap_or_else(|refused| panic!("{refused:?}"))
    }

    /// Says something to a task and waits for it to rest.
    pub(crate) fn say(&self, task: &str, id: &str, words: &str) -> Result<Value, Refused> {
        self.send(self.message(id, &[self.text(words)], &json!({"taskId": task})), &[])
    }

    pub(crate) fn get(&self, task: &str) -> Result<Value, Refused> {
        self.outcome(&match self.way {
            Way::Rpc => self.call("GetTask", json!({"id": task}), &[]),
            Way::Rest => self.ask("GET", &format!("/tasks/{task}"), &Value::Null, &[]),
            Way::Old => self.call("tasks/get", json!({"id": task}), &[]),
        })
    }

    pub(crate) fn cancel(&self, task: &str) -> Result<Value, Refused> {
        self.outcome(&match self.way {
            Way::Rpc => self.call("CancelTask", json!({"id": task}), &[]),
            Way::Rest => self.ask("POST", &format!("/tasks/{task}:cancel"), &json!({}), &[]),
            Way::Old => self.call("tasks/cancel", json!({"id": task}), &[]),
        })
    }

    /// Opens a stream; its items have lost their frame.
    pub(crate) fn stream(&self, message: Value) -> Stream {
        let (path, body) = match self.way {
            Way::Rest => (format!("{}/message:stream", self.door), json!({"message": message})),
            _ => {
                let method = if self.way == Way::Old { "message/stream" } else { "SendStreamingMessage" };
                (self.door.clone(), rpc(method, &json!({"message": message})))
            }
        };
        self.client.open("POST", &path, &self.headers(), body.to_string().as_bytes()).unwrap()
    }

    /// Follows a task, after this place if one is given.
    pub(crate) fn subscribe(&self, task: &str, after: Option<&str>) -> Result<Stream, ureq::Error> {
        let mut headers: Vec<(&str, &str)> = self.headers();
        headers.extend(after.iter().map(|id| ("last-event-id", *id)));
        let (path, body) = match self.way {
            Way::Rest => (format!("{}/tasks/{task}:subscribe", self.door), json!({})),
            _ => {
                let method = if self.way == Way::Old { "tasks/resubscribe" } else { "SubscribeToTask" };
                (self.door.clone(), rpc(method, &json!({"id": task})))
            }
        };
        self.client.open("POST", &path, &headers, body.to_string().as_bytes())
    }

    /// The rest of a stream: ids, and the data without the frame of the binding.
    pub(crate) fn told(&self, stream: Stream) -> Vec<(String, Value)> {
        let strip = |data: Value| if self.way == Way::Rest { data } else { data["result"].clone() };
        stream.map(|told| (told.id, strip(told.data))).collect()
    }

    /// A state in the words of this version.
    pub(crate) fn word(&self, state: &str) -> String {
        match self.way {
            Way::Old => state.to_lowercase().replace('_', "-"),
            _ => format!("TASK_STATE_{state}"),
        }
    }

    pub(crate) fn assert_state(&self, task: &Value, state: &str) {
        assert_eq!(task["status"]["state"], self.word(state), "{task:#}");
    }
}

fn rpc(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": params})
}

/// The texts of a task's history, with a sign for who speaks.
pub(crate) fn talk(task: &Value) -> Vec<String> {
    let line = |message: &Value| {
        let who = if message["role"].as_str().unwrap().to_lowercase().contains("user") { '<' } else { '>' };
        let texts = message["parts"].as_array().unwrap().iter();
        let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
        assert_eq!(message["taskId"], task["id"]);
        assert_eq!(message["contextId"], task["contextId"]);
        format!("{who} {}", texts.join("|"))
    };
    task["history"].as_array().unwrap().iter().map(line).collect()
}
