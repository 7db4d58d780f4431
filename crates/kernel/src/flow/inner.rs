//! `flow:` of a step as the kernel obeys it.

use crate::{
    flow::{Expression, Template},
    ids::FlowId,
};
use envoi_contract::json::Value;

/// Another flow that is run as a part of this one.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerPlan {
    /// Which; it is among the run's [`crate::flow::Flow::flows`].
    pub flow: FlowId,
    /// Its inputs by name, in the order of the file: what it is not given here has its default.
    pub inputs: Vec<(String, InnerInput)>,
    /// What of it is the step's `data`, evaluated among its own steps when it is complete.
    pub outputs: Vec<(String, Expression)>,
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
