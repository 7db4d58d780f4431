//! The largest length of a `for_each` list.
//!
//! A literal list has a fixed length. A list from an input of the run is bounded by `maxItems` in the input's schema,
//! because inputs are checked against it. A default does not bound it, because a run may get another list. For inputs
//! and outputs of inner flows, the source of their values is followed. The kernel rejects any list with more than
//! [`MAX_ITEMS`] items.

use super::whole::Whole;
use envoi_contract::json::Value;
use envoi_kernel::flow::{Flow, InnerInput, Step, StepKind};

/// The largest number of items of one step. The kernel rejects a longer list.
pub(super) const MAX_ITEMS: u64 = 1000;

/// The largest number of references that are followed. The limit is needed because in a loop a step may read its own
/// result.
const MAX_DEPTH: usize = 16;

/// The largest length of a list; `None` if the files do not bound it.
pub(super) fn of_step(whole: &Whole<'_>, part: usize, step: &Step) -> Option<u64> {
    let each = step.for_each.as_ref()?;
    if let Some(items) = each.items.written_out() {
        return count(&items);
    }
    of_expression(whole, part, &each.items.0, 0).map(|most| most.min(MAX_ITEMS))
}

fn count(items: &[Value]) -> Option<u64> {
    u64::try_from(items.len()).ok()
}

/// The names in `inputs.config.files`; `None` for any other expression.
fn names(source: &str) -> Option<Vec<&str>> {
    let is_name = |name: &&str| {
        let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        first && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let names: Vec<&str> = source.trim().split('.').collect();
    names.iter().all(is_name).then_some(names)
}

fn of_expression(whole: &Whole<'_>, part: usize, source: &str, depth: usize) -> Option<u64> {
    if depth >= MAX_DEPTH {
        return None;
    }
    let names = names(source)?;
    let flow = whole.flow(part)?;
    match names.as_slice() {
        ["inputs", input, rest @ ..] if part == 0 => {
            let declared = flow.inputs.iter().find(|declared| declared.name == **input)?;
            of_schema(&declared.schema, rest)
        }
        ["inputs", input, rest @ ..] => of_input(whole, part, input, rest, depth),
        ["steps", id, "data", rest @ ..] => of_data(whole, part, flow, id, rest, depth),
        _ => None,
    }
}

/// For an input of an inner flow: the longest list that any step gives it.
fn of_input(whole: &Whole<'_>, part: usize, input: &str, rest: &[&str], depth: usize) -> Option<u64> {
    let declared = whole.flow(part)?.inputs.iter().find(|declared| declared.name == input)?;
    let default = || declared.default.as_ref().map_or(0, |value| within(value, rest));
    let mut longest = 0;
    for (caller, step, by_hint) in whole.callers(part) {
        let given = step.inner().filter(|_| !by_hint);
        let given = given.and_then(|plan| plan.inputs.iter().find(|(name, _)| name == input));
        let most = match given.map(|(_, value)| value) {
            None => default(),
            Some(InnerInput::Value(value)) => within(value, rest),
            Some(InnerInput::Template(_)) => 0,
            Some(InnerInput::Expression(source)) => {
                let source: Vec<&str> =
                    core::iter::once(source.0.trim()).chain(rest.iter().copied()).collect();
                of_expression(whole, caller, &source.join("."), depth.saturating_add(1))?
            }
        };
        longest = most.max(longest);
    }
    Some(longest)
}

/// For the data of a step: the number of its items, or the length of what its flow returns.
fn of_data(
    whole: &Whole<'_>,
    part: usize,
    flow: &Flow,
    id: &str,
    rest: &[&str],
    depth: usize,
) -> Option<u64> {
    let step = flow.steps.iter().find(|step| step.id.as_str() == id)?;
    match (&step.for_each, &step.kind, rest) {
        (Some(each), _, []) => match each.items.written_out() {
            Some(items) => count(&items),
            None => of_expression(whole, part, &each.items.0, depth.saturating_add(1)),
        },
        (None, StepKind::Flow(plan), [name, rest @ ..]) => {
            let (_, source) = plan.outputs.iter().find(|(output, _)| output == name)?;
            let source: Vec<&str> = core::iter::once(source.0.trim()).chain(rest.iter().copied()).collect();
            let inner = whole.part_of(&plan.flow)?;
            of_expression(whole, inner, &source.join("."), depth.saturating_add(1))
        }
        _ => None,
    }
}

/// The length of the list at this path of names. The kernel rejects a value that is not a list.
fn within(value: &Value, names: &[&str]) -> u64 {
    let found = names.iter().try_fold(value, |value, name| value.get(name));
    found.and_then(Value::as_array).and_then(count).unwrap_or(0)
}

/// The `maxItems` in a schema for the list at this path of names.
fn of_schema(schema: &Value, names: &[&str]) -> Option<u64> {
    let mut schema = schema;
    for name in names {
        schema = schema.get("properties")?.get(name)?;
    }
    schema.get("maxItems").and_then(Value::as_u53)
}
