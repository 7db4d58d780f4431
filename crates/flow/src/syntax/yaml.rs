//! YAML text as a tree with locations.
//!
//! Owns the supported subset of YAML: the 1.2 core schema with strict booleans, one document, plain keys. Anchors,
//! aliases, tags, merge keys and complex keys are refused, because people who read a flow must see what runs. It does
//! not depend on the content of flows.

mod scalar;

pub(crate) use scalar::{Meaning, shortened};

use crate::syntax::diagnostic::{Diagnostic, Problems, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

/// Largest nesting depth. A flow needs about six levels, and the schema of an input a few more.
const MAX_DEPTH: usize = 64;

/// A part of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

/// The content of a [`Node`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Scalar(Scalar),
    Sequence(Vec<Node>),
    /// In the order of the file, with unique keys.
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) span: Span,
    pub(crate) text: String,
}

/// A text, and whether it was written without quotes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) plain: bool,
}

impl Node {
    /// The kind of the node, in words that complete "found …".
    pub(crate) fn described(&self) -> String {
        match &self.kind {
            Kind::Sequence(_) => "a list".to_owned(),
            Kind::Mapping(_) => "a mapping".to_owned(),
            Kind::Scalar(scalar) => scalar.described(),
        }
    }
}

/// Reads one document. `None` if nothing could be read; `problems` has the reason. A tree with problems can still be
/// searched for more of them.
pub(crate) fn compose(text: &str, problems: &mut Problems) -> Option<Node> {
    let mut composer =
        Composer { parser: Parser::new_from_str(text), offsets: Offsets::of(text), text, problems };
    composer.document().unwrap_or_default()
}

/// The value of a line `key: value` if a second colon, as of another key, is at the offset `at`.
fn value_with_a_colon(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end.saturating_add(1));
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split_once(": ")?;
    let value = value.trim();
    let is_key = !key.trim_start_matches([' ', '-']).is_empty() && !key.contains(['{', '[', '"', '\'', '#']);
    let is_plain = !value.starts_with(['{', '[', '|', '>', '&', '*', '!']);
    let comes_later = start.saturating_add(key.len()).saturating_add(1) < at;
    (is_key && is_plain && comes_later && (value.contains(": ") || value.ends_with(':'))).then_some(value)
}

/// Reading cannot continue; the reason is in the problems.
struct Stop;

struct Composer<'a, 'p> {
    parser: Parser<'a, StrInput<'a>>,
    offsets: Offsets,
    text: &'a str,
    problems: &'p mut Problems,
}

impl<'a> Composer<'a, '_> {
    fn document(&mut self) -> Result<Option<Node>, Stop> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(root),
                (Event::DocumentStart(_), span) if root.is_some() => {
                    let message = "a second document begins here";
                    self.problems.add(Diagnostic::syntax(span, message).help("one file is one flow"));
                    return Ok(root);
                }
                (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
                (event, span) => root = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Stop> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.offsets.span(span))),
            Some(Err(error)) => Err(self.refuse(&error)),
            None => Ok((Event::StreamEnd, Span::new(self.text.len(), self.text.len()))),
        }
    }

    fn refuse(&mut self, error: &ScanError) -> Stop {
        let at = self.offsets.byte(error.marker().index());
        let mut diagnostic =
            Diagnostic::syntax(Span::new(at, at), format!("not valid YAML: {}", error.info()));
        let line = self.text.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
        let rest = self.text.get(at..).unwrap_or_default();
        if line.contains('\t') || rest.starts_with('\t') {
            diagnostic = diagnostic.help("YAML is indented with spaces, not with tabs");
        } else if let Some(value) = value_with_a_colon(self.text, at) {
            let quoted = match value.contains('\'') {
                false => format!("'{value}'"),
                true => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
            };
            let quoted = if value.len() > 100 { "'…'".to_owned() } else { quoted };
            let help = "a value with `: ` in it stands in quotes, or in the lines below `|`";
            diagnostic = diagnostic.help(format!("{help}: {quoted}"));
        }
        self.problems.add(diagnostic);
        Stop
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Stop> {
        if depth > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            self.problems.add(Diagnostic::syntax(span, message));
            return Err(Stop);
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_extras(span, anchor, tag.is_some());
                let scalar = Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain };
                Ok(Node { span: self.trimmed(span), kind: Kind::Scalar(scalar) })
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_extras(span, anchor, tag.is_some());
                self.sequence(span, depth)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_extras(span, anchor, tag.is_some());
                self.mapping(span, depth)
            }
            Event::Alias(_) => {
                self.problems.add(
                    Diagnostic::syntax(span, "aliases are not supported")
                        .help("write the value out: who reads the file must see what runs"),
                );
                Ok(null(span))
            }
            _ => Ok(null(span)),
        }
    }

    fn sequence(&mut self, start: Span, depth: usize) -> Result<Node, Stop> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, end) => {
                    let span = collection(start, end, items.last().map(|item| item.span));
                    return Ok(Node { span, kind: Kind::Sequence(items) });
                }
                (event, span) => items.push(self.node(event, span, depth.saturating_add(1))?),
            }
        }
    }

    fn mapping(&mut self, start: Span, depth: usize) -> Result<Node, Stop> {
        let mut members: Vec<(Key, Node)> = Vec::new();
        let mut seen = std::collections::BTreeMap::new();
        let mut last = None;
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, end) => {
                    let span = collection(start, end, last);
                    return Ok(Node { span, kind: Kind::Mapping(members) });
                }
                (event, span) => self.node(event, span, depth.saturating_add(1))?,
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth.saturating_add(1))?;
            let Some(key) = self.key(key) else { continue };
            let value = place_null(value, key.span);
            last = Some(value.span);
            match seen.get(&key.text) {
                Some(first) => self.problems.add(
                    Diagnostic::syntax(key.span, format!("duplicate key `{}`", key.text))
                        .label(*first, "first used here"),
                ),
                None => {
                    seen.insert(key.text.clone(), key.span);
                    members.push((key, value));
                }
            }
        }
    }

    /// A plain or quoted key. Any other key is refused, and its member is left out.
    fn key(&mut self, node: Node) -> Option<Key> {
        let span = node.span;
        match node.kind {
            Kind::Scalar(scalar) if scalar.plain && scalar.text == "<<" => {
                self.problems.add(
                    Diagnostic::syntax(span, "merge keys are not supported").help("write the members out"),
                );
                None
            }
            Kind::Scalar(scalar) if scalar.plain && scalar.meaning() == Meaning::Null => {
                self.problems.add(Diagnostic::syntax(span, "a key is missing here"));
                None
            }
            Kind::Scalar(scalar) => Some(Key { span, text: scalar.text }),
            Kind::Sequence(_) | Kind::Mapping(_) => {
                let message = format!("a key must be a text, found {}", node_words(&node.kind));
                self.problems.add(Diagnostic::syntax(span, message).maybe_help(self.braces_help(span)));
                None
            }
        }
    }

    /// Help for `key: {{ x }}` and `key: ${{ x }}` without quotes, which people write by mistake.
    fn braces_help(&self, span: Span) -> Option<String> {
        let from = span.start.saturating_sub(2);
        let around = self.text.get(from..).unwrap_or_default();
        around.contains("{{").then(|| "put an expression in quotes: \"${{ … }}\"".to_owned())
    }

    fn refuse_extras(&mut self, span: Span, anchor: usize, tagged: bool) {
        if anchor != 0 {
            let span = self.written_before(span, '&');
            self.problems.add(
                Diagnostic::syntax(span, "anchors are not supported")
                    .help("write the value out where it is needed"),
            );
        }
        if tagged {
            let span = self.written_before(span, '!');
            self.problems.add(
                Diagnostic::syntax(span, "tags are not supported").help("quote a value to make it a text"),
            );
        }
    }

    /// The span of the property that begins with `mark` before a node, or the span of the node if there is none.
    fn written_before(&self, span: Span, mark: char) -> Span {
        let before = self.text.get(..span.start).unwrap_or_default();
        match before.rfind(mark) {
            Some(start) => {
                let word = before.get(start..).unwrap_or_default();
                Span::new(start, start.saturating_add(word.find(char::is_whitespace).unwrap_or(word.len())))
            }
            None => span,
        }
    }

    /// The span without the white space and line breaks that the parser includes at the end of some scalars.
    fn trimmed(&self, span: Span) -> Span {
        let inside = self.text.get(span.start..span.end).unwrap_or_default();
        Span::new(span.start, span.start.saturating_add(inside.trim_end().len()))
    }
}

fn node_words(kind: &Kind) -> &'static str {
    match kind {
        Kind::Sequence(_) => "a list",
        Kind::Mapping(_) => "a mapping",
        Kind::Scalar(_) => "a value",
    }
}

fn null(span: Span) -> Node {
    Node { span, kind: Kind::Scalar(Scalar { text: String::new(), plain: true }) }
}

/// Moves the location of an absent value to its key, because the parser puts it at whatever follows.
fn place_null(mut value: Node, key: Span) -> Node {
    if matches!(&value.kind, Kind::Scalar(scalar) if scalar.plain && scalar.text.is_empty()) {
        value.span = key;
    }
    value
}

/// The span from the first character to the end of the last member, or to the closing bracket.
fn collection(start: Span, end: Span, last: Option<Span>) -> Span {
    let closed = if end.end > end.start { Some(end.end) } else { None };
    Span::new(start.start, closed.or(last.map(|span| span.end)).unwrap_or(start.end))
}

/// Converts the parser's positions, which count characters, to bytes.
struct Offsets {
    /// An entry per character, and one for the end. Empty if characters and bytes are the same.
    bytes: Vec<usize>,
    length: usize,
}

impl Offsets {
    fn of(text: &str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect()
        };
        Self { bytes, length: text.len() }
    }

    fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            return character.min(self.length);
        }
        self.bytes.get(character).copied().unwrap_or(self.length)
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        Span::new(self.byte(span.start.index()), self.byte(span.end.index()))
    }
}

#[cfg(test)]
mod tests;
