//! Runs of no-op steps on Restate: a worker, and the client that starts the runs, in one process.
//!
//!     restate-bench ADMIN INGRESS RUNS ROUNDS
//!
//! Registers its worker at the admin address of a server. Then `RUNS` clients call it at the same time, each
//! `ROUNDS` times, one call after the other. A call is a run of ten `ctx.run` steps that do nothing. Prints
//! steps per second. Both sides use TCP_NODELAY; without it each step waits for a delayed acknowledgement of
//! the kernel.

use restate_sdk::prelude::*;
use std::{error::Error, net::SocketAddr, time::Instant};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpSocket, TcpStream},
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const STEPS: u32 = 10;

struct Bench;

#[service]
impl Bench {
    #[handler]
    async fn run(&self, ctx: Context<'_>, number: u32) -> Result<u32, HandlerError> {
        let mut sum = number;
        for step in 0..STEPS {
            sum = sum.wrapping_add(ctx.run(|| async move { Ok(step) }).await?);
        }
        Ok(sum)
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [admin, ingress, runs, rounds] = words.as_slice() else {
        return Err("usage: restate-bench ADMIN INGRESS RUNS ROUNDS, with addresses such as 127.0.0.1:9070".into());
    };
    let (admin, ingress): (SocketAddr, SocketAddr) = (admin.parse()?, ingress.parse()?);
    let (runs, rounds): (u32, u32) = (runs.parse()?, rounds.parse()?);
    // Accepted connections inherit the option on Linux.
    let socket = TcpSocket::new_v4()?;
    socket.set_nodelay(true)?;
    socket.bind("127.0.0.1:0".parse()?)?;
    let listener = socket.listen(1024)?;
    let worker = listener.local_addr()?;
    tokio::spawn(HttpServer::new(Endpoint::builder().bind(Bench).build()).serve(listener));
    let body = format!("{{\"uri\":\"http://{worker}\",\"force\":true}}");
    call(&mut connect(admin).await?, "/deployments", &body).await?;
    // A first round opens the connections, and waits until the server knows the worker.
    round(ingress, runs, 1).await?;
    let began = Instant::now();
    round(ingress, runs, rounds).await?;
    let seconds = began.elapsed().as_secs_f64();
    let steps = f64::from(runs) * f64::from(rounds) * f64::from(STEPS);
    println!("{:.0}", steps / seconds);
    Ok(())
}

/// `runs` clients at the same time, each with `calls` calls.
async fn round(ingress: SocketAddr, runs: u32, calls: u32) -> Outcome<()> {
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..runs {
        clients.spawn(async move {
            let mut server = connect(ingress).await?;
            for _ in 0..calls {
                call(&mut server, "/Bench/run", &number.to_string()).await?;
            }
            Ok::<(), Box<dyn Error + Send + Sync>>(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    Ok(())
}

async fn connect(to: SocketAddr) -> Outcome<BufReader<TcpStream>> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// Sends a POST; the connection stays open.
async fn call(server: &mut BufReader<TcpStream>, path: &str, body: &str) -> Outcome<()> {
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    server.write_all(request.as_bytes()).await?;
    let (mut status, mut length, mut chunked) = (String::new(), 0_usize, false);
    server.read_line(&mut status).await?;
    loop {
        let mut line = String::new();
        server.read_line(&mut line).await?;
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse()?,
            Some(("transfer-encoding", value)) => chunked = value.contains("chunked"),
            Some(_) => {}
            None => break,
        }
    }
    let mut answer = Vec::new();
    while chunked {
        let mut size = String::new();
        server.read_line(&mut size).await?;
        let size = usize::from_str_radix(size.trim(), 16)?;
        let mut chunk = vec![0; size + 2];
        server.read_exact(&mut chunk).await?;
        answer.extend_from_slice(&chunk[..size]);
        chunked = size > 0;
    }
    let begin = answer.len();
    answer.resize(begin + length, 0);
    server.read_exact(&mut answer[begin..]).await?;
    if status.contains(" 200 ") || status.contains(" 201 ") {
        return Ok(());
    }
    Err(format!("{path}: {}: {}", status.trim(), String::from_utf8_lossy(&answer)).into())
}
