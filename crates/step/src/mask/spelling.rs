//! The possible readings of the bytes at one place: the bytes themselves, or a character that a writer
//! escaped.
//!
//! Reads URL encoding and the escapes of strings in JSON and other languages, also nested (JSON in a JSON
//! string, JSON in a URL), and the ways to write a quote within quotes. Knows no secret. The length of a
//! reading is bounded, so that few bytes are held back for its end.

/// The most backslashes before an escaped character: JSON in JSON in JSON has seven before a quote, and eight
/// for one backslash.
pub(super) const MOST_BACKSLASHES: usize = 8;

/// How often a `%` may be encoded again: `%2F`, `%252F`, `%25252F`.
const MOST_PERCENTS: usize = 3;

/// The most digits in braces: `\u{000000e9}`.
const MOST_DIGITS_IN_BRACES: usize = 8;

/// The meaning of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A byte of UTF-8.
    Byte(u8),
    /// A whole character.
    Char(char),
}

impl Reading {
    /// The ASCII character, if it is one.
    pub(super) fn ascii(self) -> Option<u8> {
        match self {
            Self::Byte(byte) => Some(byte).filter(u8::is_ascii),
            Self::Char(char) => u8::try_from(char).ok().filter(u8::is_ascii),
        }
    }
}

/// Whether a byte can have another meaning than itself.
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'+')
}

/// Whether a backslash before this byte means the byte itself.
pub(super) fn is_escapable(byte: u8) -> bool {
    byte.is_ascii_punctuation() || byte == b' '
}

/// Whether a character can be written as several quotes: see [`quotes`].
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"')
}

/// There are too few bytes to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooFew;

/// Calls `found` with each reading of the bytes from `at` on, and with the place after it. [`TooFew`] if more
/// bytes could add a reading.
pub(super) fn readings(bytes: &[u8], at: usize, mut found: impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let first = *bytes.get(at).ok_or(TooFew)?;
    found(Reading::Byte(first), at.saturating_add(1));
    match first {
        b'+' => found(Reading::Char(' '), at.saturating_add(1)),
        b'%' => return percent(bytes, at, &mut found),
        b'\\' => return backslash(bytes, at, &mut found),
        _ => {}
    }
    Ok(())
}

/// `%2F`, and `%252F`, which is the same encoded once more.
fn percent(bytes: &[u8], at: usize, found: &mut impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let mut digits = at.saturating_add(1);
    for _ in 0..MOST_PERCENTS {
        let Some((byte, end)) = hex_byte(bytes, digits)? else { return Ok(()) };
        found(Reading::Byte(byte), end);
        match byte {
            // The space of a form that was encoded as part of another one.
            b'+' => found(Reading::Char(' '), end),
            // The backslash of an escape: JSON in a URL.
            b'\\' => backslash(bytes, at, found)?,
            _ => {}
        }
        if byte != b'%' {
            return Ok(());
        }
        digits = end;
    }
    Ok(())
}

/// `\/`, `\n`, `\u0026`, `\xc3`, `\303`, with any number of backslashes, and backslashes alone.
fn backslash(bytes: &[u8], at: usize, found: &mut impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let mut end = at;
    let mut count = 0;
    let escaped = loop {
        match plain(bytes, end)? {
            (b'\\', next) if count < MOST_BACKSLASHES => {
                count += 1;
                end = next;
                // A backslash may be written as several, if it is itself escaped.
                if count > 1 {
                    found(Reading::Char('\\'), end);
                }
            }
            (b'\\', _) => return Ok(()),
            other => break other,
        }
    };
    let (letter, end) = escaped;
    match letter {
        b'0'..=b'7' => octal(bytes, letter, end, found),
        b'u' if plain(bytes, end)?.0 == b'{' => {
            let braced = in_braces(bytes, end)?;
            let char = braced.and_then(|(code, end)| Some((char::from_u32(code)?, end)));
            char.into_iter().for_each(|(char, end)| found(Reading::Char(char), end));
            Ok(())
        }
        b'u' => unicode(bytes, end, found),
        b'U' => {
            if let Some((code, end)) = hex(bytes, end, 8)? {
                char::from_u32(code).into_iter().for_each(|char| found(Reading::Char(char), end));
            }
            Ok(())
        }
        b'x' => {
            let in_braces = in_braces(bytes, end)?;
            if let Some((code, end)) = if in_braces.is_some() { in_braces } else { hex(bytes, end, 2)? } {
                byte_or_char(code, end, found);
            }
            Ok(())
        }
        other => {
            let meant = match other {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 0x08,
                b'f' => 0x0c,
                sign if is_escapable(sign) => sign,
                _ => return Ok(()),
            };
            found(Reading::Byte(meant), end);
            Ok(())
        }
    }
}

/// In Python `\xe9` is a byte of UTF-8 in `bytes`, and a character in `str`. Perl has both too.
fn byte_or_char(code: u32, end: usize, found: &mut impl FnMut(Reading, usize)) {
    u8::try_from(code).into_iter().for_each(|byte| found(Reading::Byte(byte), end));
    char::from_u32(code).into_iter().for_each(|char| found(Reading::Char(char), end));
}

/// Reads one to three octal digits, beginning with `first`.
fn octal(bytes: &[u8], first: u8, at: usize, found: &mut impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let mut code = 0_u32;
    let mut digit = first;
    let mut end = at;
    for count in 1..=3 {
        let Some(value) = char::from(digit).to_digit(8) else { break };
        code = code.wrapping_mul(8).wrapping_add(value);
        if code > u32::from(u8::MAX) {
            break;
        }
        byte_or_char(code, end, found);
        if count < 3 {
            // This digit is counted; the next one may or may not belong to the escape.
            (digit, end) = plain(bytes, end)?;
        }
    }
    Ok(())
}

/// The number in `{e9}`. `None` if there are other bytes.
fn in_braces(bytes: &[u8], at: usize) -> Result<Option<(u32, usize)>, TooFew> {
    let (brace, mut end) = plain(bytes, at)?;
    if brace != b'{' {
        return Ok(None);
    }
    let mut code = 0_u32;
    for count in 0..=MOST_DIGITS_IN_BRACES {
        let (digit, next) = plain(bytes, end)?;
        end = next;
        match digit_of(digit) {
            Some(value) if count < MOST_DIGITS_IN_BRACES => {
                code = code.wrapping_mul(16).wrapping_add(u32::from(value));
            }
            None if digit == b'}' && count > 0 => return Ok(Some((code, end))),
            _ => break,
        }
    }
    Ok(None)
}

/// The digits after `\u`. A character outside the basic plane has two escapes.
fn unicode(bytes: &[u8], at: usize, found: &mut impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let Some((high, end)) = hex(bytes, at, 4)? else { return Ok(()) };
    if let Some(char) = char::from_u32(high) {
        found(Reading::Char(char), end);
        return Ok(());
    }
    let mut end = end;
    let mut count = 0;
    while let (b'\\', next) = plain(bytes, end)? {
        count += 1;
        end = next;
        if count > MOST_BACKSLASHES {
            return Ok(());
        }
    }
    let (letter, end) = plain(bytes, end)?;
    if count == 0 || letter != b'u' {
        return Ok(());
    }
    let Some((low, end)) = hex(bytes, end, 4)? else { return Ok(()) };
    let units = [high, low].map(|unit| u16::try_from(unit).unwrap_or_default());
    if let Some(Ok(char)) = char::decode_utf16(units).next() {
        found(Reading::Char(char), end);
    }
    Ok(())
}

/// The byte at `at`, without its URL encoding if it has one, and the place after it.
fn plain(bytes: &[u8], at: usize) -> Result<(u8, usize), TooFew> {
    let raw = (*bytes.get(at).ok_or(TooFew)?, at.saturating_add(1));
    if raw.0 != b'%' {
        return Ok(raw);
    }
    let mut digits = raw.1;
    for _ in 0..MOST_PERCENTS {
        match hex_byte(bytes, digits)? {
            Some((b'%', end)) => digits = end,
            Some(decoded) => return Ok(decoded),
            None => break,
        }
    }
    Ok(raw)
}

/// Two unescaped hexadecimal digits.
fn hex_byte(bytes: &[u8], at: usize) -> Result<Option<(u8, usize)>, TooFew> {
    let mut value = 0_u8;
    for place in [at, at.saturating_add(1)] {
        let digit = *bytes.get(place).ok_or(TooFew)?;
        let Some(digit) = digit_of(digit) else { return Ok(None) };
        value = value.wrapping_mul(16).wrapping_add(digit);
    }
    Ok(Some((value, at.saturating_add(2))))
}

/// A number of `digits` hexadecimal digits, each of which may be URL-encoded. `None` if there are other
/// bytes.
fn hex(bytes: &[u8], at: usize, digits: usize) -> Result<Option<(u32, usize)>, TooFew> {
    let mut value = 0_u32;
    let mut end = at;
    for _ in 0..digits {
        let (digit, next) = plain(bytes, end)?;
        let Some(digit) = digit_of(digit) else { return Ok(None) };
        value = value.wrapping_mul(16).wrapping_add(u32::from(digit));
        end = next;
    }
    Ok(Some((value, end)))
}

fn digit_of(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A quote in one of its spellings.
#[derive(Clone, Copy)]
struct Quote<'a> {
    sign: u8,
    text: &'a [u8],
    end: usize,
}

/// Calls `found` with each quote that is written as several quotes from `at` on, and with the place after
/// them: `""` in CSV, `''` in SQL and YAML, `'\''` and `'"'"'` in a shell. Each of them may be escaped too.
/// `inside`: the secret continues after this quote.
pub(super) fn quotes(
    bytes: &[u8],
    at: usize,
    inside: bool,
    mut found: impl FnMut(u8, usize),
) -> Result<(), TooFew> {
    let Some(first) = quote(bytes, at)? else { return Ok(()) };
    let Some(second) = quote(bytes, first.end)? else { return Ok(()) };
    // `\""` is JSON in CSV. At the end of a secret it is only JSON, and the second quote ends the string.
    let doubled = if inside { first.text.ends_with(second.text) } else { first.text == second.text };
    if doubled {
        found(second.sign, second.end);
    }
    // The first quote ends a quoted part, the second is outside of quotes, the third begins a quoted part
    // again.
    let Some(third) = quote(bytes, second.end)? else { return Ok(()) };
    if third.text != first.text {
        return Ok(());
    }
    if first.sign != second.sign || second.text != first.text && second.text.ends_with(first.text) {
        found(second.sign, third.end);
    }
    if first.sign == second.sign {
        return Ok(());
    }
    // `'"'"'`: the quote outside is itself quoted.
    let Some(fourth) = quote(bytes, third.end)? else { return Ok(()) };
    if fourth.text != second.text {
        return Ok(());
    }
    let Some(fifth) = quote(bytes, fourth.end)? else { return Ok(()) };
    if fifth.text == first.text {
        found(first.sign, fifth.end);
    }
    Ok(())
}

/// The quote at `at`, escaped or not. `None` if there is another character.
fn quote(bytes: &[u8], at: usize) -> Result<Option<Quote<'_>>, TooFew> {
    let mut quote = None;
    readings(bytes, at, |reading, end| {
        if let Some(sign) = reading.ascii().filter(|sign| is_quote(*sign)) {
            quote = Some(Quote { sign, text: bytes.get(at..end).unwrap_or_default(), end });
        }
    })?;
    Ok(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All readings of the beginning of `text` that are `length` bytes long.
    fn read(text: &str, length: usize) -> Vec<Reading> {
        let mut all = Vec::new();
        let _ = readings(text.as_bytes(), 0, |reading, end| {
            if end == length {
                all.push(reading);
            }
        });
        all
    }

    #[test]
    fn a_character_is_read_from_each_of_its_escapes() {
        let rows: &[(&str, char)] = &[
            ("/", '/'),
            (r"\/", '/'),
            (r"\\\/", '/'),
            (r"\u002f", '/'),
            (r"\u002F", '/'),
            (r"\\u002f", '/'),
            (r"\x2f", '/'),
            (r"\U0000002f", '/'),
            (r"\u{2f}", '/'),
            (r"\u{00002F}", '/'),
            (r"\\x{2f}", '/'),
            (r"\57", '/'),
            (r"\057", '/'),
            (r"\\057", '/'),
            ("%5C0%357", '/'),
            (r"\0", '\0'),
            ("%2f", '/'),
            ("%2F", '/'),
            ("%252F", '/'),
            ("%25252F", '/'),
            ("%5C/", '/'),
            ("%5c%2F", '/'),
            ("%5Cu002f", '/'),
            ("%5Cu00%32f", '/'),
            ("%255Cu002f", '/'),
            ("+", ' '),
            ("%20", ' '),
            ("%2B", '+'),
            ("%", '%'),
            ("%25", '%'),
            (r#"\""#, '"'),
            (r#"\\\""#, '"'),
            ("%5C%22", '"'),
            (r"\n", '\n'),
            (r"\\n", '\n'),
            (r"\t", '\t'),
            (r"\\", '\\'),
            (r"\\\\\\\\", '\\'),
            ("%5C", '\\'),
            ("%5C%5C", '\\'),
        ];
        for (text, expected) in rows {
            let found = read(&format!("{text}."), text.len());
            let ascii: Vec<_> = found.iter().filter_map(|reading| reading.ascii()).collect();
            assert!(ascii.contains(&u8::try_from(*expected).unwrap()), "{text}: {found:?}");
        }
        let wide = [
            (r"\u00e9", 'é'),
            (r"\xe9", 'é'),
            (r"\351", 'é'),
            (r"\u{e9}", 'é'),
            (r"\x{1f600}", '😀'),
            (r"\ud83d\ude00", '😀'),
            (r"\\uD83D\\uDE00", '😀'),
        ];
        for (text, expected) in wide {
            assert!(read(&format!("{text}."), text.len()).contains(&Reading::Char(expected)), "{text}");
        }
        assert_eq!(read("%C3.", 3), [Reading::Byte(0xc3)]);
        assert!(read(r"\303.", 4).contains(&Reading::Byte(0xc3)));
    }

    #[test]
    fn what_is_no_escape_stands_for_itself_alone() {
        for text in [
            r"\q.",
            r"\u00g0.",
            r"\x",
            "%",
            "%2",
            "%zz",
            r"\ud83d.",
            r"\ud83d\n.",
            r"\ud83d\u0041.",
            r"\8",
            r"\u{}",
            r"\u{d83d}",
            r"\u{110000}.",
            r"\u{000000000",
            r"\u{e9 ",
            r"\x{g}",
        ] {
            let mut all = Vec::new();
            let _ = readings(text.as_bytes(), 0, |reading, end| all.push((reading, end)));
            assert_eq!(all, [(Reading::Byte(text.as_bytes()[0]), 1)], "{text}");
        }
    }

    #[test]
    fn an_escape_that_is_cut_off_wants_more() {
        for text in [
            "",
            "\\",
            "\\\\",
            r"\u",
            r"\u00",
            r"\ud83d",
            r"\ud83d\u",
            r"\x2",
            "%",
            "%2",
            "%25",
            "%5C",
            r"\3",
            r"\30",
            r"\u{",
            r"\u{e9",
            r"\x{00",
        ] {
            assert_eq!(readings(text.as_bytes(), 0, |_, _| {}), Err(TooFew), "{text}");
        }
        for text in [r"\u0026", r"\/", "%2F", "a", "+", r"\x2f", r"\q", r"\303", r"\39", r"\u{e9}", r"\x{e9}"]
        {
            assert_eq!(readings(text.as_bytes(), 0, |_, _| {}), Ok(()), "{text}");
        }
    }
}
