//! One link of the chain that passes documents through every language (`spec/fuzz`): decodes and encodes the
//! documents on stdin.
//!
//! Reads frames to the end of stdin: a line `KIND FORM LENGTH`, then LENGTH bytes and a newline. Answers each frame
//! with `ok LENGTH` and the encoded document, or with `refused LENGTH` and the whole message. It is not a command of
//! the binary, because only that chain uses it.
#![expect(
    clippy::disallowed_methods,
    reason = "it uses the crate from outside: the crate itself reads no stdin"
)]

use envoi_contract::envelope::{Envelope, Interpretation};
use envoi_contract::error::Diagnostic;
use envoi_contract::handoff::{self, Handoff};
use envoi_contract::json::Value;
use envoi_contract::routing::{self, Signal};
use envoi_contract::skill_report::SkillReport;
use envoi_contract::user_envelope;
use std::io::{self, BufRead, BufWriter, Read, Write};

fn main() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut header = String::new();
    while input.read_line(&mut header)? > 0 {
        let mut words = header.split_whitespace();
        let (Some(kind), Some(form), Some(Ok(length))) =
            (words.next(), words.next(), words.next().map(str::parse::<usize>))
        else {
            return Err(io::Error::other(format!("not a header: {header:?}")));
        };
        let mut document = vec![0; length];
        input.read_exact(&mut document)?;
        input.read_exact(&mut [0])?;
        let (verdict, text) = match pass(kind, &document) {
            Ok(value) if form == "compact" => ("ok", value.compact()),
            Ok(value) => ("ok", value.pretty()),
            Err(message) => ("refused", message),
        };
        writeln!(output, "{verdict} {}\n{text}", text.len())?;
        header.clear();
    }
    output.flush()
}

/// Decodes a document and prepares it for writing. The error is the message of the refusal.
fn pass(kind: &str, document: &[u8]) -> Result<Value, String> {
    match kind {
        "envelope" => in_words(Envelope::decode(document)).map(|envelope| envelope.to_state_dict()),
        "envelope-dict" => in_words(Envelope::decode(document)).map(|envelope| envelope.to_dict()),
        "handoff" => in_words(Handoff::decode(document)).map(|handoff| handoff.to_value()),
        "signal" => in_words(signal(document)).map(|signal| signal.orchestrator(None)),
        "signal-resolver" => in_words(signal(document)).map(|signal| signal.resolver()),
        "report" => in_words(SkillReport::decode(document)).map(|report| report.to_value()),
        "answer" => answer(document),
        "import" => in_words(import(document)),
        "route" => in_words(route(document)),
        "write" => in_words(handoff::decode_draft(document).and_then(handoff::write))
            .map(|handoff| handoff.to_value()),
        "json" => in_words(Value::parse(document)),
        _ => Err(format!("no kind of document: {kind}")),
    }
}

fn in_words<T>(result: Result<T, impl ToString>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// The interpretations of an imported envelope.
fn import(document: &[u8]) -> Result<Value, Diagnostic> {
    let value = Value::parse(document)
        .map_err(|error| Diagnostic::of_json(envoi_contract::code::Code::EnvelopeInvalid, error))?;
    let (_, interpretations) = Envelope::import(&value).map_err(|refusal| refusal.located(document))?;
    let in_words = |Interpretation { pointer, read, taken_as }: Interpretation| {
        Value::from(vec![pointer, read, taken_as])
    };
    Ok(Value::from(interpretations.into_iter().map(in_words).collect::<Vec<_>>()))
}

/// A signal and its audit.
fn route(document: &[u8]) -> Result<Value, Diagnostic> {
    let resolution = routing::decode_input(document).and_then(|input| routing::resolve(&input))?;
    Ok(Value::from(vec![resolution.signal.resolver(), resolution.audit.to_value()]))
}

/// Reads a signal. Signals are usually parts of other documents; here the whole document is a signal.
fn signal(document: &[u8]) -> Result<Signal, Diagnostic> {
    let value = Value::parse(document)
        .map_err(|error| Diagnostic::of_json(envoi_contract::code::Code::RoutingSignalInvalid, error))?;
    Signal::decode(&value).map_err(|refusal| refusal.located(document))
}

fn answer(document: &[u8]) -> Result<Value, String> {
    let text = in_words(std::str::from_utf8(document))?;
    in_words(user_envelope::parse(text, true, &[])).map(|answer| answer.to_value())
}
