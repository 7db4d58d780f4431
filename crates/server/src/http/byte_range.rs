//! Sends content of a file or of the database, completely or in part, in pieces.

use super::{problem::Problem, response, work::blocking};
use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use envoi_contract::code::Code;
use futures_util::stream;
use std::{fs::File, io, os::unix::fs::FileExt as _, sync::Arc};

/// Size of a piece in bytes: the memory that a slow client needs.
const PIECE: u64 = 64 * 1024;

/// The place of the bytes.
pub(crate) enum Source {
    /// In memory.
    Bytes(Bytes),
    /// In a file.
    File(Arc<File>),
}

/// The bytes from `from` up to, but not including, `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    from: u64,
    until: u64,
}

/// The content, or the part of it that the header `Range` requests.
pub(crate) fn serve(range: Option<&str>, source: Source, size: u64) -> Result<Response, Problem> {
    let requested = range.map(|range| part(range, size));
    let (status, part) = match requested {
        // A range that cannot be parsed is ignored (RFC 9110 §14.2).
        None | Some(RequestedRange::Unknown) => (200, Part { from: 0, until: size }),
        Some(RequestedRange::Part(part)) => (206, part),
        Some(RequestedRange::Outside) => {
            let detail = format!("the content has {size} bytes");
            return Err(Problem::new(Code::RangeOutside, detail));
        }
    };
    let length = part.until.saturating_sub(part.from);
    let mut response = response::of(status, "application/octet-stream", body(source, part));
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if status == 206 {
        let last = part.until.saturating_sub(1);
        let value = HeaderValue::from_str(&format!("bytes {}-{last}/{size}", part.from));
        headers.insert(header::CONTENT_RANGE, value.map_err(Problem::internal)?);
    }
    Ok(response)
}

/// The whole content, for content that is made anew for each request: parts from two requests would not fit
/// together.
pub(crate) fn whole(source: Source, size: u64) -> Result<Response, Problem> {
    let mut response = serve(None, source, size)?;
    response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("none"));
    Ok(response)
}

fn body(source: Source, part: Part) -> Body {
    let file = match source {
        Source::Bytes(bytes) => {
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            return Body::from(bytes.slice(place(part.from)..place(part.until)));
        }
        Source::File(file) => file,
    };
    let pieces = stream::unfold((file, part), |(file, part)| async move {
        if part.from >= part.until {
            return None;
        }
        let reading = Arc::clone(&file);
        let read = blocking(move || piece(&reading, part).map_err(Problem::internal)).await;
        let read = read.map_err(|problem| io::Error::other(format!("{}", problem.status)));
        let length = read.as_ref().map_or(part.until, |bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let from = part.from.saturating_add(length);
        Some((read, (file, Part { from, ..part })))
    });
    Body::from_stream(pieces)
}

fn piece(file: &File, part: Part) -> io::Result<Bytes> {
    let length = part.until.saturating_sub(part.from).min(PIECE);
    let mut buffer = vec![0_u8; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut buffer, part.from)?;
    Ok(buffer.into())
}

/// A parsed `Range` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestedRange {
    Part(Part),
    Outside,
    /// Several ranges, another unit, or no range at all.
    Unknown,
}

fn part(range: &str, size: u64) -> RequestedRange {
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?;
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'))
    else {
        return RequestedRange::Unknown;
    };
    let part = match (number(first), number(last)) {
        (Some(from), None) if last.is_empty() => Part { from, until: size },
        (Some(from), Some(last)) if from <= last => Part { from, until: size.min(last.saturating_add(1)) },
        (None, Some(length)) if first.is_empty() && length > 0 => {
            Part { from: size.saturating_sub(length), until: size }
        }
        (None, Some(0)) if first.is_empty() => return RequestedRange::Outside,
        _ => return RequestedRange::Unknown,
    };
    if part.from < part.until { RequestedRange::Part(part) } else { RequestedRange::Outside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_what_rfc_9110_says() {
        let rows = [
            ("bytes=0-3", RequestedRange::Part(Part { from: 0, until: 4 })),
            ("bytes=4-", RequestedRange::Part(Part { from: 4, until: 10 })),
            ("bytes=-3", RequestedRange::Part(Part { from: 7, until: 10 })),
            ("bytes=-30", RequestedRange::Part(Part { from: 0, until: 10 })),
            ("bytes=8-99", RequestedRange::Part(Part { from: 8, until: 10 })),
            ("bytes=9-9", RequestedRange::Part(Part { from: 9, until: 10 })),
            ("bytes=10-", RequestedRange::Outside),
            ("bytes=-0", RequestedRange::Outside),
            ("bytes=5-4", RequestedRange::Unknown),
            ("bytes=0-1,3-4", RequestedRange::Unknown),
            ("bytes=-", RequestedRange::Unknown),
            ("bytes=+1-2", RequestedRange::Unknown),
            ("lines=0-3", RequestedRange::Unknown),
        ];
        for (range, expected) in rows {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), RequestedRange::Outside);
    }
}
