//! The strict reader: one pass and bounded recursion. Locations are computed only for an error.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::error::{END_WORDS, Error, MAX_BYTES_WORDS, MAX_DEPTH_WORDS, Position};
use super::members::FEW_MEMBERS;
use super::number::{self, Number};
use super::scan::plain_length;
use super::{Members, Value};

/// The largest document that is read: 16 MiB.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Largest nesting depth of arrays and objects.
pub const MAX_DEPTH: usize = 127;

/// Largest depth of a value that is put into other documents: a hand-off, an envelope, a page of events. The margin
/// keeps those documents readable.
pub const MAX_PART_DEPTH: usize = 100;

/// Reads one whole document.
pub(super) fn document(bytes: &[u8]) -> Result<Value, Error> {
    if bytes.len() > MAX_BYTES {
        let found = format!("{} bytes", bytes.len());
        return Err((*Fault::new(0, MAX_BYTES_WORDS, found)).at(bytes));
    }
    let text = core::str::from_utf8(bytes).map_err(|cause| {
        let offset = cause.valid_up_to();
        (*Fault::new(offset, "UTF-8 text", byte_name(bytes.get(offset).copied()))).at(bytes)
    })?;
    if text.starts_with('\u{FEFF}') {
        return Err((*Fault::new(0, "JSON without a byte order mark", "a byte order mark")).at(bytes));
    }
    let mut reader = Reader::new(text);
    reader.whole().map_err(|fault| (*fault).at(bytes))
}

fn byte_name(byte: Option<u8>) -> String {
    byte.map_or_else(|| "the end of the text".to_owned(), |byte| format!("the byte 0x{byte:02X}"))
}

/// An error at a byte offset. Its path grows while the reader returns.
pub(super) struct Fault {
    offset: usize,
    expected: String,
    found: String,
    /// Pointer segments, innermost first.
    path: Vec<String>,
}

impl Fault {
    fn new(offset: usize, expected: impl Into<String>, found: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { offset, expected: expected.into(), found: found.into(), path: Vec::new() })
    }

    fn under(mut self: Box<Fault>, segment: String) -> Box<Fault> {
        self.path.push(segment);
        self
    }

    fn at(self, bytes: &[u8]) -> Error {
        let Position { line, column } = Position::of(bytes, self.offset);
        let mut pointer = String::new();
        for segment in self.path.iter().rev() {
            pointer.push('/');
            pointer.push_str(&escape_segment(segment));
        }
        Error { pointer, line, column, expected: self.expected, found: self.found }
    }
}

/// Escapes a member name as a segment of a JSON Pointer (RFC 6901).
pub(crate) fn escape_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

type Reading<T> = Result<T, Box<Fault>>;

/// A cursor over a document.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The offsets of the names in the objects that are being read.
    name_offsets: Vec<usize>,
    /// The offset of the last string.
    last_string: usize,
    /// The members of the objects to search for; empty when a document is read.
    wanted: &'static [&'static str],
    /// The ranges of the objects with all `wanted` members, in order. None is inside another.
    found: Vec<Range<usize>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            depth: 0,
            name_offsets: Vec::new(),
            last_string: 0,
            wanted: &[],
            found: Vec::new(),
        }
    }

    /// A reader that begins at `start` and records the objects with all members in `wanted`.
    pub(super) fn searching(text: &'a str, start: usize, wanted: &'static [&'static str]) -> Reader<'a> {
        Reader { at: start, wanted, ..Reader::new(text) }
    }

    pub(super) fn last_string(&self) -> usize {
        self.last_string
    }

    pub(super) fn into_found(self) -> Vec<Range<usize>> {
        self.found
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn whole(&mut self) -> Reading<Value> {
        self.skip_space();
        let value = self.value()?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.fault(END_WORDS)),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fault(&self, expected: &str) -> Box<Fault> {
        Fault::new(self.at, expected, glimpse(self.rest()))
    }

    /// Reads a value. White space before it was already skipped.
    pub(super) fn value(&mut self) -> Reading<Value> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.nested(Reader::object),
            Some(b'[') => self.nested(Reader::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.fault("a value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Reader<'a>) -> Reading<Value>) -> Reading<Value> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::new(self.at, MAX_DEPTH_WORDS, "a level more"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn word(&mut self, word: &str, value: Value) -> Reading<Value> {
        let follows = self.text.as_bytes().get(self.at + word.len()).is_some_and(u8::is_ascii_alphanumeric);
        if !self.rest().starts_with(word) || follows {
            return Err(self.fault("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Reading<Value> {
        let rest = self.rest();
        let token = number::token_length(rest.as_bytes()).and_then(|length| rest.get(..length));
        let Some(token) = token else { return Err(self.fault("a number")) };
        self.at += token.len();
        if self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-'))
        {
            self.at -= token.len();
            return Err(self.fault("a number"));
        }
        Ok(Value::Number(Number::from_token(token)))
    }

    fn array(&mut self) -> Reading<Value> {
        let mut elements = Vec::new();
        self.skip_space();
        if self.eat(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            self.skip_space();
            let element = self.value().map_err(|fault| fault.under(format!("{}", elements.len())))?;
            elements.push(element);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Value::Array(elements));
            }
            if !self.eat(b',') {
                return Err(self.fault("`,` or `]`"));
            }
        }
    }

    fn object(&mut self) -> Reading<Value> {
        let start = self.at - 1;
        let outer_names = self.name_offsets.len();
        let mut members: Vec<(String, Value)> = Vec::new();
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Value::Object(Members::new()));
        }
        loop {
            self.skip_space();
            self.name_offsets.push(self.at);
            let name = self.name()?;
            if members.len() < FEW_MEMBERS && members.iter().any(|(earlier, _)| *earlier == name) {
                return Err(self.duplicate(outer_names + members.len(), &name));
            }
            match self.value() {
                Ok(value) => members.push((name, value)),
                Err(fault) => return Err(fault.under(name)),
            }
            self.skip_space();
            if self.eat(b'}') {
                break;
            }
            if !self.eat(b',') {
                return Err(self.fault("`,` or `}`"));
            }
        }
        if let Some(second) = second_of_a_name(&members) {
            let name = members.get(second).map_or("", |(name, _)| name.as_str());
            return Err(self.duplicate(outer_names + second, name));
        }
        self.name_offsets.truncate(outer_names);
        let members = Members::from_distinct(members);
        if !self.wanted.is_empty() {
            self.keep_if_wanted(start, &members);
        }
        Ok(Value::Object(members))
    }

    fn keep_if_wanted(&mut self, start: usize, members: &Members<Value>) {
        if !self.wanted.iter().all(|name| members.contains_key(name)) {
            return;
        }
        while self.found.last().is_some_and(|inner| inner.start > start) {
            self.found.pop();
        }
        self.found.push(start..self.at);
    }

    fn duplicate(&self, place: usize, name: &str) -> Box<Fault> {
        let offset = self.name_offsets.get(place).copied().unwrap_or(self.at);
        let found = format!("a second member {}", glimpse(&Value::from(name).compact()));
        Fault::new(offset, "each member name once", found).under(name.to_owned())
    }

    /// Reads a member's name and the colon after it.
    pub(super) fn name(&mut self) -> Reading<String> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("a member name in quotes"));
        }
        let name = self.string()?;
        self.skip_space();
        if !self.eat(b':') {
            return Err(self.fault("`:`"));
        }
        self.skip_space();
        Ok(name)
    }

    fn string(&mut self) -> Reading<String> {
        self.last_string = self.at;
        self.at += 1;
        let plain = self.plain();
        if self.eat(b'"') {
            return Ok(plain.to_owned());
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.fault("the rest of a string (control characters are escaped)")),
            }
            text.push_str(self.plain());
        }
    }

    /// Takes the scalars up to the next quote, backslash or control character.
    fn plain(&mut self) -> &'a str {
        let rest = self.rest();
        let taken = rest.get(..plain_length(rest.as_bytes())).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    fn escape(&mut self) -> Reading<char> {
        let simple = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.fault("an escape that JSON knows")),
        };
        self.at += 2;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Reading<char> {
        let Some(first) = self.hex_at(self.at) else { return Err(self.fault("four hexadecimal digits")) };
        if let Some(scalar) = char::from_u32(first) {
            self.at += 6;
            return Ok(scalar);
        }
        let second = self.hex_at(self.at + 6).filter(|low| (0xDC00..0xE000).contains(low));
        // If a low surrogate comes first, the result is greater than the last scalar, so it is refused here.
        let scalar =
            second.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00)));
        let Some(scalar) = scalar else { return Err(self.fault("a whole surrogate pair")) };
        self.at += 12;
        Ok(scalar)
    }

    /// The value of `\uXXXX` at the offset `at`.
    fn hex_at(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

/// The index of the first member with a repeated name. Only for larger objects; small ones are checked while they are
/// read.
fn second_of_a_name(members: &[(String, Value)]) -> Option<usize> {
    if members.len() <= FEW_MEMBERS {
        return None;
    }
    let mut named: Vec<(&str, usize)> =
        members.iter().enumerate().map(|(place, (name, _))| (name.as_str(), place)).collect();
    named.sort_unstable();
    named
        .windows(2)
        .filter_map(|pair| match pair {
            [(earlier, _), (later, place)] if earlier == later => Some(*place),
            _ => None,
        })
        .min()
}

/// The beginning of `rest`, short enough for a message.
fn glimpse(rest: &str) -> String {
    if rest.is_empty() {
        return "the end of the text".to_owned();
    }
    crate::quoted::shorten(rest.lines().next().unwrap_or(""), 24)
}
