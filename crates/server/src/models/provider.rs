//! A request to a provider: its own connection, HTTP/1.1, TLS with the root certificates of the platform.
//!
//! Dropping a response closes its connection. A request is sent once, and redirections are not followed. Only
//! the status, the type, the limits and the body of a response are used.

use super::catalog::{Key, Provider};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use bytes::{Bytes, BytesMut};
use envoi_engine::trace::Traceparent;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{self, ClientConfig, crypto::ring, pki_types::ServerName},
};

/// Time limit for connecting to a provider.
const CONNECTING: Duration = Duration::from_secs(10);

/// Maximum size of an answer that is not streamed, in bytes.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Why there is no answer: a sentence without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderError(pub(crate) String);

impl ProviderError {
    fn because(what: &str, error: impl core::fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PostError {
    /// No part of the request was sent.
    Unreached(ProviderError),
    /// The provider may have received the request, and may charge for it.
    Reached(ProviderError),
}

impl From<ProviderError> for PostError {
    fn from(failed: ProviderError) -> Self {
        Self::Reached(failed)
    }
}

/// Sends requests to providers. Reads the root certificates before the first encrypted request.
#[derive(Default)]
pub(crate) struct ProviderClient {
    tls: OnceLock<Result<Arc<ClientConfig>, rustls::Error>>,
}

/// A response whose body has not been read yet.
pub(crate) struct ProviderResponse {
    pub(crate) status: StatusCode,
    /// The headers `Content-Type` and `Retry-After`, unchanged.
    pub(crate) kind: Option<HeaderValue>,
    pub(crate) retry_after: Option<HeaderValue>,
    /// The headers about limits of the account.
    pub(crate) limits: Vec<(HeaderName, HeaderValue)>,
    body: Incoming,
    patience: Duration,
    _connection: Connection,
}

/// Closes a connection when it is dropped.
struct Connection(AbortHandle);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ProviderClient {
    /// Posts JSON to `path` of a provider, with these headers of the client.
    pub(crate) async fn post(
        &self,
        provider: &Provider,
        path: &str,
        given: &[(HeaderName, HeaderValue)],
        trace: Option<Traceparent>,
        body: Bytes,
    ) -> Result<ProviderResponse, PostError> {
        let uri: Uri = format!("{}{path}", provider.url.trim_end_matches('/'))
            .parse()
            .map_err(|error| PostError::Unreached(ProviderError::because("its address", error)))?;
        let request = request(&uri, provider, given, trace, body).map_err(PostError::Unreached)?;
        let (mut sender, connection) = timeout(CONNECTING, self.connect(&uri))
            .await
            .unwrap_or_else(|_| Err(ProviderError("it could not be connected to in time".to_owned())))
            .map_err(PostError::Unreached)?;
        let response = timeout(provider.timeout, sender.send_request(request))
            .await
            .map_err(|_| ProviderError("it did not answer in time".to_owned()))?
            .map_err(|error| ProviderError::because("it did not answer", error))?;
        let (parts, body) = response.into_parts();
        let header = |name| parts.headers.get(name).cloned();
        Ok(ProviderResponse {
            status: parts.status,
            kind: header(header::CONTENT_TYPE),
            retry_after: header(header::RETRY_AFTER),
            limits: limits(&parts.headers),
            body,
            patience: provider.timeout,
            _connection: connection,
        })
    }

    async fn connect(&self, uri: &Uri) -> Result<(SendRequest<Full<Bytes>>, Connection), ProviderError> {
        let encrypted = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let stream = TcpStream::connect((bare, port))
            .await
            .map_err(|error| ProviderError::because("it cannot be connected to", error))?;
        // Errors are ignored: without this option the request is only slower.
        stream.set_nodelay(true).ok();
        if !encrypted {
            return shake_hands(stream).await;
        }
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|error| ProviderError::because("its name", error))?;
        let connector = TlsConnector::from(self.tls()?);
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|error| ProviderError::because("TLS cannot be had", error))?;
        shake_hands(stream).await
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, ProviderError> {
        self.tls
            .get_or_init(config)
            .clone()
            .map_err(|error| ProviderError::because("TLS cannot be had", error))
    }
}

fn config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(Arc::new(config))
}

async fn shake_hands(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<(SendRequest<Full<Bytes>>, Connection), ProviderError> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| ProviderError::because("it does not speak HTTP", error))?;
    // Errors are ignored here: the sender returns the same error to the waiting request.
    let task = tokio::spawn(async move { connection.await.ok() });
    Ok((sender, Connection(task.abort_handle())))
}

fn request(
    uri: &Uri,
    provider: &Provider,
    given: &[(HeaderName, HeaderValue)],
    trace: Option<Traceparent>,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, ProviderError> {
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header(header::USER_AGENT, "envoi");
    if let Some(trace) = trace {
        request = request.header("traceparent", trace.to_string());
    }
    for (name, value) in provider.protocol.headers(provider.key.as_ref().map(Key::text)) {
        if given.iter().any(|(own, _)| own == name) {
            continue;
        }
        let value = HeaderValue::from_str(&value);
        let mut value = value.map_err(|_| ProviderError("its key cannot be sent in a header".to_owned()))?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    for (name, value) in given {
        request = request.header(name, value);
    }
    request.body(Full::new(body)).map_err(|error| ProviderError::because("its address", error))
}

/// The headers about limits, which tell clients how long to wait.
fn limits(headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
    const PREFIXES: [&str; 3] = ["anthropic-ratelimit-", "x-ratelimit-", "x-codex-"];
    const NAMES: [&str; 2] = ["retry-after-ms", "request-id"];
    let is_one = |name: &HeaderName| {
        PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix)) || NAMES.contains(&name.as_str())
    };
    let found = headers.iter().filter(|(name, _)| is_one(name));
    found.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl ProviderResponse {
    /// The next piece of the body; `None` at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, ProviderError> {
        loop {
            let frame = timeout(self.patience, self.body.frame())
                .await
                .map_err(|_| ProviderError("nothing more came in time".to_owned()))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(ProviderError::because("the answer broke off", error)),
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }

    /// All of the body.
    pub(crate) async fn whole(&mut self) -> Result<Bytes, ProviderError> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.piece().await? {
            if whole.len().saturating_add(piece.len()) > MAX_ANSWER {
                return Err(ProviderError(format!("the answer is over {MAX_ANSWER} bytes")));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }
}
