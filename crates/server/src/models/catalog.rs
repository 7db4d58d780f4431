//! The models that can be called, their providers and their prices.

use super::usage::Usage;
use bytes::Bytes;
use core::{fmt, time::Duration};
use envoi_kernel::ledger::{Cost, TokenPrice, Tokens};
use envoi_preset::protocol::Protocol;
use std::collections::BTreeMap;

/// The models of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// The model for requests that name none.
    pub default: Option<String>,
    /// By their names; a provider whose key is missing is left out.
    pub providers: BTreeMap<String, Provider>,
    /// By the names that clients use for them.
    pub offer: BTreeMap<String, Offer>,
}

/// A server with models.
#[derive(Clone)]
pub struct Provider {
    /// The address that the path of the protocol is added to.
    pub url: String,
    /// How it is called.
    pub protocol: Protocol,
    /// The key for its API; `None`: it needs none.
    pub key: Option<String>,
    /// How long it may send nothing.
    pub timeout: Duration,
}

/// A model that may be called.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The name of its provider.
    pub provider: String,
    /// What the provider calls it.
    pub name: String,
    /// US dollars for a million tokens.
    pub price: Option<TokenPrice>,
}

/// Its key is not shown.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, protocol, key, timeout } = self;
        let key = if key.is_some() { "secret" } else { "none" };
        f.debug_struct("Provider")
            .field("url", url)
            .field("protocol", protocol)
            .field("key", &key)
            .field("timeout", timeout)
            .finish()
    }
}

/// A model that can be called, with its provider.
#[derive(Debug, Clone)]
pub(crate) struct ChosenModel {
    /// The name that the client used for it.
    pub(crate) model: String,
    pub(crate) offer: Offer,
    pub(crate) provider: Provider,
}

/// Why no model can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoModel {
    /// It is not offered.
    Unknown,
    /// None is configured, or its provider has no key.
    NoProvider,
    /// The request names no model, and no default is configured.
    NoDefault,
    /// Its provider is called in another protocol.
    Speaks(Protocol),
}

impl Provider {
    /// A text of the provider, without the key that it may repeat.
    pub(crate) fn without_key(&self, text: &Bytes) -> Bytes {
        let Some(key) = self.key.as_deref().map(str::as_bytes).filter(|key| !key.is_empty()) else {
            return text.clone();
        };
        let mut clean = Vec::with_capacity(text.len());
        let mut left: &[u8] = text;
        while let Some(first) = left.first() {
            match left.strip_prefix(key) {
                Some(after) => {
                    clean.extend_from_slice(b"***");
                    left = after;
                }
                None => {
                    clean.push(*first);
                    left = left.get(1..).unwrap_or_default();
                }
            }
        }
        clean.into()
    }
}

impl Models {
    /// The model of this name, or the default, if it can be called in this protocol.
    pub(crate) fn choose(&self, name: Option<&str>, protocol: Protocol) -> Result<ChosenModel, NoModel> {
        let none = if self.offer.is_empty() { NoModel::NoProvider } else { NoModel::NoDefault };
        let model = name.or(self.default.as_deref()).ok_or(none)?;
        let offer = self.offer.get(model).ok_or(NoModel::Unknown)?.clone();
        let provider = self.providers.get(&offer.provider).ok_or(NoModel::NoProvider)?.clone();
        if provider.protocol != protocol {
            return Err(NoModel::Speaks(provider.protocol));
        }
        Ok(ChosenModel { model: model.to_owned(), offer, provider })
    }
}

impl Offer {
    /// What a call has cost, rounded up to a billionth of a dollar; `None` if the model has no price.
    pub(crate) fn cost(&self, usage: Usage) -> Option<Cost> {
        let Usage { tokens_in, cache_read, cache_write, tokens_out } = usage;
        let tokens = Tokens { given: tokens_in, cache_read, cache_write, gotten: tokens_out };
        self.price.map(|price| price.cost(tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_exact_and_rounds_up() {
        for (given, gotten, tokens_in, tokens_out, cost) in [
            ("0.15", "0.60", 1_000_000, 0, "0.15"),
            ("0.15", "0.60", 1_000, 500, "0.00045"),
            ("0.000000001", "0", 1, 0, "0.000000001"),
            ("0", "0", 5, 5, "0.00"),
            ("75", "150", 123, 457, "0.077775"),
            ("18000000000", "18000000000", u64::MAX, u64::MAX, "18446744073.709551615"),
        ] {
            let [given, gotten] = [given, gotten].map(|price| Cost::parse(price).unwrap());
            let price = Some(TokenPrice { given, cache_read: given, cache_write: given, gotten });
            let offer = Offer { provider: String::new(), name: String::new(), price };
            let told = offer.cost(Usage { tokens_in, tokens_out, ..Usage::default() }).unwrap();
            assert_eq!(told.to_string(), cost, "{given} {gotten} {tokens_in} {tokens_out}");
        }
    }

    #[test]
    fn a_model_that_is_not_there_is_told_from_one_that_nobody_offers_now() {
        let offer =
            |provider: &str| Offer { provider: provider.to_owned(), name: "x".to_owned(), price: None };
        let provider =
            Provider { url: String::new(), protocol: Protocol::Chat, key: None, timeout: Duration::ZERO };
        let models = Models {
            default: Some("a".to_owned()),
            providers: [("lab".to_owned(), provider)].into(),
            offer: [("a".to_owned(), offer("lab")), ("b".to_owned(), offer("gone"))].into(),
        };
        assert_eq!(models.choose(None, Protocol::Chat).unwrap().model, "a");
        assert_eq!(models.choose(Some("b"), Protocol::Chat).unwrap_err(), NoModel::NoProvider);
        assert_eq!(models.choose(Some("c"), Protocol::Chat).unwrap_err(), NoModel::Unknown);
        assert_eq!(Models::default().choose(None, Protocol::Chat).unwrap_err(), NoModel::NoProvider);
        let no_default = Models { default: None, ..models.clone() };
        assert_eq!(no_default.choose(None, Protocol::Chat).unwrap_err(), NoModel::NoDefault);
        assert_eq!(no_default.choose(Some("a"), Protocol::Chat).unwrap().model, "a");
        assert_eq!(Models::default().choose(Some("a"), Protocol::Chat).unwrap_err(), NoModel::Unknown);
    }

    #[test]
    fn a_key_is_taken_out_of_what_its_provider_says() {
        let provider = |key: Option<&str>| Provider {
            url: String::new(),
            protocol: Protocol::Chat,
            key: key.map(str::to_owned),
            timeout: Duration::ZERO,
        };
        for (key, text, expected) in [
            (Some("sk-7"), "no such key: sk-7", "no such key: ***"),
            (Some("sk-7"), "sk-7sk-7 sk-sk-7", "****** sk-***"),
            (Some("sk-7"), "sk-", "sk-"),
            (Some(""), "words", "words"),
            (None, "words", "words"),
        ] {
            let clean = provider(key).without_key(&Bytes::from_static(text.as_bytes()));
            assert_eq!(clean, expected.as_bytes(), "{key:?} {text}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = Some("sk-secret".to_owned());
        let provider =
            Provider { url: "http://x".to_owned(), protocol: Protocol::Chat, key, timeout: Duration::ZERO };
        assert!(!format!("{provider:?}").contains("sk-"));
    }
}
