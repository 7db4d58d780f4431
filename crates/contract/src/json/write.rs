//! Writes values: minimal escapes, indented by two spaces or on one line, and the same bytes on every machine.

use alloc::string::String;

use super::scan::plain_length;
use super::{Members, Value};

/// Appends `value` on one line.
pub(crate) fn compact(value: &Value, out: &mut String) {
    match value {
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                compact(element, out);
            }
            out.push(']');
        }
        Value::Object(members) => compact_object(members, out),
        scalar => write_scalar(scalar, out),
    }
}

fn compact_object(members: &Members<Value>, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        compact(value, out);
    }
    out.push('}');
}

/// Writes an object on one line, member by member, without building a tree.
pub(crate) struct CompactObject<'o> {
    out: &'o mut String,
    is_empty: bool,
}

impl<'o> CompactObject<'o> {
    pub(crate) fn begin(out: &'o mut String) -> CompactObject<'o> {
        out.push('{');
        CompactObject { out, is_empty: true }
    }

    /// Appends a name. The caller writes its value to the returned buffer.
    pub(crate) fn name(&mut self, name: &str) -> &mut String {
        if !self.is_empty {
            self.out.push(',');
        }
        self.is_empty = false;
        write_string(name, self.out);
        self.out.push(':');
        self.out
    }

    pub(crate) fn string(&mut self, name: &str, text: &str) {
        write_string(text, self.name(name));
    }

    pub(crate) fn string_or_null(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.string(name, text),
            None => self.name(name).push_str("null"),
        }
    }

    pub(crate) fn bool(&mut self, name: &str, truth: bool) {
        self.name(name).push_str(if truth { "true" } else { "false" });
    }

    pub(crate) fn value(&mut self, name: &str, value: &Value) {
        compact(value, self.name(name));
    }

    /// Writes the unknown members, except those with the name of a known one.
    pub(crate) fn unknown(&mut self, unknown: &Members<Value>, known: &[&str]) {
        for (name, value) in unknown.iter().filter(|(name, _)| !known.contains(name)) {
            self.value(name, value);
        }
    }

    pub(crate) fn end(self) {
        self.out.push('}');
    }
}

/// Appends `value` with its inner lines indented by `depth + 1` steps.
pub(super) fn pretty(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                next_line(index > 0, depth + 1, out);
                pretty(element, depth + 1, out);
            }
            next_line(false, depth, out);
            out.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                next_line(index > 0, depth + 1, out);
                write_string(name, out);
                out.push_str(": ");
                pretty(member, depth + 1, out);
            }
            next_line(false, depth, out);
            out.push('}');
        }
        scalar_or_empty => compact(scalar_or_empty, out),
    }
}

fn next_line(comma: bool, depth: usize, out: &mut String) {
    if comma {
        out.push(',');
    }
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn write_scalar(value: &Value, out: &mut String) {
    match value {
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(text, out),
        Value::Null | Value::Array(_) | Value::Object(_) => out.push_str("null"),
    }
}

/// Appends `text` in quotes, escaping only what JSON demands.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, tail) = rest.split_at(plain_length(rest.as_bytes()));
        out.push_str(plain);
        let mut scalars = tail.chars();
        let Some(special) = scalars.next() else { break };
        write_escape(special, out);
        rest = scalars.as_str();
    }
    out.push('"');
}

fn write_escape(special: char, out: &mut String) {
    let short = match special {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        control => {
            out.push_str("\\u00");
            let code = u32::from(control);
            for shift in [4, 0] {
                out.extend(char::from_digit((code >> shift) & 0xF, 16));
            }
            return;
        }
    };
    out.push_str(short);
}
