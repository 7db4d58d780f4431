//! The collector that the OpenTelemetry variables name, and spans in its format: OTLP over HTTP, protobuf.

use crate::process::environment;
use envoi_engine::trace::{
    SpanId, TraceId,
    spans::{Attribute, Span},
};
use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{Link, SpanContext, SpanKind, Status, TraceFlags, TraceState},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    trace::{SpanData, SpanExporter as _, SpanLinks},
};
use std::{
    future::{Future, ready},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};
use ureq::Agent;

/// The variables with the collector's address. If none is set, there is no collector.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// The variables with the request timeout, in milliseconds.
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
/// The default of OpenTelemetry.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The service name, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` sets one.
const SERVICE: &str = "envoi";

/// Why spans could not be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum CollectorError {
    /// The variables name no usable collector.
    #[error(transparent)]
    Configuration(#[from] ExporterBuildError),
    /// The collector has not accepted the spans, or did not answer in time.
    #[error(transparent)]
    NotTaken(#[from] OTelSdkError),
    /// A bug of the exporter: its future must not be pending, because the client blocks.
    #[error("the exporter waits for something else than its client")]
    NotReady,
}

/// A collector of spans.
pub(super) struct Collector {
    exporter: SpanExporter,
    scope: InstrumentationScope,
}

impl Collector {
    /// Returns `None` if no variable names a collector, or if `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER`
    /// disables it.
    ///
    /// # Errors
    /// The variables name an invalid collector.
    pub(super) fn of_environment() -> Result<Option<Self>, CollectorError> {
        let is_off = is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none");
        if is_off || first(ENDPOINTS).is_none() {
            return Ok(None);
        }
        let timeout = first(TIMEOUTS).and_then(|text| text.trim().parse().ok());
        let client = Client::new(timeout.map_or(USUAL_TIMEOUT, Duration::from_millis));
        let mut exporter = SpanExporter::builder().with_http().with_http_client(client).build()?;
        exporter.set_resource(&resource());
        let scope = InstrumentationScope::builder(SERVICE).with_version(env!("CARGO_PKG_VERSION")).build();
        Ok(Some(Self { exporter, scope }))
    }

    /// Sends these spans. Tries again while the collector asks for that, within the timeout.
    ///
    /// # Errors
    /// The collector has not accepted them.
    pub(super) fn take(&self, spans: &[Span]) -> Result<(), CollectorError> {
        let batch = spans.iter().map(|span| self.data(span)).collect();
        // The client below blocks, and so does the exporter between two attempts. A future that is pending
        // would never be woken.
        let mut export = pin!(self.exporter.export(batch));
        match export.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Ok(done?),
            Poll::Pending => Err(CollectorError::NotReady),
        }
    }

    fn data(&self, span: &Span) -> SpanData {
        let attributes = span.attributes.iter().map(|(name, value)| match value {
            Attribute::Text(text) => KeyValue::new(*name, text.clone()),
            Attribute::Number(number) => KeyValue::new(*name, *number),
        });
        let error = span.error.clone().map(|code| KeyValue::new("error.type", code));
        let mut links = SpanLinks::default();
        links.links =
            span.link.map(|id| Link::new(context(span.trace, id), Vec::new(), 0)).into_iter().collect();
        SpanData {
            span_context: context(span.trace, span.id),
            parent_span_id: span.parent.map_or(opentelemetry::trace::SpanId::INVALID, id),
            parent_span_is_remote: span.is_remote,
            span_kind: if span.is_call { SpanKind::Client } else { SpanKind::Internal },
            name: span.name.clone().into(),
            start_time: time(span.start),
            end_time: time(span.end),
            attributes: attributes.chain(error).collect(),
            dropped_attributes_count: 0,
            events: Default::default(),
            links,
            status: span.error.clone().map_or(Status::Unset, Status::error),
            instrumentation_scope: self.scope.clone(),
        }
    }
}

fn first(variables: [&str; 2]) -> Option<String> {
    variables.iter().filter_map(|name| environment::variable(name)).find(|value| !value.trim().is_empty())
}

fn is(variable: &str, word: &str) -> bool {
    environment::variable(variable).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
}

fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let found = Resource::builder().with_attribute(version.clone()).build();
    let named =
        found.get(&"service.name".into()).is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if named { found } else { Resource::builder().with_attribute(version).with_service_name(SERVICE).build() }
}

fn context(trace: TraceId, span: SpanId) -> SpanContext {
    let trace = opentelemetry::trace::TraceId::from_bytes(trace.bytes());
    SpanContext::new(trace, id(span), TraceFlags::SAMPLED, false, TraceState::default())
}

fn id(span: SpanId) -> opentelemetry::trace::SpanId {
    opentelemetry::trace::SpanId::from_bytes(span.bytes())
}

fn time(at: envoi_contract::time::Timestamp) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0));
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The HTTP client that the program uses anyway.
#[derive(Debug)]
struct Client(Agent);

impl Client {
    fn new(timeout: Duration) -> Self {
        Self(envoi_http::Client { timeout: Some(timeout), ..envoi_http::Client::default() }.agent())
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.0.run(request.map(|body| body.to_vec()))?;
        let (parts, mut body) = answer.into_parts();
        Ok(Response::from_parts(parts, body.read_to_vec()?.into()))
    }
}

impl HttpClient for Client {
    fn send_bytes<'c, 'f>(
        &'c self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        'c: 'f,
        Self: 'f,
    {
        Box::pin(ready(self.send(request)))
    }
}
