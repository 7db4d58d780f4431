//! The user envelope over A2A (contract 5): an answer with files, through a channel that carries text.
//!
//! Owns the opt-in. It is valid only if the request names the extension in its header *and* the message has
//! `{"user_envelope": true}` under the extension's URI in its metadata. Without both, the text is passed on
//! byte for byte, whatever it looks like. `envoi-contract` parses the envelope, and other code checks who
//! owns the files.

use envoi_a2a::{
    fault::{Fault, Kind},
    model::{Content, Message},
    service_parameters::Extensions,
};
use envoi_contract::{
    json::Value,
    user_envelope::{AttachmentRef, EXTENSION_URI, UserEnvelope, parse},
};

/// The member of the extension's metadata that opts in.
const OPT_IN: &str = "user_envelope";

/// The text of a message, and its files. `top_level` are the files in other parts of the message.
///
/// # Errors
/// An `InvalidParams` with the reason: the envelope is malformed or has too many files; or the extension is
/// named and its metadata is neither yes nor no, so that it is unclear whether the text is an envelope.
pub(crate) fn open(
    message: &Message,
    extensions: &Extensions,
    top_level: &[AttachmentRef],
) -> Result<UserEnvelope, Fault> {
    let enabled = extensions.contain(EXTENSION_URI) && opted_in(message)?;
    parse(&text(message), enabled, top_level).map_err(|refusal| {
        let code = refusal.code();
        Fault::new(Kind::InvalidParams).detail(refusal.reason).code(code)
    })
}

/// The text of a message: its text parts, each on its own line.
pub(crate) fn text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn opted_in(message: &Message) -> Result<bool, Fault> {
    let Some(extension) = message.metadata.get(EXTENSION_URI) else { return Ok(false) };
    let wrong = |field: String, description: &str| Err(Fault::violation(field, description));
    let field = format!("message.metadata[\"{EXTENSION_URI}\"]");
    match extension {
        Value::Object(members) => match members.get(OPT_IN) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(_) => wrong(format!("{field}.{OPT_IN}"), "Must be true or false."),
        },
        _ => wrong(field, "Must be an object."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_a2a::{
        model::{Part, Role},
        version::Version,
    };
    use envoi_contract::json::Object;

    const REF: &str = concat!(
        r#"{"artifactId":"a","representationRevisionId":"r","digest":"sha256:0","mime":"application/pdf","#,
        r#""originKind":"upload"}"#
    );

    fn message(texts: &[&str], metadata: &str) -> Message {
        Message {
            id: "m2".to_owned(),
            context_id: None,
            task_id: None,
            role: Role::User,
            parts: texts.iter().map(|text| Part::text(*text)).collect(),
            metadata: Value::parse_str(metadata).unwrap().as_object().unwrap().clone(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    fn under_the_uri(value: &str) -> String {
        format!(r#"{{"{EXTENSION_URI}":{value}}}"#)
    }

    fn named() -> Extensions {
        Extensions::named([EXTENSION_URI])
    }

    fn one_ref() -> AttachmentRef {
        let envelope = format!(r#"{{"text":"","attachments":[{REF}]}}"#);
        parse(&envelope, true, &[]).unwrap().attachments.remove(0)
    }

    #[test]
    fn an_envelope_is_opened_only_with_both_halves_of_the_opt_in() {
        let raw = format!(r#"{{"text":"approved","attachments":[{REF}]}}"#);
        let yes = under_the_uri(r#"{"user_envelope":true}"#);
        let opened = open(&message(&[&raw], &yes), &named(), &[]).unwrap();
        assert_eq!((opened.text.as_str(), opened.attachments), ("approved", vec![one_ref()]));

        let no_opt_in = [
            (&yes, Extensions::default()),
            (&yes, Extensions::named(["urn:envoi:a2a:user-envelope:v2", "urn:envoi"])),
            (&"{}".to_owned(), named()),
            (&r#"{"user_envelope":true}"#.to_owned(), named()),
            (&under_the_uri("{}"), named()),
            (&under_the_uri(r#"{"user_envelope":false}"#), named()),
            (&under_the_uri(r#"{"user_envelope":"true"}"#), Extensions::default()),
        ];
        for (metadata, extensions) in no_opt_in {
            let opened = open(&message(&[&raw], metadata), &extensions, &[]).unwrap();
            assert_eq!((opened.text.as_str(), opened.attachments.len()), (raw.as_str(), 0), "{metadata}");
        }
    }

    #[test]
    fn a_refused_envelope_is_refused_with_its_reason_in_both_versions() {
        let yes = under_the_uri(r#"{"user_envelope":true}"#);
        let many = vec![REF; 21].join(",");
        let rows = [
            ("Approved.".to_owned(), "user_envelope=true but body.user is not valid JSON"),
            (
                r#"{"text":1}"#.to_owned(),
                "user_envelope=true but body.user does not match {text, attachments?}",
            ),
            (
                r#"{"text":"","x":1}"#.to_owned(),
                "user_envelope=true but body.user does not match {text, attachments?}",
            ),
            (
                format!(r#"{{"text":"","attachments":[{many}]}}"#),
                "user_envelope=true but body.user does not match {text, attachments?}",
            ),
        ];
        for (raw, beginning) in rows {
            let fault = open(&message(&[&raw], &yes), &named(), &[]).unwrap_err();
            assert_eq!((fault.kind.rpc_code(), fault.kind.http_status()), (-32602, 400));
            let of_v10 = fault.rpc(Version::V10);
            let description = of_v10.get("message").and_then(Value::as_str).unwrap();
            assert!(description.starts_with(&format!("Invalid parameters: {beginning}")), "{description}");
            assert!(of_v10.compact().contains(r#""metadata":{"code":"INVALID_USER_ENVELOPE"}"#));
            let of_v03 = fault.rpc(Version::V03);
            assert_eq!(
                of_v03.get("message"),
                of_v10.get("message"),
                "clients that show the message show the reason"
            );
            let data = of_v03.get("data").unwrap();
            assert!(data.get("reason").and_then(Value::as_str).unwrap().starts_with(beginning));
            assert_eq!(data.get("code").and_then(Value::as_str), Some("INVALID_USER_ENVELOPE"));
        }
    }

    #[test]
    fn an_opt_in_that_is_neither_yes_nor_no_is_refused() {
        for value in [
            "true",
            "null",
            "[]",
            r#"{"user_envelope":"true"}"#,
            r#"{"user_envelope":1}"#,
            r#"{"user_envelope":null}"#,
        ] {
            let fault = open(&message(&["{}"], &under_the_uri(value)), &named(), &[]).unwrap_err();
            assert_eq!(fault.kind, Kind::InvalidParams, "{value}");
            assert!(fault.rest().compact().contains("message.metadata"), "{value}");
        }
    }

    #[test]
    fn files_that_come_in_other_ways_count_too() {
        let yes = under_the_uri(r#"{"user_envelope":true}"#);
        let top_level = vec![one_ref(); 20];
        let plain = open(&message(&["Approved."], "{}"), &named(), &top_level).unwrap();
        assert_eq!((plain.text.as_str(), plain.attachments.len()), ("Approved.", 20));
        let raw = format!(r#"{{"text":"approved","attachments":[{REF}]}}"#);
        let fault = open(&message(&[&raw], &yes), &named(), &top_level).unwrap_err();
        let reply = fault.rpc(Version::V03).compact();
        assert!(
            reply.contains("merged attachments exceed the 20-ref total (envelope 1 + body 20 = 21)"),
            "{reply}"
        );
    }

    #[test]
    fn words_are_those_of_the_text_parts() {
        let mut two = message(&["a ", "b"], "{}");
        two.parts.insert(1, Part::of(Content::Data(Object::new().into())));
        assert_eq!(text(&two), "a \nb");
        assert_eq!(text(&message(&[" as it\r\nstands "], "{}")), " as it\r\nstands ");
        assert_eq!(text(&message(&[], "{}")), "");
    }
}
