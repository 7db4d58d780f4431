//! `logs` at a server: requests outputs in pieces, each from the end of the previous one.

use super::{
    Remote,
    call::{Server, good, segment},
};
use crate::{
    command::logs::{self, Output, Outputs, PAGE, PIECE_BYTES, View},
    process::failure::Failure,
};
use envoi_contract::code::Code;
use envoi_journal::{Reader, RunStatus};
use envoi_kernel::{
    Record,
    ids::{AttemptId, RunId, Seq},
};
use std::time::Duration;

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(300);

pub(crate) fn logs(remote: &Remote, run: Option<&str>, view: &View, follow: bool) -> Result<u8, Failure> {
    let run = remote.run_or_newest(run)?;
    logs::print(&mut Afar { remote, run }, view, follow)
}

/// The outputs of a run at a server.
struct Afar<'r> {
    remote: &'r Remote,
    run: RunId,
}

impl Afar<'_> {
    /// Copies the new events of the run, and returns a reader of them.
    fn reader(&self) -> Result<Reader, Failure> {
        self.remote.pull(&self.run)
    }
}

impl Outputs for Afar<'_> {
    fn is_at_rest(&mut self) -> Result<bool, Failure> {
        Ok(self.remote.row(&self.run)?.status() != RunStatus::Running)
    }

    fn records(&mut self, from: Seq) -> Result<Vec<Record>, Failure> {
        self.reader()?.records(&self.run, from, None).map_err(Failure::store)
    }

    fn attempts(&mut self, before: Option<Seq>) -> Result<Vec<(Seq, AttemptId)>, Failure> {
        self.reader()?.attempts_started_before(&self.run, before, PAGE).map_err(Failure::store)
    }

    fn attempts_from(&mut self, from: Seq) -> Result<Vec<(Seq, AttemptId)>, Failure> {
        self.reader()?.attempts_started(&self.run, from, PAGE).map_err(Failure::store)
    }

    fn output(&mut self, attempt: &AttemptId, stream: &'static str) -> Box<dyn Output> {
        let run = segment(self.run.as_str());
        let attempt = segment(&attempt.to_string());
        Box::new(OneLog {
            server: self.remote.server.clone(),
            path: format!("/v1/runs/{run}/logs/{attempt}/{stream}"),
        })
    }

    fn pause(&self) -> Duration {
        PAUSE
    }
}

struct OneLog {
    server: Server,
    path: String,
}

impl Output for OneLog {
    fn read(&mut self, from: u64, into: &mut Vec<u8>) -> Result<usize, Failure> {
        let range = format!("bytes={from}-{}", from.saturating_add(PIECE_BYTES).saturating_sub(1));
        let reply = self.server.any_reply(&self.path, &[("range", &range)])?;
        if reply.status == 416 {
            return Ok(0);
        }
        // A proxy that does not support ranges has sent the log from its beginning.
        if from > 0 && reply.status == 200 {
            let detail = format!("{} sends all of a log where a part was requested", self.path);
            return Err(Failure::new(Code::ServerNotUnderstood, detail)
                .hint("what stands between here and the server has to pass the header Range on"));
        }
        let body = good(reply)?;
        into.extend_from_slice(&body);
        Ok(body.len())
    }
}
