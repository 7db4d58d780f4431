//! Tokens, sessions of the web page, and the scopes of both.
//!
//! Owns how tokens and sessions are made, read and compared, and the scopes. `admission` and the bridge
//! decide where a request has its token, and whether it is admitted.

pub mod scope;

#[cfg(feature = "serve")]
pub(crate) mod attempt_token;
#[cfg(feature = "serve")]
pub(crate) mod random;
#[cfg(feature = "serve")]
pub mod session;
#[cfg(feature = "serve")]
pub mod token;
