//! The accounts of agent programs that the configuration has under a name, as the composition root knows them.

use crate::model::secret_source::SourceError;
use core::fmt;
use envoi_kernel::{
    event::{Command, ProgramCall},
    flow::ProgramPlan,
};
use envoi_preset::{May, Preset};
use std::{collections::BTreeMap, sync::Arc};

/// A login of an agent program.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentAccount {
    /// The program that it is for, as flows name it.
    pub preset: String,
    /// The program to start in its place: a name to find in `PATH`, or an absolute path.
    pub program: Option<String>,
    /// Its model where the step names none.
    pub model: Option<String>,
    /// The most that a step with it may do without asking.
    pub may: Option<May>,
    /// Arguments to put before those of the step.
    pub args: Vec<String>,
    /// Variables of the program; they win over those of the flow.
    pub env: Vec<(String, String)>,
    /// Variables whose values are masked.
    pub secrets: Vec<(String, String)>,
}

/// Its secrets are not shown.
impl fmt::Debug for AgentAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentAccount")
            .field("preset", &self.preset)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// Why a step cannot work with an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The configuration does not have it.
    #[error("`accounts` of config.yaml has no account `{name}`; an engine reads that file when it starts")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// It is of another program.
    #[error("account `{name}` is for `{preset}`, and the step uses `{program}`")]
    OfAnother {
        /// Its name.
        name: String,
        /// Its program.
        preset: String,
        /// That of the step.
        program: String,
    },
    /// The step may do more than the account is for.
    #[error("account `{name}` is for at most `may: {}`, and the step says `may: {}`", most.word(), may.word())]
    MayLess {
        /// Its name.
        name: String,
        /// The most.
        most: May,
        /// The `may` of the step.
        may: May,
    },
    /// An argument of the account would take the questions of the step away.
    #[error(
        "account `{name}` has the argument `{argument}`, which takes the questions away that the step has (`ask`)"
    )]
    TakesQuestions {
        /// Its name.
        name: String,
        /// The argument.
        argument: String,
    },
    /// A secret of the account is not available.
    #[error("account `{name}`: secret `{secret}`: {source}")]
    Secret {
        /// The account.
        name: String,
        /// The variable of the program.
        secret: String,
        /// The error.
        source: SourceError,
    },
    /// The error of the account, which every step that names it gets.
    #[error(transparent)]
    Unusable(Arc<AccountError>),
}

/// By the names that flows use: the account, or why it cannot be used. The default has none.
#[derive(Debug, Clone, Default)]
pub struct AgentAccounts(Arc<BTreeMap<String, Result<AgentAccount, Arc<AccountError>>>>);

impl AgentAccounts {
    /// These.
    #[must_use]
    pub fn new(accounts: BTreeMap<String, Result<AgentAccount, AccountError>>) -> Self {
        let shared = accounts.into_iter().map(|(name, account)| (name, account.map_err(Arc::new)));
        Self(Arc::new(shared.collect()))
    }

    /// The account of this name, for a step that uses this program.
    ///
    /// # Errors
    /// The step cannot work with it.
    pub(super) fn get(&self, name: &str, program: &str) -> Result<&AgentAccount, AccountError> {
        match self.0.get(name) {
            None => Err(AccountError::Unknown { name: name.to_owned() }),
            Some(Err(error)) => Err(AccountError::Unusable(Arc::clone(error))),
            Some(Ok(account)) if account.preset != program => Err(AccountError::OfAnother {
                name: name.to_owned(),
                preset: account.preset.clone(),
                program: program.to_owned(),
            }),
            Some(Ok(account)) => Ok(account),
        }
    }

    /// The account that a call of an agent program works with; none: the program's own login.
    ///
    /// # Errors
    /// As [`AgentAccounts::get`].
    pub(super) fn of_call(&self, call: &ProgramCall) -> Result<Option<&AgentAccount>, AccountError> {
        let Some(name) = call.account.as_deref().and_then(ProgramPlan::name_of) else { return Ok(None) };
        let account = self.get(name, &call.program)?;
        match May::of(&call.may).zip(account.may) {
            Some((may, most)) if may > most => {
                return Err(AccountError::MayLess { name: name.to_owned(), most, may });
            }
            _ => {}
        }
        let against = Preset::named(&call.program).map(Preset::args_against_asking).unwrap_or_default();
        let takes = |argument: &&String| {
            against.contains(&argument.split_once('=').map_or(argument.as_str(), |(word, _)| word))
        };
        match account.args.iter().find(takes).filter(|_| !call.ask.is_empty()) {
            Some(argument) => {
                Err(AccountError::TakesQuestions { name: name.to_owned(), argument: argument.clone() })
            }
            None => Ok(Some(account)),
        }
    }

    /// The secrets of the account that a command works with, also if it could not begin with it now: its earlier output may hold
    /// them.
    pub(super) fn secrets_for(&self, command: &Command) -> impl Iterator<Item = &str> {
        let account = match command {
            Command::Agent(call) => {
                let name = call.account.as_deref().and_then(ProgramPlan::name_of);
                name.and_then(|name| self.0.get(name)).and_then(|account| account.as_ref().ok())
            }
            Command::Exec(_)
            | Command::Shell(_)
            | Command::A2a(_)
            | Command::Model(_)
            | Command::Merge(_) => None,
        };
        account.into_iter().flat_map(|account| account.secrets.iter().map(|(_, value)| value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_had_only_under_its_name_and_for_its_program_and_hides_its_secrets() {
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let work = AgentAccount {
            preset: "claude".to_owned(),
            program: None,
            model: None,
            may: None,
            args: Vec::new(),
            env: Vec::new(),
            secrets: vec![of("KEY", "sk-secret")],
        };
        let gone = AccountError::Secret {
            name: "spare".to_owned(),
            secret: "KEY".to_owned(),
            source: SourceError::NotSet { variable: "SPARE_KEY".to_owned() },
        };
        let accounts = AgentAccounts::new(BTreeMap::from([
            ("work".to_owned(), Ok(work.clone())),
            ("spare".to_owned(), Err(gone)),
        ]));
        assert_eq!(accounts.get("work", "claude").ok(), Some(&work));
        let said = |name, program| accounts.get(name, program).map(drop).unwrap_err().to_string();
        assert_eq!(said("work", "codex"), "account `work` is for `claude`, and the step uses `codex`");
        assert!(said("spare", "claude").contains("SPARE_KEY"), "{}", said("spare", "claude"));
        assert!(said("home", "claude").contains("has no account `home`"));
        assert!(!format!("{accounts:?}").contains("sk-"));
        // The configuration has changed since the attempt began: its output is masked all the same.
        let call = r#"{"program": "codex", "account": "codex/work", "prompt": "p", "may": "edit"}"#;
        let call: ProgramCall = serde_json::from_str(call).unwrap();
        assert!(accounts.of_call(&call).is_err());
        let command = Command::Agent(Box::new(call));
        assert_eq!(accounts.secrets_for(&command).collect::<Vec<_>>(), ["sk-secret"]);
    }
}
