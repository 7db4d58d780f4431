//! The outcome of a request for its command, from the responses of the engine.

use crate::{
    process::failure::{Failure, STOPPED},
    view::printer::Printer,
};
use envoi_engine::protocol::{Response, Standing};

/// How a request ended.
pub(crate) enum End {
    /// The run has come to rest.
    Rest(Standing),
    /// Nothing was done.
    Refused(Failure),
    /// The engine has stopped.
    Stopped,
    /// The engine sent nothing more.
    Silence,
}

impl End {
    /// Prints a response. Returns the end, if it is the last response.
    pub(crate) fn of(response: Response, printer: &mut Printer) -> Option<Self> {
        match response {
            Response::Accepted { .. } => printer.accepted(),
            Response::Noted { text } => printer.note(&text),
            Response::Record { record } => printer.record(&record),
            Response::Rest { standing } => return Some(Self::Rest(standing)),
            Response::Refused(refused) => return Some(Self::Refused(refused.into())),
            Response::Stopped { .. } => return Some(Self::Stopped),
            Response::Pong | Response::Collected { .. } => return Some(Self::Silence),
        }
        None
    }

    /// Prints the state of the run and returns the exit code of the command.
    pub(crate) fn report(self, printer: &mut Printer) -> Result<u8, Failure> {
        match self {
            Self::Rest(standing) => {
                printer.rest(&standing);
                Ok(standing.exit_code)
            }
            Self::Refused(failure) => Err(failure),
            Self::Stopped => {
                printer.stopped();
                Ok(STOPPED)
            }
            Self::Silence => Ok(0),
        }
    }
}
