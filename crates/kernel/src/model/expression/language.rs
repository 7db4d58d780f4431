//! The operators, filters and tests of the expression language, each with its cost.
//!
//! Owns the list of those that exist (`docs/expressions.md` has the same list). Ensures that none makes a
//! value before the [`Meter`] has allowed it.

use super::{
    compare,
    meter::{CALL_BYTES, ITEM_BYTES, Meter, length},
    number, sorting,
};
use core::cmp::Ordering;
use minijinja::{
    Environment, Error, ErrorKind, State, UndefinedBehavior, Value, filters, tests,
    value::{Rest, ValueKind, ValueOrKwargs},
};
use std::collections::BTreeMap;

/// Maximum number of instructions of one evaluation. The work within an instruction is charged to the meter.
const FUEL: u64 = 200_000;

/// The amount that a filter or a test is charged before it runs.
#[derive(Clone, Copy)]
enum Cost {
    /// Nothing: it reads one value without looking into it.
    Nothing,
    /// The places of the list, but not the contents of its items.
    Places,
    /// Everything in its arguments.
    Whole,
    /// The arguments after the value: a comparison reads no more of either side.
    Arguments,
    /// The amount that this function takes.
    Of(fn(&Meter, &[Value]) -> Result<(), Error>),
}

impl Cost {
    fn pay(self, meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
        let whole = |values: &[Value]| values.iter().try_for_each(|value| meter.take_whole(value).map(drop));
        match self {
            Self::Nothing => Ok(()),
            Self::Places => arguments.first().map_or(Ok(()), |list| meter.take_places(list).map(drop)),
            Self::Whole => whole(arguments),
            Self::Arguments => whole(arguments.get(1..).unwrap_or_default()),
            Self::Of(cost) => cost(meter, arguments),
        }
    }
}

type Row = (&'static str, Value, Cost);

fn filters() -> Vec<Row> {
    let of = Value::from_function::<fn(&Value) -> Result<usize, Error>, _, _>(filters::length);
    vec![
        ("abs", Value::from_function(filters::abs), Cost::Nothing),
        ("bool", Value::from_function(filters::bool), Cost::Nothing),
        ("capitalize", Value::from_function(filters::capitalize), Cost::Whole),
        ("count", of.clone(), Cost::Places),
        ("d", Value::from_function(filters::default), Cost::Nothing),
        ("default", Value::from_function(filters::default), Cost::Nothing),
        ("dictsort", Value::from_function(sorting::dictsort), Cost::Whole),
        ("first", Value::from_function(filters::first), Cost::Nothing),
        ("float", Value::from_function(filters::float), Cost::Whole),
        ("int", Value::from_function(filters::int), Cost::Whole),
        ("items", Value::from_function(filters::items), Cost::Places),
        ("join", Value::from_function(filters::join), Cost::Of(join)),
        ("last", Value::from_function(filters::last), Cost::Places),
        ("length", of, Cost::Places),
        ("lines", Value::from_function(filters::lines), Cost::Of(lines)),
        ("list", Value::from_function(filters::list), Cost::Of(list)),
        ("lower", Value::from_function(filters::lower), Cost::Whole),
        ("map", Value::from_function(filters::map), Cost::Places),
        ("max", Value::from_function(sorting::max), Cost::Whole),
        ("min", Value::from_function(sorting::min), Cost::Whole),
        ("reject", Value::from_function(filters::reject), Cost::Places),
        ("rejectattr", Value::from_function(filters::rejectattr), Cost::Places),
        ("replace", Value::from_function(filters::replace), Cost::Of(replace)),
        ("reverse", Value::from_function(filters::reverse), Cost::Places),
        ("round", Value::from_function(filters::round), Cost::Nothing),
        ("select", Value::from_function(filters::select), Cost::Places),
        ("selectattr", Value::from_function(filters::selectattr), Cost::Places),
        ("sort", Value::from_function(sorting::sort), Cost::Whole),
        ("split", Value::from_function(filters::split), Cost::Of(split)),
        ("string", Value::from_function(filters::string), Cost::Whole),
        ("sum", Value::from_function(filters::sum), Cost::Of(sum)),
        ("title", Value::from_function(filters::title), Cost::Of(letters)),
        ("trim", Value::from_function(filters::trim), Cost::Of(trim)),
        ("unique", Value::from_function(sorting::unique), Cost::Of(unique)),
        ("upper", Value::from_function(filters::upper), Cost::Whole),
    ]
}

fn tests() -> Vec<Row> {
    vec![
        ("boolean", Value::from_function(tests::is_boolean), Cost::Nothing),
        ("defined", Value::from_function(tests::is_defined), Cost::Nothing),
        ("divisibleby", Value::from_function(tests::is_divisibleby), Cost::Nothing),
        ("endingwith", Value::from_function(tests::is_endingwith), Cost::Whole),
        ("eq", compared(Ordering::is_eq), Cost::Arguments),
        ("even", Value::from_function(tests::is_even), Cost::Nothing),
        ("float", Value::from_function(is_float), Cost::Nothing),
        ("ge", compared(Ordering::is_ge), Cost::Arguments),
        ("gt", compared(Ordering::is_gt), Cost::Arguments),
        ("in", Value::from_function(is_in), Cost::Arguments),
        ("integer", Value::from_function(number::is_integer), Cost::Nothing),
        ("le", compared(Ordering::is_le), Cost::Arguments),
        ("lt", compared(Ordering::is_lt), Cost::Arguments),
        ("mapping", Value::from_function(tests::is_mapping), Cost::Nothing),
        ("ne", compared(Ordering::is_ne), Cost::Arguments),
        ("none", Value::from_function(tests::is_none), Cost::Nothing),
        ("number", Value::from_function(number::is_number), Cost::Nothing),
        ("odd", Value::from_function(tests::is_odd), Cost::Nothing),
        ("sequence", Value::from_function(tests::is_sequence), Cost::Nothing),
        ("startingwith", Value::from_function(tests::is_startingwith), Cost::Whole),
        ("string", Value::from_function(tests::is_string), Cost::Nothing),
        ("undefined", Value::from_function(tests::is_undefined), Cost::Nothing),
    ]
}

fn compared(holds: fn(Ordering) -> bool) -> Value {
    Value::from_function(move |value: &Value, other: &Value| holds(compare::order(value, other)))
}

fn is_in(value: &Value, container: &Value) -> Result<bool, Error> {
    match container.is_undefined() {
        true => Err(Error::from(ErrorKind::UndefinedError)),
        false => Ok(compare::contains(container, value)),
    }
}

fn is_float(value: &Value) -> bool {
    number::is_number(value) && !number::is_integer(value)
}

/// The names of all filters.
#[must_use]
pub fn filter_names() -> Vec<&'static str> {
    filters().into_iter().map(|(name, ..)| name).collect()
}

/// The names of all tests.
#[must_use]
pub fn test_names() -> Vec<&'static str> {
    tests().into_iter().map(|(name, ..)| name).collect()
}

/// The numbers from `lower` to `upper`, as the language's own function. All are charged before the first is
/// made.
fn range(meter: &Meter, lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Vec<i64>, Error> {
    let (lower, upper) = upper.map_or((0, lower), |upper| (lower, upper));
    let step = step.unwrap_or(1);
    let distance = if step > 0 { upper.checked_sub(lower) } else { lower.checked_sub(upper) };
    let count = match (distance, step.unsigned_abs()) {
        (_, 0) => return Err(Error::new(ErrorKind::InvalidOperation, "the step of `range` is 0")),
        (None, _) => u64::MAX,
        (Some(distance), by) => u64::try_from(distance).unwrap_or(0).div_ceil(by),
    };
    meter.take(count.saturating_mul(ITEM_BYTES))?;
    let next = |number: &i64| number.checked_add(step);
    Ok(std::iter::successors(Some(lower), next).take(usize::try_from(count).unwrap_or(0)).collect())
}

/// The environment of expressions, charged to `meter`: strict undefined values, fuel, no templates, no
/// loaders, and one function, `range`.
pub(super) fn environment(meter: &Meter) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    for (name, function, cost) in filters() {
        environment.add_filter(name, paid(meter, function, cost, CALCULATES.contains(&name)));
    }
    for (name, function, cost) in tests() {
        environment.add_test(name, paid(meter, function, cost, CALCULATING_TESTS.contains(&name)));
    }
    let paying = meter.clone();
    environment.add_function("range", move |lower: i64, upper: Option<i64>, step: Option<i64>| {
        range(&paying, lower, upper, step)
    });
    let looked_through = as_it_is(meter, |meter, value| meter.take_whole(value).map(drop));
    environment.add_function(super::guard::LOOKED_THROUGH, move |arguments: Rest<ValueOrKwargs>| {
        compare::side(looked_through(arguments)?)
    });
    let compared = as_it_is(meter, |_, _| Ok(()));
    environment.add_function(super::guard::COMPARED, move |arguments: Rest<ValueOrKwargs>| {
        compare::side(compared(arguments)?)
    });
    let as_number = as_it_is(meter, |_, _| Ok(()));
    environment.add_function(super::guard::NUMBER, move |arguments: Rest<ValueOrKwargs>| {
        number::taken(as_number(arguments)?)
    });
    environment.add_function(super::guard::READ_OF, as_it_is(meter, text_alone));
    for (name, source, cost) in OPERATORS {
        let meter = meter.clone();
        environment.add_function(
            *name,
            move |state: &mut State<'_, '_>, Rest(operands): Rest<Value>| -> Result<Value, Error> {
                meter.take(CALL_BYTES)?;
                cost(&meter, &operands)?;
                let operands = match *name {
                    // For lists and texts, the result is a longer one with the items in their written form.
                    super::guard::PLUS | super::guard::TIMES => {
                        let operand = |operand: Value| match operand.kind() {
                            ValueKind::Number | ValueKind::Plain => number::taken(operand),
                            _ => Ok(operand),
                        };
                        operands.into_iter().map(operand).collect::<Result<Vec<_>, Error>>()?
                    }
                    _ => operands,
                };
                let named: BTreeMap<&str, Value> = ["a", "b", "c", "d"].into_iter().zip(operands).collect();
                state.env().compile_expression(source)?.eval(Value::from(named))
            },
        );
    }
    environment
}

/// Filters that calculate.
const CALCULATES: [&str; 5] = ["abs", "float", "int", "round", "sum"];

/// Tests that calculate, or that read the text of a number.
const CALCULATING_TESTS: [&str; 5] = ["divisibleby", "endingwith", "even", "odd", "startingwith"];

fn paid(
    meter: &Meter,
    function: Value,
    cost: Cost,
    calculates: bool,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + use<> {
    let meter = meter.clone();
    move |state, arguments| {
        let arguments = arguments.into_values();
        meter.take(CALL_BYTES)?;
        cost.pay(&meter, &arguments)?;
        let arguments = match calculates {
            true => arguments.into_iter().map(number::taken).collect::<Result<Vec<_>, Error>>()?,
            false => arguments,
        };
        function.call(state, &arguments)
    }
}

/// Returns the given value, even an undefined one, after it is charged.
fn as_it_is(
    meter: &Meter,
    cost: fn(&Meter, &Value) -> Result<(), Error>,
) -> impl Fn(Rest<ValueOrKwargs>) -> Result<Value, Error> + use<> {
    let meter = meter.clone();
    move |arguments| {
        let value = arguments.into_values().into_iter().next().unwrap_or_default();
        cost(&meter, &value)?;
        Ok(value)
    }
}

/// A character of a text is found by counting from its start.
fn text_alone(meter: &Meter, value: &Value) -> Result<(), Error> {
    value.as_str().map_or(Ok(()), |text| meter.take(length(text)))
}

/// An operator: the name of its function, which no source can contain; its symbol; its cost.
type Operator = (&'static str, &'static str, fn(&Meter, &[Value]) -> Result<(), Error>);

const OPERATORS: &[Operator] = &[
    (super::guard::PLUS, "a + b", whole),
    (super::guard::TIMES, "a * b", times),
    (super::guard::TILDE, "a ~ b", whole),
    (super::guard::PART, "a[b:c:d]", whole),
];

fn whole(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    Cost::Whole.pay(meter, arguments)
}

/// Repeats a text or a list this many times.
fn times(meter: &Meter, operands: &[Value]) -> Result<(), Error> {
    let [left, right] = operands else { return Ok(()) };
    let is_repeated =
        |value: &Value| matches!(value.kind(), ValueKind::String | ValueKind::Seq | ValueKind::Iterable);
    for (value, count) in [(left, right), (right, left)] {
        if is_repeated(value) {
            // Each repetition copies the contents, but not the place of the list itself.
            let bytes = meter.take_whole(value)?.saturating_sub(ITEM_BYTES);
            // A value that is not a count makes the operator itself fail.
            let count = u64::try_from(count.clone()).unwrap_or(0);
            return meter.take(bytes.saturating_mul(count));
        }
    }
    Ok(())
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        None => String::new(),
    }
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// The separator counts once per item.
fn join(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    let Some(list) = arguments.first() else { return Ok(()) };
    // The separator may also be a named argument; then the sum includes it.
    let words = arguments.iter().skip(1).map(|word| length(&text(Some(word)))).fold(0, u64::saturating_add);
    let items = match list.kind() {
        ValueKind::String => count(text(Some(list)).chars().count()),
        _ => meter.take_places(list)?,
    };
    meter.take(words.saturating_mul(items))
}

/// The replacement counts once per occurrence. Searching is charged too, however short the text is.
fn replace(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    let [value, from, to, ..] = arguments else { return Ok(()) };
    let times = count(text(Some(value)).matches(&text(Some(from))).count());
    meter.take(times.saturating_mul(length(&text(Some(to))).saturating_add(ITEM_BYTES)))
}

fn split(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    let value = text(arguments.first());
    let parts = match arguments.get(1).filter(|separator| !separator.is_none()) {
        Some(separator) => value.matches(&text(Some(separator))).count().saturating_add(1),
        None => value.split_whitespace().count(),
    };
    meter.take(count(parts).saturating_mul(ITEM_BYTES))
}

fn lines(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    meter.take(count(text(arguments.first()).lines().count()).saturating_mul(ITEM_BYTES))
}

/// Each character of a text becomes an item.
fn list(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    match arguments.first().and_then(Value::as_str) {
        Some(text) => meter.take(count(text.chars().count()).saturating_mul(ITEM_BYTES)),
        None => Cost::Places.pay(meter, arguments),
    }
}

/// Each character is examined separately.
fn letters(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    meter.take(length(&text(arguments.first())).saturating_mul(8))
}

/// Each value is compared with those before it.
fn unique(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    let Some(list) = arguments.first() else { return Ok(()) };
    let items = meter.take_places(list)?;
    meter.take(items.saturating_mul(CALL_BYTES))
}

/// Each character is searched for among those to trim.
fn trim(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    let letters = length(&text(arguments.get(1)));
    meter.take(length(&text(arguments.first())).saturating_mul(letters))
}

/// If the initial value is not a number, each partial sum is a new value.
fn sum(meter: &Meter, arguments: &[Value]) -> Result<(), Error> {
    whole(meter, arguments)?;
    let Some(list) = arguments.first() else { return Ok(()) };
    let begins_with_a_number = arguments.iter().skip(1).all(Value::is_number);
    if arguments.len() > 1 && !begins_with_a_number {
        let bytes = meter.take_whole(list)?;
        let items = meter.take_places(list)?;
        return meter.take(bytes.saturating_mul(items));
    }
    Ok(())
}
