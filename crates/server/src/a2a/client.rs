//! The client of an A2A request: its token, its version, its flow. Also maps the server's problems to faults of A2A.

use crate::{
    auth::{scope::Scope, token::Bearer},
    http::problem::Problem,
    limits::concurrency_limit::Permit,
    state::app::App,
};
use envoi_a2a::{
    fault::{Fault, Kind},
    service_parameters::Extensions,
    version::Version,
};
use envoi_contract::code::Code;
use envoi_journal::{ReadError, Reader};
use envoi_kernel::ids::Principal;

/// The client of a request, for the operations.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The owner of the token.
    pub(crate) bearer: Bearer,
    /// The protocol version of the client.
    pub(crate) version: Version,
    /// The extensions that the client supports.
    pub(crate) extensions: Extensions,
    /// The flow that the path, or the `tenant` of the request, names.
    pub(crate) flow: Option<String>,
    /// The trace that the request belongs to.
    pub(crate) trace: Option<String>,
    /// The address of the server for this client: a scheme, a host and a port.
    pub(crate) base: String,
}

impl Client {
    /// The client, as the journal names it.
    pub(crate) fn principal(&self) -> Principal {
        Principal { tenant: self.bearer.tenant.clone(), actor: self.bearer.name.clone() }
    }

    /// Checks that the token has one of these scopes.
    ///
    /// # Errors
    /// The token has none of them.
    pub(crate) fn require(&self, scopes: &[Scope]) -> Result<(), Fault> {
        if self.bearer.scopes.allow(scopes) {
            return Ok(());
        }
        let words: Vec<&str> = scopes.iter().map(|scope| scope.word()).collect();
        let detail = format!("it needs a token with the scope {}", words.join(" or "));
        Err(Fault::new(Kind::PermissionDenied).detail(detail).code(Code::ScopeTooSmall))
    }

    /// Permission for one more open stream, or for a request that waits as long as one.
    ///
    /// # Errors
    /// The token has the maximum number of open streams.
    pub(crate) fn permit(&self, app: &App) -> Result<Permit, Fault> {
        app.open_streams.acquire(&self.bearer.id).ok_or_else(|| {
            let detail = "this token has as many streams open as it may";
            Fault::new(Kind::TooMuch).detail(detail).code(Code::TooManyStreams)
        })
    }
}

/// The kind of the fault follows from the code and the status of the problem. Its code is Envoi's.
impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let kind = match (problem.code, problem.status.as_u16()) {
            (Code::EngineStopping | Code::WorkspaceBusy | Code::RequestTimedOut, _) => Kind::Unavailable,
            (Code::RunOver, _) => Kind::UnsupportedOperation,
            (_, 401) => Kind::Unauthenticated,
            (_, 413) => Kind::TooLarge,
            (_, 429) => Kind::TooMuch,
            (_, 503) => Kind::Unavailable,
            (_, 500..) => Kind::Internal,
            // The request was understood, but is not possible in the current state.
            _ => Kind::InvalidParams,
        };
        let again = problem.retry_after_s();
        Self::new(kind).detail(problem.detail()).code(problem.code).retry_after(again)
    }
}

/// A failure of the store: the cause is logged, and the client gets an internal error.
pub(crate) fn internal_fault(app: &App, cause: impl core::fmt::Display) -> Fault {
    let problem = Problem::internal(cause);
    app.note(&problem);
    problem.into()
}

/// Reads from the store; a failure is the server's.
pub(crate) fn read<T>(app: &App, read: impl FnOnce(&Reader) -> Result<T, ReadError>) -> Result<T, Fault> {
    app.read(read).map_err(|error| internal_fault(app, error))
}
