//! A call to a model: a single request on its own connection, sent once.

use crate::{Access, Around, CALLS_FILE, Order, UNANSWERED_FILE};
use envoi_contract::{json::Value, time::Timestamp};
use envoi_durable::renew;
use envoi_http::{Client, NoAnswer};
use envoi_preset::{
    Class, Failure, Masking,
    protocol::{Protocol, Reply, rejection},
};
use std::{
    fs, io,
    time::{Duration, SystemTime},
};

/// Largest response body.
const MAX_BODY_BYTES: u64 = 16 * 1024 * 1024;

/// Longest time to connect to a provider.
const CONNECTING: Duration = Duration::from_secs(10);

/// Longest request id that is kept, in characters.
const MAX_ID_CHARS: usize = 200;

/// The result of a call.
pub(crate) enum Called {
    /// The model answered.
    Answered {
        /// The answer.
        reply: Reply,
        /// The request id that the provider assigned.
        request: Option<String>,
    },
    /// The call failed, and no answer will come.
    Failed {
        /// The reason.
        failure: Failure,
        /// The request id that the provider assigned.
        request: Option<String>,
        /// The time at which the rate limit of the account ends, if the failure is a rate limit and states it.
        resets_at: Option<Timestamp>,
        /// True if the provider may have worked on the request.
        counts: bool,
    },
    /// The result of the call is unknown.
    Unanswered,
}

/// Makes the call. `before` is the number of calls of this attempt that count so far.
///
/// While the call has no answer, the file [`crate::UNANSWERED_FILE`] in the attempt's folder says so. The file
/// [`crate::CALLS_FILE`] counts the call.
///
/// # Errors
/// These files cannot be written or removed.
pub(crate) fn call(
    order: &Order,
    access: &Access,
    protocol: Protocol,
    key: Option<&str>,
    body: &str,
    before: usize,
    around: &dyn Around,
) -> io::Result<Called> {
    let count = |calls: usize| renew(&order.folder.join(CALLS_FILE), calls.to_string().as_bytes());
    count(before.saturating_add(1))?;
    let unanswered = order.folder.join(UNANSWERED_FILE);
    let to = format!("the call of model `{}` at provider `{}`", order.model, access.provider);
    renew(&unanswered, format!("{to} was sent, and its answer did not arrive").as_bytes())?;
    let called = send(access, protocol, key, body, around);
    match &called {
        Err(NoAnswer::Unknown(why)) => {
            println!("{why}");
            let what = format!("{to} was sent, and it is not known what became of it: {why}");
            renew(&unanswered, what.as_bytes())?;
        }
        Ok(Called::Failed { counts: false, .. }) | Err(NoAnswer::NotSent(_)) => {
            fs::remove_file(&unanswered)?;
            count(before)?;
        }
        Ok(_) => fs::remove_file(&unanswered)?,
    }
    Ok(match called {
        Ok(called) => called,
        Err(NoAnswer::Unknown(_)) => Called::Unanswered,
        Err(NoAnswer::NotSent(why)) => Called::Failed {
            failure: Failure::new(Class::Network, format!("provider `{}`: {why}", access.provider)),
            request: None,
            resets_at: None,
            counts: false,
        },
    })
}

fn send(
    access: &Access,
    protocol: Protocol,
    key: Option<&str>,
    body: &str,
    around: &dyn Around,
) -> Result<Called, NoAnswer> {
    let mask = |text: &str| around.mask_text(text);
    let masking = Masking::with(&mask);
    let timeout = Duration::from_millis(access.timeout_ms);
    let connect_timeout = CONNECTING.min(timeout);
    let client = Client {
        timeout: Some(timeout),
        connect_timeout: Some(connect_timeout),
        is_one_request_a_connection: true,
        ..Client::default()
    };
    let url = format!("{}{}", access.url.trim_end_matches('/'), protocol.path());
    let mut request = client.agent().post(&url).header("content-type", "application/json");
    request = request.header("accept", "application/json");
    for (name, value) in protocol.headers(key) {
        request = request.header(name, value);
    }
    let got = request.send(body);
    let mut response = got.map_err(|error| NoAnswer::of(&error, timeout, connect_timeout))?;
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let read = response.body_mut().with_config().limit(MAX_BODY_BYTES).read_to_vec();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bytes = match read {
        Ok(bytes) => bytes,
        // The status already says that the request was refused, so the body is not needed.
        Err(_) if status != 200 => Vec::new(),
        Err(error) => return Err(NoAnswer::Unknown(format!("its answer cannot be read: {error}"))),
    };
    let kept = |id: &str| -> String { mask(id).chars().take(MAX_ID_CHARS).collect() };
    let request = header(protocol.id_header()).map(kept);
    if status != 200 {
        let failure = rejection::failure(status, &bytes, masking);
        let throttled = failure.class == Class::Throttled;
        let resets_at = throttled.then(|| rejection::reset(header, &bytes, now())).flatten();
        return Ok(Called::Failed { failure, request, resets_at, counts: false });
    }
    let body = Value::parse(&bytes).ok();
    if let Some(failure) = body.as_ref().and_then(|body| rejection::stated(body, masking)) {
        // An overloaded provider may have started to work. All other failures did no work.
        let counts = failure.class == Class::Overloaded;
        let throttled = failure.class == Class::Throttled;
        let resets_at = throttled.then(|| rejection::reset(header, &bytes, now())).flatten();
        let request = request.or_else(|| Some(kept(body.as_ref()?.get("id")?.as_str()?)));
        return Ok(Called::Failed { failure, request, resets_at, counts });
    }
    let reply = body.and_then(|body| protocol.reply(&body));
    Ok(match reply {
        Some(reply) => {
            let request = request.or_else(|| reply.id.as_deref().map(kept));
            Called::Answered { reply, request }
        }
        None => {
            let message = format!("the provider's answer is none of the protocol `{protocol}`");
            let failure = Failure::new(Class::Overloaded, message);
            Called::Failed { failure, request, resets_at: None, counts: true }
        }
    })
}

/// The current time by the clock of this machine.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
