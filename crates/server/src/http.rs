//! The forms of HTTP: problems, responses, bodies, ranges, TLS.
//!
//! Knows no token, no run and no operation.

pub(crate) mod body;
pub(crate) mod byte_range;
pub(crate) mod long_work;
pub(crate) mod only_header;
pub(crate) mod problem;
pub(crate) mod response;
pub(crate) mod sse;
pub(crate) mod tls;
pub(crate) mod work;
