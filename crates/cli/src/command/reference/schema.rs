//! `envoi schema`: prints the JSON Schema of a message, of a flow file or of a configuration. Without a name, lists the
//! schemas.

use crate::process::{failure::Failure, output};
use envoi_api::output::Titled;
use envoi_contract::{code::Code, schema};

/// The schemas outside the contracts: those of files that people write.
const FILES: [(&str, &str); 2] = [("flow", "Flow file"), ("config", "Configuration of a store")];

pub(crate) fn schema(name: Option<&str>, json: bool) -> Result<u8, Failure> {
    let text = match name {
        Some(name) => text_of(name)?,
        None if json => {
            let row = |(name, title): (&str, &str)| Titled { name: name.to_owned(), title: title.to_owned() };
            output::line(&rows().map(row).collect::<Vec<_>>())
        }
        None => output::table(
            &rows().map(|(name, title)| vec![name.to_owned(), title.to_owned()]).collect::<Vec<_>>(),
        ),
    };
    output::data(&text).map(|()| 0)
}

fn text_of(name: &str) -> Result<String, Failure> {
    let wanted = name.strip_suffix(".schema.json").unwrap_or(name);
    match wanted {
        "flow" => return Ok(envoi_flow::SCHEMA.to_owned()),
        "config" => return Ok(envoi_flow::config::SCHEMA.to_owned()),
        _ => {}
    }
    let found = schema::Schema::named(wanted);
    found.map(|schema| schema.to_value().pretty()).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = rows().map(|(name, _)| name).collect();
    Failure::new(Code::UnknownSchema, format!("no schema is named `{name}`"))
        .hint(format!("there are: {}", names.join(", ")))
}

/// The name and title of each schema.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    schema::ALL.iter().map(|schema| (schema.name, schema.title())).chain(FILES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::json::Value;

    #[test]
    fn every_schema_that_is_listed_is_printed_and_names_itself() {
        for (name, title) in rows() {
            let schema = Value::parse_str(&text_of(name).unwrap()).unwrap();
            assert_eq!(schema.get("$id").and_then(Value::as_str), Some(&*format!("urn:envoi:{name}:v1")));
            assert!(!title.is_empty());
        }
        assert!(FILES.iter().all(|file| rows().any(|row| row == *file)));
    }

    #[test]
    fn a_schema_that_does_not_exist_is_refused_with_those_that_do() {
        let failure = text_of("hand-off").unwrap_err();
        assert_eq!((failure.code.known(), failure.exit_code), (Some(Code::UnknownSchema), 2));
        assert!(failure.hint.unwrap().contains("handoff, "));
    }
}
