//! TLS before a server of these tests, with the certificate of `remote/`: requests are passed on in clear text, one a
//! connection.

use crate::stage::wait_until;
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use std::{
    io::{self, Read, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The authority that a process may get by `SSL_CERT_FILE`, and whether it then trusts a veil: the authority that has signed its
/// certificate, another one, and the machine's own.
pub(crate) const BELIEFS: [(Option<&str>, bool); 3] =
    [(Some("authority.pem"), true), (Some("other.pem"), false), (None, false)];

/// See the module.
pub(crate) struct Veil {
    /// `https:`, `localhost`, and the port.
    pub(crate) url: String,
    unheard: Arc<AtomicUsize>,
}

impl Veil {
    /// Before the server at the address of this `http:` URL.
    pub(crate) fn before(url: &str) -> Self {
        let inside = url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let unheard = Arc::<AtomicUsize>::default();
        let (config, counted) = (config(), Arc::clone(&unheard));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (config, inside, counted) = (Arc::clone(&config), inside.clone(), Arc::clone(&counted));
                thread::spawn(move || {
                    let mut veiled = StreamOwned::new(ServerConnection::new(config).unwrap(), client);
                    match request(&mut veiled) {
                        Ok(request) => hand_on(&mut veiled, &request, &inside).unwrap_or_default(),
                        Err(_) => drop(counted.fetch_add(1, Ordering::Relaxed)),
                    }
                });
            }
        });
        Self { url, unheard }
    }

    /// Waits until a client has connected and sent nothing, because of the certificate.
    pub(crate) fn wait_until_refused(&self) {
        wait_until("a refused certificate", || self.unheard.load(Ordering::Relaxed) > 0);
    }
}

fn config() -> Arc<ServerConfig> {
    let chain = CertificateDer::from_pem_slice(include_bytes!("remote/certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("remote/key.pem")).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![chain], key).unwrap())
}

/// All of a request, by its `Content-Length`.
fn request(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        from.read_exact(&mut byte)?;
        request.extend(byte);
    }
    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body)?;
    request.extend(body);
    Ok(request)
}

/// The server inside closes after its answer.
fn hand_on(
    veiled: &mut StreamOwned<ServerConnection, TcpStream>,
    request: &[u8],
    inside: &str,
) -> io::Result<()> {
    let mut server = TcpStream::connect(inside)?;
    server.write_all(request)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    veiled.write_all(&answer)?;
    veiled.conn.send_close_notify();
    veiled.flush()
}
