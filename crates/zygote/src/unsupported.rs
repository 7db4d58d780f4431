//! For systems without process descriptors: no zygote can be started, so its other functions are never
//! called.

use crate::Program;
use std::{
    convert::Infallible,
    fmt, io,
    os::fd::{BorrowedFd, OwnedFd},
    time::Duration,
};

/// Does not exist on this system.
#[derive(Debug)]
pub struct Zygote(Infallible);

/// Does not exist on this system.
#[derive(Debug)]
pub struct Forked(Infallible);

/// Does not exist on this system.
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
    /// Always: only Linux has the necessary calls.
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
