//! TLS with a certificate from files.

use std::{path::Path, sync::Arc};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

/// A certificate and its key, read and fit for each other. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the chain, the server's own certificate first, and its key, both PEM. It needs nothing else, so that a
    /// command can check them before it starts anything.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        let told = |path: &Path, error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| told(certificate, &error))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| told(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| told(certificate, &error))?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|error| told(certificate, &error))?;
        Ok(Self { config: Arc::new(config) })
    }

    /// Shakes hands with this certificate.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}
