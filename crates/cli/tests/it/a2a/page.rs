//! `docs/a2a.md` shows what really goes over the wire.

use super::served;
use crate::stage::Stage;
use serde_json::Value;
use std::collections::BTreeMap;

/// The fences of the page's last section, in order.
fn fences(kind: &str) -> Vec<String> {
    let page = include_str!("../../../../../docs/a2a.md");
    let (_, section) = page.split_once("## On the wire").unwrap();
    let open = format!("```{kind}\n");
    section.split(&open).skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

/// Whether a text is made anew by each server: an id of ours, a moment, a digest that covers one of these.
fn is_made(text: &str) -> bool {
    let of_ours = ["run_", "ctx_", "int_", "end_", "sha256:"].iter().any(|mark| text.starts_with(mark));
    of_ours || (text.len() == 24 && text.starts_with("20") && text.ends_with('Z'))
}

/// The page's value with the names of this server for those that the page has.
fn renamed(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => names.get(text).unwrap_or(text).as_str().into(),
        Value::Array(values) => values.iter().map(|value| renamed(value, names)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), renamed(value, names))).collect()
        }
        other => other.clone(),
    }
}

/// Learns what this server calls what the page calls otherwise.
fn learn(page: &Value, here: &Value, names: &mut BTreeMap<String, String>) {
    match (page, here) {
        (Value::String(page), Value::String(here)) if is_made(page) && is_made(here) => {
            names.entry(page.clone()).or_insert_with(|| here.clone());
        }
        (Value::Array(page), Value::Array(here)) => {
            page.iter().zip(here).for_each(|(page, here)| learn(page, here, names));
        }
        (Value::Object(page), Value::Object(here)) => {
            for (name, page) in page {
                here.get(name).into_iter().for_each(|here| learn(page, here, names));
            }
        }
        _ => {}
    }
}

#[test]
fn the_page_shows_what_the_server_says() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, &fences("yaml")[0]);
    let told: Vec<Value> = fences("json").iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(told.len(), 8);
    let mut names = BTreeMap::new();
    for pair in told.chunks_exact(2) {
        let asked = renamed(&pair[0], &names);
        let version = if asked["method"].as_str().unwrap().contains('/') { "0.3" } else { "1.0" };
        let headers = [("content-type", "application/json"), ("a2a-version", version)];
        let heard = client.call("POST", "/a2a", &headers, asked.to_string().as_bytes()).json();
        learn(&pair[1], &heard, &mut names);
        assert_eq!(heard, renamed(&pair[1], &names));
    }
}
