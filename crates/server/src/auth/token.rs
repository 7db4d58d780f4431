//! Tokens: how they are made, read and compared.
//!
//! A token is `evt_ID_SECRET`: the id identifies its row and is not secret, the secret is 256 random bits.
//! The store has the SHA-256 of the whole token. A slow password hash protects secrets that can be guessed.
//! 256 random bits cannot be guessed, so a fast hash is enough, and no request has to wait for it. Digests
//! are compared in constant time.

use super::{
    random,
    scope::{Scope, Scopes},
};
use envoi_contract::{
    digest::{Digest, hex},
    time::Timestamp,
};
use envoi_journal::{CommitError, ReadError, Reader, Store, TokenRow};
use std::io;
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "evt_";
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// Maximum length of a name and of a tenant.
const MAX_TOKEN_NAME: usize = 64;

/// Why a token could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The name or the tenant has an invalid spelling.
    #[error(
        "`{text}` cannot be {what}: expected 1 to 64 of `a-z A-Z 0-9 . _ -`, beginning with a letter or a digit"
    )]
    Spelling {
        /// The meaning of the text: a name or a tenant.
        what: &'static str,
        /// The given text.
        text: String,
    },
    /// The tenant has, or had, a token with this name.
    #[error("tenant `{tenant}` has a token named `{name}` already, or had one")]
    Taken {
        /// The tenant.
        tenant: String,
        /// The name.
        name: String,
    },
    /// The system has no random bytes.
    #[error("random bytes cannot be had: {0}")]
    Random(#[from] io::Error),
    /// The store refused the write.
    #[error(transparent)]
    Store(#[from] CommitError),
}

/// A token to make.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The actor in the journal for requests with this token.
    pub name: String,
    /// The tenant to whose runs it gives access.
    pub tenant: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it expires. `None`: never.
    pub expires_at: Option<Timestamp>,
}

/// Makes a token, stores its digest, and returns the token, which cannot be shown again.
///
/// # Errors
/// [`TokenError`]; nothing was stored.
pub fn create(store: &Store, wish: &NewToken, now: Timestamp) -> Result<String, TokenError> {
    check("a name", &wish.name)?;
    check("a tenant", &wish.tenant)?;
    let id = hex(&random::bytes::<ID_BYTES>()?);
    let token = format!("{PREFIX}{id}_{}", hex(&random::bytes::<SECRET_BYTES>()?));
    let row = TokenRow {
        id,
        name: wish.name.clone(),
        tenant: wish.tenant.clone(),
        scopes: wish.scopes.to_string(),
        digest: Digest::of(token.as_bytes()),
        created_at: now,
        expires_at: wish.expires_at,
        revoked_at: None,
    };
    match store.create_token(&row)? {
        true => Ok(token),
        false => Err(TokenError::Taken { tenant: row.tenant, name: row.name }),
    }
}

fn check(what: &'static str, text: &str) -> Result<(), TokenError> {
    let mut bytes = text.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let goes_on = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if begins && goes_on && text.len() <= MAX_TOKEN_NAME {
        return Ok(());
    }
    Err(TokenError::Spelling { what, text: text.to_owned() })
}

/// The owner of a currently valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) tenant: String,
    pub(crate) scopes: Scopes,
    /// The web page's session that acts in the token's name; `None` for the token itself.
    pub(crate) session: Option<String>,
}

/// The row of the token with this id, if it is valid now.
pub(crate) fn good_row(reader: &Reader, id: &str, now: Timestamp) -> Result<Option<TokenRow>, ReadError> {
    Ok(reader.token(id)?.filter(|row| is_good(row, now)))
}

/// The owner of this token, if it is valid now. Unknown, wrong, expired and revoked tokens give the same
/// result.
pub(crate) fn bearer(reader: &Reader, token: &str, now: Timestamp) -> Result<Option<Bearer>, ReadError> {
    let id = token.strip_prefix(PREFIX).and_then(|rest| rest.split('_').next()).unwrap_or_default();
    let row = reader.token(id)?;
    let given = Digest::of(token.as_bytes());
    // An unknown token is compared too, with a digest that no token has, so that it takes the same time.
    let kept = row.as_ref().map_or_else(|| Digest::of(b""), |row| row.digest);
    let same = bool::from(given.as_bytes().ct_eq(kept.as_bytes()));
    Ok(row.filter(|row| same && is_good(row, now)).map(|row| Bearer {
        scopes: Scopes::parse(&row.scopes),
        id: row.id,
        name: row.name,
        tenant: row.tenant,
        session: None,
    }))
}

/// Whether a token is still valid.
pub(crate) fn still_good(reader: &Reader, id: &str, now: Timestamp) -> Result<bool, ReadError> {
    Ok(good_row(reader, id, now)?.is_some())
}

fn is_good(row: &TokenRow, now: Timestamp) -> bool {
    // `create` never writes unknown scopes, so such a row is damaged.
    let is_whole = row.scopes.split_whitespace().all(|word| Scope::of(word).is_some());
    is_whole && row.revoked_at.is_none() && row.expires_at.is_none_or(|at| now < at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::scope::Scope;
    use envoi_journal::Layout;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn wish(name: &str) -> NewToken {
        let scopes = Scopes::new([Scope::Run]);
        NewToken { name: name.to_owned(), tenant: "north".to_owned(), scopes, expires_at: Some(at(100)) }
    }

    #[test]
    fn the_store_knows_the_words_of_all_scopes() {
        let words: Vec<_> = Scope::ALL.iter().map(|scope| scope.word()).collect();
        assert_eq!(words, envoi_journal::TOKEN_SCOPES, "a repair revokes a token with other words");
    }

    #[test]
    fn a_token_is_good_until_it_ends_and_only_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        let reader = store.reader().unwrap();
        let token = create(&store, &wish("ci"), at(1)).unwrap();
        let other = create(&store, &wish("cd"), at(1)).unwrap();
        assert_eq!(token.len(), 4 + 16 + 1 + 64);
        let who = |token: &str, seconds| bearer(&reader, token, at(seconds)).unwrap();
        let found = who(&token, 99).unwrap();
        assert_eq!((found.name.as_str(), found.tenant.as_str()), ("ci", "north"));
        assert!(found.scopes.allow(&[Scope::Run]) && !found.scopes.allow(&[Scope::Admin]));
        assert_eq!(who(&token, 100), None, "at its hour it has ended");
        let head = &token[..21];
        let secret = &other[21..];
        let changed = if token.ends_with('0') { "1" } else { "0" };
        for wrong in [
            String::new(),
            "evt_".to_owned(),
            format!("{head}{secret}"),
            token[..token.len() - 1].to_owned(),
            format!("{token}0"),
            format!("{}{changed}", &token[..token.len() - 1]),
            token.to_ascii_uppercase(),
        ] {
            assert_eq!(who(&wrong, 2), None, "{wrong}");
        }
        store.revoke_token(&found.id, at(3)).unwrap();
        assert_eq!(who(&token, 4), None);
        assert!(!still_good(&reader, &found.id, at(4)).unwrap());
        assert!(who(&other, 4).is_some());
    }

    #[test]
    fn the_store_does_not_hold_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        let token = create(&store, &wish("ci"), at(1)).unwrap();
        drop(store);
        for file in std::fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path().is_file()) {
            let bytes = std::fs::read(file.path()).unwrap();
            assert!(!bytes.windows(64).any(|part| part == &token.as_bytes()[21..]), "{:?}", file.path());
        }
    }

    #[test]
    fn names_are_plain_and_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(folder.path())).unwrap();
        for bad in ["", ".x", "a b", "a\n", "é", &"a".repeat(65)] {
            assert!(matches!(create(&store, &wish(bad), at(1)), Err(TokenError::Spelling { .. })), "{bad}");
        }
        create(&store, &wish("ci.build_2-x"), at(1)).unwrap();
        let taken = create(&store, &wish("ci.build_2-x"), at(1)).unwrap_err();
        assert_eq!(taken.to_string(), "tenant `north` has a token named `ci.build_2-x` already, or had one");
    }
}
