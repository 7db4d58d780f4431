//! The models that can be called, their providers and their prices.

use super::usage::Usage;
use axum::http::HeaderValue;
use bytes::Bytes;
use core::{fmt, time::Duration};
use envoi_kernel::ledger::{Cost, TokenPrice, Tokens};
use envoi_preset::protocol::Protocol;
use envoi_step::Secrets;
use std::{collections::BTreeMap, sync::Arc};

/// The beginning of a data line in an event.
const DATA: &[u8] = b"data:";

/// The configured models.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// The model for requests that name none.
    pub default: Option<String>,
    /// The providers by name. A provider without a key is left out if it needs one.
    pub providers: BTreeMap<String, Provider>,
    /// The models by the names that clients use.
    pub offer: BTreeMap<String, Offer>,
}

/// A server that runs models.
#[derive(Clone)]
pub struct Provider {
    /// The base address, to which the path of the protocol is appended.
    pub url: String,
    /// The protocol of its API.
    pub protocol: Protocol,
    /// The API key. `None`: no key is needed.
    pub key: Option<Key>,
    /// The longest time without any data from it.
    pub timeout: Duration,
}

/// The API key of a provider, and a search for it in the provider's answers.
#[derive(Clone)]
pub struct Key {
    text: String,
    secrets: Arc<Secrets>,
}

/// An offered model.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The name of its provider.
    pub provider: String,
    /// The provider's name for the model.
    pub name: String,
    /// Price in US dollars per million tokens.
    pub price: Option<TokenPrice>,
}

/// Does not show the key.
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

/// A callable model, with its provider.
#[derive(Debug, Clone)]
pub(crate) struct ChosenModel {
    /// The client's name for the model.
    pub(crate) model: String,
    pub(crate) offer: Offer,
    pub(crate) provider: Provider,
}

/// Why no model can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoModel {
    /// The model is not offered.
    Unknown,
    /// No model is configured, or the provider of the model has no key.
    NoProvider,
    /// The request names no model, and no default is configured.
    NoDefault,
    /// The provider of the model uses another protocol.
    Speaks(Protocol),
}

impl Key {
    /// A key with this text, as it is sent to the provider.
    #[must_use]
    pub fn new(text: String) -> Self {
        let secrets = Arc::new(Secrets::new(std::slice::from_ref(&text)));
        Self { text, secrets }
    }

    /// The text of the key.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Masks the key in a provider's answer, which may repeat it, in all spellings in which secrets of a flow are
/// found.
impl Provider {
    fn secrets(&self) -> Option<&Secrets> {
        self.key.as_ref().map(|key| &*key.secrets).filter(|secrets| !secrets.is_empty())
    }

    /// A body without the key.
    pub(crate) fn without_key(&self, body: Bytes) -> Bytes {
        match self.secrets() {
            Some(secrets) => secrets.mask_whole(body.into()).into(),
            None => body,
        }
    }

    /// Complete events of a stream, without the key. The data of each line is a separate JSON document.
    pub(crate) fn events_without_key(&self, events: Bytes) -> Bytes {
        let Some(secrets) = self.secrets() else { return events };
        let mut clean = Vec::with_capacity(events.len());
        for line in events.split_inclusive(|byte| *byte == b'\n') {
            let (name, rest) = line.split_at(line.strip_prefix(DATA).map_or(0, |_| DATA.len()));
            let data = rest.trim_ascii_end();
            clean.extend_from_slice(name);
            clean.extend(secrets.mask_whole(data.to_vec()));
            clean.extend_from_slice(rest.get(data.len()..).unwrap_or_default());
        }
        // Again for the whole: a key may begin in one line and end in the next.
        secrets.mask_whole(clean).into()
    }

    /// A text without the key.
    pub(crate) fn text_without_key(&self, text: &str) -> String {
        self.secrets().map_or_else(|| text.to_owned(), |secrets| secrets.mask_str(text))
    }

    /// The value of a header without the key. `None`: it cannot be shown.
    pub(crate) fn header_without_key(&self, value: HeaderValue) -> Option<HeaderValue> {
        let Some(secrets) = self.secrets() else { return Some(value) };
        HeaderValue::from_bytes(&secrets.mask_whole(value.as_bytes().to_vec())).ok()
    }
}

impl Models {
    /// The model with this name, or the default, if it can be called in this protocol.
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
    /// The cost of a call, rounded up to a billionth of a dollar. `None` if the model has no price.
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
            let charged = offer.cost(Usage { tokens_in, tokens_out, ..Usage::default() }).unwrap();
            assert_eq!(charged.to_string(), cost, "{given} {gotten} {tokens_in} {tokens_out}");
        }
    }

    #[test]
    fn an_unknown_model_is_distinguished_from_one_that_is_not_offered_now() {
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

    fn with_key(key: Option<&str>) -> Provider {
        Provider {
            url: "http://x".to_owned(),
            protocol: Protocol::Chat,
            key: key.map(|key| Key::new(key.to_owned())),
            timeout: Duration::ZERO,
        }
    }

    #[test]
    fn a_key_is_taken_out_of_what_its_provider_says() {
        for (key, text, expected) in [
            (Some("sk-7"), "no such key: sk-7", "no such key: ***"),
            (Some("sk-7"), "sk-7sk-7 sk-sk-7", "****** sk-***"),
            (Some("sk-7"), "sk-", "sk-"),
            (Some(""), "words", "words"),
            (None, "words", "words"),
        ] {
            let clean = with_key(key).without_key(Bytes::from_static(text.as_bytes()));
            assert_eq!(clean, expected.as_bytes(), "{key:?} {text}");
        }
    }

    #[test]
    fn a_key_is_found_in_every_spelling_and_nothing_else_is_changed() {
        const KEY: &str = r#"Lk9/qW"x+7zR&Vb-33mN"#;
        let base64 = "TGs5L3FXIngrN3pSJlZiLTMzbU4";
        let url = "Lk9%2FqW%22x%2B7zR%26Vb-33mN";
        let json = r#"Lk9/qW\"x+7zR&Vb-33mN"#;
        let slashes = r#"Lk9\/qW\"x+7zR\u0026Vb-33mN"#;
        let twice = r"Lk9\u00252FqW%22x%2B7zR%26Vb-33mN";
        let provider = with_key(Some(KEY));
        let clean = |text: &str| provider.without_key(Bytes::copy_from_slice(text.as_bytes()));
        assert_eq!(
            clean(&format!("denied: {KEY} {base64} {url} {json} {slashes} Bearer {KEY}")),
            "denied: *** *** *** *** *** Bearer ***".as_bytes()
        );
        for spelling in [base64, url, json, slashes, twice] {
            let document = format!(r#"{{"a": 1.50, "b":"\u00e9 {spelling}"}}"#);
            if spelling != twice {
                assert_eq!(clean(&document), r#"{"a": 1.50, "b":"\u00e9 ***"}"#.as_bytes(), "{spelling}");
            }
            let event = format!(": {spelling}\nevent: x\r\ndata: {document}\r\ndata:{document}\n\n");
            let clean = provider.events_without_key(Bytes::from(event));
            let data = r#"{"a": 1.50, "b":"\u00e9 ***"}"#;
            let expected = format!(": ***\nevent: x\r\ndata: {data}\r\ndata:{data}\n\n");
            match spelling == twice {
                // The document was written again: an escaped escape is found only in the parsed value.
                true => assert!(!String::from_utf8_lossy(&clean).contains("33mN\"}"), "{spelling}"),
                false => assert_eq!(String::from_utf8_lossy(&clean), expected, "{spelling}"),
            }
        }
        let untouched = "data: {\"a\":\"\\u00e9\\/ \\\\\", \"n\": 1.50}\n\n: alive\r\n\r\n";
        assert_eq!(provider.events_without_key(Bytes::from_static(untouched.as_bytes())), untouched);
        let header = |text: &str| provider.header_without_key(HeaderValue::from_str(text).unwrap()).unwrap();
        assert_eq!(
            (header(url), header("12")),
            (HeaderValue::from_static("***"), HeaderValue::from_static("12"))
        );
        assert_eq!(provider.text_without_key(&format!("I am {KEY}")), "I am ***");
    }

    #[test]
    fn a_key_is_not_shown() {
        assert!(!format!("{:?}", with_key(Some("sk-secret"))).contains("sk-"));
    }
}
