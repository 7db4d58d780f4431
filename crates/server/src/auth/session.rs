//! Sessions of the web page: how they begin, what they allow, how they end.
//!
//! A session has two halves. The browser keeps the cookie, which no script can read; but every server of the
//! same machine gets it, because cookies do not distinguish ports. The page keeps the key for its own origin,
//! and sends it as a header; but a script could read it. A single half is not enough. The store has the
//! digests of both. A session acts in the name of a token and never has more rights than that token; it ends
//! with the token.

use super::{
    random,
    scope::Scopes,
    token::{self, Bearer},
};
use envoi_contract::{
    digest::{Digest, hex},
    time::Timestamp,
};
use envoi_journal::{CommitError, PageSession, ReadError, Reader, Store, TokenRow};
use std::io;
use subtle::ConstantTimeEq as _;

/// How long a code is valid: enough time to walk to a phone.
pub const CODE_MS: u64 = 5 * 60 * 1_000;

/// A session that is not used for this time ends.
const IDLE_MS: u64 = 12 * 60 * 60 * 1_000;

/// A session ends after this time, even if it is used.
pub(crate) const MAX_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Precision of the stored time of last use, so that not every request writes.
const TOUCH_MS: u64 = 60 * 1_000;

const ID_BYTES: usize = 8;
const CODE_BYTES: usize = 16;
const HALF_BYTES: usize = 32;

/// Maximum length of a code, cookie or key, in bytes. A longer text is invalid.
pub(crate) const MAX_HALF: usize = 128;

/// Why a session could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The system has no random bytes.
    #[error("random bytes cannot be had: {0}")]
    Random(#[from] io::Error),
    /// The store refused the write.
    #[error(transparent)]
    Store(#[from] CommitError),
}

/// Both halves of a new session. They are shown once.
pub(crate) struct Halves {
    pub(crate) cookie: String,
    pub(crate) key: String,
}

/// Makes a code that begins one session in the name of this token, with at most these scopes. The code is
/// valid once, for [`CODE_MS`].
///
/// # Errors
/// [`SessionError`]; nothing was stored.
pub fn create_code(
    store: &Store,
    token: &TokenRow,
    scopes: &Scopes,
    now: Timestamp,
) -> Result<String, SessionError> {
    let code = hex(&random::bytes::<CODE_BYTES>()?);
    let session = PageSession {
        id: hex(&random::bytes::<ID_BYTES>()?),
        token: token.id.clone(),
        scopes: scopes.to_string(),
        halves: None,
        created_at: now,
        seen_at: now,
        expires_at: now.saturating_add_ms(CODE_MS),
        ended_at: None,
    };
    store.create_page_session(&session, Some(&Digest::of(code.as_bytes())), now)?;
    Ok(code)
}

/// Begins the session of a code. `None`: the code does not exist, was used, or has expired.
pub(crate) fn of_code(store: &Store, code: &str, now: Timestamp) -> Result<Option<Halves>, SessionError> {
    let secret = hex(&random::bytes::<HALF_BYTES>()?);
    let key = hex(&random::bytes::<HALF_BYTES>()?);
    let halves = (&Digest::of(secret.as_bytes()), &Digest::of(key.as_bytes()));
    let until = now.saturating_add_ms(MAX_MS);
    let id = store.use_page_code(&Digest::of(code.as_bytes()), halves, now, until)?;
    Ok(id.map(|id| Halves { cookie: format!("{id}.{secret}"), key }))
}

/// Begins a session in the name of the owner of a token.
pub(crate) fn of_bearer(store: &Store, bearer: &Bearer, now: Timestamp) -> Result<Halves, SessionError> {
    let secret = hex(&random::bytes::<HALF_BYTES>()?);
    let key = hex(&random::bytes::<HALF_BYTES>()?);
    let session = PageSession {
        id: hex(&random::bytes::<ID_BYTES>()?),
        token: bearer.id.clone(),
        scopes: bearer.scopes.to_string(),
        halves: Some((Digest::of(secret.as_bytes()), Digest::of(key.as_bytes()))),
        created_at: now,
        seen_at: now,
        expires_at: now.saturating_add_ms(MAX_MS),
        ended_at: None,
    };
    store.create_page_session(&session, None, now)?;
    Ok(Halves { cookie: format!("{}.{secret}", session.id), key })
}

/// The owner of the session with these halves, and whether the time of last use should be stored now. The
/// result is the same whatever is wrong with either half, the session or its token.
pub(crate) fn bearer(
    reader: &Reader,
    cookie: &str,
    key: &str,
    now: Timestamp,
) -> Result<Option<(Bearer, bool)>, ReadError> {
    let (id, secret) = cookie.split_once('.').unwrap_or_default();
    let session = reader.page_session(id)?;
    // Unknown sessions are compared too, with digests that no half has, so that they take the same time.
    let none = (Digest::of(b""), Digest::of(b""));
    let kept = session.as_ref().and_then(|session| session.halves).unwrap_or(none);
    let same_cookie = Digest::of(secret.as_bytes()).as_bytes().ct_eq(kept.0.as_bytes());
    let same_key = Digest::of(key.as_bytes()).as_bytes().ct_eq(kept.1.as_bytes());
    let good = bool::from(same_cookie & same_key);
    let Some(session) = session.filter(|session| good && is_good(session, now)) else { return Ok(None) };
    let Some(row) = token::good_row(reader, &session.token, now)? else { return Ok(None) };
    let due = now >= session.seen_at.saturating_add_ms(TOUCH_MS);
    let scopes = Scopes::parse(&session.scopes).within(&Scopes::parse(&row.scopes));
    let bearer = Bearer { id: row.id, name: row.name, tenant: row.tenant, scopes, session: Some(session.id) };
    Ok(Some((bearer, due)))
}

/// Whether a session is still valid; its token is checked elsewhere.
pub(crate) fn still_good(reader: &Reader, id: &str, now: Timestamp) -> Result<bool, ReadError> {
    Ok(reader.page_session(id)?.is_some_and(|session| is_good(&session, now)))
}

fn is_good(session: &PageSession, now: Timestamp) -> bool {
    session.halves.is_some()
        && session.ended_at.is_none()
        && now < session.expires_at
        && now < session.seen_at.saturating_add_ms(IDLE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{scope::Scope, token::NewToken};
    use envoi_journal::Layout;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000).saturating_add_ms(ms)
    }

    struct Land {
        _folder: tempfile::TempDir,
        store: Store,
    }

    impl Land {
        fn new() -> (Self, TokenRow) {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(Layout::new(folder.path())).unwrap();
            let wish = NewToken {
                name: "ann".to_owned(),
                tenant: "north".to_owned(),
                scopes: Scopes::new([Scope::Answer]),
                expires_at: None,
            };
            token::create(&store, &wish, at(0)).unwrap();
            let row = store.reader().unwrap().tokens().unwrap().pop().unwrap();
            (Self { _folder: folder, store }, row)
        }

        fn who(&self, halves: &Halves, now: Timestamp) -> Option<Bearer> {
            let reader = self.store.reader().unwrap();
            bearer(&reader, &halves.cookie, &halves.key, now).unwrap().map(|(bearer, _)| bearer)
        }
    }

    #[test]
    fn a_code_begins_one_session_while_it_is_new() {
        let (land, token) = Land::new();
        let code = create_code(&land.store, &token, &Scopes::new([Scope::Answer]), at(0)).unwrap();
        assert!(of_code(&land.store, &code.to_uppercase(), at(1)).unwrap().is_none());
        let halves = of_code(&land.store, &code, at(1)).unwrap().unwrap();
        assert!(of_code(&land.store, &code, at(2)).unwrap().is_none(), "it is good once");
        let bearer = land.who(&halves, at(3)).unwrap();
        assert_eq!((bearer.name.as_str(), bearer.tenant.as_str(), &bearer.id), ("ann", "north", &token.id));
        let late = create_code(&land.store, &token, &Scopes::new([]), at(0)).unwrap();
        assert!(of_code(&land.store, &late, at(CODE_MS)).unwrap().is_none(), "its time is over");
    }

    #[test]
    fn one_half_opens_nothing_and_halves_of_two_sessions_do_not_fit() {
        let (land, token) = Land::new();
        let begin = || {
            let code = create_code(&land.store, &token, &Scopes::new([]), at(0)).unwrap();
            of_code(&land.store, &code, at(1)).unwrap().unwrap()
        };
        let one = begin();
        let other = begin();
        assert!(land.who(&one, at(2)).is_some());
        let (id, secret) = one.cookie.split_once('.').unwrap();
        for (cookie, key) in [
            (one.cookie.as_str(), ""),
            ("", one.key.as_str()),
            (&one.cookie, &other.key),
            (&other.cookie, &one.key),
            (id, &one.key),
            (secret, &one.key),
            (&one.key, &one.cookie),
            (&format!("{id}."), &one.key),
            (&format!("{}.{secret}", other.cookie.split_once('.').unwrap().0), &one.key),
        ] {
            let halves = Halves { cookie: cookie.to_owned(), key: key.to_owned() };
            assert_eq!(land.who(&halves, at(2)), None, "{cookie} {key}");
        }
        // An unused code is not a session: its halves do not exist yet.
        let code = create_code(&land.store, &token, &Scopes::new([]), at(0)).unwrap();
        let halves = Halves { cookie: format!("{code}."), key: String::new() };
        assert_eq!(land.who(&halves, at(2)), None);
    }

    #[test]
    fn a_session_ends_when_it_is_idle_or_old_or_signed_out_and_with_its_token() {
        let (land, token) = Land::new();
        let begin = || {
            let code = create_code(&land.store, &token, &Scopes::new([]), at(0)).unwrap();
            of_code(&land.store, &code, at(0)).unwrap().unwrap()
        };
        let idle = begin();
        assert!(land.who(&idle, at(IDLE_MS - 1)).is_some());
        assert!(land.who(&idle, at(IDLE_MS)).is_none());
        let busy = begin();
        let id = busy.cookie.split_once('.').unwrap().0;
        land.store.touch_page_session(id, at(MAX_MS - 1)).unwrap();
        assert!(land.who(&busy, at(MAX_MS - 1)).is_some());
        assert!(land.who(&busy, at(MAX_MS)).is_none());
        let out = begin();
        let id = out.cookie.split_once('.').unwrap().0;
        assert!(land.store.end_page_session(id, at(5)).unwrap());
        assert!(!land.store.end_page_session(id, at(6)).unwrap());
        assert!(land.who(&out, at(5)).is_none());
        assert_eq!(land.store.reader().unwrap().page_session(id).unwrap().unwrap().ended_at, Some(at(5)));
        assert!(!still_good(&land.store.reader().unwrap(), id, at(5)).unwrap());
        let last = begin();
        land.store.revoke_token(&token.id, at(5)).unwrap();
        assert!(land.who(&last, at(5)).is_none());
    }

    #[test]
    fn a_session_may_never_do_more_than_its_token() {
        let (land, token) = Land::new();
        for (wanted, allowed) in [
            (Scopes::new([Scope::Admin]), Scopes::new([Scope::Answer])),
            (Scopes::new([Scope::Run]), Scopes::new([])),
            (Scopes::new([]), Scopes::new([])),
        ] {
            let code = create_code(&land.store, &token, &wanted, at(0)).unwrap();
            let halves = of_code(&land.store, &code, at(0)).unwrap().unwrap();
            assert_eq!(land.who(&halves, at(0)).unwrap().scopes, allowed, "{wanted}");
        }
    }
}
