//! How a request ended, for the command that made it.

use crate::{
    process::failure::{Failure, STOPPED},
    view::printer::Printer,
};
use envoi_engine::protocol::Standing;

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
    /// Prints how the run stands and returns the exit code of the command.
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
