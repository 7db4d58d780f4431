//! What the language says beyond one step after another: what loads, what does not, and in which words.

mod a2a;
mod branches;
mod budget;
mod conditions;
mod for_each;
mod goals;
mod needs;
mod nested;
mod nested_mistakes;
mod outputs;
mod shell;
mod told;
mod verify;
