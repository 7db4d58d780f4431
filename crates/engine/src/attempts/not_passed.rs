//! Variables that are set outside, that a command did not see, and that it may have missed when it failed.
//!
//! It lists variables that the command itself names, in its text or in its output, and those that a well-known program of it needs; each
//! once a run. Knows no values.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use envoi_kernel::{event::Command, ids::RunId};
use envoi_preset::Preset;

/// Programs that work otherwise, or not at all, without some variables: in each line the programs, then the variables; `AWS_*` stands
/// for all that begin so.
const NEEDED: &str = "\
ssh scp sftp rsync git ansible ansible-playbook: SSH_AUTH_SOCK
gpg gpg2: GPG_TTY
gh: GH_TOKEN GITHUB_TOKEN
claude: ANTHROPIC_API_KEY
codex: CODEX_API_KEY OPENAI_API_KEY
openai: OPENAI_API_KEY
aws terraform tofu cdk sam: AWS_*
gcloud gsutil bq: GOOGLE_APPLICATION_CREDENTIALS
kubectl helm k9s: KUBECONFIG
docker docker-compose podman: DOCKER_HOST
python python3 pip pip3 pytest: VIRTUAL_ENV CONDA_PREFIX
curl wget git pip pip3 npm npx yarn pnpm cargo go apt apt-get brew: HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy SSL_CERT_FILE
";

/// Words that a failure has if something of the user's own shell may be missing: a login, a key, a proxy, a certificate, a setting.
/// Without any of them the rest of the well-known variables is noise below every failed test, and is named aside.
const SIGNS: [&str; 23] = [
    "access denied",
    "api key",
    "apikey",
    "authent",
    "authori",
    "certificate",
    "could not resolve",
    "couldn't resolve",
    "connection refused",
    "connection timed out",
    "credential",
    "environment variable",
    "forbidden",
    "host key",
    "login",
    "logged in",
    "name resolution",
    "not set",
    "permission denied",
    "proxy",
    "access token",
    "unbound variable",
    "unreachable",
];

/// How the warning about variables begins that nothing in a failure lets one think of. It is for who looks at the run: for who follows it, it
/// would be in the way of the cause.
pub(super) const ASIDE: &str = "not seen by commands, though set outside: ";

/// Whether a warning is for who looks at the run, and not for who follows it.
#[must_use]
pub fn is_aside(warning: &str) -> bool {
    warning.starts_with(ASIDE)
}

/// Whether the output of a failed command points to its environment, or does not explain the failure.
pub(super) fn may_be_the_environment(printed: &[&str]) -> bool {
    let is_silent = printed.iter().all(|text| text.trim().is_empty());
    is_silent
        || printed.iter().any(|text| {
            let text = text.to_lowercase();
            SIGNS.iter().any(|sign| text.contains(sign))
        })
}

/// Which of these variables the failed command may have missed: it names them, or is a program that needs them.
pub(super) fn missed(not_passed: &[String], command: &Command, printed: &[&str]) -> Vec<String> {
    if not_passed.is_empty() {
        return Vec::new();
    }
    let texts = texts(command);
    let programs = programs(&texts);
    let rows = NEEDED.lines().filter_map(|line| line.split_once(": "));
    let needed = rows.filter(|(names, _)| names.split(' ').any(|name| programs.contains(name)));
    let needed = needed.flat_map(|(_, variables)| variables.split(' ')).chain(logins(command));
    let needed: Vec<&str> = needed.collect();
    let fits = |name: &str, pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => *pattern == name,
    };
    let is_missed = |name: &&String| {
        needed.iter().any(|pattern| fits(name, pattern))
            || printed.iter().chain(&texts).any(|text| names(text, name))
    };
    not_passed.iter().filter(is_missed).cloned().collect()
}

/// The variables by which an agent program that brings no login of its own may have one.
fn logins(command: &Command) -> impl Iterator<Item = &'static str> {
    let own = match command {
        Command::Agent(call)
            if !call.by_bridge && call.account.as_deref().is_none_or(|name| name == call.program) =>
        {
            Preset::named(&call.program)
        }
        _ => None,
    };
    own.into_iter().flat_map(|preset| preset.login_variables()).copied()
}

/// Whether the text has this name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at.saturating_add(name.len())..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The texts of the command: its words, or its script.
fn texts(command: &Command) -> Vec<&str> {
    match command {
        Command::Exec(argv) => argv.iter().map(String::as_str).collect(),
        Command::Shell(script) => vec![script],
        Command::Agent(call) => vec![&call.program],
        Command::A2a(_) | Command::Model(_) | Command::Merge(_) => Vec::new(),
    }
}

/// The first words of everything in these texts that may be a command, without their folders.
fn programs<'t>(texts: &[&'t str]) -> BTreeSet<&'t str> {
    let first_word = |part: &'_ str| -> Option<usize> {
        let is_before = |word: &&str| {
            word.contains('=')
                || matches!(
                    *word,
                    "then" | "else" | "do" | "if" | "while" | "!" | "sudo" | "exec" | "time" | "env"
                )
        };
        part.split_whitespace().position(|word| !is_before(&word))
    };
    let parts = texts.iter().flat_map(|text| text.split(['\n', ';', '|', '&', '(', ')', '`']));
    let words = parts.filter_map(|part| part.split_whitespace().nth(first_word(part)?));
    words.filter_map(|word| word.rsplit('/').next()).collect()
}

/// The names already listed in each run, so that each is listed once.
#[derive(Debug, Default)]
pub(super) struct AlreadyNamed(Mutex<BTreeMap<RunId, BTreeSet<String>>>);

impl AlreadyNamed {
    /// The `names` that were not listed yet; `earlier` reads the names in the run's events, at the first call.
    pub(super) fn anew(
        &self,
        run: &RunId,
        names: Vec<String>,
        earlier: impl FnOnce() -> BTreeSet<String>,
    ) -> Vec<String> {
        if names.is_empty() {
            return names;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = known.entry(run.clone()).or_insert_with(earlier);
        names.into_iter().filter(|name| named.insert(name.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str, printed: &str) -> Vec<String> {
        let outside = ["SSH_AUTH_SOCK", "AWS_REGION", "HTTPS_PROXY", "GITHUB_TOKEN"].map(str::to_owned);
        let command = Command::Exec(["sh", "-e", "-c", script].map(str::to_owned).to_vec());
        missed(&outside, &command, &[printed])
    }

    #[test]
    fn a_variable_is_named_where_it_may_matter_and_nowhere_else() {
        for (script, printed, expected) in [
            ("exit 3", "", &[][..]),
            ("cp missing x", "cp: cannot stat 'missing'", &[]),
            ("git push", "Permission denied (publickey)", &["SSH_AUTH_SOCK", "HTTPS_PROXY"]),
            ("cd x && A=1 /usr/bin/aws s3 ls", "", &["AWS_REGION"]),
            ("if ! curl x; then y; fi", "", &["HTTPS_PROXY"]),
            ("./deploy", "KeyError: 'GITHUB_TOKEN'", &["GITHUB_TOKEN"]),
            ("./deploy", "MY_GITHUB_TOKEN is not set", &[]),
            ("test -n \"$GITHUB_TOKEN\"", "", &["GITHUB_TOKEN"]),
            ("echo git", "", &[]),
        ] {
            assert_eq!(of(script, printed), expected, "{script}");
        }
        let list = Command::Exec(vec!["ssh".to_owned(), "host".to_owned()]);
        assert_eq!(missed(&["SSH_AUTH_SOCK".to_owned()], &list, &[]), ["SSH_AUTH_SOCK"]);
    }

    #[test]
    fn an_agent_program_without_a_login_of_its_own_may_miss_the_one_of_the_shell() {
        let outside = ["ANTHROPIC_AUTH_TOKEN", "CODEX_HOME", "SSH_AUTH_SOCK"].map(str::to_owned);
        for (program, more, expected) in [
            ("claude", "", &["ANTHROPIC_AUTH_TOKEN"][..]),
            ("claude", r#","account":"claude""#, &["ANTHROPIC_AUTH_TOKEN"]),
            ("codex", "", &["CODEX_HOME"]),
            ("claude", r#","account":"claude/work""#, &[]),
            ("claude", r#","by_bridge":true"#, &[]),
        ] {
            let call = format!(r#"{{"agent":{{"program":"{program}","prompt":"p","may":"edit"{more}}}}}"#);
            let command: Command = serde_json::from_str(&call).unwrap();
            assert_eq!(missed(&outside, &command, &["Not logged in"]), expected, "{call}");
        }
    }

    #[test]
    fn a_failure_of_reach_or_without_a_word_may_be_the_environment_and_one_of_the_work_is_not() {
        for (printed, expected) in [
            ("git@host: Permission denied (publickey).", true),
            ("HTTP 401: Unauthorized", true),
            ("tool: AWS_REGION is not set", true),
            ("curl: (6) Could not resolve host: example.org", true),
            ("FAILED (failures=1)", false),
            ("cp: cannot stat 'missing': No such file or directory", false),
            ("ValueError: invalid literal", false),
            ("\n", true),
        ] {
            assert_eq!(may_be_the_environment(&[printed, ""]), expected, "{printed}");
        }
    }

    #[test]
    fn a_variable_is_named_once_a_run() {
        let named = AlreadyNamed::default();
        let run = RunId::new("run_1").unwrap();
        let ask = |names: &[&str], earlier: &[&str]| {
            let earlier = earlier.iter().map(|name| (*name).to_owned()).collect();
            named.anew(&run, names.iter().map(|name| (*name).to_owned()).collect(), || earlier)
        };
        assert_eq!(ask(&["A", "B"], &["B"]), ["A"]);
        assert_eq!(ask(&["A", "B", "C"], &[]), ["C"]);
    }
}
