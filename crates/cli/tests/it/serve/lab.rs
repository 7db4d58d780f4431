//! A provider of models: a real HTTP server that speaks the OpenAI chat-completions API, and records what it was asked.

use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Barrier, Mutex},
    thread,
};

/// A request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The user's message to the model.
    pub(crate) fn user(&self) -> Value {
        let body = self.json();
        let messages = body["messages"].as_array().unwrap().clone();
        messages.into_iter().find(|message| message["role"] == "user").unwrap()["content"].take()
    }

    /// The first message to the model, of the system; null if there is none.
    pub(crate) fn system(&self) -> Value {
        let body = self.json();
        let messages = body["messages"].as_array().unwrap().clone();
        let system = messages.into_iter().find(|message| message["role"] == "system");
        system.map_or(Value::Null, |mut message| message["content"].take())
    }
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    /// A whole answer.
    Whole(u16, String),
    /// These pieces, then the end.
    Pieces(Vec<String>),
    /// These pieces, and once another client waits too, those and the end.
    Halves(Vec<String>, Arc<Barrier>, Vec<String>),
    /// Nothing: the connection ends.
    BreakOff,
    /// These pieces of an answer, then nothing until the client is gone.
    Hang(Vec<String>),
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Lab {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    says: Arc<Mutex<VecDeque<Say>>>,
    gone: Arc<Mutex<usize>>,
}

impl Lab {
    /// A provider that answers `words`, by 10 tokens from 100, unless set otherwise.
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lab = Self { address, asked: Arc::default(), says: Arc::default(), gone: Arc::default() };
        let serving = lab.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let lab = serving.clone();
                thread::spawn(move || lab.serve(stream));
            }
        });
        lab
    }

    /// `models:` of a configuration with this lab: `small` has a price, `free` has none, `keyless` has no key.
    pub(crate) fn config(&self) -> String {
        let mut config = format!(
            "models:\n  default: small\n  providers:\n    lab: {{ url: 'http://{0}/v1', key: {{ file: lab.key }}, timeout: 60s }}\n    \
             gone: {{ url: 'http://{0}/v1', key: {{ env: NO_SUCH_KEY }} }}\n    nobody: {{ url: 'http://127.0.0.1:1/v1' }}\n  \
             offer:\n    small: {{ provider: lab, name: lab-small-2, price: {{ in: \"0.15\", out: \"0.60\" }} }}\n    free: \
             {{ provider: lab }}\n    keyless: {{ provider: gone }}\n    unreachable: {{ provider: nobody }}\n",
            self.address
        );
        for protocol in ["messages", "responses"] {
            let address = &self.address;
            let providers = format!(
                "  providers:\n    {protocol}: {{ url: 'http://{address}/v1', protocol: {protocol}, key: {{ file: lab.key }} }}\n    \
                 {protocol}-gone: {{ url: 'http://{address}/v1', protocol: {protocol}, key: {{ env: NO_SUCH_KEY }} }}\n    \
                 {protocol}-nobody: {{ url: 'http://127.0.0.1:1/v1', protocol: {protocol} }}\n"
            );
            config = config.replacen("  providers:\n", &providers, 1);
            config.push_str(&format!(
                "    {protocol}: {{ provider: {protocol} }}\n    {protocol}-keyless: {{ provider: {protocol}-gone }}\n    \
                 {protocol}-unreachable: {{ provider: {protocol}-nobody }}\n"
            ));
        }
        config
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next answers, in order.
    pub(crate) fn will_say(&self, says: impl IntoIterator<Item = Say>) {
        self.says.lock().unwrap().extend(says);
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Asked {
        self.asked().pop().unwrap()
    }

    /// How many went away before they had their answer.
    pub(crate) fn gone(&self) -> usize {
        *self.gone.lock().unwrap()
    }

    fn serve(&self, stream: TcpStream) {
        let Some(asked) = read(&stream) else { return };
        self.asked.lock().unwrap().push(asked);
        let say = self.says.lock().unwrap().pop_front().unwrap_or_else(|| Say::Whole(200, answer("words")));
        let mut to = stream.try_clone().unwrap();
        match say {
            Say::Whole(status, body) => {
                let length = body.len();
                let text = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nx-lab-secret: inside\r\ncontent-length: \
                     {length}\r\nconnection: close\r\n\r\n{body}"
                );
                to.write_all(text.as_bytes()).unwrap_or_default();
            }
            Say::Pieces(pieces) => {
                stream_to(&mut to, &pieces);
                to.write_all(b"0\r\n\r\n").unwrap_or_default();
            }
            Say::Halves(first, barrier, second) => {
                stream_to(&mut to, &first);
                barrier.wait();
                chunks_to(&mut to, &second);
                to.write_all(b"0\r\n\r\n").unwrap_or_default();
            }
            Say::BreakOff => {}
            Say::Hang(pieces) => {
                if !pieces.is_empty() {
                    stream_to(&mut to, &pieces);
                }
                // The client sends no more; the next thing is its end.
                let mut rest = stream;
                while rest.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
                *self.gone.lock().unwrap() += 1;
            }
        }
    }
}

fn stream_to(to: &mut TcpStream, pieces: &[String]) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    to.write_all(head.as_bytes()).unwrap_or_default();
    chunks_to(to, pieces);
}

fn chunks_to(to: &mut TcpStream, pieces: &[String]) {
    for piece in pieces {
        to.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).unwrap_or_default();
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { head, body })
}

/// A chat completion.
pub(crate) fn answer(text: &str) -> String {
    json!({
        "id": "c1", "object": "chat.completion", "model": "lab-small-2",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    })
    .to_string()
}

/// A streamed one: two words, the use, the end.
pub(crate) fn pieces() -> Vec<String> {
    let word = |word: &str| {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": word}}], "usage": null});
        format!("data: {chunk}\n\n")
    };
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}});
    vec![word("one"), word(" two"), format!("data: {usage}\n\n"), "data: [DONE]\n\n".to_owned()]
}
