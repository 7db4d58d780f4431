//! Compares `docs/flow-file.md` with the schema: it has the same keys, and its examples are valid.

use super::SCHEMA;
use crate::{
    Colour, load_with,
    syntax::{tree, yaml},
    values::json_schema::Schema,
};
use envoi_contract::json::{Object, Value};
use std::collections::{BTreeMap, BTreeSet};

const MANUAL: &str = include_str!("../../../../docs/flow-file.md");
const EXPRESSIONS: &str = include_str!("../../../../docs/expressions.md");
const PARALLEL: &str = include_str!("../../../../docs/parallel.md");

/// The heading under which the keys of a mapping are listed, and its definition in the schema. The first one is the
/// flow itself.
const TABLES: &[(&str, Option<&str>)] = &[
    ("## Keys of a flow", None),
    ("### `workspace`", Some("workspace")),
    ("### `limits`", Some("limits")),
    ("### `secrets`", Some("secret")),
    ("### `notify`", Some("notify")),
    ("### `webhook`", Some("webhook")),
    ("## Keys of a step", Some("step")),
    ("### `retry`", Some("retry")),
    ("### `cache`", Some("cache")),
    ("### `join`", Some("quorum")),
    ("### `on_in_doubt`", Some("in_doubt")),
    ("### `on_throttled`", Some("on_throttled")),
    ("### `then`", Some("other_program")),
    ("### `then` of `model`", Some("other_model")),
    ("### `budget`", Some("budget")),
    ("## `routing`", Some("routing")),
    ("## `ask`", Some("ask")),
    ("## `a2a`", Some("a2a")),
    ("## `agent`", Some("agent")),
    ("## `model`", Some("model")),
    ("## `goals`", Some("goals")),
];

fn schema() -> Value {
    Value::parse_str(SCHEMA).unwrap()
}

fn properties(schema: &Value, definition: Option<&str>) -> Object {
    let described = definition.map_or(schema, |name| schema.get("$defs").unwrap().get(name).unwrap());
    described.get("properties").and_then(Value::as_object).unwrap().clone()
}

/// The cells of the rows in the key tables under a heading, by key.
fn rows(heading: &str) -> BTreeMap<String, Vec<String>> {
    let section = MANUAL.split_once(&format!("\n{heading}\n")).unwrap().1;
    let section = section.lines().take_while(|line| !line.starts_with('#'));
    let mut rows = BTreeMap::new();
    let mut of_keys = false;
    for line in section {
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        match cells.get(1).map(String::as_str) {
            None => of_keys = false,
            Some("key") => {
                assert_eq!(cells[1..5], ["key", "meaning", "default", "example"], "{heading}");
                of_keys = true;
            }
            Some(key) if of_keys && key.starts_with('`') => {
                assert_eq!(cells.len(), 6, "{line}");
                rows.insert(key.trim_matches('`').to_owned(), cells[2..5].to_vec());
            }
            Some(_) => {}
        }
    }
    rows
}

#[test]
fn the_manual_has_the_keys_of_the_schema_and_no_others() {
    let schema = schema();
    for (heading, definition) in TABLES {
        let documented: BTreeSet<String> = rows(heading).into_keys().collect();
        let known: BTreeSet<String> = properties(&schema, *definition).keys().map(str::to_owned).collect();
        assert_eq!(documented, known, "{heading}");
    }
    let defs = schema.get("$defs").and_then(Value::as_object).unwrap();
    for (name, definition) in defs.iter() {
        let listed = TABLES.iter().any(|(_, listed)| *listed == Some(name));
        assert!(
            listed || definition.get("properties").is_none(),
            "`{name}` has keys that the manual does not list"
        );
    }
}

#[test]
fn every_key_has_a_default_and_an_example_that_fits() {
    let schema = schema();
    for (heading, definition) in TABLES {
        let properties = properties(&schema, *definition);
        for (key, cells) in rows(heading) {
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{heading} {key}: {cells:?}");
            let example = cells[2].trim_matches('`');
            let mut problems = crate::syntax::diagnostic::Problems::default();
            let root = tree::value(&yaml::compose(example, &mut problems).unwrap());
            let members = root.as_object().unwrap();
            assert_eq!(members.keys().collect::<Vec<_>>(), [key.as_str()], "{heading} {key}: {example}");
            let mut property = properties.get(&key).unwrap().as_object().unwrap().clone();
            property.insert("$defs", schema.get("$defs").unwrap().clone());
            let misfits = Schema::new(&Value::Object(property)).unwrap().check(members.get(&key).unwrap());
            assert!(misfits.is_empty(), "{heading} {key}: {example}: {misfits:?}");
        }
    }
}

/// The fenced examples of a page. Examples that begin with `# PATH` are files that other examples use.
fn examples(page: &str) -> (Vec<String>, BTreeMap<String, String>) {
    let mut flows = Vec::new();
    let mut files = BTreeMap::new();
    for block in page.split("```yaml\n").skip(1) {
        let text = block.split_once("\n```").unwrap().0;
        match text.strip_prefix("# ").and_then(|named| named.split_once('\n')) {
            Some((path, _)) => drop(files.insert(path.to_owned(), format!("{text}\n"))),
            None => flows.push(format!("{text}\n")),
        }
    }
    (flows, files)
}

#[test]
fn every_example_loads() {
    for (page, least) in [(MANUAL, 6), (PARALLEL, 1)] {
        let (flows, files) = examples(page);
        assert!(flows.len() >= least, "the examples have moved");
        let all = flows.iter().chain(files.values());
        for flow in all {
            let loaded = load_with("flow.yaml", flow, &files);
            assert!(loaded.is_ok(), "{flow}\n{}", loaded.unwrap_err().render(Colour::Never));
            assert_eq!(super::tests::misfits(flow), Vec::<String>::new(), "{flow}");
        }
        let named = flows.iter().flat_map(|flow| load_with("flow.yaml", flow, &files).unwrap().parts);
        let named: BTreeMap<String, String> = named.collect();
        assert_eq!(named, files, "a file that no example names");
    }
}

/// Collects every object below `value` that is the value of a member `properties`, with the path to it.
fn described<'v>(value: &'v Value, way: &str, into: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter() {
                let way = format!("{way}/{name}");
                if way.ends_with("/properties") && !is_condition(&way) {
                    let properties = member.as_object().unwrap();
                    into.extend(
                        properties.iter().map(|(name, property)| (format!("{way}/{name}"), property)),
                    );
                }
                described(member, &way, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| described(item, way, into)),
        _ => {}
    }
}

/// True for schemas that only restrict keys which are described elsewhere.
fn is_condition(way: &str) -> bool {
    ["/if/", "/then/", "/else/", "/dependentSchemas/", "/schema/"].iter().any(|part| way.contains(part))
}

#[test]
fn the_schema_describes_every_key() {
    let schema = schema();
    let mut found = Vec::new();
    described(&schema, "", &mut found);
    assert!(found.len() > 60, "{}", found.len());
    for (way, property) in found {
        let referred =
            property.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        let definition = referred.and_then(|name| schema.get("$defs")?.get(name));
        let description = property.get("description").or_else(|| definition?.get("description"));
        assert!(
            description.and_then(Value::as_str).is_some_and(|description| description.len() > 8),
            "{way} has no description"
        );
    }
}

/// The rows of the expression tables: the source, and the inserted value.
fn expressions(page: &str) -> Vec<(String, String)> {
    let is_row = |line: &&str| line.starts_with("| `");
    let cell = |cell: &str| cell.trim().trim_matches('`').replace("\\|", "|");
    let mut rows = Vec::new();
    for table in page.split("| expression | value |\n|---|---|\n").skip(1) {
        for line in table.lines().take_while(is_row) {
            let line = line.trim_start_matches('|').trim_end_matches('|');
            let (expression, value) = line.rsplit_once(" |").unwrap();
            rows.push((cell(expression), cell(value)));
        }
    }
    rows
}

#[test]
fn every_expression_of_the_manual_has_the_value_that_it_says() {
    let values = EXPRESSIONS.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    let values = Value::parse_str(values).unwrap();
    let scope = envoi_kernel::expression::Scope::new(values.as_object().unwrap());
    let rows = expressions(EXPRESSIONS);
    assert!(rows.len() > 60, "the tables have moved: {rows:?}");
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(expression, value)| {
            let found = scope.render(&format!("${{{{ {expression} }}}}"));
            (found.as_deref() != Ok(value))
                .then(|| format!("{expression}: {found:?}, and the page says {value:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_manual_lists_every_filter_and_test_that_there_is() {
    use envoi_kernel::expression::{
        filter_names,
        names::{Kind, names},
        test_names,
    };
    let mut listed = (BTreeSet::new(), BTreeSet::new());
    for (expression, _) in expressions(EXPRESSIONS) {
        for found in names(&expression) {
            match found.kind {
                Kind::Filter => listed.0.insert(found.name),
                Kind::Test => listed.1.insert(found.name),
                Kind::Path { .. } => false,
            };
        }
        // `select('odd')` also names a test.
        let named = expression.match_indices("select('").map(|(at, before)| &expression[at + before.len()..]);
        listed.1.extend(named.filter_map(|rest| rest.split('\'').next()).map(str::to_owned));
    }
    let all = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(listed, (all(filter_names()), all(test_names())));
}

#[test]
fn the_manual_names_the_kinds_of_steps_that_are_not_supported_yet() {
    let section = MANUAL.split_once("\n## Not yet supported\n").unwrap().1;
    let kinds = section.split_once(": ").unwrap().1.trim().trim_end_matches('.');
    let named: Vec<&str> = kinds.split(", ").map(|kind| kind.trim_matches('`')).collect();
    assert_eq!(named, crate::syntax::keys::STEP.later);
}
