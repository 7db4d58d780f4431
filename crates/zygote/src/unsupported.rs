//! Where the system has no descriptors of processes: no zygote can be started, so there is never one to ask.

use crate::Program;
use std::{
    convert::Infallible,
    fmt, io,
    os::fd::{BorrowedFd, OwnedFd},
    time::Duration,
};

/// There is none on this system.
#[derive(Debug)]
pub struct Zygote(Infallible);

/// There is none on this system.
#[derive(Debug)]
pub struct Forked(Infallible);

/// There is none on this system.
#[derive(Debug)]
pub enum ForkError {}

impl fmt::Display for ForkError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl core::error::Error for ForkError {}

impl Zygote {
    /// Fails.
    ///
    /// # Errors
    /// Always: only Linux has what is needed.
    pub fn start(_: &Program) -> io::Result<Self> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Cannot be called.
    #[must_use]
    pub fn with_patience(self, _: Duration) -> Self {
        match self.0 {}
    }

    /// Cannot be called.
    #[must_use]
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn stop(&self) {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn fork(&self, _: OwnedFd, _: BorrowedFd<'_>, _: BorrowedFd<'_>) -> Result<Forked, ForkError> {
        match self.0 {}
    }
}

impl Forked {
    /// Cannot be called.
    #[must_use]
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn kill(&self) -> io::Result<()> {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn wait(self) -> io::Result<()> {
        match self.0 {}
    }
}
