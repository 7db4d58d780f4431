//! Converts the requests of a command to the engine into requests to the server.

use super::call::segment;
use crate::process::{environment, failure::Failure};
use envoi_contract::json::{Object, Value};
use envoi_engine::protocol::{AnswerRequest, Request, ResumeRequest};
use envoi_kernel::{
    input::Answer,
    ledger::{Cost, Ledger},
};

/// A request. It is safe to repeat, because the server executes it once per key.
pub(crate) struct Post {
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) key: String,
}

/// Returns the request to the server, or `None` if the run is only followed.
pub(crate) fn post(request: &Request) -> Result<Option<Post>, Failure> {
    Ok(Some(match request {
        Request::Answer(request) => Post {
            path: format!("/v1/questions/{}/answer", segment(request.answer.interrupt.as_str())),
            body: answer(request).compact(),
            key: key(request.answer.request.as_deref())?,
        },
        Request::Resume(request) => match resumed(request)? {
            Some(post) => post,
            None => return Ok(None),
        },
        Request::Cancel { run, .. } => Post {
            path: format!("/v1/runs/{}/cancel", segment(run.as_str())),
            body: String::new(),
            // Cancelling twice has no further effect, so any key is safe.
            key: key(None)?,
        },
        Request::Start(_)
        | Request::Fork(_)
        | Request::Restore(_)
        | Request::Apply(_)
        | Request::Collect(_)
        | Request::Ping => {
            return Ok(None);
        }
    }))
}

fn key(known: Option<&str>) -> Result<String, Failure> {
    known.map_or_else(|| environment::random_id("req_"), |known| Ok(known.to_owned()))
}

fn resumed(request: &ResumeRequest) -> Result<Option<Post>, Failure> {
    let mut body = Object::new();
    let mut say = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    let run = segment(request.run.as_str());
    let mut path = format!("/v1/runs/{run}/resume");
    match (&request.raise, request.choice, request.reopen) {
        (Some(more), _, _) => {
            path = format!("/v1/runs/{run}/raise");
            say("more", amounts(more));
        }
        (None, Some(choice), _) => say("choice", Value::from(choice.word())),
        (None, None, true) => {}
        (None, None, false) => return Ok(None),
    }
    if request.now {
        say("now", Value::from(true));
    }
    if let Some(reason) = &request.why {
        say("reason", Value::from(reason.as_str()));
    }
    let key = key(request.request.as_deref())?;
    Ok(Some(Post { path, body: Value::Object(body).compact(), key }))
}

fn answer(request: &AnswerRequest) -> Value {
    let Answer { choice, text, data, attachments, raise, seen, .. } = &request.answer;
    let mut body = Object::new();
    let mut say = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    say("choice", Value::from(choice.word()));
    if let Some(text) = text {
        say("text", Value::from(text.as_str()));
    }
    if let Some(data) = data {
        say("data", data.clone());
    }
    if !attachments.is_empty() {
        say("attachments", Value::Array(attachments.iter().map(|file| file.to_value()).collect()));
    }
    if let Some(more) = raise {
        say("raise", amounts(more));
    }
    if let Some(seen) = seen {
        say("seen", Value::from(seen.to_string()));
    }
    if !request.follow {
        say("resume", Value::from(false));
    }
    Value::Object(body)
}

/// The amounts that are not zero.
fn amounts(more: &Ledger) -> Value {
    let mut amounts = Object::new();
    for (name, count) in [
        ("agent_hops", more.agent_hops),
        ("iterations", more.iterations),
        ("rounds", more.rounds),
        ("llm_calls", more.llm_calls),
        ("wall_time_ms", more.wall_time_ms),
        ("waiting_ms", more.waiting_ms),
    ] {
        if count > 0 {
            amounts.insert(name.to_owned(), Value::from(count));
        }
    }
    if more.cost != Cost::default() {
        amounts.insert("cost_usd".to_owned(), Value::from(more.cost.to_string()));
    }
    Value::Object(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_engine::protocol::CallerWire;
    use envoi_kernel::{
        event::Choice,
        ids::{InterruptId, Principal, RunId},
    };

    fn follow() -> ResumeRequest {
        let by = Principal { tenant: "local".to_owned(), actor: "ann".to_owned() };
        ResumeRequest::follow(RunId::new("run_1").unwrap(), by, CallerWire::default())
    }

    fn posted(request: Request) -> Option<(String, String)> {
        post(&request).unwrap().map(|post| (post.path, post.body))
    }

    #[test]
    fn to_follow_a_run_asks_for_nothing_and_reopens_nothing() {
        assert_eq!(posted(Request::Resume(Box::new(follow()))), None);
        let reopen = ResumeRequest { reopen: true, why: Some("again".to_owned()), ..follow() };
        let path = "/v1/runs/run_1/resume".to_owned();
        assert_eq!(
            posted(Request::Resume(Box::new(reopen))),
            Some((path.clone(), r#"{"reason":"again"}"#.to_owned()))
        );
        let decide = ResumeRequest { choice: Some(Choice::Rerun), ..follow() };
        assert_eq!(
            posted(Request::Resume(Box::new(decide))),
            Some((path, r#"{"choice":"rerun"}"#.to_owned()))
        );
    }

    #[test]
    fn a_raise_names_what_is_raised_and_nothing_else() {
        let more = Ledger { iterations: 2, cost: Cost::parse("1.50").unwrap(), ..Ledger::default() };
        let raise = ResumeRequest { raise: Some(more), ..follow() };
        let body = r#"{"more":{"iterations":2,"cost_usd":"1.50"}}"#.to_owned();
        assert_eq!(posted(Request::Resume(Box::new(raise))), Some(("/v1/runs/run_1/raise".to_owned(), body)));
    }

    #[test]
    fn an_answer_is_sent_as_it_was_given() {
        let by = Principal { tenant: "local".to_owned(), actor: "ann".to_owned() };
        let answer = Answer {
            text: Some(" as it is \n".to_owned()),
            data: Some(Value::parse(br#"{"amount": 1.00}"#).unwrap()),
            ..Answer::new(InterruptId::new("int_1").unwrap(), Choice::Respond, by)
        };
        let request = AnswerRequest {
            run: RunId::new("run_1").unwrap(),
            answer,
            follow: false,
            caller: CallerWire::default(),
        };
        let body = r#"{"choice":"respond","text":" as it is \n","data":{"amount":1.00},"resume":false}"#;
        assert_eq!(
            posted(Request::Answer(Box::new(request))),
            Some(("/v1/questions/int_1/answer".to_owned(), body.to_owned()))
        );
    }
}
