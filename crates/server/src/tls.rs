//! TLS with a certificate from files.

use crate::app::Tls;
use std::sync::Arc;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

/// Shakes hands with this certificate.
///
/// # Errors
/// A sentence.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, String> {
    let Tls { certificate, key } = tls;
    let told =
        |path: &std::path::Path, error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
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
    Ok(TlsAcceptor::from(Arc::new(config)))
}
