//! TLS with a certificate from files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::ring,
        pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{self, PemObject as _},
        },
    },
};

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read, or contains no such PEM data.
    #[error("{}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        source: pem::Error,
    },
    /// The certificate is not for a server, or does not belong to the key.
    #[error("{}: {source}", .path.display())]
    Unusable {
        /// The file of the certificate.
        path: PathBuf,
        /// The error.
        source: rustls::Error,
    },
}

/// A certificate and its key, read and checked to belong together. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the certificate chain, the server's own certificate first, and its key, both PEM. A command can
    /// check them with this before it starts anything.
    ///
    /// # Errors
    /// [`TlsError`] names the file.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let unreadable = |path: &Path, source| TlsError::Unreadable { path: path.to_owned(), source };
        let unusable = |source| TlsError::Unusable { path: certificate.to_owned(), source };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unreadable(certificate, error))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(unusable)?;
        Ok(Self { config: Arc::new(config) })
    }

    /// Accepts TLS connections with this certificate.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}
