//! The models of the configuration with their keys from this environment, and the variables with which
//! commands reach the bridge.

use crate::process::{environment, failure::Failure, messages};
use envoi_contract::code::Code;
use envoi_engine::{
    Callable, CallableModel, CallableModels, PerAttempt, SourceError, Variable, secret_value,
};
use envoi_flow::models as configured;
use envoi_kernel::flow::SecretSource;
use envoi_model::{Access, Price, Problem};
use envoi_server::{AttemptTokens, Key, Models, Offer, Provider};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    time::Duration,
};

/// The models that steps may call, with their keys from this environment.
pub(crate) fn callable(configured: &configured::Models, folder: &Path) -> CallableModels {
    let callable = |offer: &configured::Offer| -> Callable {
        let problem = |code: Code, message: String| Problem { code: code.as_str().to_owned(), message };
        // The check of the configuration guarantees a provider for each model.
        let provider = configured
            .providers
            .get(&offer.provider)
            .ok_or_else(|| problem(Code::AgentModel, format!("there is no provider `{}`", offer.provider)))?;
        let key = provider.key.as_ref().map(|source| key(source, folder)).transpose().map_err(|error| {
            problem(
                Code::AgentAuth,
                format!("models of provider `{}` cannot be called: {error}", offer.provider),
            )
        })?;
        let price = offer.price.map(|price| Price {
            given: price.given.nano_usd(),
            cache_read: Some(price.cache_read.nano_usd()),
            cache_write: Some(price.cache_write.nano_usd()),
            gotten: price.gotten.nano_usd(),
        });
        let access = Access {
            provider: offer.provider.clone(),
            protocol: provider.protocol.word().to_owned(),
            url: provider.url.clone(),
            name: offer.name.clone(),
            timeout_ms: provider.timeout_ms,
            price,
        };
        Ok(CallableModel { access, key })
    };
    let models = configured.offer.iter().map(|(name, offer)| (name.clone(), callable(offer)));
    CallableModels::new(models.collect())
}

/// The environment variables that hold the keys.
pub(crate) fn key_variables(configured: &configured::Models) -> Vec<String> {
    let variable = |provider: &configured::Provider| match provider.key.as_ref()? {
        SecretSource::Env(name) => Some(name.clone()),
        SecretSource::File(_) => None,
    };
    configured.providers.values().filter_map(variable).collect()
}

/// The models for the server. A provider without a key is left out, with a message.
pub(crate) fn offered(configured: configured::Models, folder: &Path) -> Models {
    let configured::Models { default, providers, offer } = configured;
    let providers = providers.into_iter().filter_map(|(name, provider)| {
        let key = match provider.key.as_ref().map(|source| key(source, folder)).transpose() {
            Ok(key) => key.map(Key::new),
            Err(error) => {
                messages::say(&format!("models of provider `{name}` cannot be called: {error}"));
                return None;
            }
        };
        let timeout = Duration::from_millis(provider.timeout_ms);
        Some((name, Provider { url: provider.url, protocol: provider.protocol, key, timeout }))
    });
    let offer = offer.into_iter().map(|(name, offer)| {
        let configured::Offer { provider, name: own, price } = offer;
        (name, Offer { provider, name: own, price })
    });
    let models = Models { default, providers: providers.collect(), offer: offer.collect() };
    let unpriced = models.offer.iter().filter(|(_, offer)| offer.price.is_none());
    for (name, _) in unpriced {
        messages::say(&format!("model `{name}` has no price: no `cost_usd` bounds its calls"));
    }
    models
}

/// Why a provider has no key.
#[derive(Debug, thiserror::Error)]
enum KeyError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("its key is empty or has an invalid character")]
    NotAKey,
}

fn key(source: &SecretSource, folder: &Path) -> Result<String, KeyError> {
    let key = secret_value(source, folder, environment::variable)?;
    let sendable = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    sendable.then_some(key).ok_or(KeyError::NotAKey)
}

/// Returns the generator of attempt tokens, if any model is configured.
pub(crate) fn attempt_tokens(models: &Models, folder: &Path) -> Result<Option<AttemptTokens>, Failure> {
    if models.offer.is_empty() {
        return Ok(None);
    }
    AttemptTokens::of_store(folder)
        .map(Some)
        .map_err(|error| Failure::machine("the key of the bridge", error))
}

/// The URL where commands reach the server: the public URL of the configuration, or the listening address.
pub(crate) fn place(public: Option<&str>, address: SocketAddr, encrypted: bool) -> String {
    let scheme = if encrypted { "https" } else { "http" };
    public.map_or_else(|| format!("{scheme}://{}", reachable(address)), str::to_owned)
}

/// The variables of commands: the URL of the bridge, and a token for that attempt alone.
pub(crate) fn per_attempt(tokens: Option<&AttemptTokens>, place: &str) -> PerAttempt {
    let Some(tokens) = tokens.cloned() else { return PerAttempt::default() };
    let url = format!("{place}/api/llm-bridge");
    PerAttempt::new(move |run, attempt| {
        let name = "ENVOI_BRIDGE_URL".to_owned();
        let value = url.clone();
        let token = Variable {
            name: "ENVOI_BRIDGE_TOKEN".to_owned(),
            value: tokens.token(run, attempt),
            secret: true,
        };
        vec![Variable { name, value, secret: false }, token]
    })
}

/// If the server listens on all addresses, it is reached at the loopback address.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}
