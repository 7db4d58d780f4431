//! `models:` of the configuration: the models that steps ask and that commands may call through the server, with
//! their providers and prices.
//!
//! Owns its keys and their values. Contains no key of a provider, only the place from which to read one. Whether a
//! provider responds is checked when a model is called.

use crate::{
    parse::{notify, secret},
    syntax::{
        diagnostic::{Diagnostic, Problems},
        keys::Vocabulary,
        read::{self, Fields, refuse},
        yaml::{Key, Node},
    },
};
use envoi_kernel::{
    flow::SecretSource,
    ledger::{Cost, TokenPrice},
};
use envoi_preset::protocol::Protocol;
use std::collections::BTreeMap;

pub(crate) const MODELS: Vocabulary =
    Vocabulary { place: "`models`", keys: &["default", "providers", "offer"], later: &[] };

pub(crate) const PROVIDER: Vocabulary =
    Vocabulary { place: "a provider of `models`", keys: &["url", "protocol", "key", "timeout"], later: &[] };

pub(crate) const OFFER: Vocabulary =
    Vocabulary { place: "a model of `offer`", keys: &["provider", "name", "price"], later: &[] };

pub(crate) const PRICE: Vocabulary =
    Vocabulary { place: "`price`", keys: &["in", "out", "cache_read", "cache_write"], later: &[] };

/// The usual timeout of clients for such providers.
const TIMEOUT_MS: u64 = 600_000;

/// A larger value is probably a mistake in the unit.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// Longest name of a model or a provider.
const MAX_MODEL_NAME: usize = 200;

/// The configured models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    /// The model for requests that name none; one of [`Models::offer`].
    pub default: Option<String>,
    /// The providers, by the names that models refer to.
    pub providers: BTreeMap<String, Provider>,
    /// The models, by the names that requests use.
    pub offer: BTreeMap<String, Offer>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The base URL. The path of the protocol, such as `/chat/completions`, is appended to it.
    pub url: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The source from which the key is read when the server starts. `None` if the provider needs no key.
    pub key: Option<SecretSource>,
    /// The longest time without any data from the provider, in milliseconds.
    pub timeout_ms: u64,
}

/// A model that may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The provider; one of [`Models::providers`].
    pub provider: String,
    /// The provider's name for the model.
    pub name: String,
    /// The price in US dollars per million tokens. `None` if it is free, or its cost is not counted.
    pub price: Option<TokenPrice>,
}

pub(crate) fn read(node: &Node, problems: &mut Problems) -> Models {
    let Some(fields) = Fields::of(node, &MODELS, problems) else { return Models::default() };
    let providers = named(&fields, "providers", problems, provider);
    let offer = named(&fields, "offer", problems, offer);
    for (name, (node, model)) in &offer {
        if !providers.contains_key(&model.provider) {
            let message = format!("model `{name}` is offered by `{}`, which is no provider", model.provider);
            problems.add(Diagnostic::invalid(node.span, message).help("name it in `providers`"));
        }
    }
    let default = fields.get("default").and_then(|node| {
        let text = read::text(node, "`default`", problems)?;
        if offer.contains_key(text) {
            return Some(text.to_owned());
        }
        let message = format!("`{text}` is not offered");
        refuse(problems, Diagnostic::invalid(node.span, message).help("name it in `offer`"))
    });
    let plain = |(name, (_, value))| (name, value);
    Models {
        default,
        providers: providers.into_iter().map(|(name, (_, value))| (name, value)).collect(),
        offer: offer.into_iter().map(plain).collect(),
    }
}

type Read<T> = fn(&Node, &Key, &mut Problems) -> Option<T>;

/// A mapping from names to the values that `read` returns.
fn named<'n, T>(
    fields: &Fields<'n>,
    key: &str,
    problems: &mut Problems,
    read: Read<T>,
) -> BTreeMap<String, (&'n Node, T)> {
    let Some(node) = fields.get(key) else { return BTreeMap::new() };
    let members = read::entries(node, &format!("`{key}`"), problems);
    let mut all = BTreeMap::new();
    for (name, node) in members {
        if !is_name(&name.text) {
            let message = format!("`{}` cannot be a name in `{key}`", name.text);
            let problem = Diagnostic::invalid(name.span, message);
            problems.add(problem.expecting("up to 200 printable characters without spaces"));
        } else if let Some(value) = read(node, name, problems) {
            all.insert(name.text.clone(), (node, value));
        }
    }
    all
}

fn is_name(text: &str) -> bool {
    (1..=MAX_MODEL_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn provider(node: &Node, name: &Key, problems: &mut Problems) -> Option<Provider> {
    let fields = Fields::of(node, &PROVIDER, problems)?;
    let url = match fields.get("url") {
        Some(node) => notify::url(node, "`url`", problems),
        None if fields.misspelt("url", &PROVIDER) => None,
        None => {
            let message = format!("provider `{}` has no `url`", name.text);
            refuse(problems, Diagnostic::invalid(name.span, message))
        }
    };
    let key = fields.pair("key").map(|(key, node)| secret::source(node, "`key`", "NAME", key.span, problems));
    let words = Protocol::ALL.map(|protocol| (protocol.word(), protocol));
    let protocol = fields.get("protocol").map(|node| read::choice(node, "`protocol`", &words, problems));
    let timeout = fields.get("timeout").map(|node| timeout(node, problems));
    // An invalid value was already reported.
    let key = match key {
        Some(source) => Some(source?),
        None => None,
    };
    let url = url?;
    if url.contains(['?', '#']) {
        let message =
            "`url` has a query or a fragment, and a path such as `/chat/completions` is to be added to it";
        return refuse(problems, Diagnostic::invalid(node.span, message));
    }
    if let Some((key, _)) = fields.pair("key").filter(|_| !notify::keeps_secrets(&url)) {
        let message = "`key` would travel in clear text: the address begins with `http://`";
        let help =
            "use `https://`; without it a key is sent to this machine alone, such as `http://127.0.0.1`";
        return refuse(problems, Diagnostic::invalid(key.span, message).help(help));
    }
    let protocol = protocol.map_or(Some(Protocol::default()), |protocol| protocol)?;
    Some(Provider { url, protocol, key, timeout_ms: timeout.map_or(Some(TIMEOUT_MS), |timeout| timeout)? })
}

fn timeout(node: &Node, problems: &mut Problems) -> Option<u64> {
    let millis = read::duration(node, "`timeout`", problems)?;
    if millis > MAX_TIMEOUT_MS {
        return refuse(problems, Diagnostic::invalid(node.span, "`timeout` of a provider is at most 1d"));
    }
    Some(millis)
}

fn offer(node: &Node, name: &Key, problems: &mut Problems) -> Option<Offer> {
    let fields = Fields::of(node, &OFFER, problems)?;
    let provider = match fields.get("provider") {
        Some(node) => read::text(node, "`provider`", problems).map(str::to_owned),
        None if fields.misspelt("provider", &OFFER) => None,
        None => {
            let message = format!("model `{}` has no `provider`", name.text);
            refuse(problems, Diagnostic::invalid(name.span, message))
        }
    };
    let own = match fields.get("name") {
        Some(node) => read::token(node, "`name`", problems).map(str::to_owned),
        None => Some(name.text.clone()),
    };
    let price = fields.get("price").map(|node| price(node, problems));
    let price = match price {
        Some(price) => Some(price?),
        None => None,
    };
    Some(Offer { provider: provider?, name: own?, price })
}

/// Reads a price. `in` and `out` are required, so that no tokens are free by mistake. `cache_read` and `cache_write`
/// default to `in`.
fn price(node: &Node, problems: &mut Problems) -> Option<TokenPrice> {
    let fields = Fields::of(node, &PRICE, problems)?;
    let mut part = |name: &str, otherwise: Option<Cost>| match fields.get(name) {
        Some(node) => match read::as_token(node).and_then(Cost::parse) {
            Some(cost) => Some(cost),
            None => refuse(problems, read::mismatch(node, &format!("`{name}`"), "dollars such as \"0.15\"")),
        },
        None if otherwise.is_some() => otherwise,
        None if fields.misspelt(name, &PRICE) => None,
        None => refuse(problems, Diagnostic::invalid(node.span, format!("`price` without `{name}`"))),
    };
    let given = part("in", None);
    let gotten = part("out", None);
    let of_cache = given.or(Some(Cost::default()));
    let cache_read = part("cache_read", of_cache);
    let cache_write = part("cache_write", of_cache);
    Some(TokenPrice { given: given?, cache_read: cache_read?, cache_write: cache_write?, gotten: gotten? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, tests::fits_schema};
    use envoi_contract::json::Value;

    #[test]
    fn every_form_of_an_answer_is_read() {
        let text = "models:\n  default: small\n  providers:\n    lab: { url: 'https://lab.example/v1', key: { env: LAB_KEY }, \
                    timeout: 5s }\n    own: { url: 'http://127.0.0.1:9/v1', protocol: messages }\n  offer:\n    small: { provider: lab, name: \
                    lab-small-2, price: { in: \"0.15\", out: \"0.60\", cache_read: \"0.015\" } }\n    own/x:7b: { provider: own }\n";
        assert!(fits_schema(text));
        let models = config::load("c.yaml", text).unwrap().models;
        let cost = |text| Cost::parse(text).unwrap();
        assert_eq!(models.default.as_deref(), Some("small"));
        assert_eq!(
            models.providers["lab"],
            Provider {
                url: "https://lab.example/v1".to_owned(),
                protocol: Protocol::Chat,
                key: Some(SecretSource::Env("LAB_KEY".to_owned())),
                timeout_ms: 5_000
            }
        );
        assert_eq!((models.providers["own"].timeout_ms, &models.providers["own"].key), (TIMEOUT_MS, &None));
        assert_eq!(models.providers["own"].protocol, Protocol::Messages);
        let given = cost("0.15");
        let gotten = cost("0.60");
        let price = Some(TokenPrice { given, cache_read: cost("0.015"), cache_write: given, gotten });
        let small = Offer { provider: "lab".to_owned(), name: "lab-small-2".to_owned(), price };
        assert_eq!(models.offer["small"], small);
        let own = Offer { provider: "own".to_owned(), name: "own/x:7b".to_owned(), price: None };
        assert_eq!(models.offer["own/x:7b"], own);
        assert_eq!(config::load("c.yaml", "models: {}\n").unwrap().models, Models::default());
    }

    #[test]
    fn mistakes_of_shape_are_reported_and_the_schema_refuses_them_too() {
        for (text, words) in [
            ("{ model: x }", "unknown key `model` in `models`"),
            ("{ providers: { lab: {} } }", "provider `lab` has no `url`"),
            ("{ providers: { lab: { url: lab.example } } }", "begins neither"),
            ("{ providers: { lab: { url: 'https://x', key: KEY } } }", "expected a mapping"),
            ("{ providers: { lab: { url: 'https://x', timeout: 5 } } }", "a duration such as"),
            (
                "{ providers: { lab: { url: 'https://x', protocol: chats } } }",
                "expected `chat`, `responses` or `messages`",
            ),
            ("{ providers: { 'a b': { url: 'https://x' } } }", "cannot be a name"),
            ("{ offer: { m: { name: x } } }", "model `m` has no `provider`"),
            ("{ offer: { m: { provider: p, price: { in: \"1\" } } } }", "`price` without `out`"),
            ("{ offer: { m: { provider: p, price: { in: \"1\", out: much } } } }", "dollars such as"),
            (
                "{ offer: { m: { provider: p, price: { in: \"1\", out: \"1\", cache_read: x } } } }",
                "`cache_read`",
            ),
        ] {
            let text = format!("models: {text}\n");
            let report = config::load("c.yaml", &text).unwrap_err().render(crate::Colour::Never);
            assert!(report.contains(words), "{text}: {report}");
            assert!(!fits_schema(&text), "the schema lets this pass: {text}");
        }
    }

    #[test]
    fn values_that_do_not_fit_together_are_reported() {
        for (text, words) in [
            ("{ default: m }", "`m` is not offered"),
            ("{ offer: { m: { provider: lab } } }", "offered by `lab`, which is no provider"),
            ("{ providers: { p: { url: 'http://lab.example', key: { env: K } } } }", "in clear text"),
            ("{ providers: { p: { url: 'https://lab.example/v1?x=1' } } }", "a query or a fragment"),
        ] {
            let report = config::load("c.yaml", &format!("models: {text}\n")).unwrap_err();
            let report = report.render(crate::Colour::Never);
            assert!(report.contains(words), "{text}: {report}");
        }
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read_and_no_others() {
        let schema = Value::parse_str(config::SCHEMA).unwrap();
        let models = schema.get("$defs").and_then(|defs| defs.get("models")).unwrap();
        let of = |value: &Value, name: &str| {
            value.get("properties").and_then(|all| all.get(name)).unwrap().clone()
        };
        let each = |name: &str| of(models, name).get("additionalProperties").unwrap().clone();
        let provider = each("providers");
        let offer = each("offer");
        let price = of(&offer, "price");
        for (vocabulary, described) in
            [(&MODELS, models), (&PROVIDER, &provider), (&OFFER, &offer), (&PRICE, &price)]
        {
            let properties = described.get("properties").and_then(Value::as_object).unwrap();
            assert!(properties.keys().eq(vocabulary.keys.iter().copied()), "{}", vocabulary.place);
            assert!(properties.values().all(|property| property.get("description").is_some()));
        }
    }
}
