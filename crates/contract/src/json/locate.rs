//! Finds the location of a value again, for an error that is found after reading.

use alloc::string::String;

use super::error::Position;
use super::read::Reader;

/// The location of the value at `pointer` (RFC 6901) in the document `bytes`.
///
/// Reads the document again, so it is only for errors. `None` if the document cannot be read up to there or has no
/// such value.
#[must_use]
pub fn locate(bytes: &[u8], pointer: &str) -> Option<Position> {
    let text = core::str::from_utf8(bytes).ok()?;
    let mut reader = Reader::new(text);
    reader.skip_space();
    if !pointer.is_empty() {
        for segment in pointer.strip_prefix('/')?.split('/') {
            descend(&mut reader, &unescape(segment))?;
        }
    }
    Some(Position::of(bytes, reader.offset()))
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// Moves from the beginning of a container to the beginning of the value `segment` in it.
fn descend(reader: &mut Reader<'_>, segment: &str) -> Option<()> {
    if reader.eat(b'{') { to_member(reader, segment) } else { to_element(reader, segment.parse().ok()?) }
}

fn to_member(reader: &mut Reader<'_>, wanted: &str) -> Option<()> {
    loop {
        reader.skip_space();
        let name = reader.name().ok()?;
        if name == wanted {
            return Some(());
        }
        skip_value_and_comma(reader)?;
    }
}

fn to_element(reader: &mut Reader<'_>, index: usize) -> Option<()> {
    reader.eat(b'[').then_some(())?;
    for _ in 0..index {
        reader.skip_space();
        skip_value_and_comma(reader)?;
    }
    reader.skip_space();
    (reader.peek() != Some(b']')).then_some(())
}

fn skip_value_and_comma(reader: &mut Reader<'_>) -> Option<()> {
    reader.value().ok()?;
    reader.skip_space();
    reader.eat(b',').then_some(())
}
