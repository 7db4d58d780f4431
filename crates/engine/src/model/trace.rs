//! The ids under which a run is observed: its trace, the spans in it, and the `traceparent` that others get.
//!
//! Every id is derived from the run and from what it is about, or was sent by the client that started the run (it is in
//! `run_started`). So it is the same when it is computed again, after a crash or elsewhere. [`spans`] defines the
//! spans; the composition root takes them.

pub mod spans;

use envoi_contract::digest::{Digest, hex};
use envoi_kernel::{
    Event, Record,
    event::RunStarted,
    ids::{AttemptId, RunId, Seq, VisitId},
};
use std::fmt;

/// The id of a trace. Never all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId([u8; 16]);

/// The id of a span. Never all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId([u8; 8]);

/// The header and variable of W3C Trace Context, level 1: a trace, a span in it, and whether they are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traceparent {
    /// The trace.
    pub trace: TraceId,
    /// The span that what follows belongs to.
    pub span: SpanId,
    /// Whether the client that began the trace wants it recorded.
    pub sampled: bool,
}

/// The trace of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Its id.
    pub id: TraceId,
    /// The span of the client that started the run, if it sent one.
    pub parent: Option<SpanId>,
    /// Whether it is recorded; a run that was started without a trace is.
    pub sampled: bool,
    run: RunId,
}

/// The subject of a span. The id of the span is derived from it and from the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of<'n> {
    /// A stretch of the run's activity, by the event that began it.
    Stretch(Seq),
    /// A visit.
    Visit(&'n VisitId),
    /// An attempt.
    Attempt(&'n AttemptId),
    /// A model call, by its id.
    Call(&'n str),
}

impl Trace {
    /// The trace of the run that was started like this.
    #[must_use]
    pub fn of(started: &RunStarted) -> Self {
        let run = started.run.clone();
        match started.trace.as_deref().and_then(Traceparent::parse) {
            Some(Traceparent { trace, span, sampled }) => {
                Self { id: trace, parent: Some(span), sampled, run }
            }
            None => Self { id: TraceId(derived(&run, "trace", "")), parent: None, sampled: true, run },
        }
    }

    /// The id of a span of the run.
    #[must_use]
    pub fn span(&self, of: Of<'_>) -> SpanId {
        let (kind, name) = match of {
            Of::Stretch(seq) => ("run", seq.to_string()),
            Of::Visit(visit) => ("step", visit.to_string()),
            Of::Attempt(attempt) => ("attempt", attempt.to_string()),
            Of::Call(call) => ("call", call.to_owned()),
        };
        SpanId(derived(&self.run, kind, &name))
    }

    /// The header for another system, so that its own spans are below this one.
    #[must_use]
    pub fn traceparent(&self, of: Of<'_>) -> Traceparent {
        Traceparent { trace: self.id, span: self.span(of), sampled: self.sampled }
    }
}

/// The start of a run, from its first record; `None` if these are other records.
#[must_use]
pub fn begun(records: &[Record]) -> Option<&RunStarted> {
    match &records.first()?.event {
        Event::RunStarted(started) => Some(started),
        _ => None,
    }
}

/// The first bytes of a SHA-256, which are not all zero.
fn derived<const N: usize>(run: &RunId, kind: &str, name: &str) -> [u8; N] {
    let hash = Digest::of(format!("envoi\0{run}\0{kind}\0{name}").as_bytes());
    let mut id = [0; N];
    id.iter_mut().zip(hash.as_bytes()).for_each(|(byte, hashed)| *byte = *hashed);
    if let (true, Some(last)) = (id == [0; N], id.last_mut()) {
        *last = 1;
    }
    id
}

impl Traceparent {
    /// Reads the header or the variable. `None` for a form that Trace Context does not know: it is ignored. Later versions
    /// may add more after a further `-`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let mut part = || parts.next();
        let [version] = bytes(part()?)?;
        let (trace, span, [flags]) = (bytes(part()?)?, bytes(part()?)?, bytes(part()?)?);
        let more = part();
        let known = version != 0xFF && (version != 0 || more.is_none());
        let sampled = flags & 1 == 1;
        let is_set = trace != [0; 16] && span != [0; 8];
        (known && is_set).then_some(Self { trace: TraceId(trace), span: SpanId(span), sampled })
    }
}

/// As many bytes, as hexadecimal digits in lower case.
fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    if digits.len() != N.saturating_mul(2) || !digits.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        let place = at.saturating_mul(2);
        *byte = u8::from_str_radix(digits.get(place..place.saturating_add(2))?, 16).ok()?;
    }
    Some(bytes)
}

impl TraceId {
    /// The 16 bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl SpanId {
    /// The 8 bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 8] {
        self.0
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn what_trace_context_does_not_know_is_ignored() {
        let good = format!("00-{TRACE}-{SPAN}-01");
        let rows = [
            (good.clone(), Some(good.as_str())),
            // Only the first flag is ours to hand on.
            (format!("00-{TRACE}-{SPAN}-03"), Some(good.as_str())),
            // A later version may have more; it is read as far as it is known.
            (format!("cc-{TRACE}-{SPAN}-01"), Some(good.as_str())),
            (format!("cc-{TRACE}-{SPAN}-01-what-ever"), Some(good.as_str())),
            (format!("cc-{TRACE}-{SPAN}-01what"), None),
            (format!("00-{TRACE}-{SPAN}-01-what"), None),
            (format!("00-{TRACE}-{SPAN}-01-"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{}-{SPAN}-01", &TRACE[1..]), None),
            (format!("00-{TRACE}-{SPAN}0-01"), None),
            (format!("0-{TRACE}-{SPAN}-01"), None),
            (format!("00-{TRACE}-{SPAN}-1"), None),
            (format!("00-{TRACE}-{SPAN}-0g"), None),
            (format!("00-{TRACE}-{SPAN}-+1"), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            (format!(" {good}"), None),
            (format!("00-{}é-{SPAN}-01", &TRACE[2..]), None),
            (String::new(), None),
        ];
        for (text, expected) in rows {
            let read = Traceparent::parse(&text).map(|read| read.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
        let unsampled = format!("00-{TRACE}-{SPAN}-00");
        assert_eq!(Traceparent::parse(&unsampled).map(|read| read.to_string()), Some(unsampled));
    }

    #[test]
    fn ids_are_the_same_for_ever() {
        let run = RunId::new("run_0demo").unwrap();
        let trace = Trace { id: TraceId(derived(&run, "trace", "")), parent: None, sampled: true, run };
        let attempt = AttemptId::parse("build.1.1").unwrap();
        let header = trace.traceparent(Of::Attempt(&attempt)).to_string();
        assert_eq!(header, "00-f881d9b1bf9afdd5bf141cf2ffab3606-accfaa84988b60c5-01");
        let ids = [
            trace.span(Of::Stretch(0)),
            trace.span(Of::Stretch(1)),
            trace.span(Of::Visit(&attempt.visit)),
            trace.span(Of::Attempt(&attempt)),
            trace.span(Of::Attempt(&attempt.visit.attempt(2))),
            trace.span(Of::Call("build.1.1")),
        ];
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    }
}
