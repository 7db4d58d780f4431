//! What the language says beyond one step after another: what loads, what does not, and in which words.

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
