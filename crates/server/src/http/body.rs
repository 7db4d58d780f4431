//! Request bodies: read in pieces, read completely, or read and discarded.

use super::problem::Problem;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use std::time::Duration;

/// How many bytes of a refused body are read and discarded, and how long that may take.
const DISCARDED: usize = 1024 * 1024;
const DISCARDING: Duration = Duration::from_secs(1);

/// The next piece of a body; `None` at its end.
pub(crate) async fn piece(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::bad_request("the body broke off"))?;
        if let Ok(piece) = frame.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// The whole body. `None` if it has more than `limit` bytes.
pub(crate) async fn whole(body: &mut Body, limit: u64) -> Result<Option<Bytes>, Problem> {
    whole_if(body, limit, |_| Ok(())).await
}

/// Like [`whole`]; `may_keep` is called with the size of each piece before the piece is kept.
pub(crate) async fn whole_if<E: From<Problem>>(
    body: &mut Body,
    limit: u64,
    mut may_keep: impl FnMut(usize) -> Result<(), E>,
) -> Result<Option<Bytes>, E> {
    let mut read = BytesMut::new();
    while let Some(piece) = piece(body).await? {
        let size = u64::try_from(read.len().saturating_add(piece.len())).unwrap_or(u64::MAX);
        if size > limit {
            return Ok(None);
        }
        may_keep(piece.len())?;
        read.extend_from_slice(&piece);
    }
    Ok(Some(read.freeze()))
}

/// Reads the rest of a refused request's body and discards it: a client that is still sending would not read
/// the answer. Returns whether the connection must be closed because the rest is too large or too slow.
pub(crate) async fn discard(mut body: Body) -> bool {
    let rest = async {
        let mut left = DISCARDED;
        while let Ok(Some(piece)) = piece(&mut body).await {
            match left.checked_sub(piece.len()) {
                Some(less) => left = less,
                None => return true,
            }
        }
        false
    };
    tokio::time::timeout(DISCARDING, rest).await.unwrap_or(true)
}
