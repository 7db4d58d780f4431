//! `flow:` of a step as the kernel obeys it.

use crate::model::{
    flow::{Expression, Flow, Template},
    ids::FlowId,
};
use envoi_contract::json::{Object, Value};

/// Another flow that is run as a part of this one.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerPlan {
    /// Which; it is among the run's [`crate::model::flow::Flow::flows`].
    pub flow: FlowId,
    /// Its inputs by name, in the order of the file: what it is not given here has its default.
    pub inputs: Vec<(String, InnerInput)>,
    /// What of it is the step's `data`, evaluated among its own steps when it is complete.
    pub outputs: Vec<(String, Expression)>,
}

/// Checks the inputs of a flow against its declarations. The kernel knows no JSON Schema; who builds the flow gives it this. It
/// has to be pure.
#[derive(Debug, Clone, Copy)]
pub struct InputCheck(pub fn(&Flow, &Object) -> Result<(), InputMisfit>);

/// What of the inputs does not fit the declarations of the flow, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputMisfit(pub String);

impl Default for InputCheck {
    fn default() -> Self {
        Self(|_, _| Ok(()))
    }
}

/// Any two are alike: a flow is known by what it says.
impl PartialEq for InputCheck {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// One input of an inner flow.
#[derive(Debug, Clone, PartialEq)]
pub enum InnerInput {
    /// A value as it is.
    Value(Value),
    /// A string that is one expression: its value, of whatever type.
    Expression(Expression),
    /// A string with expressions in it: text.
    Template(Template),
}
