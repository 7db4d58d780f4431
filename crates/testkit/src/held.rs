//! An address that is a test's own, also while nobody listens there.

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};
use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::OwnedFd,
};

/// An address on loopback that nobody else is given as long as this is held. A connection to it is refused while nobody listens there.
///
/// It is bound and not listened to. On Linux, whoever knows it and binds with `SO_REUSEADDR`, as the standard library does, may listen
/// there besides, and one after the other; whoever asks for any free port gets another one.
#[derive(Debug)]
pub struct HeldAddress {
    address: SocketAddrV4,
    _socket: OwnedFd,
}

impl HeldAddress {
    /// Takes a free one.
    ///
    /// # Errors
    ///
    /// The system gives no socket or no port.
    pub fn take() -> io::Result<Self> {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let address = SocketAddrV4::try_from(getsockname(&socket)?)?;
        Ok(Self { address, _socket: socket })
    }

    /// The address.
    #[must_use]
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn it_is_refused_while_nobody_listens_and_may_be_listened_to_again() {
        let held = HeldAddress::take().unwrap();
        for _ in 0..2 {
            let refused = TcpStream::connect(held.address()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            let listener = TcpListener::bind(held.address()).unwrap();
            let client = TcpStream::connect(held.address()).unwrap();
            drop((listener.accept().unwrap(), client));
        }
    }
}
