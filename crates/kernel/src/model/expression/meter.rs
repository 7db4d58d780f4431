//! Limits the memory and work of the expressions of one step, and sums them up for one decision.
//!
//! Owns the meter: each operator, filter and test that can enlarge a value charges it before it begins. The
//! fuel of the expression language counts instructions, and a single instruction could use all memory of the
//! machine.

use super::ordered::OrderedMap;
use minijinja::{Error, ErrorKind, Value, value::ValueKind};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// The limit for all expressions of one step, in bytes: eight times the largest list that a `for_each`
/// accepts. A value in a list or a mapping counts [`ITEM_BYTES`] in addition to its text. A decision ends
/// after it has used the same amount.
pub(super) const MAX_MADE_BYTES: u64 = 32 * 1024 * 1024;

/// Charge for a value in memory and its place in a list.
pub(super) const ITEM_BYTES: u64 = 32;

/// Charge for a call of a filter, a test or an operator.
pub(super) const CALL_BYTES: u64 = 128;

/// Charge for parsing an expression and setting up all filters and tests.
pub(super) const EXPRESSION_BYTES: u64 = 16 * 1024;

/// Bytes charged by the expressions of one decision, including the values that they see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent(Arc<AtomicU64>);

impl Spent {
    /// Whether it has reached the limit of one step.
    pub(crate) fn is_much(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= MAX_MADE_BYTES
    }

    pub(super) fn add(&self, bytes: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(bytes), Ordering::Relaxed);
    }
}

/// The meter of one step.
#[derive(Debug, Clone)]
pub(super) struct Meter(Arc<Amounts>);

#[derive(Debug)]
struct Amounts {
    left: AtomicU64,
    is_exceeded: AtomicBool,
    spent: Spent,
}

impl Meter {
    pub(super) fn new(spent: Spent) -> Self {
        Self(Arc::new(Amounts {
            left: AtomicU64::new(MAX_MADE_BYTES),
            is_exceeded: AtomicBool::new(false),
            spent,
        }))
    }

    /// Whether an evaluation exceeded the limit. Then no further evaluation is allowed.
    pub(super) fn is_exceeded(&self) -> bool {
        self.0.is_exceeded.load(Ordering::Relaxed)
    }

    /// Charges bytes that are about to be made.
    pub(super) fn take(&self, bytes: u64) -> Result<(), Error> {
        match self.left().checked_sub(bytes) {
            Some(left) => {
                self.0.left.store(left, Ordering::Relaxed);
                self.0.spent.add(bytes);
                Ok(())
            }
            None => Err(self.exceeded()),
        }
    }

    /// Charges a value with all its contents, and returns its size.
    pub(super) fn take_whole(&self, value: &Value) -> Result<u64, Error> {
        let bytes = self.measure(value, 0)?;
        self.take(bytes)?;
        Ok(bytes)
    }

    /// Charges the places of a list or a mapping, and returns their number. The contents of the items are not
    /// copied.
    pub(super) fn take_places(&self, value: &Value) -> Result<u64, Error> {
        let count = match value.kind() {
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => {
                let most = self.left().checked_div(ITEM_BYTES).unwrap_or(0);
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let count = value.try_iter()?.take(most.saturating_add(1)).count();
                u64::try_from(count).unwrap_or(u64::MAX)
            }
            _ => return self.take_whole(value).map(|_| 1),
        };
        self.take(count.saturating_mul(ITEM_BYTES))?;
        Ok(count)
    }

    /// The size of a value; an error as soon as the size plus `before` exceeds the remaining amount.
    fn measure(&self, value: &Value, before: u64) -> Result<u64, Error> {
        let mut bytes = before.saturating_add(ITEM_BYTES);
        match value.kind() {
            ValueKind::String => bytes = bytes.saturating_add(length(value.as_str().unwrap_or(""))),
            ValueKind::Number => finite(value)?,
            ValueKind::Seq | ValueKind::Iterable => {
                for item in value.try_iter()?.checked() {
                    bytes = self.measure(&item?, bytes)?;
                }
            }
            ValueKind::Map => match value.downcast_object_ref::<OrderedMap>() {
                Some(map) => {
                    for (name, member) in map.members() {
                        bytes = self.measure(member, bytes.saturating_add(length(name)))?;
                    }
                }
                None => {
                    for key in value.try_iter()? {
                        bytes = self.measure(&key, bytes)?;
                        bytes = self.measure(&value.get_item(&key)?, bytes)?;
                    }
                }
            },
            _ => {}
        }
        match bytes <= self.left() {
            true => Ok(bytes),
            false => Err(self.exceeded()),
        }
    }

    fn left(&self) -> u64 {
        self.0.left.load(Ordering::Relaxed)
    }

    fn exceeded(&self) -> Error {
        self.0.is_exceeded.store(true, Ordering::Relaxed);
        // Finding that it is too much may have cost all of the remaining amount.
        self.0.spent.add(self.0.left.swap(0, Ordering::Relaxed));
        let message = format!(
            "with it, the expressions of this step make or read more than {MAX_MADE_BYTES} bytes of values"
        );
        Error::new(ErrorKind::InvalidOperation, message)
    }
}

/// Fails unless JSON can represent the number.
pub(super) fn finite(value: &Value) -> Result<(), Error> {
    let is_float = !value.is_integer() && value.is_number();
    match is_float.then(|| f64::try_from(value.clone()).ok()).flatten() {
        Some(float) if !float.is_finite() => {
            Err(Error::new(ErrorKind::InvalidOperation, "a number in it is too large, or is none"))
        }
        _ => Ok(()),
    }
}

pub(super) fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
