//! The agent card: an agent's description of itself.
//!
//! A card is written for readers of both versions at once, as the SDKs do it: 1.0 reads `supportedInterfaces`; 0.3
//! reads `url`, `preferredTransport` and `protocolVersion`. A client reads from a card only the agent's addresses and
//! its extensions. The client decides which interface it uses.

use crate::{object_writer::ObjectWriter, version::Version};
use envoi_contract::json::Value;

/// The path of the public card.
pub const PATH: &str = "/.well-known/agent-card.json";

/// The JSON-RPC binding, which both versions have.
pub const JSON_RPC: &str = "JSONRPC";

/// The HTTP+JSON binding, which only 1.0 has.
pub const HTTP_JSON: &str = "HTTP+JSON";

/// An agent's description of itself. The agent accepts a bearer token, streams, and has an extended card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCard {
    /// The name, for people.
    pub name: String,
    /// The description, for people.
    pub description: String,
    /// The version of the agent, not of the protocol.
    pub version: String,
    /// The interfaces, the preferred one first.
    pub interfaces: Vec<Interface>,
    /// Whether the agent calls webhooks.
    pub push: bool,
    /// The extensions. None of them is required.
    pub extensions: Vec<Extension>,
    /// Media types that the agent accepts.
    pub input_modes: Vec<String>,
    /// Media types of replies.
    pub output_modes: Vec<String>,
    /// The skills; at least one.
    pub skills: Vec<Skill>,
}

/// An address of an agent, and how it is called there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its address.
    pub url: String,
    /// [`JSON_RPC`], [`HTTP_JSON`] or another one.
    pub binding: String,
    /// The protocol version at this address.
    pub version: Version,
    /// The agent behind the address, if the address serves several.
    pub tenant: Option<String>,
}

/// An extension that an agent supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// The URI that identifies it.
    pub uri: String,
    /// The description, for people.
    pub description: String,
}

/// Something that an agent can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The id, unique within the card.
    pub id: String,
    /// The name, for people.
    pub name: String,
    /// The description, for people and models; never empty.
    pub description: String,
    /// The tags; at least one.
    pub tags: Vec<String>,
    /// Media types that the skill accepts. Empty means those of the agent.
    pub input_modes: Vec<String>,
}

impl AgentCard {
    /// Writes the card for a reader of this version. It has the members of both versions, but a reader of 1.0 gets no
    /// members of 0.3.
    #[must_use]
    pub fn to_value(&self, reader: Version) -> Value {
        let is_for_v03 = reader == Version::V03;
        let mut writing = ObjectWriter::new()
            .put("name", self.name.as_str())
            .put("description", self.description.as_str())
            .put("version", self.version.as_str())
            .put("supportedInterfaces", self.interfaces.iter().map(Interface::value).collect::<Vec<_>>());
        if is_for_v03 {
            let of_v03 = self.interfaces.iter().find(|one| one.version == Version::V03);
            writing = writing
                .maybe("url", of_v03.map(|interface| interface.url.as_str().into()))
                .maybe("preferredTransport", of_v03.map(|interface| interface.binding.as_str().into()))
                .put("protocolVersion", Version::V03.word())
                .put("supportsAuthenticatedExtendedCard", true)
                .put("security", vec![requirement_of_v03()]);
        }
        writing
            .put("capabilities", self.capabilities())
            .put("securitySchemes", ObjectWriter::new().put("bearer", bearer_scheme(is_for_v03)).value())
            .put("securityRequirements", vec![requirement_of_v10()])
            .put("defaultInputModes", texts(&self.input_modes))
            .put("defaultOutputModes", texts(&self.output_modes))
            .put("skills", self.skills.iter().map(Skill::value).collect::<Vec<_>>())
            .value()
    }

    fn capabilities(&self) -> Value {
        ObjectWriter::new()
            .put("streaming", true)
            .put("pushNotifications", self.push)
            .put("extensions", self.extensions.iter().map(Extension::value).collect::<Vec<_>>())
            .put("extendedAgentCard", true)
            .value()
    }
}

impl Interface {
    fn value(&self) -> Value {
        ObjectWriter::new()
            .put("url", self.url.as_str())
            .put("protocolBinding", self.binding.as_str())
            .put("protocolVersion", self.version.word())
            .word("tenant", self.tenant.as_deref())
            .value()
    }
}

impl Extension {
    fn value(&self) -> Value {
        ObjectWriter::new()
            .put("uri", self.uri.as_str())
            .put("description", self.description.as_str())
            .put("required", false)
            .value()
    }
}

impl Skill {
    fn value(&self) -> Value {
        ObjectWriter::new()
            .put("id", self.id.as_str())
            .put("name", self.name.as_str())
            .put("description", self.description.as_str())
            .put("tags", texts(&self.tags))
            .words("inputModes", &self.input_modes)
            .value()
    }
}

fn texts(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The security scheme for bearer tokens in the form of 1.0. For readers of 0.3 it also has the members of 0.3.
fn bearer_scheme(is_for_v03: bool) -> Value {
    let of_v10 = ObjectWriter::new().put("scheme", "Bearer").value();
    let scheme = ObjectWriter::new().put("httpAuthSecurityScheme", of_v10);
    let scheme = if is_for_v03 { scheme.put("type", "http").put("scheme", "Bearer") } else { scheme };
    scheme.value()
}

fn requirement_of_v10() -> Value {
    let no_scopes = ObjectWriter::new().put("list", Value::Array(Vec::new())).value();
    ObjectWriter::new().put("schemes", ObjectWriter::new().put("bearer", no_scopes).value()).value()
}

fn requirement_of_v03() -> Value {
    ObjectWriter::new().put("bearer", Value::Array(Vec::new())).value()
}

/// The interfaces of a card of either version, in their order. Interfaces of unknown versions are left out.
#[must_use]
pub fn interfaces(card: &Value) -> Vec<Interface> {
    let mut found = Vec::new();
    for one in list(card, "supportedInterfaces") {
        let version = text(one, "protocolVersion").and_then(Version::by_major_number);
        if let (Some(url), Some(binding), Some(version)) =
            (text(one, "url"), text(one, "protocolBinding"), version)
        {
            let tenant = text(one, "tenant").map(str::to_owned);
            found.push(Interface { url: url.to_owned(), binding: binding.to_owned(), version, tenant });
        }
    }
    // A card of 0.3 has its addresses in other members.
    let of_v03 = |url: &str, binding: &str| Interface {
        url: url.to_owned(),
        binding: binding.to_owned(),
        version: Version::V03,
        tenant: None,
    };
    if let Some(url) = text(card, "url") {
        found.push(of_v03(url, text(card, "preferredTransport").unwrap_or(JSON_RPC)));
    }
    for one in list(card, "additionalInterfaces") {
        if let (Some(url), Some(binding)) = (text(one, "url"), text(one, "transport")) {
            found.push(of_v03(url, binding));
        }
    }
    found
}

/// True if a card names the extension `uri`.
#[must_use]
pub fn has_extension(card: &Value, uri: &str) -> bool {
    let capabilities = card.get("capabilities").unwrap_or(&Value::Null);
    list(capabilities, "extensions").iter().any(|one| text(one, "uri") == Some(uri))
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(interfaces: Vec<Interface>) -> AgentCard {
        let texts = |text: &str| vec![text.to_owned()];
        AgentCard {
            name: "n".to_owned(),
            description: "d".to_owned(),
            version: "1".to_owned(),
            interfaces,
            push: true,
            extensions: vec![Extension { uri: "urn:x".to_owned(), description: "x".to_owned() }],
            input_modes: texts("text/plain"),
            output_modes: texts("text/plain"),
            skills: Vec::new(),
        }
    }

    fn interface(url: &str, binding: &str, version: Version, tenant: Option<&str>) -> Interface {
        let tenant = tenant.map(str::to_owned);
        Interface { url: url.to_owned(), binding: binding.to_owned(), version, tenant }
    }

    #[test]
    fn a_client_reads_the_interfaces_and_extensions_that_were_written() {
        let all = vec![
            interface("https://a/1", JSON_RPC, Version::V10, Some("t")),
            interface("https://a/1", HTTP_JSON, Version::V10, None),
            interface("https://a/0", JSON_RPC, Version::V03, None),
        ];
        let written = card(all.clone());
        assert_eq!(interfaces(&written.to_value(Version::V10)), all);
        // For 0.3 the card repeats that interface.
        let twice: Vec<Interface> = all.iter().chain(all.last()).cloned().collect();
        assert_eq!(interfaces(&written.to_value(Version::V03)), twice);
        let value = written.to_value(Version::V10);
        assert!(has_extension(&value, "urn:x") && !has_extension(&value, "urn:y"));
    }

    #[test]
    fn what_is_not_understood_of_a_card_is_left_out() {
        let read = |text: &str| interfaces(&Value::parse_str(text).unwrap());
        for text in [
            "7",
            "{}",
            r#"{"supportedInterfaces":{},"additionalInterfaces":7,"url":{}}"#,
            r#"{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}"#,
            r#"{"supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC"}]}"#,
            r#"{"additionalInterfaces":[{"url":"u"},{"transport":"JSONRPC"}]}"#,
        ] {
            assert_eq!(read(text), [], "{text}");
        }
        assert_eq!(read(r#"{"url":"u"}"#), [interface("u", JSON_RPC, Version::V03, None)]);
        let grpc = r#"{"url":"u","preferredTransport":"GRPC"}"#;
        assert_eq!(read(grpc), [interface("u", "GRPC", Version::V03, None)]);
    }
}
