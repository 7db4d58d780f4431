//! What the bytes at one place can stand for: themselves, or a character that a writer escaped.
//!
//! Reads URL encoding and the escapes of JSON strings (of other languages too), one inside the other: JSON that stands in
//! a JSON string, JSON in a URL. Knows no secret. A reading has a bounded length, so that whoever waits for the end of one
//! waits for few bytes.

/// The most backslashes before an escaped character: JSON in JSON in JSON has seven before a quote, and eight in the place
/// of one backslash.
const MOST_BACKSLASHES: usize = 8;

/// How often `%` may be encoded again: `%2F`, `%252F`, `%25252F`.
const MOST_PERCENTS: usize = 3;

/// What some bytes stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// One byte of UTF-8.
    Byte(u8),
    /// A whole character.
    Char(char),
}

impl Reading {
    /// The ASCII character that it is, if it is one.
    pub(super) fn ascii(self) -> Option<u8> {
        match self {
            Self::Byte(byte) => Some(byte).filter(u8::is_ascii),
            Self::Char(char) => u8::try_from(char).ok().filter(u8::is_ascii),
        }
    }
}

/// Whether a byte can stand for anything but itself.
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'+')
}

/// There are too few bytes to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooFew;

/// Calls `found` with everything that the bytes from `at` on can stand for, and with the place after it. [`TooFew`] if more
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
            // A space of a form that was encoded as a part of another one.
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

/// `\/`, `\n`, `\u0026`, `\xc3`, with any number of backslashes, and backslashes alone.
fn backslash(bytes: &[u8], at: usize, found: &mut impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let (mut end, mut count) = (at, 0);
    let escaped = loop {
        match plain(bytes, end)? {
            (b'\\', next) if count < MOST_BACKSLASHES => {
                count += 1;
                end = next;
                // One backslash may stand there as several, if it is itself escaped.
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
        b'u' => unicode(bytes, end, found),
        b'U' => {
            if let Some((code, end)) = hex(bytes, end, 8)? {
                char::from_u32(code).into_iter().for_each(|char| found(Reading::Char(char), end));
            }
            Ok(())
        }
        b'x' => {
            if let Some((code, end)) = hex(bytes, end, 2)? {
                // Python means a byte of UTF-8 by it in `bytes`, and a character in `str`.
                u8::try_from(code).into_iter().for_each(|byte| found(Reading::Byte(byte), end));
                char::from_u32(code).into_iter().for_each(|char| found(Reading::Char(char), end));
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
                sign if sign.is_ascii_punctuation() || sign == b' ' => sign,
                _ => return Ok(()),
            };
            found(Reading::Byte(meant), end);
            Ok(())
        }
    }
}

/// The digits after `\u`; a character outside of the basic plane is two escapes.
fn unicode(bytes: &[u8], at: usize, found: &mut impl FnMut(Reading, usize)) -> Result<(), TooFew> {
    let Some((high, end)) = hex(bytes, at, 4)? else { return Ok(()) };
    if let Some(char) = char::from_u32(high) {
        found(Reading::Char(char), end);
        return Ok(());
    }
    let (mut end, mut count) = (end, 0);
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

/// The byte at `at`, taken out of its URL encoding if it has one, and the place after it.
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

/// Two hexadecimal digits as they stand.
fn hex_byte(bytes: &[u8], at: usize) -> Result<Option<(u8, usize)>, TooFew> {
    let mut value = 0_u8;
    for place in [at, at.saturating_add(1)] {
        let digit = *bytes.get(place).ok_or(TooFew)?;
        let Some(digit) = digit_of(digit) else { return Ok(None) };
        value = value.wrapping_mul(16).wrapping_add(digit);
    }
    Ok(Some((value, at.saturating_add(2))))
}

/// So many hexadecimal digits, each of which may be URL-encoded; none if there are other bytes.
fn hex(bytes: &[u8], at: usize, digits: usize) -> Result<Option<(u32, usize)>, TooFew> {
    let (mut value, mut end) = (0_u32, at);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// All readings of the beginning of `text` that take `length` bytes.
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
        let wide = [(r"\u00e9", 'é'), (r"\xe9", 'é'), (r"\ud83d\ude00", '😀'), (r"\\uD83D\\uDE00", '😀')];
        for (text, expected) in wide {
            assert!(read(&format!("{text}."), text.len()).contains(&Reading::Char(expected)), "{text}");
        }
        assert_eq!(read("%C3.", 3), [Reading::Byte(0xc3)]);
    }

    #[test]
    fn what_is_no_escape_stands_for_itself_alone() {
        for text in [r"\q.", r"\u00g0.", r"\x", "%", "%2", "%zz", r"\ud83d.", r"\ud83d\n.", r"\ud83d\u0041."]
        {
            let mut all = Vec::new();
            let _ = readings(text.as_bytes(), 0, |reading, end| all.push((reading, end)));
            assert_eq!(all, [(Reading::Byte(text.as_bytes()[0]), 1)], "{text}");
        }
    }

    #[test]
    fn an_escape_that_is_cut_off_wants_more() {
        for text in
            ["", "\\", "\\\\", r"\u", r"\u00", r"\ud83d", r"\ud83d\u", r"\x2", "%", "%2", "%25", "%5C"]
        {
            assert_eq!(readings(text.as_bytes(), 0, |_, _| {}), Err(TooFew), "{text}");
        }
        for text in [r"\u0026", r"\/", "%2F", "a", "+", r"\x2f", r"\q"] {
            assert_eq!(readings(text.as_bytes(), 0, |_, _| {}), Ok(()), "{text}");
        }
    }
}
