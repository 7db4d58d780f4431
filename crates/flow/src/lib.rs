//! The flow file: YAML with diagnostics to the kernel's checked flow.
