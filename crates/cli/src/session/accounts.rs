//! The accounts of the configuration, with their secrets from this environment.

use crate::process::environment;
use envoi_engine::{AccountError, AgentAccount, AgentAccounts, secret_value};
use envoi_flow::accounts::Account;
use envoi_kernel::flow::SecretSource;
use std::{collections::BTreeMap, path::Path};

/// The accounts that steps may name.
pub(crate) fn usable(configured: &BTreeMap<String, Account>, folder: &Path) -> AgentAccounts {
    let accounts = configured.iter().map(|(name, account)| (name.clone(), of(name, account, folder)));
    AgentAccounts::new(accounts.collect())
}

/// Reads one account.
///
/// # Errors
/// One of its secrets is not available.
pub(crate) fn of(name: &str, account: &Account, folder: &Path) -> Result<AgentAccount, AccountError> {
    let secret = |secret: &envoi_kernel::flow::Secret| {
        let value = secret_value(&secret.source, folder, environment::variable);
        value.map(|value| (secret.name.clone(), value)).map_err(|source| AccountError::Secret {
            name: name.to_owned(),
            secret: secret.name.clone(),
            source,
        })
    };
    Ok(AgentAccount {
        preset: account.preset.name().to_owned(),
        program: account.program.clone(),
        model: account.model.clone(),
        may: account.may,
        args: account.args.clone(),
        env: account.env.clone(),
        secrets: account.secrets.iter().map(secret).collect::<Result<_, _>>()?,
    })
}

/// The environment variables that hold the secrets.
pub(crate) fn variables(configured: &BTreeMap<String, Account>) -> impl Iterator<Item = String> {
    let secrets = configured.values().flat_map(|account| &account.secrets);
    secrets.filter_map(|secret| match &secret.source {
        SecretSource::Env(name) => Some(name.clone()),
        SecretSource::File(_) => None,
    })
}
