//! The calls of one attempt: the first one, and those that repair its answer.

use crate::{
    Access, Around, Misfit, Order,
    calling::{self, Called},
    material,
};
use envoi_contract::{
    code::Code,
    json::{Number, Value},
    skill_report::SkillError,
    time::Timestamp,
};
use envoi_kernel::ledger::{TokenPrice, Tokens};
use envoi_preset::{
    Class, end_of_feedback,
    protocol::{End, Protocol, Question, Reply},
};
use std::{io, path::Path, thread, time::Duration};

/// The longest rate limit that an attempt waits for itself before it calls again.
const SHORT_WAIT: Duration = Duration::from_secs(20);

/// Largest size of a feedback file. Only the end of its text goes into the prompt.
const MAX_FEEDBACK_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Number of such waits in a row.
const SHORT_WAITS: u32 = 2;

/// The result of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// The text of the last answer.
    pub(crate) text: String,
    /// The data of the last answer. `None` when the step has no schema.
    pub(crate) data: Option<Value>,
    /// The calls that were made, in order.
    pub(crate) calls: Vec<Made>,
    /// The time at which the rate limit of the account ends, if the provider stated one.
    pub(crate) throttled_until: Option<Timestamp>,
    /// The error, if the attempt failed.
    pub(crate) error: Option<SkillError>,
}

/// A call that a provider answered, or may have started to work on.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) request: Option<String>,
    pub(crate) reply: Reply,
}

/// The step that follows an answer.
enum Next {
    Done(Option<Value>),
    /// The answer does not fit, for the given reason. The model is asked to repair it.
    Repair(String),
    Failed(SkillError),
}

/// Calls the model, and calls it again while a retry or a repair may help.
///
/// # Errors
/// A file of the attempt cannot be read or written.
pub(crate) fn ask(order: &Order, key: Option<&str>, around: &dyn Around) -> io::Result<Finished> {
    let mut finished = Finished::default();
    let (access, protocol) = match access(order) {
        Ok(found) => found,
        Err(error) => return Ok(Finished { error: Some(error), ..finished }),
    };
    let parts = match material::parts(order) {
        Ok(parts) => parts,
        Err(error) => return Ok(Finished { error: Some(error), ..finished }),
    };
    let feedback = order.feedback.as_deref().map(text).transpose()?;
    let prompt = compose(&order.prompt, order.failure.as_deref(), feedback.as_deref());
    envoi_durable::renew(&order.folder.join("prompt.txt"), prompt.as_bytes())?;
    let temperature = order.temperature.as_deref().and_then(Number::parse);
    let mut repairs: Vec<(String, String)> = Vec::new();
    let mut is_limit_of_completion = false;
    loop {
        let question = Question {
            model: &access.name,
            system: order.system.as_deref(),
            prompt: &prompt,
            parts: &parts,
            repairs: &repairs,
            temperature: temperature.as_ref(),
            max_tokens: order.max_tokens,
            is_limit_of_completion,
            schema: order.schema.as_ref(),
        };
        let body = protocol.body(&question).compact();
        println!("asking {} ({} of {})", order.model, access.name, access.provider);
        let (reply, request) =
            match patiently(order, access, protocol, key, &body, finished.calls.len(), around)? {
                Called::Answered { reply, request } => (reply, request),
                Called::Unanswered => {
                    let message = "it is not known what became of the call".to_owned();
                    finished.error = Some(SkillError::new(Code::InDoubt, message));
                    return Ok(finished);
                }
                Called::Failed { failure, .. }
                    if order.max_tokens.is_some()
                        && !is_limit_of_completion
                        && protocol.wants_limit_of_completion(&failure.message) =>
                {
                    // The provider refused the request before it did any work.
                    println!("{}", failure.message);
                    is_limit_of_completion = true;
                    continue;
                }
                Called::Failed { failure, request, resets_at, counts } => {
                    if counts {
                        finished.calls.push(Made { request: request.clone(), ..Made::default() });
                    }
                    let of = request.map_or_else(String::new, |id| format!(" (request {id})"));
                    let message = format!("{}{of}", failure.message);
                    finished.error = Some(SkillError::new(failure.class.code(), message));
                    finished.throttled_until = resets_at;
                    return Ok(finished);
                }
            };
        println!("{}", answered(&reply, request.as_deref()));
        let next = examine(order, &reply, around);
        finished.text.clone_from(&reply.text);
        finished.calls.push(Made { request, reply });
        let wrong = match next {
            Next::Done(data) => {
                finished.data = data;
                return Ok(finished);
            }
            Next::Failed(error) => {
                finished.error = Some(error);
                return Ok(finished);
            }
            Next::Repair(wrong) => wrong,
        };
        let tried = u32::try_from(repairs.len()).unwrap_or(u32::MAX);
        if let Some(why) = no_more(order, access, &finished, tried) {
            finished.error = Some(SkillError::new(Class::Schema.code(), format!("{wrong}{why}")));
            return Ok(finished);
        }
        println!("it is asked again: {wrong}");
        repairs.push((finished.text.clone(), wrong));
    }
}

fn access(order: &Order) -> Result<(&Access, Protocol), SkillError> {
    if let Some(problem) = &order.problem {
        return Err(SkillError { code: problem.code.clone(), message: problem.message.clone() });
    }
    let found = order.access.as_ref().and_then(|access| Some((access, Protocol::of(&access.protocol)?)));
    found.ok_or_else(|| {
        SkillError::new(Class::Model.code(), format!("model `{}` cannot be called", order.model))
    })
}

/// Calls the model and, after a short rate limit, waits and calls again. A refused call costs nothing.
fn patiently(
    order: &Order,
    access: &Access,
    protocol: Protocol,
    key: Option<&str>,
    body: &str,
    before: usize,
    around: &dyn Around,
) -> io::Result<Called> {
    let mut waits = 0;
    loop {
        let called = calling::call(order, access, protocol, key, body, before, around)?;
        let Called::Failed { failure, resets_at: Some(until), .. } = &called else { return Ok(called) };
        let wait_ms = until.as_millis().saturating_sub(calling::now().as_millis());
        let wait = Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0));
        if failure.class != Class::Throttled || wait > SHORT_WAIT || waits == SHORT_WAITS {
            return Ok(called);
        }
        waits += 1;
        println!("{}; it is tried again in {} s", failure.message, wait.as_secs_f32());
        thread::sleep(wait);
    }
}

/// The reason why no repair call is made, as the end of a sentence. `None` when one may be made.
fn no_more(order: &Order, access: &Access, finished: &Finished, tried: u32) -> Option<String> {
    if tried >= order.repair {
        let again = if tried == 1 { "" } else { "s" };
        return Some(if tried == 0 {
            String::new()
        } else {
            format!(" (it was asked again {tried} time{again})")
        });
    }
    let calls = u64::try_from(finished.calls.len()).unwrap_or(u64::MAX);
    let cost = access.price.map(|price| cost(price, finished));
    let is_spent = order.max_calls.is_some_and(|max| calls >= max)
        || cost.zip(order.max_nano_usd).is_some_and(|(cost, max)| cost >= max);
    is_spent.then(|| " (the budget allows no further call)".to_owned())
}

/// The cost of all calls in billionths of a US dollar. The cost of each call is rounded up.
pub(crate) fn cost(price: crate::Price, finished: &Finished) -> u64 {
    let price = TokenPrice::from(price);
    let of = |made: &Made| {
        let Reply { tokens_in, tokens_cached, tokens_written, tokens_out, .. } = &made.reply;
        let [given, cache_read, cache_write, gotten] =
            [tokens_in, tokens_cached, tokens_written, tokens_out].map(|tokens| tokens.unwrap_or(0));
        price.cost(Tokens { given, cache_read, cache_write, gotten }).nano_usd()
    };
    finished.calls.iter().map(of).fold(0, u64::saturating_add)
}

fn examine(order: &Order, reply: &Reply, around: &dyn Around) -> Next {
    match &reply.end {
        End::Whole => {}
        End::Cut => {
            let message =
                "the answer was cut at the most tokens that it may have; raise `max_tokens`, or ask for less";
            return Next::Failed(SkillError::new(Class::TooLong.code(), message.to_owned()));
        }
        End::Refused(why) => {
            return Next::Failed(SkillError::new(
                Class::Refused.code(),
                format!("the model gave no answer: {why}"),
            ));
        }
    }
    let Some(schema) = &order.schema else { return Next::Done(None) };
    match Value::parse_str(without_fence(&reply.text)) {
        Err(error) => {
            // The error message quotes a part of the text. A secret that is cut in half would not be masked, so the
            // masked text is parsed instead.
            let masked = Value::parse_str(without_fence(&around.mask_text(&reply.text))).err();
            Next::Repair(match masked {
                Some(error) => format!("the answer is no JSON: {error}"),
                None => {
                    format!("the answer is no JSON, at line {}, column {}", error.line, error.column)
                }
            })
        }
        Ok(data) => match around.check(schema, &data) {
            Ok(()) => Next::Done(Some(data)),
            Err(Misfit(wrong)) => Next::Repair(format!("the answer does not fit: {wrong}")),
        },
    }
}

/// Removes a Markdown code fence if it encloses the whole text. Servers that cannot enforce a schema often add one.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inside = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    inside.unwrap_or(text)
}

fn answered(reply: &Reply, request: Option<&str>) -> String {
    let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let of = request.map_or_else(String::new, |id| format!(", request {id}"));
    format!(
        "answered: {} tokens in, {} out{of}\n{}",
        count(reply.tokens_in),
        count(reply.tokens_out),
        reply.text
    )
}

/// The prompt of a call: the prompt of the step, followed by what was wrong with the last answer.
fn compose(prompt: &str, failure: Option<&str>, feedback: Option<&str>) -> String {
    let mut text = prompt.to_owned();
    if let Some(failure) = failure {
        text.push_str(&format!("\n\nYour last answer could not be used:\n\n{}", failure.trim()));
    }
    if let Some(feedback) = feedback.map(end_of_feedback).filter(|feedback| !feedback.is_empty()) {
        text.push_str(&format!("\n\nFeedback on your last answer:\n\n{feedback}"));
    }
    text
}

/// The text of a file. Invalid UTF-8 is replaced.
fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&envoi_durable::read_regular(path, MAX_FEEDBACK_FILE_BYTES)?).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
pub(crate) mod tests {
    use super::*;
    use crate::Price;
    use envoi_contract::json::Object;
    use envoi_preset::MAX_FEEDBACK_BYTES;

    /// An order with an empty prompt.
    pub(crate) fn order(folder: &Path) -> Order {
        Order {
            model: "small".to_owned(),
            access: None,
            problem: None,
            prompt: String::new(),
            system: None,
            files: Vec::new(),
            roots: Vec::new(),
            never: None,
            temperature: None,
            max_tokens: None,
            repair: 0,
            schema: None,
            feedback: None,
            failure: None,
            max_calls: None,
            max_nano_usd: None,
            folder: folder.to_owned(),
            report: folder.join("report.json"),
            output: folder.join("output"),
            secrets: 0,
            hides: false,
        }
    }

    #[test]
    fn the_remark_on_the_last_answer_stands_behind_the_prompt() {
        assert_eq!(compose("Judge.\n", None, Some(" \n")), "Judge.\n");
        assert_eq!(
            compose("Judge.", Some("AGENT_SCHEMA: text"), Some("too short\n")),
            "Judge.\n\nYour last answer could not be used:\n\nAGENT_SCHEMA: text\n\nFeedback on your last answer:\n\ntoo short"
        );
        assert!(compose("p", None, Some(&"ü".repeat(MAX_FEEDBACK_BYTES))).len() < MAX_FEEDBACK_BYTES + 100);
    }

    struct Hides(&'static str);

    impl Around for Hides {
        fn mask_text(&self, text: &str) -> String {
            text.replace(self.0, "***")
        }

        fn mask_value(&self, value: &Value) -> Value {
            value.clone()
        }

        fn check(&self, _: &Value, _: &Value) -> Result<(), Misfit> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_that_is_no_json_is_masked_before_a_piece_of_it_is_shown() {
        const SECRET: &str = "hunter2-of-the-flow-which-is-long";
        let folder = tempfile::tempdir().unwrap();
        let order = Order { schema: Some(Value::Object(Object::new())), ..order(folder.path()) };
        let wrong = |text: String| {
            let reply = Reply { text, end: End::Whole, ..Reply::default() };
            match examine(&order, &reply, &Hides(SECRET)) {
                Next::Repair(wrong) => wrong,
                _ => String::new(),
            }
        };
        for text in [format!("It is {SECRET}."), format!("[1, {SECRET}]")] {
            let said = wrong(text);
            assert!(said.starts_with("the answer is no JSON: line 1") && !said.contains("hunt"), "{said}");
            assert!(!said.contains("unter2"), "{said}");
        }
    }

    #[test]
    fn a_fence_around_all_of_an_answer_does_not_count() {
        for (text, inside) in [
            ("```json\n{}\n```", "{}"),
            (" ```\n{}```\n", "{}"),
            ("{}", "{}"),
            ("Here:\n```json\n{}\n```", "Here:\n```json\n{}\n```"),
        ] {
            assert_eq!(without_fence(text).trim(), inside);
        }
    }

    #[test]
    fn cost_is_rounded_up_for_each_call_and_unknown_tokens_cost_nothing() {
        let made = |tokens_in, tokens_out| Made {
            reply: Reply { tokens_in, tokens_out, ..Reply::default() },
            ..Made::default()
        };
        let calls = vec![made(Some(100), Some(10)), made(Some(1), None), made(None, None)];
        let finished = Finished { calls, ..Finished::default() };
        // 0.15 and 0.60 dollars per million tokens.
        let price = Price { given: 150_000_000, cache_read: None, cache_write: None, gotten: 600_000_000 };
        assert_eq!(cost(price, &finished), 15_000 + 6_000 + 150);
        assert_eq!(cost(Price { given: 1, gotten: 1, ..price }, &finished), 1 + 1);
        // 80 of 100 tokens were read from the cache, and 10 were written to it.
        let reply =
            Reply { tokens_cached: Some(80), tokens_written: Some(10), ..made(Some(100), None).reply };
        let cached = Finished { calls: vec![Made { reply, ..Made::default() }], ..Finished::default() };
        assert_eq!(cost(price, &cached), 15_000);
        let of_cache = Price { cache_read: Some(15_000_000), cache_write: Some(187_500_000), ..price };
        assert_eq!(cost(of_cache, &cached), 1_500 + 1_200 + 1_875);
    }
}
