//! `envoi run --web`: the engine of the command also listens on a loopback port, so that a person can see the
//! run and answer its questions on the web page, until Ctrl-C.

use super::{page, serve};
use crate::{
    process::{
        failure::Failure,
        interrupts::{self, Mode},
        messages, stderr,
    },
    session::own_engine::Beside,
    store::server_url::{self, Announced},
};
use envoi_contract::code::Code;
use envoi_engine::Host;
use envoi_journal::Store;
use envoi_kernel::ids::RunId;
use envoi_server::Server;
use std::{
    net::{Ipv4Addr, TcpListener},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
};

/// The web page of one run.
pub(crate) struct Web<'a> {
    store: &'a Arc<Store>,
    run: &'a RunId,
    up: Option<(Server, Option<Announced>)>,
    /// Whether the link was printed.
    is_announced: bool,
}

impl<'a> Web<'a> {
    /// If a server already runs on this store, the link leads to it.
    pub(crate) fn new(store: &'a Arc<Store>, run: &'a RunId) -> Result<Self, Failure> {
        page::is_there(store)?;
        let mut web = Self { store, run, up: None, is_announced: false };
        if let Some(address) = server_url::running(store.layout()) {
            web.say(&address)?;
        }
        Ok(web)
    }

    fn say(&mut self, address: &str) -> Result<(), Failure> {
        let link = page::link_to(self.store, address, self.run)?;
        stderr::line(format_args!("the run on a web page, by a link that is good once: {link}"));
        self.is_announced = true;
        Ok(())
    }

    /// Prints a note if there is no page because another engine executed the run.
    pub(crate) fn remark(&self) {
        if !self.is_announced {
            messages::say("no page: another process of Envoi, which has no page, did the run");
        }
    }
}

impl Beside for Web<'_> {
    fn begin(&mut self, host: &Host) -> Result<(), Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| {
            Failure::new(Code::AddressUnusable, format!("no port of 127.0.0.1 can be listened on: {error}"))
        })?;
        let server = serve::beside(self.store, listener, host.commands().clone())?;
        let address = server.url();
        self.up = Some((server, Announced::new(self.store.layout(), &address)));
        self.say(&address)
    }

    fn stay(&mut self, host: &Host) -> Result<(), Failure> {
        let (signals, inbox) = mpsc::channel();
        interrupts::mean(Mode::Serving(Box::new(move || {
            let _ = signals.send(());
        })))?;
        messages::say("the page stays until Ctrl-C; the run goes on when it is answered there");
        while !host.is_over() && inbox.recv_timeout(serve::PAUSE) == Err(RecvTimeoutError::Timeout) {}
        Ok(())
    }

    fn end(&mut self) {
        let Some((server, announced)) = self.up.take() else { return };
        if let Some(announced) = announced {
            announced.end();
        }
        server.stop(serve::GRACE);
    }
}
