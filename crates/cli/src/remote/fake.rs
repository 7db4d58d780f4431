//! A server for tests: it accepts one connection after another, sends the given answer on each, and closes
//! it, even if the answer is incomplete.

use super::{address::Address, call::Server};
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread::{self, JoinHandle},
};

/// Returns a client of a server that sends these answers unchanged, and the requests that the server got,
/// with heads and bodies.
pub(crate) fn server(answers: &'static [&'static str]) -> (Server, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = thread::spawn(move || {
        let answer = |answer: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let mut text = String::from_utf8(head).unwrap().to_ascii_lowercase();
            let length =
                text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            text += &String::from_utf8(body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            text
        };
        answers.iter().map(answer).collect()
    });
    let address = Address { url, token: "evt_x".to_owned(), roots: None };
    let Ok(server) = Server::at(&address) else { panic!("a client") };
    (server, requests)
}
