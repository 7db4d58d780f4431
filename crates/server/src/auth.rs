//! Tokens, sessions of the web page, and what they allow.
//!
//! Owns how both are made, read and compared, and the scopes. Where a request carries its token, and whether it is
//! admitted, is decided by `admission` and by the bridge.

pub mod scope;

#[cfg(feature = "serve")]
pub(crate) mod attempt_token;
#[cfg(feature = "serve")]
pub(crate) mod random;
#[cfg(feature = "serve")]
pub mod session;
#[cfg(feature = "serve")]
pub mod token;
