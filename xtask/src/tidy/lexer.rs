//! Reads Rust source as code: blanks comments and strings, and finds test code.
//!
//! Not a parser: it knows only comments, strings, raw strings, characters and brackets.

/// A string literal, and the line where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A source file, seen as code. Lines are as in the file.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// The file with its comments, strings and characters replaced by spaces.
    pub(crate) lines: Vec<String>,
    /// The text between double quotes, with escapes as written.
    pub(crate) literals: Vec<Literal>,
    /// Whether the line with this index belongs to an item under `#[cfg(test)]` or `#[test]`.
    in_tests: Vec<bool>,
}

impl Code {
    pub(crate) fn read(source: &str) -> Self {
        let chars: Vec<char> = source.chars().collect();
        let (mut blanked, mut literals) = (String::with_capacity(source.len()), Vec::new());
        let (mut at, mut line, mut previous) = (0_usize, 1_usize, ' ');
        while let Some(rest) = chars.get(at..).filter(|rest| !rest.is_empty()) {
            let token = Token::at(rest, previous);
            let taken = rest.iter().take(token.length);
            if let Some(text) = token.text(rest) {
                literals.push(Literal { line, text });
            }
            for &c in taken {
                blanked.push(if c == '\n' || token.is_code { c } else { ' ' });
                line = line.saturating_add(usize::from(c == '\n'));
                previous = c;
            }
            at = at.saturating_add(token.length);
        }
        let in_tests = test_lines(&blanked);
        Self { lines: blanked.lines().map(str::to_owned).collect(), literals, in_tests }
    }

    /// Whether a line is test code. Lines count from 1.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        line.checked_sub(1).and_then(|at| self.in_tests.get(at)).copied().unwrap_or(false)
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().enumerate().map(|(at, line)| (at.saturating_add(1), line.as_str()))
    }
}

/// A character of code, or a whole comment, string or character literal.
struct Token {
    length: usize,
    is_code: bool,
    /// For a string: the number of characters before and after its content.
    quotes: Option<(usize, usize)>,
}

impl Token {
    fn at(rest: &[char], previous: char) -> Self {
        let blank = |length| Self { length, is_code: false, quotes: None };
        match rest {
            ['/', '/', ..] => blank(rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())),
            ['/', '*', ..] => blank(block_comment(rest)),
            ['"', ..] => Self { length: quoted(rest, '"'), is_code: false, quotes: Some((1, 1)) },
            ['\'', '\\', ..] => blank(quoted(rest, '\'')),
            ['\'', _, '\'', ..] => blank(3),
            ['r', '"' | '#', ..] if !is_word(previous) || previous == 'b' => {
                raw(rest).unwrap_or(Self::code())
            }
            _ => Self::code(),
        }
    }

    fn code() -> Self {
        Self { length: 1, is_code: true, quotes: None }
    }

    fn text(&self, rest: &[char]) -> Option<String> {
        let (before, after) = self.quotes?;
        rest.get(before..self.length.checked_sub(after)?).map(|text| text.iter().collect())
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of a comment, including nested comments.
fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0_usize);
    while let Some(pair) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        let step = match pair {
            ['/', '*', ..] => {
                depth = depth.saturating_add(1);
                2
            }
            ['*', '/', ..] => {
                depth = depth.saturating_sub(1);
                2
            }
            _ => 1,
        };
        at = at.saturating_add(step);
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length up to the closing quote, including both quotes.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.iter().enumerate().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if *c == quote => return at.saturating_add(1),
            _ => {}
        }
    }
    rest.len()
}

/// `r"…"` or `r#"…"#`; `None` for `r#type`.
fn raw(rest: &[char]) -> Option<Token> {
    let hashes = rest.iter().skip(1).take_while(|c| **c == '#').count();
    let before = hashes.saturating_add(2);
    if rest.get(before.saturating_sub(1)) != Some(&'"') {
        return None;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = rest.get(before..)?;
    let length = body
        .windows(end.len())
        .position(|window| window == end)?
        .saturating_add(before)
        .saturating_add(end.len());
    Some(Token { length, is_code: false, quotes: Some((before, end.len())) })
}

/// For each line, whether it belongs to an item under a test attribute.
fn test_lines(blanked: &str) -> Vec<bool> {
    let mut marks = vec![false; blanked.lines().count()];
    for attribute in ["#[cfg(test)]", "#[test]", "#[cfg(all(test"] {
        for (at, _) in blanked.match_indices(attribute) {
            let item = blanked.get(at..).unwrap_or_default();
            let first = blanked.get(..at).unwrap_or_default().matches('\n').count();
            let lines = item.get(..item_length(item)).unwrap_or(item).matches('\n').count();
            marks.iter_mut().skip(first).take(lines.saturating_add(1)).for_each(|mark| *mark = true);
        }
    }
    marks
}

/// Length to the end of the item's braces, or to the `;` that ends it. The attribute's own brackets are
/// balanced.
fn item_length(item: &str) -> usize {
    let (mut depth, mut braces) = (0_i32, 0_i32);
    for (at, c) in item.char_indices() {
        match c {
            '(' | '[' => depth = depth.saturating_add(1),
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' => braces = braces.saturating_add(1),
            '}' => {
                braces = braces.saturating_sub(1);
                if braces == 0 && depth == 0 {
                    return at;
                }
            }
            ';' if depth == 0 && braces == 0 => return at,
            _ => {}
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        Code::read(source).lines.join("\n")
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        assert_eq!(code("a // unsafe\nb").trim_end(), "a          \nb");
        assert_eq!(code("a /* x /* y */ unsafe */ b").split_whitespace().collect::<String>(), "ab");
        assert_eq!(code("f(\"unsafe \\\" {\", '{', '\\'', r#\"un\"safe\"#)").replace(' ', ""), "f(,,,)");
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        assert_eq!(code("fn f<'a>(r#type: &'a str) {}"), "fn f<'a>(r#type: &'a str) {}");
    }

    #[test]
    fn texts_are_known_with_their_lines() {
        let read = Code::read("a(\"ONE\");\nb(r\"TWO\", r#\"T\"H\"#)");
        let expected = [(1, "ONE"), (2, "TWO"), (2, "T\"H")];
        let found: Vec<_> =
            read.literals.iter().map(|literal| (literal.line, literal.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_of_tests_are_known() {
        let read = Code::read(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b(x: [u8; 3]) {}\n}\nfn c() {}\n#[test]\nfn d() {\n}\n",
        );
        let tests: Vec<usize> = (1..=9).filter(|line| read.is_test(*line)).collect();
        assert_eq!(tests, [2, 3, 4, 5, 7, 8, 9]);
    }
}
