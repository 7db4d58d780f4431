//! Requests to the engine's desk, and the environment that the commands of a run may see.

use crate::{http::problem::Problem, state::app::App};
use envoi_engine::{
    flow_folder, load_run,
    protocol::{CallerWire, Request, Response},
};
use envoi_kernel::{Run, ids::RunId};
use std::{sync::mpsc, thread};

/// Sends a request to the engine, and returns the engine's notes once it has accepted the request. The
/// journal has the result.
pub(crate) fn submit(app: &App, request: Request) -> Result<Vec<String>, Problem> {
    let ask = request.name();
    let run = request.run().map(RunId::as_str);
    tracing::info!(ask, run, "asked");
    let (client, responses) = mpsc::channel();
    let desk = app.desk.clone();
    // The desk continues for a moment after it has accepted an answer; this thread does not wait for that.
    thread::Builder::new()
        .name("desk".to_owned())
        .spawn(move || desk.serve(request, &client))
        .map_err(Problem::internal)?;
    reply(&responses)
}

/// The notes of the engine, once the request is accepted or refused. Until then the channel may carry records of the
/// same run that other requests have caused.
fn reply(responses: &mpsc::Receiver<Response>) -> Result<Vec<String>, Problem> {
    let mut notes = Vec::new();
    loop {
        match responses.recv() {
            Ok(Response::Noted { text }) => notes.push(text),
            Ok(Response::Record { .. } | Response::Rest { .. }) => {}
            Ok(Response::Refused(refused)) => return Err(refused.into()),
            Ok(Response::Stopped { .. }) | Err(_) => return Err(Problem::stopping()),
            Ok(Response::Accepted { .. } | Response::Pong | Response::Collected { .. }) => return Ok(notes),
        }
    }
}

/// The environment that commands of a run may see when this server resumes it.
pub(crate) fn caller_of(app: &App, run: &Run) -> CallerWire {
    (app.settings.caller)(run.flow(), flow_folder(run))
}

/// Like [`caller_of`], for a request that has not loaded the run.
pub(crate) fn caller_of_run(app: &App, run: &RunId) -> Result<CallerWire, Problem> {
    let run = app.read(|reader| load_run(reader, run).map_err(Problem::from))?;
    Ok(caller_of(app, &run))
}

/// Like [`caller_of_run`], or empty if the run cannot be read: the engine then reports that, and sets the run
/// aside.
pub(crate) fn caller_or_default(app: &App, run: &RunId) -> CallerWire {
    caller_of_run(app, run).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::code::Code;
    use envoi_engine::protocol::{Refused, Standing};

    /// The responses also contain a record that another request to the same run has caused.
    fn responses(last: Response) -> Result<Vec<String>, Problem> {
        let (client, responses) = mpsc::channel();
        let record = serde_json::json!({
            "seq": 4, "at": 1_000,
            "event": {"type": "cancel_requested", "by": {"tenant": "local", "actor": "ada"}},
        });
        let record = Box::new(serde_json::from_value(record).unwrap());
        client.send(Response::Record { record }).unwrap();
        client.send(Response::Rest { standing: Standing::answered() }).unwrap();
        client.send(Response::Noted { text: "this".to_owned() }).unwrap();
        client.send(last).unwrap();
        reply(&responses)
    }

    #[test]
    fn what_others_do_to_the_run_is_no_answer_to_a_request() {
        let refused = responses(Response::Refused(Refused::new(Code::NotRaised, "no bound is named", None)));
        assert_eq!(refused.unwrap_err().code, Code::NotRaised);
        let accepted = responses(Response::Accepted { run: RunId::new("run_a").unwrap() });
        assert_eq!(accepted.unwrap(), ["this"]);
        let stopped = responses(Response::Stopped { reason: "it closes".to_owned() });
        assert_eq!(stopped.unwrap_err().code, Problem::stopping().code);
    }
}
