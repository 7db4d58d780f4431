//! Tests the language beyond simple sequences: which flows load, and the messages for those that do not.

mod a2a;
mod agent;
mod branches;
mod budget;
mod comparisons;
mod conditions;
mod environment;
mod for_each;
mod goals;
mod last_visit;
mod model;
mod needs;
mod nested;
mod nested_mistakes;
mod outputs;
mod shell;
mod told;
mod verify;
