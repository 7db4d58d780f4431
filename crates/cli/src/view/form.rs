//! Reads the form of a question: from command-line options, or field by field at a terminal.

use crate::{
    process::{failure::Failure, files},
    text::diff,
};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_flow::answers::{self, Field};
use std::io::{self, BufRead, Write};

/// The form from `--data` or `--field`. `None` if neither is given. The engine fills in defaults and checks
/// it.
pub(crate) fn given(schema: &Value, args: &crate::process::args::Form) -> Result<Option<Value>, Failure> {
    match &args.data {
        Some(text) => document(text).map(Some),
        None if args.fields.is_empty() => Ok(None),
        None => members(schema, &args.fields).map(|given| Some(Value::Object(given))),
    }
}

fn bad(message: String) -> Failure {
    Failure::new(Code::AnswerInvalid, message).hint("`envoi show INT` lists the fields of the form")
}

fn document(text: &str) -> Result<Value, Failure> {
    let read = match text.strip_prefix('@') {
        Some(path) => files::read_text(path.as_ref()).map_err(|error| bad(format!("{path}: {error}")))?,
        None => text.to_owned(),
    };
    Value::parse_str(&read).map_err(|error| bad(format!("--data is not JSON: {error}")))
}

fn members(schema: &Value, given: &[String]) -> Result<Object, Failure> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for argument in given {
        let (name, text) = argument
            .split_once('=')
            .ok_or_else(|| bad(format!("`{argument}` is not of the form NAME=VALUE")))?;
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(bad(format!("field `{name}` is given twice")));
        }
        pairs.push((name, text));
    }
    answers::read_members(schema, pairs).map_err(|(name, why)| bad(format!("field `{name}`: {why}")))
}

/// Asks for every field until it is valid, in the order of the schema. Returns `None` if the input ends
/// first: the question is then not answered.
pub(crate) fn ask(
    schema: &Value,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<Value>> {
    loop {
        let mut members = Object::default();
        for field in answers::fields(schema) {
            match ask_field(&field, input, output)? {
                FieldInput::Value(value) => {
                    members.insert(field.name.as_str(), value);
                }
                FieldInput::Nothing => {}
                FieldInput::Ended => return Ok(None),
            }
        }
        match answers::complete(schema, Some(&Value::Object(members))) {
            Ok(form) => return Ok(Some(form)),
            Err(errors) => writeln!(output, "  the form as a whole does not fit: {errors}\n  once more:")?,
        }
    }
}

enum FieldInput {
    Value(Value),
    Nothing,
    Ended,
}

fn ask_field(field: &Field, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<FieldInput> {
    if let Some(description) = &field.description {
        writeln!(output, "  {description}")?;
    }
    loop {
        let prompt =
            format!("  {} ({}{}): ", diff::printable(&field.title), field.expects(), presumed(field));
        let Some(line) = line(&prompt, input, output)? else { return Ok(FieldInput::Ended) };
        if line.is_empty() {
            match &field.default {
                Some(default) => return Ok(FieldInput::Value(default.clone())),
                None if field.required => {
                    writeln!(output, "    it is needed")?;
                    continue;
                }
                None => return Ok(FieldInput::Nothing),
            }
        }
        match field.parse(&line) {
            Ok(value) => return Ok(FieldInput::Value(value)),
            Err(why) => writeln!(output, "    {why}")?,
        }
    }
}

fn presumed(field: &Field) -> String {
    match (&field.default, field.required) {
        (Some(default), _) => format!("; Enter for {}", envoi_api::words::plain(default)),
        (None, true) => String::new(),
        (None, false) => "; Enter to leave it out".to_owned(),
    }
}

/// The most bytes of a line that a terminal accepts (`N_TTY_BUF_SIZE`, minus the line end). It silently drops
/// the rest.
const MOST_BYTES: usize = 4095;

/// Asks until there is a complete line, and returns it without its end. Returns `None` if the input ends,
/// also within a line, because the person has not sent that line.
pub(crate) fn line(
    prompt: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<String>> {
    loop {
        write!(output, "{prompt}")?;
        output.flush()?;
        let mut bytes = Vec::new();
        input.read_until(b'\n', &mut bytes)?;
        let Some(line) = bytes.strip_suffix(b"\n") else { return Ok(None) };
        if line.len() >= MOST_BYTES {
            writeln!(
                output,
                "    a line of a terminal ends at {MOST_BYTES} bytes, and the rest of this one is lost;"
            )?;
            writeln!(
                output,
                "    type less, or leave it for later and give it with `envoi answer --text - < FILE`"
            )?;
            continue;
        }
        match std::str::from_utf8(line) {
            Ok(line) => return Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned())),
            Err(_) => writeln!(output, "    that is not UTF-8; once more:")?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type": "object", "required": ["channel"], "properties": {
        "channel": {"enum": ["blog", "mail"], "title": "Where to", "description": "Readers see it there."},
        "copies": {"type": "integer", "minimum": 1, "default": 2},
        "note": {"type": "string"}}}"#;

    fn asked(lines: &str) -> (Option<String>, String) {
        let schema = Value::parse_str(SCHEMA).unwrap();
        let mut output = Vec::new();
        let form = ask(&schema, &mut lines.as_bytes(), &mut output).unwrap();
        (form.map(|form| form.compact()), String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_form_is_asked_field_by_field_until_each_fits() {
        let (form, told) = asked("\nfax\nBlog\n0\n\nhello\n");
        assert_eq!(form.as_deref(), Some(r#"{"channel":"blog","copies":2,"note":"hello"}"#));
        assert_eq!(told.matches("Where to (blog, mail): ").count(), 3, "{told}");
        assert!(told.contains("it is needed") && told.contains("Readers see it there."), "{told}");
        assert!(told.contains("copies (a whole number; Enter for 2): "), "{told}");
    }

    #[test]
    fn a_field_that_is_given_twice_is_refused_in_either_form() {
        let schema = Value::parse_str(SCHEMA).unwrap();
        let told = |fields: &[&str], data: Option<&str>| {
            let fields = fields.iter().map(ToString::to_string).collect();
            let args = crate::process::args::Form { data: data.map(str::to_owned), fields };
            let failure = given(&schema, &args).unwrap_err();
            assert_eq!((failure.code.known(), failure.exit_code), (Some(Code::AnswerInvalid), 2));
            failure.message
        };
        let twice = ["channel=mail", "copies=1", "copies=1"];
        assert_eq!(told(&twice, None), "field `copies` is given twice");
        // This also applies to members that the schema does not name.
        assert_eq!(told(&["channel=mail", "x=1", "x=2"], None), "field `x` is given twice");
        let twice = told(&[], Some(r#"{"channel": "mail", "copies": 1, "copies": 2}"#));
        assert!(twice.starts_with("--data is not JSON: ") && twice.contains("copies"), "{twice}");
    }

    #[test]
    fn an_input_that_ends_is_no_answer() {
        assert_eq!(asked("mail\n").0, None);
        assert_eq!(asked("mail\n\nhalf a no").0, None, "the line was not sent");
        assert_eq!(asked("mail\n\n\n").0.as_deref(), Some(r#"{"channel":"mail","copies":2}"#));
    }

    #[test]
    fn a_line_that_is_cut_or_is_no_text_is_asked_for_again() {
        let said = |bytes: &[u8]| {
            let mut bytes = bytes;
            let mut output = Vec::new();
            let line = line("? ", &mut bytes, &mut output).unwrap();
            (line, String::from_utf8(output).unwrap())
        };
        let (line, told) = said(&[&[b'x'; 4095][..], b"\nshort\r\n"].concat());
        assert_eq!(line.as_deref(), Some("short"));
        assert!(told.contains("envoi answer --text -") && told.ends_with("? "), "{told}");
        assert_eq!(said(&[&[b'x'; 4094][..], b"\n"].concat()).0.map(|line| line.len()), Some(4094));
        let (line, told) = said(b"caf\xe9\ncaf\xc3\xa9\n");
        assert_eq!((line.as_deref(), told.matches("? ").count()), (Some("caf\u{e9}"), 2));
    }
}
