//! `flow:` of a step, as the kernel executes it.

use crate::model::{
    flow::{Expression, Flow, Template},
    ids::FlowId,
};
use envoi_contract::json::{Object, Value};

/// Another flow that is run as a part of this one.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerPlan {
    /// The flow; one of the run's [`crate::model::flow::Flow::flows`].
    pub flow: FlowId,
    /// Its inputs by name, in the order of the file. An input that is missing here gets its default.
    pub inputs: Vec<(String, InnerInput)>,
    /// Expressions for the step's `data`, evaluated among the inner flow's steps when it is complete.
    pub outputs: Vec<(String, Expression)>,
}

/// Checks the inputs of a flow against its declarations. The kernel does not know JSON Schema, so the builder
/// of the flow passes this function. It must be pure.
#[derive(Debug, Clone, Copy)]
pub struct InputCheck(pub fn(&Flow, &Object) -> Result<(), InputMisfit>);

/// The mismatch between the inputs and the declarations of the flow, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputMisfit(pub String);

impl Default for InputCheck {
    fn default() -> Self {
        Self(|_, _| Ok(()))
    }
}

/// All values compare as equal, because a flow is identified by its text.
impl PartialEq for InputCheck {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// An input of an inner flow.
#[derive(Debug, Clone, PartialEq)]
pub enum InnerInput {
    /// A literal value.
    Value(Value),
    /// A string that consists of one expression: its value, of any type.
    Expression(Expression),
    /// A string with expressions in it: a text.
    Template(Template),
}
