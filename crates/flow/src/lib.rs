//! The flow file: YAML with diagnostics to the kernel's checked flow.

#![cfg_attr(not(test), expect(dead_code, reason = "wip"))]
pub mod diagnostic;
mod suggestion;
mod yaml;
