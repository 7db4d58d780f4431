//! The account whose limits hold for a step with an agent program: that of the store, or one of its own.
//!
//! A flow can bring another login than that of the store, by variables of the program, or another program, by `PATH`. A limit that this
//! login reports does not concern the store's account, and closes only its own account. The login itself is not known: its account is named
//! for the variable or program that brings it, and no value is read. Owns that name.

use crate::{
    decide::draft::Draft,
    model::{
        flow::{Flow, Step, Template},
        throttle,
    },
};

/// How an expression begins in a template.
const EXPRESSION: &str = "${{";

/// The account whose limits hold for a program that uses `account`, in this step of `flow`; `None`: that account.
pub(crate) fn limits_of(
    draft: &Draft<'_>,
    flow: &Flow,
    step: &Step,
    (account, login_variables): (&str, &[&str]),
) -> Option<String> {
    let whole = draft.flow;
    let is_login = |name: &str| login_variables.contains(&name);
    let brings = |env: &[(String, Template)]| env.iter().any(|(name, _)| is_login(name));
    let varies = |env: &[(String, Template)]| {
        env.iter().any(|(name, value)| is_login(name) && value.0.contains(EXPRESSION))
    };
    let of_flow = |flow: &Flow| format!("{account} of flow {}", flow.id);
    let layers = [&step.env, &flow.env, &whole.env];
    if layers.iter().any(|env| varies(env)) {
        // Another run may get another login.
        return Some(throttle::of_run(account, draft.run().ok()?));
    }
    if brings(&step.env) {
        return Some(format!("{account} of step {} in flow {}", step.id, flow.id));
    }
    if brings(&flow.env) {
        return Some(of_flow(flow));
    }
    // The contents of a file of variables are not known here: it may hold a login.
    let is_given = whole.secrets.iter().any(|secret| is_login(&secret.name))
        || (!login_variables.is_empty() && !whole.env_files.is_empty());
    (is_given || brings(&whole.env)).then(|| of_flow(whole))
}
